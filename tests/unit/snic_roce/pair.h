/* SPDX-License-Identifier: MIT */
/* pair.h - a NIC on each of the two hosts of net.h, connected */
#ifndef TESTS_UNIT_SNIC_ROCE_PAIR_H
#define TESTS_UNIT_SNIC_ROCE_PAIR_H

#include "net.h"
#include "snic/world.h"

#define NET_MTU	    4300 /* of the interfaces */
#define DEADLINE_NS 10000000000ULL

/* By one kind of address, path MTU 4096. */
struct world_options net_options(enum net_gid gid);

/* @wire: "packet" or "udp". */
struct world *net_begin(enum net_gid gid, const char *wire);

/* Packets arrive. */
void net_check_works(struct world *w);

/* Waits until the second side has counted one, and no more. */
void net_check_counts_one(struct world *w, enum bl_snic_counter counter);

#endif
