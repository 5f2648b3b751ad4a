/* SPDX-License-Identifier: MIT */
/* lat.h - a thread of each end's GPU plays ping-pong with the other's */
#ifndef TOOLS_NET_LAT_H
#define TOOLS_NET_LAT_H

#include "net/session.h"

/**
 * struct net_lat_kind - one of the programs
 * @program:   its names and options
 * @ptx:       its kernels
 * @kernel:    its kernel
 * @blueflame: the same for a queue pair with BlueFlame
 */
struct net_lat_kind {
	struct net_program program;
	const struct net_ptx *ptx;
	const char *kernel;
	const char *blueflame;
};

/* main() of them. */
int net_lat_main(int argc, char **argv, const struct net_lat_kind *kind);

#endif
