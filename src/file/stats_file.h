/* SPDX-License-Identifier: MIT */
/* stats_file.h - where files of counters are, for who makes them and who looks */
#ifndef BL_FILE_STATS_FILE_H
#define BL_FILE_STATS_FILE_H

#include "stats_shm.h"

/* Directories in turn, from 0 on; NULL: no more. */
const char *bl_stats_dir(int nr);

/* Name of a process' file. Return: 0 or -ENAMETOOLONG. */
int bl_stats_name(const char *dir, pid_t pid, char *path, size_t size);

/* The process that a file with this name is of; 0: it is no such name. */
pid_t bl_stats_pid_of(const char *name);

/* When a process was started, in ticks since the machine was; with its number it is unique. Return: 0 or -errno. */
int bl_stats_started(pid_t pid, uint64_t *ticks_p);

#endif
