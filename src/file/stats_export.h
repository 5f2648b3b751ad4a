/* SPDX-License-Identifier: MIT */
/* stats_export.h - levels, start and stop, and where the counters lie */
#ifndef BL_FILE_STATS_EXPORT_H
#define BL_FILE_STATS_EXPORT_H

#include "cufile.h"
#include "stats_shm.h"

/*
 * The driver was opened, with a level of the configuration, which starts counting, until an open without one: 0; or it was
 * closed. Under its lock.
 */
void bl_stats_open(unsigned int level);
void bl_stats_close(void);

/* In a forked child: count apart from the parent; then, when it begins anew, from zero. */
void bl_stats_after_fork(void);
void bl_stats_forget(void);

/*
 * What the calls of the same names do. Return: 0 or -(CU_FILE_INVALID_VALUE). Takes the driver's lock; bl_stats_level()
 * does not.
 */
int bl_stats_set_level(int level);
int bl_stats_level(void);
int bl_stats_start(void);
int bl_stats_stop(void);
int bl_stats_reset(void);

/**
 * struct bl_stats_total - what was counted since the last reset
 * @sum:        counters
 * @last_batch: bytes of batch entries, by direction, that ended since entries were last submitted
 * @us:         microseconds of counting since then, at least 1
 */
struct bl_stats_total {
	struct bl_stats_block sum;
	uint64_t last_batch[2];
	uint64_t us;
};

void bl_stats_total(struct bl_stats_total *total);

/* Make the file of this process; NULL when that cannot be done, with a message. Remove it; forget that of a parent. */
struct bl_stats_shm *bl_stats_file_make(unsigned int level, uint64_t begun_ns);
void bl_stats_file_remove(void);
void bl_stats_file_forget(void);

/* Remove files that processes of this user and PID namespace left behind when they were killed. */
void bl_stats_files_sweep(void);

/* Inode of this process' PID namespace, 0: /proc does not tell. */
uint32_t bl_stats_pid_ns(void);

/* UUIDs of GPUs, asked of CUDA. Return: how many GPUs there are, 0 without CUDA. */
int bl_stats_uuids(uint8_t uuid[BL_STATS_GPUS][16]);

/* Turn counters into what the calls give. */
void bl_stats_fill1(const struct bl_stats_total *total, CUfileStatsLevel1_t *stats);
void bl_stats_fill2(const struct bl_stats_total *total, CUfileStatsLevel2_t *stats);
void bl_stats_fill3(const struct bl_stats_total *total, CUfileStatsLevel3_t *stats);

#endif
