/* SPDX-License-Identifier: MIT */
/*
 * range.h - which registered range holds an address, found without a lock
 *
 * A sorted table under a sequence counter: readers look, take a reference, and look whether the table changed meanwhile.
 * Ranges may overlap and nest. Writers are serialised by the caller.
 */
#ifndef BL_FILE_RANGE_H
#define BL_FILE_RANGE_H

#include <stddef.h>
#include <stdint.h>

struct bl_buffer;

/**
 * bl_range_find() - Find the range that a request is in
 * @base:  as the caller gave it
 * @va:    first byte
 * @len:   bytes
 * @err_p: receives 0, or -ERANGE when a range begins at @base that does not hold the bytes
 *
 * A range that begins at @base is preferred to all others; of those the one that begins last before @va. Takes no lock.
 * Return: its buffer, referenced, or NULL.
 */
struct bl_buffer *bl_range_find(uint64_t base, uint64_t va, size_t len, int *err_p);

/* Add a buffer whose refs are positive. 0, -EEXIST: its base is there already, -ENOMEM. */
int bl_range_add(struct bl_buffer *buffer);

/* Remove the range that begins at @base; its buffer with the table's reference, or NULL. */
struct bl_buffer *bl_range_remove(uint64_t base);

/* The base of any range; 0 when there is none. */
uint64_t bl_range_any(void);

void bl_range_forget(void);

#endif
