/* SPDX-License-Identifier: MIT */
/* device.h - a network interface, and the addresses of it */
#ifndef SOFTNIC_ROCE_DEVICE_H
#define SOFTNIC_ROCE_DEVICE_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

#define BL_ROCE_MAX_GIDS  32
#define BL_ROCE_GID_TEXT  46
#define BL_ROCE_MAC_LEN	  6

/**
 * struct bl_roce_device - an interface as it was when it was looked at
 * @ethernet: its packets begin with an Ethernet header
 * @path_mtu: largest payload, a power of two from 256 to 4096, that fits with all headers
 * @gids:     its addresses: link-local ones, other ones of IPv6, those of IPv4
 */
struct bl_roce_device {
	char name[IF_NAMESIZE];
	int index;
	uint32_t mtu;
	uint32_t path_mtu;
	bool ethernet;
	uint8_t mac[BL_ROCE_MAC_LEN];
	unsigned int nr_gids;
	uint8_t gids[BL_ROCE_MAX_GIDS][BL_ROCE_GID_LEN];
};

/*
 * @sock of the three is any socket of IP: interfaces are those of its network namespace, wherever a thread is by now.
 */

/* Return: 0, -ENODEV, -EADDRNOTAVAIL (no address), -EMSGSIZE (MTU too small), other -errno; logged. */
int bl_roce_device_get(int sock, const char *name, struct bl_roce_device *device);

/* Why nothing can go out now, or NULL. */
const char *bl_roce_interface_flaw(int sock, const char name[IFNAMSIZ]);

/* Index of the loopback interface, or 0. */
int bl_roce_loopback(int sock);

/* As one writes it. Return: @text. */
const char *bl_roce_gid_text(const uint8_t gid[BL_ROCE_GID_LEN], char text[BL_ROCE_GID_TEXT]);

bool bl_roce_gid_is_link_local(const uint8_t gid[BL_ROCE_GID_LEN]);

#endif
