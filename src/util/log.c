// SPDX-License-Identifier: MIT
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reason.h"

static const char *const level_names[] = {
	[BL_LOG_OFF] = "off",	[BL_LOG_ERROR] = "error", [BL_LOG_WARN] = "warn",
	[BL_LOG_INFO] = "info", [BL_LOG_DEBUG] = "debug", [BL_LOG_TRACE] = "trace",
};

/* -1: BARLANE_LOG not read yet. Reading it twice at once gives the same answer twice. */
static atomic_int log_level = -1;

static _Atomic(bl_log_sink_fn) log_sink;

static _Thread_local int hushed __attribute__((tls_model("initial-exec")));

int bl_log_parse(const char *name, enum bl_log_level *level_p)
{
	for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
		if (!strcmp(name, level_names[i])) {
			*level_p = (enum bl_log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

void bl_log_set_level(enum bl_log_level level)
{
	atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

/* GDRCopy's own variables: being set shows messages, from the level on that the second names (4: errors). */
static int level_from_gdrcopy(void)
{
	static const enum bl_log_level levels[] = { BL_LOG_DEBUG, BL_LOG_DEBUG, BL_LOG_INFO, BL_LOG_WARN,
						    BL_LOG_ERROR };
	const char *value = getenv("GDRCOPY_LOG_LEVEL");
	int level = value ? atoi(value) : 4;

	if (!getenv("GDRCOPY_ENABLE_LOGGING") || level > 4)
		return BL_LOG_ERROR;
	return (int)levels[level < 0 ? 0 : level];
}

static int level_from_environment(void)
{
	const char *value = getenv("BARLANE_LOG");
	enum bl_log_level level = BL_LOG_ERROR;

	if (!value || !*value)
		return level_from_gdrcopy();
	if (bl_log_parse(value, &level))
		fprintf(stderr, "barlane: warn: BARLANE_LOG %s: not one of off error warn info debug trace\n", value);
	return (int)level;
}

int bl_log_enabled(enum bl_log_level level)
{
	int shown = atomic_load_explicit(&log_level, memory_order_relaxed);

	if (shown < 0) {
		shown = level_from_environment();
		atomic_store_explicit(&log_level, shown, memory_order_relaxed);
	}
	return (int)level <= shown;
}

bl_log_sink_fn bl_log_set_sink(bl_log_sink_fn sink)
{
	return atomic_exchange_explicit(&log_sink, sink, memory_order_acq_rel);
}

const char *bl_log_name(enum bl_log_level level)
{
	return level_names[level];
}

/* One write(2) per message, so that lines of threads and processes do not mix. */
void bl_log_stderr(enum bl_log_level level, const char *text)
{
	char line[1200];
	int len = snprintf(line, sizeof(line), "barlane: %s: %s\n", level_names[level], text);

	if (len <= 0)
		return;
	if ((size_t)len >= sizeof(line)) {
		len = sizeof(line) - 1;
		line[len - 1] = '\n';
	}
	if (write(STDERR_FILENO, line, (size_t)len) < 0)
		return; /* nowhere left to complain to */
}

static void emit(enum bl_log_level level, const char *text)
{
	bl_log_sink_fn sink = atomic_load_explicit(&log_sink, memory_order_acquire);

	if (sink)
		sink(level, text);
	else
		bl_log_stderr(level, text);
}

void bl_log(enum bl_log_level level, const char *fmt, ...)
{
	char text[1024];
	int saved = errno;
	va_list ap;

	if (bl_log_enabled(level)) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		emit(level, text);
	}
	errno = saved;
}

/* The text goes by the caller's stack: what is in it may quote the reason that it replaces. */
static void remember(int err, char *text, const char *fmt, va_list ap)
{
	vsnprintf(text, BL_REASON_SIZE, fmt, ap);
	bl_reason_set(err, text);
}

int bl_fail(int err, const char *fmt, ...)
{
	char text[BL_REASON_SIZE];
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	remember(err, text, fmt, ap);
	va_end(ap);
	if (!hushed && bl_log_enabled(BL_LOG_ERROR))
		emit(BL_LOG_ERROR, text);
	errno = saved;
	return -err;
}

void bl_fail_hush(int change)
{
	hushed += change;
}

int bl_fail_quiet(int err, const char *fmt, ...)
{
	char text[BL_REASON_SIZE];
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	remember(err, text, fmt, ap);
	va_end(ap);
	errno = saved;
	return -err;
}
