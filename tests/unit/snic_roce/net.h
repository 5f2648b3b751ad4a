/* SPDX-License-Identifier: MIT */
/*
 * net.h - two hosts and a cable: network namespaces, with an interface each, of a process and what it forks
 *
 * The first has interface va with addresses fe80::1, fd77::1 and 10.77.0.1 and those of the loopback interface, the
 * second vb with fe80::2, fd77::2 and 10.77.0.2. Their order is that of GID indexes.
 */
#ifndef TESTS_UNIT_SNIC_ROCE_NET_H
#define TESTS_UNIT_SNIC_ROCE_NET_H

#include <stdbool.h>

enum net_gid { NET_LINK_LOCAL, NET_IPV6, NET_IPV4 };

/* Once in a process; skips the test when it is not allowed. @mtu: of the interfaces. Interfaces are as they were then. */
void net_need(unsigned int mtu);

/* From now on this thread is in one of them, 0 or 1. */
void net_enter(int host);

/* Runs a command there, as printf() makes it. Return: whether it ended well. */
bool net_do(int host, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Root's rights in them, but no packet sockets. */
void net_give_up_packet_sockets(void);

#endif
