/* SPDX-License-Identifier: MIT */
/* held.h - packets that were taken off the wire and arrive later */
#ifndef SOFTNIC_FAULT_HELD_H
#define SOFTNIC_FAULT_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "softnic/packet.h"

#define BL_HELD_MAX 64

/**
 * struct bl_held - one packet
 * @next:    held after it
 * @due:     number of arrivals at which it arrives
 * @has_gid: @gid is known
 * @packet:  headers
 * @payload: packet.len bytes
 */
struct bl_held {
	struct bl_held *next;
	uint64_t due;
	bool has_gid;
	uint8_t gid[16];
	struct bl_packet packet;
	char payload[];
};

/* All zero: empty. */
struct bl_held_list {
	struct bl_held *first;
	unsigned int nr;
};

/* Keep a copy. Return: false: there are BL_HELD_MAX already, or there is no memory. */
bool bl_held_add(struct bl_held_list *list, uint64_t due, const uint8_t *gid, const struct bl_packet *packet,
		 const void *payload);

/* Take out the oldest of those that are due, or NULL. The caller frees it. */
struct bl_held *bl_held_take(struct bl_held_list *list, uint64_t now);

void bl_held_clear(struct bl_held_list *list);

#endif
