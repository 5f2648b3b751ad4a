/* SPDX-License-Identifier: MIT */
/*
 * stats_shm.h - the counters of a process, in a file that others can look at
 *
 * While the statistics level is 1 or more the counters lie in a file of shared memory, mode 0600, in $XDG_RUNTIME_DIR,
 * else in /dev/shm: "barlane-PID.stat". It is removed when the process ends; one that was killed leaves it behind, which
 * bl_stats_shm_open() tells from a living one's, until the next process of the same user and PID namespace makes a file
 * of its own. All numbers are in the machine's byte order and grow only, but for bytes that are registered. A number is
 * the sum over all blocks: each thread counts in one of them.
 */
#ifndef BL_FILE_STATS_SHM_H
#define BL_FILE_STATS_SHM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stats.h"

#define BL_STATS_MAGIC	 0x3154415453454c42 /* "BLESTAT1" */
#define BL_STATS_VERSION 3
#define BL_STATS_BLOCKS	 16
#define BL_STATS_GPUS	 16
#define BL_STATS_SIZES	 32

typedef _Atomic(uint64_t) bl_stats_number;

/**
 * struct bl_stats_way - requests of one path and direction
 * @calls:  that moved bytes, or none at the end of the file
 * @bytes:  that they moved
 * @errors: calls that failed
 * @ns:     how long those took that did not; from level 1 on
 */
struct bl_stats_way {
	bl_stats_number calls;
	bl_stats_number bytes;
	bl_stats_number errors;
	bl_stats_number ns;
};

/**
 * struct bl_stats_gpu - one GPU, from level 3 on
 * @way:       by direction, as struct bl_stats_way, all paths
 * @nvfs:      of the calls, those by DMA, by direction
 * @unaligned: of the calls, those with an offset or size that is no multiple of 4 KiB, by direction
 * @maps:      registrations that succeeded
 * @map_errors: that did not
 * @unmaps:    deregistrations
 * @bytes:     registered now
 */
struct bl_stats_gpu {
	struct bl_stats_way way[2];
	bl_stats_number nvfs[2];
	bl_stats_number unaligned[2];
	bl_stats_number maps;
	bl_stats_number map_errors;
	bl_stats_number unmaps;
	bl_stats_number bytes;
};

/**
 * struct bl_stats_block - counters, numbers of 64 bits all of them
 * @single: requests by cuFileRead(), cuFileWrite() and streams, by enum bl_path and direction (0 read, 1 write)
 * @batch:  entries of batches, likewise; @ns of these is from their submission to their end
 * @submit_ns: what submitting those entries took
 * @ops:    other calls by enum bl_op: that succeeded, that did not; from level 1 on
 * @nvfs:   what path nvfs did, by enum bl_nvfs_count and direction
 * @streams: operations of streams, which are among @single, by enum bl_stream_count and direction
 * @sizes:  single requests by direction and size, see bl_stats_size_class(); from level 2 on
 * @gpu:    by CUDA ordinal
 */
struct bl_stats_block {
	struct bl_stats_way single[BL_PATH_NR][2];
	struct bl_stats_way batch[BL_PATH_NR][2];
	bl_stats_number submit_ns;
	bl_stats_number ops[BL_OP_NR][2];
	bl_stats_number nvfs[BL_NVFS_NR][2];
	bl_stats_number streams[BL_STREAM_NR][2];
	bl_stats_number sizes[2][BL_STATS_SIZES];
	struct bl_stats_gpu gpu[BL_STATS_GPUS];
} __attribute__((aligned(64)));

/**
 * struct bl_stats_shm - the file
 * @magic:      BL_STATS_MAGIC, written last
 * @version:    BL_STATS_VERSION
 * @size:       bytes of the file
 * @pid:        of the process, in its own PID namespace
 * @level:      statistics level; 0 while nothing but paths is counted, or the driver is closed
 * @started:    when the process was started, as in field 22 of /proc/PID/stat
 * @begun_ns:   CLOCK_MONOTONIC when counting began
 * @nr_gpus:    GPUs that were seen
 * @pid_ns:     inode of the PID namespace that @pid is a number of; 0: not known
 * @uuid:       of each of them, by ordinal; zeros: not known
 * @block:      counters
 */
struct bl_stats_shm {
	_Atomic(uint64_t) magic;
	uint32_t version;
	uint32_t size;
	uint32_t pid;
	_Atomic(uint32_t) level;
	uint64_t started;
	uint64_t begun_ns;
	_Atomic(uint32_t) nr_gpus;
	uint32_t pid_ns;
	uint8_t uuid[BL_STATS_GPUS][16];
	struct bl_stats_block block[BL_STATS_BLOCKS];
};

/* Class of a size: 0 below 4 KiB, 1 below 8 KiB, and so on; the last has no end. */
static inline unsigned int bl_stats_size_class(uint64_t bytes)
{
	unsigned int class = bytes < 4096 ? 0 : 52 - (unsigned int)__builtin_clzll(bytes);

	return class < BL_STATS_SIZES ? class : BL_STATS_SIZES - 1;
}

/* Add one block to another, or take it away. */
void bl_stats_add(struct bl_stats_block *sum, const struct bl_stats_block *more, bool subtract);

/* Sum up blocks. */
void bl_stats_sum(const struct bl_stats_block *blocks, int nr, struct bl_stats_block *sum);

/**
 * bl_stats_shm_open() - Look at the counters of a process
 * @pid:   process
 * @shm_p: receives a copy of the file, to be given to bl_stats_shm_close(). The process may end meanwhile: the numbers
 *         stay
 *
 * The file is read and not mapped: root looks at those of all users, each of whom could cut the file off under a mapping.
 * Only the size and who made it are checked: all numbers are what the other process says.
 * Return: 0; -ENOENT (no such file: not running, statistics level 0, or of another user), -ESTALE (of a process that is
 * no more), -EPROTO (not what this library writes), -EACCES, -ENOMEM.
 */
int bl_stats_shm_open(pid_t pid, const struct bl_stats_shm **shm_p);

/* Look again. Return: 0; -EPROTO or -errno: the file cannot be read any more, the copy is as it was. */
int bl_stats_shm_refresh(const struct bl_stats_shm *shm);
void bl_stats_shm_close(const struct bl_stats_shm *shm);

/* Visit the processes that can be looked at. Return: how many, or -errno. */
int bl_stats_shm_each(void (*visit)(pid_t pid, void *arg), void *arg);

#endif
