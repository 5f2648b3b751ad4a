/* SPDX-License-Identifier: MIT */
/*
 * log.h - messages on stderr, and the reason of the last failure
 *
 * BARLANE_LOG = off | error | warn | info | debug | trace (default error). A file sets its prefix once, before the
 * include: #define log_fmt(fmt) "gpu/rm: " fmt
 */
#ifndef BL_UTIL_LOG_H
#define BL_UTIL_LOG_H

enum bl_log_level { BL_LOG_OFF, BL_LOG_ERROR, BL_LOG_WARN, BL_LOG_INFO, BL_LOG_DEBUG, BL_LOG_TRACE };

#ifndef log_fmt
#define log_fmt(fmt) fmt
#endif

/* What this project's other libraries get from the core, so that a process has one log and a thread one reason. */
#define BL_LOG_SHARED __attribute__((visibility("default")))

/**
 * bl_log_enabled() - Whether a level is shown
 * @level: the level asked about
 */
BL_LOG_SHARED int bl_log_enabled(enum bl_log_level level);

/**
 * bl_log_set_level() - Choose what is shown, instead of BARLANE_LOG
 * @level: the last level that is still shown
 */
BL_LOG_SHARED void bl_log_set_level(enum bl_log_level level);

/**
 * bl_log_parse() - Level of a name as in BARLANE_LOG
 * @name:    text of the variable
 * @level_p: receives the level
 *
 * Return: 0 or -EINVAL.
 */
BL_LOG_SHARED int bl_log_parse(const char *name, enum bl_log_level *level_p);

/**
 * bl_log_set_sink() - Send messages elsewhere than to stderr
 * @sink: called for each message that is shown, by any thread, with its text without a newline; keeps errno. NULL: stderr
 *
 * Return: the sink before, NULL for stderr.
 */
typedef void (*bl_log_sink_fn)(enum bl_log_level level, const char *text);
BL_LOG_SHARED bl_log_sink_fn bl_log_set_sink(bl_log_sink_fn sink);

/* A message on stderr, whatever the sink; for sinks. */
BL_LOG_SHARED void bl_log_stderr(enum bl_log_level level, const char *text);

/* "error", "warn" and so on; valid for ever. */
BL_LOG_SHARED const char *bl_log_name(enum bl_log_level level);

BL_LOG_SHARED void bl_log(enum bl_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_warn(fmt, ...)  bl_log(BL_LOG_WARN, log_fmt(fmt), ##__VA_ARGS__)
#define log_info(fmt, ...)  bl_log(BL_LOG_INFO, log_fmt(fmt), ##__VA_ARGS__)
#define log_debug(fmt, ...) bl_log(BL_LOG_DEBUG, log_fmt(fmt), ##__VA_ARGS__)
#define log_trace(fmt, ...) bl_log(BL_LOG_TRACE, log_fmt(fmt), ##__VA_ARGS__)

/**
 * bl_fail() - Decide on an error: remember and log why
 * @err: positive errno value
 * @fmt: what failed, on what, and why; no trailing newline
 *
 * The function that decides which error it is calls this; those that pass it on stay quiet. Preserves errno.
 * Return: -@err.
 */
BL_LOG_SHARED int bl_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As bl_fail(), without the log line: for outcomes that a caller may handle, such as a provider that cannot serve. */
BL_LOG_SHARED int bl_fail_quiet(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * bl_fail_hush() - Keep this thread's failures from being logged, for attempts that may well fail
 * @change: +1 before, -1 afterwards
 */
BL_LOG_SHARED void bl_fail_hush(int change);

#define fail(err, fmt, ...)	  bl_fail(err, log_fmt(fmt), ##__VA_ARGS__)
#define fail_quiet(err, fmt, ...) bl_fail_quiet(err, log_fmt(fmt), ##__VA_ARGS__)

#endif
