/* SPDX-License-Identifier: MIT */
/*
 * ring.h - a packet socket that receives into memory shared with the kernel
 *
 * The kernel gives it what comes in for one address and RoCE's port, before its own IP has a look.
 */
#ifndef SOFTNIC_ROCE_RING_H
#define SOFTNIC_ROCE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"

/**
 * struct bl_roce_ring - a socket and its memory
 * @fd:	  socket, or -1
 * @map:  @nr frames of @frame bytes, @per_block of them in each block of @block bytes
 * @len:  of @map
 * @next: frame that is looked at next
 */
struct bl_roce_ring {
	int fd;
	uint8_t *map;
	size_t len;
	unsigned int nr;
	unsigned int per_block;
	size_t block;
	size_t frame;
	unsigned int next;
};

/**
 * struct bl_roce_frame - a received one
 * @bytes:   from the Ethernet header on
 * @ip:	     from the IP header on
 * @len:     bytes at @ip
 * @cut:     there were more
 */
struct bl_roce_frame {
	const uint8_t *bytes;
	const uint8_t *ip;
	size_t len;
	bool cut;
};

/**
 * struct bl_roce_ring_attr - what a ring is for
 * @index:   interface
 * @gid:     address that packets go to
 * @share:   upper bits of the queue pairs that they go to
 * @payload: they have at most
 */
struct bl_roce_ring_attr {
	int index;
	const uint8_t *gid;
	uint8_t share;
	uint32_t payload;
};

/* Return: 0 or -errno, logged. */
int bl_roce_ring_open(struct bl_roce_ring *ring, const struct bl_roce_ring_attr *attr);
void bl_roce_ring_close(struct bl_roce_ring *ring);
void bl_roce_ring_forget(struct bl_roce_ring *ring);

/* The next frame, if there is one. It is valid until bl_roce_ring_done(). */
bool bl_roce_ring_next(struct bl_roce_ring *ring, struct bl_roce_frame *frame);
void bl_roce_ring_done(struct bl_roce_ring *ring);

/* Packets that found no room since the last call. */
uint64_t bl_roce_ring_lost(struct bl_roce_ring *ring);

#endif
