/* SPDX-License-Identifier: MIT */
/* gid.h - which of a port's addresses a queue pair takes */
#ifndef BL_NET_GID_H
#define BL_NET_GID_H

#include <stdint.h>

#include <infiniband/verbs.h>

/**
 * bl_gid_choose() - The address of a port to connect by
 * @context: device
 * @port:    1 is the first
 * @nr:	     addresses that its table has
 * @gid:     receives the address
 * @index_p: receives its place
 *
 * BARLANE_NET_GID, an IPv4 or IPv6 address, names it. Without that: RoCE v2 before v1, and of those IPv4, other
 * addresses, addresses of the link. Entries that cannot be read are left out.
 * Return: 0, -EINVAL (BARLANE_NET_GID is no address), -ENODEV (no such address, or none at all); with the reason.
 */
int bl_gid_choose(struct ibv_context *context, uint8_t port, int nr, union ibv_gid *gid, uint8_t *index_p);

#endif
