/* SPDX-License-Identifier: MIT */
/*
 * fold.h - completions that a CPU counts for a GPU
 *
 * The NIC writes every completion to one entry in host memory. Whoever serves the queue pair turns the entry's 16-bit
 * WQE counter into the 64-bit count that kernels look at, in the GPU's object: they poll a word of their own memory.
 */
#ifndef BL_NET_FOLD_H
#define BL_NET_FOLD_H

#include <stdbool.h>
#include <stdint.h>

struct bl_gpu_qp;

/* What a completion's last four bytes, in memory order, mean for a count. */
enum bl_fold_what { BL_FOLD_NONE, BL_FOLD_DONE, BL_FOLD_FAILED };

/**
 * bl_fold_count() - Count on
 * @count:   requests known to be done
 * @last:    bytes 60 to 63 of the entry, as they are in memory
 * @count_p: receives the new count; of a failure: those before the request that failed
 *
 * Less than 2^16 requests lie between two looks, since no queue has more than 2^15.
 */
enum bl_fold_what bl_fold_count(uint64_t count, uint32_t last, uint64_t *count_p);

/* Whether there is something to count; cheap, and by whoever. */
bool bl_fold_news(const struct bl_gpu_qp *qp);

/* Count on and tell the GPU; the caller keeps others from serving. Whether there was something to count. */
bool bl_fold_serve(struct bl_gpu_qp *qp);

#endif
