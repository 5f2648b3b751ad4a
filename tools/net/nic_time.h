/* SPDX-License-Identifier: MIT */
/* nic_time.h - what the software NICs of this process cost */
#ifndef TOOLS_NET_NIC_TIME_H
#define TOOLS_NET_NIC_TIME_H

#include <stdint.h>

/**
 * struct net_nic_time - CPU time
 * @nr: threads of NICs; 0: NICs of hardware, or the system does not tell
 * @ns: CPU time of all of them, since they began
 */
struct net_nic_time {
	unsigned int nr;
	uint64_t ns;
};

void net_nic_time(struct net_nic_time *time);

#endif
