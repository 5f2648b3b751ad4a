// SPDX-License-Identifier: MIT
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_SIZE 1024
#define LINE_SIZE (TEXT_SIZE + 256)

static const char *const level_names[] = {
	"EMERG", "ALERT", "CRIT", "ERR", "WARNING", "NOTICE", "INFO", "DEBUG",
};

static _Thread_local int hushed;

/* -1: the environment was not read yet. Reading it twice at once gives the same answer twice. */
static atomic_int log_level = -1;

static enum bl_net_log_level level_of_barlane(const char *barlane)
{
	static const enum bl_net_log_level levels[] = {
		[BL_LOG_OFF] = BL_NET_LOG_EMERG,   [BL_LOG_ERROR] = BL_NET_LOG_ERR,   [BL_LOG_WARN] = BL_NET_LOG_WARNING,
		[BL_LOG_INFO] = BL_NET_LOG_INFO,   [BL_LOG_DEBUG] = BL_NET_LOG_DEBUG, [BL_LOG_TRACE] = BL_NET_LOG_DEBUG,
	};
	enum bl_log_level level = BL_LOG_ERROR;

	/* a word that is none is the core's to complain of */
	if (barlane && *barlane)
		bl_log_parse(barlane, &level);
	return levels[level];
}

int bl_net_log_parse(const char *doca, const char *barlane, enum bl_net_log_level *level_p)
{
	char *end;
	long value;

	*level_p = level_of_barlane(barlane);
	if (!doca || !*doca)
		return 0;
	errno = 0;
	value = strtol(doca, &end, 10);
	if (errno || *end || value < BL_NET_LOG_EMERG || value > BL_NET_LOG_DEBUG)
		return -EINVAL;
	*level_p = (enum bl_net_log_level)value;
	return 0;
}

size_t bl_net_log_line(char *line, size_t size, time_t now, enum bl_net_log_level level,
		       const struct bl_net_log_place *place, const char *text)
{
	char stamp[32] = "";
	int len;

	/* ctime_r() ends the stamp with a newline, in the middle of this line */
	if (ctime_r(&now, stamp))
		stamp[strcspn(stamp, "\n")] = '\0';
	len = snprintf(line, size, "%s [%s] [%s]: %d: %s(): %s\n", stamp, level_names[level], place->file, place->line,
		       place->func, text);
	if (len < 0)
		return 0;
	if ((size_t)len < size)
		return (size_t)len;
	line[size - 2] = '\n';
	return size - 1;
}

static void say(enum bl_net_log_level level, const struct bl_net_log_place *place, const char *text)
{
	char line[LINE_SIZE];
	size_t len = bl_net_log_line(line, sizeof(line), time(NULL), level, place, text);

	/* one write per message, so that lines of threads and processes do not mix */
	if (write(STDERR_FILENO, line, len) < 0)
		return; /* nowhere left to complain to */
}

static int level_from_environment(void)
{
	const char *doca = getenv("DOCA_GPUNETIO_LOG");
	enum bl_net_log_level level;
	char text[128];

	if (bl_net_log_parse(doca, getenv("BARLANE_LOG"), &level)) {
		snprintf(text, sizeof(text), "DOCA_GPUNETIO_LOG %.32s: not one of 0 ... 7", doca);
		say(BL_NET_LOG_WARNING, BL_NET_HERE, text);
	}
	return (int)level;
}

int bl_net_log_enabled(enum bl_net_log_level level)
{
	int shown = atomic_load_explicit(&log_level, memory_order_relaxed);

	if (shown < 0) {
		shown = level_from_environment();
		atomic_store_explicit(&log_level, shown, memory_order_relaxed);
	}
	return (int)level <= shown;
}

void bl_net_log_set_level(enum bl_net_log_level level)
{
	atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

void bl_net_log(enum bl_net_log_level level, const struct bl_net_log_place *place, const char *fmt, ...)
{
	char text[TEXT_SIZE];
	int saved = errno;
	va_list ap;

	if (bl_net_log_enabled(level)) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		say(level, place, text);
	}
	errno = saved;
}

int bl_net_fail(int err, const struct bl_net_log_place *place, const char *fmt, ...)
{
	char text[TEXT_SIZE];
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bl_fail_quiet(err, "%s", text);
	if (!hushed && bl_net_log_enabled(BL_NET_LOG_ERR))
		say(BL_NET_LOG_ERR, place, text);
	errno = saved;
	return -err;
}

#undef bl_fail_hush
void bl_net_fail_hush(int change)
{
	hushed += change;
	bl_fail_hush(change);
}
