/* SPDX-License-Identifier: MIT */
/*
 * share.h - one mapping for several pins of the same memory
 *
 * A pin whose bytes lie in a mapping of its context that shows the same memory gets a part of that mapping; the last
 * one to unmap removes it. The mapping belongs to the pin that made it: this holds that pin's backing, so that the
 * provider gives nothing back while a sharer is left.
 */
#ifndef BL_GPU_SHARE_H
#define BL_GPU_SHARE_H

#include <pthread.h>
#include <stdbool.h>

#include "provider.h"

#define BL_SHARE_BUCKETS 256U

struct bl_pin;
struct bl_share;

/**
 * struct bl_shares - mappings of a context that can be shared
 * @lock:    guards all of them; below pin->lock, held across the provider's same()
 * @buckets: lists, by the place of the mapping
 */
struct bl_shares {
	pthread_mutex_t lock;
	struct bl_share *buckets[BL_SHARE_BUCKETS];
};

/**
 * bl_share_map() - Map the first @mapping->len bytes of a pin, or take part in a mapping that shows them
 * @pin:     pin, locked, not mapped
 * @alone:   neither take part nor let others
 * @mapping: as for the provider's map()
 *
 * Threads that map the same memory at the same moment may get a mapping each.
 * Return: 0, -ENOMEM, or the provider's error.
 */
int bl_share_map(struct bl_pin *pin, bool alone, struct bl_mapping *mapping);

/**
 * bl_share_unmap() - Undo it; the mapping goes with its last pin
 * @pin:     pin, locked
 * @mapping: from bl_share_map()
 *
 * Return: 0, or the provider's error, which the last pin gets.
 */
int bl_share_unmap(struct bl_pin *pin, struct bl_mapping *mapping);

/* Pins that share the mapping of this one, itself included; 0 while it is not mapped. The pin is locked. */
uint32_t bl_share_count(const struct bl_pin *pin);

#endif
