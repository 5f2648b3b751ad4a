// SPDX-License-Identifier: MIT
/*
 * Where messages go when the configuration says so. A file is made with its first message and never in the current
 * folder unless it was named so. Writing takes no lock: a forked child may write too.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config_load.h"
#include "util/log.h"

/**
 * struct logfile - the file of messages
 * @path:    its name
 * @max:     bytes before it is put aside; -1: no limit
 * @fd:      -1: not opened yet. It keeps its number when the file is replaced.
 * @size:    bytes in it
 * @dev:     which file @fd should be: programs close descriptors that are not theirs
 * @ino:     see @dev
 * @refused: it cannot be opened, and that was said
 * @lock:    opening and replacing
 */
static struct {
	char path[4200];
	int64_t max;
	atomic_int fd;
	_Atomic(int64_t) size;
	_Atomic(uint64_t) dev;
	_Atomic(uint64_t) ino;
	_Atomic(bool) refused;
	pthread_mutex_t lock;
} logfile = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_ours(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_dev == logfile.dev && st.st_ino == logfile.ino;
}

/* Open the file, or open it anew in the place of @fd. */
static int open_file(int fd)
{
	int fresh = open(logfile.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
	struct stat st;

	if (fresh < 0)
		return -errno;
	if (fstat(fresh, &st)) {
		close(fresh);
		return -EIO;
	}
	if (fd >= 0) {
		int kept = dup3(fresh, fd, O_CLOEXEC) < 0 ? -errno : 0;

		close(fresh);
		if (kept)
			return kept;
		fresh = fd;
	}
	logfile.dev = st.st_dev;
	logfile.ino = st.st_ino;
	logfile.size = st.st_size;
	logfile.fd = fresh;
	return 0;
}

static bool is_full(size_t more)
{
	return logfile.max >= 0 && logfile.size > 0 && logfile.size + (int64_t)more > logfile.max;
}

/* One older file is kept. */
static void put_aside(int fd)
{
	char old[sizeof(logfile.path) + 2];

	snprintf(old, sizeof(old), "%s.1", logfile.path);
	/* where names cannot be changed, begin again in the same file */
	if ((rename(logfile.path, old) && errno != ENOENT) || open_file(fd))
		logfile.size = ftruncate(fd, 0) ? logfile.size : 0;
}

/* The descriptor to write to, -1 when there is none. */
static int ready(size_t more)
{
	int fd = logfile.fd, ret = 0;

	if (is_ours(fd) && !is_full(more))
		return fd;
	/* somebody else is at it, or was when this process was forked */
	if (pthread_mutex_trylock(&logfile.lock))
		return is_ours(fd) ? fd : -1;
	fd = logfile.fd;
	if (!is_ours(fd))
		ret = open_file(-1);
	else if (is_full(more))
		put_aside(fd);
	pthread_mutex_unlock(&logfile.lock);
	if (ret && !atomic_exchange(&logfile.refused, true)) {
		char text[sizeof(logfile.path) + 100];

		snprintf(text, sizeof(text), "file/log: %s: %s; messages go to stderr", logfile.path, strerror(-ret));
		bl_log_stderr(BL_LOG_ERROR, text);
	}
	return ret ? -1 : logfile.fd;
}

static void to_file(enum bl_log_level level, const char *text)
{
	int saved = errno, fd, len;
	struct timespec now;
	struct tm tm;
	char line[1300], when[32];

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	len = snprintf(line, sizeof(line), "%s.%06ld pid %d %s: %s\n", when, now.tv_nsec / 1000, (int)getpid(),
		       bl_log_name(level), text);
	if (len >= (int)sizeof(line)) {
		len = sizeof(line) - 1;
		line[len - 1] = '\n';
	}
	fd = ready((size_t)len);
	if (fd >= 0 && write(fd, line, (size_t)len) == len)
		logfile.size += len;
	else
		bl_log_stderr(level, text);
	errno = saved;
}

static void to_none(enum bl_log_level level, const char *text)
{
}

static void set_level(const char *name)
{
	static const struct {
		const char *name;
		enum bl_log_level level;
	} levels[] = {
		{"TRACE", BL_LOG_TRACE}, {"DEBUG", BL_LOG_DEBUG}, {"INFO", BL_LOG_INFO},
		{"NOTICE", BL_LOG_WARN}, {"WARN", BL_LOG_WARN},	  {"ERROR", BL_LOG_ERROR},
	};
	const char *own = getenv("BARLANE_LOG");

	if (own && *own)
		return;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (!strcmp(name, levels[i].name))
			bl_log_set_level(levels[i].level);
	}
}

void bl_logfile_start(const struct bl_file_config *config)
{
	time_t now = time(NULL);

	set_level(config->log_level);
	if (config->log_to == BL_LOG_TO_NONE) {
		bl_log_set_sink(to_none);
		return;
	}
	if (config->log_to == BL_LOG_TO_STDERR || !config->log_max_file_size_mb)
		return;
	if (config->log_to == BL_LOG_TO_FILE)
		snprintf(logfile.path, sizeof(logfile.path), "%s", config->log_file);
	else
		snprintf(logfile.path, sizeof(logfile.path), "%s/cufile_%d_%lld.log", config->log_dir, (int)getpid(),
			 (long long)now);
	logfile.max = config->log_max_file_size_mb < 0 ? -1 : config->log_max_file_size_mb << 20;
	logfile.refused = false;
	bl_log_set_sink(to_file);
}

/* Also when the library is unloaded: the sink is code of this library, and the log may be another's. */
void bl_logfile_stop(void)
{
	int fd;

	bl_log_set_sink(NULL);
	fd = atomic_exchange(&logfile.fd, -1);
	if (is_ours(fd))
		close(fd);
}
