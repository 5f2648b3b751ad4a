/* SPDX-License-Identifier: MIT */
/*
 * log.h - messages of the network lane, in the original's form on stderr
 *
 *	Mon Nov 30 04:00:00 2026 [ERR] [gpu.c]: 80: doca_gpu_create(): gpu 0000:01:00.0: no such GPU
 *
 * The words are those of util/log.h, which this replaces: fail() decides on an error, sets the reason of
 * bl_last_error(), and logs at ERR. DOCA_GPUNETIO_LOG = 0 ... 7 shows levels up to the one it names, as syslog numbers
 * them; without it BARLANE_LOG says what is shown, and without that errors are.
 */
#ifndef BL_NET_LOG_H
#define BL_NET_LOG_H

#include <stddef.h>
#include <time.h>

#include "util/log.h"

enum bl_net_log_level {
	BL_NET_LOG_EMERG,
	BL_NET_LOG_ALERT,
	BL_NET_LOG_CRIT,
	BL_NET_LOG_ERR,
	BL_NET_LOG_WARNING,
	BL_NET_LOG_NOTICE,
	BL_NET_LOG_INFO,
	BL_NET_LOG_DEBUG,
};

/**
 * struct bl_net_log_place - where a message comes from
 * @file: name without folders
 * @line: line
 * @func: function
 */
struct bl_net_log_place {
	const char *file;
	int line;
	const char *func;
};

/**
 * bl_net_log_parse() - Level that the environment asks for
 * @doca:    DOCA_GPUNETIO_LOG, or NULL
 * @barlane: BARLANE_LOG, or NULL; looked at when @doca is not set or makes no sense
 * @level_p: receives the last level that is shown
 *
 * Return: 0, or -EINVAL when @doca makes no sense; @level_p is set all the same.
 */
int bl_net_log_parse(const char *doca, const char *barlane, enum bl_net_log_level *level_p);

/**
 * bl_net_log_line() - Compose a line, newline included
 * @line:  receives it, cut where it does not fit
 * @size:  bytes of @line, at least 2
 * @now:   time of the message
 * @level: its level
 * @place: where it comes from
 * @text:  what it says
 *
 * Return: bytes of the line, without the terminating one.
 */
size_t bl_net_log_line(char *line, size_t size, time_t now, enum bl_net_log_level level,
		       const struct bl_net_log_place *place, const char *text);

int bl_net_log_enabled(enum bl_net_log_level level);

/* Show up to a level, instead of what the environment says. */
void bl_net_log_set_level(enum bl_net_log_level level);

void bl_net_log(enum bl_net_log_level level, const struct bl_net_log_place *place, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Return: -@err; errno is kept. */
int bl_net_fail(int err, const struct bl_net_log_place *place, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* bl_fail_hush() of both logs. */
void bl_net_fail_hush(int change);

#define BL_NET_HERE (&(const struct bl_net_log_place){ __FILE_NAME__, __LINE__, __func__ })

#define bl_fail_hush(change) bl_net_fail_hush(change)
#undef fail
#undef log_warn
#undef log_info
#undef log_debug
#undef log_trace
#define fail(err, fmt, ...)  bl_net_fail(err, BL_NET_HERE, log_fmt(fmt), ##__VA_ARGS__)
#define log_warn(fmt, ...)   bl_net_log(BL_NET_LOG_WARNING, BL_NET_HERE, log_fmt(fmt), ##__VA_ARGS__)
#define log_info(fmt, ...)   bl_net_log(BL_NET_LOG_INFO, BL_NET_HERE, log_fmt(fmt), ##__VA_ARGS__)
#define log_debug(fmt, ...)  bl_net_log(BL_NET_LOG_DEBUG, BL_NET_HERE, log_fmt(fmt), ##__VA_ARGS__)

#endif
