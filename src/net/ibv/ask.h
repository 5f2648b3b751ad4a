/* SPDX-License-Identifier: MIT */
/* ask.h - what libibverbs says of devices and ports, for providers of its devices */
#ifndef BL_NET_IBV_ASK_H
#define BL_NET_IBV_ASK_H

#include <stdbool.h>

#include "lib.h"
#include "net/nic.h"

/**
 * bl_ibv_names() - Names of devices, as this library knows them for ever
 * @take:  which; NULL: all
 * @names: receives the first @nr
 * @nr:    places
 *
 * Return: how many there are; 0 also where libibverbs cannot be used.
 */
size_t bl_ibv_names(bool (*take)(struct ibv_device *device), const char **names, size_t nr);

/* The device of a name in a list of libibverbs, NULL: none. */
struct ibv_device *bl_ibv_find(const struct bl_ibv *ibv, struct ibv_device **list, const char *name);

/* State of a port; whatever the release of the library, fields that it does not know are 0. Return: 0 or -errno. */
int bl_ibv_ask_port(const struct bl_ibv *ibv, struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr);

/* The same as struct bl_nic_port. @device: its name. Return: 0 or -errno, with the reason. */
int bl_ibv_ask_state(const struct bl_ibv *ibv, struct ibv_context *context, const char *device, uint8_t port,
		     struct bl_nic_port *info);

/* An entry of a port's table of addresses; struct bl_nic_ops has what it returns. */
int bl_ibv_ask_gid(const struct bl_ibv *ibv, struct ibv_context *context, const char *device, uint8_t port,
		   unsigned int index, uint8_t gid[BL_NIC_GID_LEN], enum bl_nic_gid_type *type_p);

/*
 * The network interface behind an entry of RoCE, and the entry's address, if its packets are UDP; else 0.
 * Return: index of the interface; 0: there is none, or that is not told.
 */
int bl_ibv_ask_interface(const struct bl_ibv *ibv, struct ibv_context *context, uint8_t port, unsigned int index,
			 uint8_t gid[BL_NIC_GID_LEN]);

/* The smaller of a number and one of libibverbs, which may be nonsense. */
static inline uint32_t bl_ibv_least(uint32_t a, int b)
{
	return b > 0 && (uint32_t)b < a ? (uint32_t)b : a;
}

static inline uint8_t bl_ibv_byte(int value)
{
	return value < 0 ? 0 : value > UINT8_MAX ? UINT8_MAX : (uint8_t)value;
}

#endif
