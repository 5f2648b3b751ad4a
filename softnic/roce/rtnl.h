/* SPDX-License-Identifier: MIT */
/* rtnl.h - the kernel's routes and neighbours */
#ifndef SOFTNIC_ROCE_RTNL_H
#define SOFTNIC_ROCE_RTNL_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"

/**
 * struct bl_roce_hop - where a packet goes first
 * @local:   it stays on this host
 * @index:   interface
 * @gateway: @gid is a router, not the destination
 * @gid:     next to be reached
 */
struct bl_roce_hop {
	bool local;
	int index;
	bool gateway;
	uint8_t gid[BL_ROCE_GID_LEN];
};

/* A socket for the two below. Return: it or -errno. It is the caller's to register. */
int bl_roce_rtnl_open(void);

/*
 * The way from @src to @dst by interface @index, 0: any.
 * Return: 0, -ENETUNREACH or what else the kernel says of a way that there is not; quiet.
 */
int bl_roce_rtnl_route(int fd, const uint8_t src[BL_ROCE_GID_LEN], const uint8_t dst[BL_ROCE_GID_LEN], int index,
		       struct bl_roce_hop *hop);

/*
 * Ethernet address of a neighbour as the kernel knows it.
 * Return: 0, -EAGAIN (not known), -EHOSTUNREACH (it was asked and has not answered), other -errno; quiet.
 */
int bl_roce_rtnl_neighbour(int fd, const uint8_t gid[BL_ROCE_GID_LEN], int index, uint8_t mac[6]);

#endif
