/* SPDX-License-Identifier: MIT */
/* forward.h - the server that sends messages back */
#ifndef TOOLS_NET_FORWARD_H
#define TOOLS_NET_FORWARD_H

#include "net/session.h"

/* What its peers say they are looking for. */
#define NET_FORWARD_ID 4

extern const struct net_program net_forward_program;

/* As struct net_part wants it. */
int net_forward_run(struct net_bed *bed, struct net_hello *hello);

/* What it is with some options. */
static inline struct net_part net_forward_part(const struct net_options *options)
{
	return (struct net_part){
		.program = &net_forward_program,
		.kind = options->echo == NET_ECHO_CPU ? NET_BED_CPU : NET_BED_RECEIVES,
		.run = net_forward_run,
	};
}

#endif
