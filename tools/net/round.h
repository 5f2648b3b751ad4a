/* SPDX-License-Identifier: MIT */
/* round.h - messages there and back */
#ifndef TOOLS_NET_ROUND_H
#define TOOLS_NET_ROUND_H

#include "net/session.h"

struct json_object;

/**
 * struct net_round - messages of one size
 * @sent_ns: when each went out
 * @us:	     round trips of those that came back, in order of arrival
 * @back:    of each, whether it came back
 * @sent, @returned, @lost: how many; @lost are no longer waited for
 * @wrong:   came back with other bytes
 */
struct net_round {
	struct net_bed *bed;
	const struct net_hello *hello;
	struct net_region region;
	uint32_t size;
	uint64_t run;
	uint64_t *sent_ns;
	double *us;
	bool *back;
	uint64_t sent, returned, lost, wrong;
	uint64_t last_ns;
};

/* Print a line and the histogram, and append the same to a JSON array; sorts @us. */
void net_round_report(struct net_round *round, struct json_object *results);

#endif
