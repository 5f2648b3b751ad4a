/* SPDX-License-Identifier: MIT */
/*
 * rm_known.h - allocations whose RM object was already checked
 *
 * RM's answers about an object cost half as much as duplicating it. An allocation's BUFFER_ID is never reused in a
 * process, so an object that was found right for it once stays right; a recycled address has another id.
 */
#ifndef BL_GPU_RM_KNOWN_H
#define BL_GPU_RM_KNOWN_H

#include <pthread.h>
#include <stdbool.h>

#include "rm_blob.h"

#define RM_KNOWN_ENTRIES 256

/* Zeroed but for the lock is empty. A full place is overwritten: the check is then made again. */
struct rm_known {
	pthread_mutex_t lock;
	struct {
		uint64_t buffer_id;
		struct rm_blob blob;
		uint64_t object_size;
	} entries[RM_KNOWN_ENTRIES];
};

/**
 * rm_known_find() - Whether a blob was checked for an allocation
 * @known:     what is known
 * @buffer_id: CUDA's id of the allocation
 * @blob:      what its blob says now
 * @size_p:    receives RM's size of the object in bytes, if it was
 */
bool rm_known_find(struct rm_known *known, uint64_t buffer_id, const struct rm_blob *blob, uint64_t *size_p);

/* Remember that it was, and RM's size of the object. */
void rm_known_add(struct rm_known *known, uint64_t buffer_id, const struct rm_blob *blob, uint64_t object_size);

#endif
