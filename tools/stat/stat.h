/* SPDX-License-Identifier: MIT */
/* stat.h - the counters of a process that uses libcufile, at a moment and between two */
#ifndef TOOLS_STAT_STAT_H
#define TOOLS_STAT_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "file/stats_shm.h"

/**
 * struct stat_sample - counters at a moment
 * @sum:   all blocks
 * @level: what is counted, 0 to 3
 * @ns:    since counting began
 */
struct stat_sample {
	struct bl_stats_block sum;
	unsigned int level;
	uint64_t ns;
};

/* Take one. */
void stat_take(const struct bl_stats_shm *shm, struct stat_sample *sample);

/* What happened between two: @later becomes the difference. */
void stat_since(struct stat_sample *later, const struct stat_sample *earlier);

/**
 * struct stat_flow - requests of a direction
 * @per_s:  bytes per second
 * @us:     mean time of a request; 0: there was none
 */
struct stat_flow {
	uint64_t calls;
	uint64_t bytes;
	uint64_t errors;
	double per_s;
	double us;
};

/* Requests of a path, or with BL_PATH_NR of all; single ones or entries of batches. */
struct stat_flow stat_flow(const struct stat_sample *sample, bool batch, enum bl_path path, bool write);

/* Look at a process; ends the program with the reason when that cannot be done. */
const struct bl_stats_shm *stat_open(pid_t pid);

/* Number of a process on the command line; ends the program when it is none. */
pid_t stat_pid(const char *text);

/* Seconds on the command line, from 0 on; ends the program when they are none. */
double stat_seconds(const char *option, const char *text);

/* Wait; ends early when a signal comes. */
void stat_wait(double seconds);

/* "barlane stat"; returns the exit status. */
int stat_main(int argc, char **argv);

#endif
