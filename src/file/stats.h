/* SPDX-License-Identifier: MIT */
/* stats.h - counters behind cuFileGetStatsL1/2/3() and barlane stat */
#ifndef BL_FILE_STATS_H
#define BL_FILE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "path.h"

/* What is counted ok or in error. */
enum bl_op {
	BL_OP_HANDLE_REGISTER,
	BL_OP_HANDLE_DEREGISTER,
	BL_OP_BUF_REGISTER,
	BL_OP_BUF_DEREGISTER,
	BL_OP_BATCH_SETUP,
	BL_OP_BATCH_SUBMIT,
	BL_OP_BATCH_COMPLETE,
	BL_OP_BATCH_CANCEL,
	BL_OP_BATCH_DESTROY,
	BL_OP_BATCH_ENQUEUED,
	BL_OP_BATCH_PROCESSED,
	BL_OP_NR,
};

/* What path nvfs counts by direction. Refused requests went on by another path, for what the module said. */
enum bl_nvfs_count {
	BL_NVFS_REQUESTS,	  /* that it was asked to carry out */
	BL_NVFS_BYTES,		  /* moved */
	BL_NVFS_PIECES,		  /* requests that the module was given */
	BL_NVFS_HOLE_BYTES,	  /* zeroed in GPU memory */
	BL_NVFS_FAILED,		  /* requests that ended with an error */
	BL_NVFS_TIMEOUTS,	  /* of those, given up at their deadline */
	BL_NVFS_REFUSED_FILE,	  /* EINVAL, EOPNOTSUPP, ESTALE, EBADF: not this file */
	BL_NVFS_REFUSED_MEMORY,	  /* the memory could not be bound */
	BL_NVFS_REFUSED_SHORTAGE, /* EBUSY, ENOMEM */
	BL_NVFS_REFUSED_DRIVE,	  /* EIO */
	BL_NVFS_REFUSED_MODULE,	  /* ENODEV: it is gone, or going */
	BL_NVFS_REFUSED_OTHER,
	BL_NVFS_NR,
};

/* Which way an operation of a stream went, docs/cufile-async.md. */
enum bl_stream_count {
	BL_STREAM_CPU,	  /* by a thread and the GPU's mapping, or in host memory */
	BL_STREAM_CUDA,	  /* by pinned memory and CUDA's copies */
	BL_STREAM_KERNEL, /* by pinned memory and the kernel */
	BL_STREAM_HELD,	  /* as other requests, while a host function waits */
	BL_STREAM_NR,
};

/* Count an operation of a stream that has ended, well or not; at every level. Lock-free. */
void bl_stats_stream(enum bl_stream_count way, bool write);

/* Count; at every level. Lock-free. */
void bl_stats_nvfs(enum bl_nvfs_count what, bool write, uint64_t by);

/* Count an operation; @err: 0 or a negative error. Lock-free. */
void bl_stats_op(enum bl_op op, int err);

/**
 * bl_stats_io() - Count a request that has ended
 * @path:    who moved its last byte
 * @write:   direction
 * @result:  bytes or a negative error
 * @ns:      how long it took
 * @ordinal: GPU, -1: host memory
 * @unaligned: offsets or size were no multiples of 4 KiB
 *
 * Lock-free; does nothing but two additions when the statistics level is 0 (counters per path are always kept).
 */
void bl_stats_io(enum bl_path path, bool write, ssize_t result, uint64_t ns, int ordinal, bool unaligned);

/**
 * bl_stats_batch_io() - The same for an entry of a batch
 * @path:        who moved its last byte
 * @write:       direction
 * @result:      bytes or a negative error
 * @submit_ns:   its share of the time that the submission took
 * @complete_ns: from the submission to its end
 */
void bl_stats_batch_io(enum bl_path path, bool write, ssize_t result, uint64_t submit_ns, uint64_t complete_ns);

/* Registered bytes changed (BufRegister +, BufDeregister -) on a GPU; @err as bl_stats_op(). */
void bl_stats_buffer(int ordinal, int64_t bytes, int err);

#endif
