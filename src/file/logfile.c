// SPDX-License-Identifier: MIT
/*
 * Where messages go when the configuration says so. A file is made with its first message and never in the current
 * folder unless it was named so. Writing waits for no lock: a forked child may write too, whatever the threads of its
 * parent were at.
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
#include "util/clock.h"
#include "util/log.h"

/* How long a start or a stop waits for messages that are being written. */
#define WRITERS_NS 1000000000ULL

#define DAY_S 86400

/**
 * struct logfile - the file of messages
 * @path:    its name
 * @max:     bytes before it is put aside; -1: no limit
 * @utc_off: seconds by which local time is ahead of UTC, as it was when the driver was opened: to ask takes a lock of
 *           libc's, which in a forked child may be held for ever
 * @active:  between start and stop
 * @fd:      -1: not opened yet. It keeps its number when the file is replaced.
 * @size:    bytes in it
 * @dev:     which file @fd should be: programs close descriptors that are not theirs
 * @ino:     see @dev
 * @refused: it cannot be opened, and that was said
 * @lock:    opening and replacing
 * @use:     held for reading while a message is written, for writing while all of this changes
 */
static struct {
	char path[4200];
	int64_t max;
	long utc_off;
	bool active;
	atomic_int fd;
	_Atomic(int64_t) size;
	_Atomic(uint64_t) dev;
	_Atomic(uint64_t) ino;
	_Atomic(bool) refused;
	pthread_mutex_t lock;
	pthread_rwlock_t use;
} logfile = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .use = PTHREAD_RWLOCK_INITIALIZER};

/* The level before a configuration changed it; -1: none has. Guarded by the driver's lock. */
static int level_before = -1;

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

static int days_of_year(int year)
{
	return (year % 4 == 0 && year % 100) || year % 400 == 0 ? 366 : 365;
}

/* "YYYY-MM-DD HH:MM:SS" of seconds since 1970. What libc has for it takes a lock. */
static void write_time(int64_t at, char *text, size_t size)
{
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int second = (int)(at < 0 ? 0 : at % DAY_S), year = 1970, month = 0;
	int64_t day = at < 0 ? 0 : at / DAY_S;

	for (; day >= days_of_year(year); year++)
		day -= days_of_year(year);
	for (; month < 11; month++) {
		int length = lengths[month] + (month == 1 && days_of_year(year) == 366);

		if (day < length)
			break;
		day -= length;
	}
	snprintf(text, size, "%04d-%02d-%02d %02d:%02d:%02d", year, month + 1, (int)day + 1, second / 3600,
		 second / 60 % 60, second % 60);
}

static bool append(enum bl_log_level level, const char *text)
{
	char line[1300], when[64];
	struct timespec now;
	int fd, len;

	clock_gettime(CLOCK_REALTIME, &now);
	write_time(now.tv_sec + logfile.utc_off, when, sizeof(when));
	len = snprintf(line, sizeof(line), "%s.%06ld pid %d %s: %s\n", when, now.tv_nsec / 1000, (int)getpid(),
		       bl_log_name(level), text);
	if (len >= (int)sizeof(line)) {
		len = sizeof(line) - 1;
		line[len - 1] = '\n';
	}
	fd = ready((size_t)len);
	if (fd < 0 || write(fd, line, (size_t)len) != len)
		return false;
	logfile.size += len;
	return true;
}

/* A message of a thread that was on its way here when the driver was closed goes to stderr, as those behind it. */
static void to_file(enum bl_log_level level, const char *text)
{
	int saved = errno;
	bool done = false;

	if (!pthread_rwlock_tryrdlock(&logfile.use)) {
		done = logfile.active && append(level, text);
		pthread_rwlock_unlock(&logfile.use);
	}
	if (!done)
		bl_log_stderr(level, text);
	errno = saved;
}

static void to_none(enum bl_log_level level, const char *text)
{
}

static int shown_level(void)
{
	int level = BL_LOG_TRACE;

	while (level > BL_LOG_OFF && !bl_log_enabled((enum bl_log_level)level))
		level--;
	return level;
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
		if (strcmp(name, levels[i].name))
			continue;
		if (level_before < 0)
			level_before = shown_level();
		bl_log_set_level(levels[i].level);
	}
}

/* Nobody writes from here on, but who was at it for longer than that: then false. */
static bool keep_writers_out(void)
{
	static const struct timespec nap = {.tv_nsec = 1000000};
	uint64_t end = bl_now_ns() + WRITERS_NS;

	while (pthread_rwlock_trywrlock(&logfile.use)) {
		if (bl_now_ns() > end)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}

/* With writers kept out. */
static void close_file(void)
{
	int fd = atomic_exchange(&logfile.fd, -1);

	if (is_ours(fd))
		close(fd);
}

static void name_file(const struct bl_file_config *config)
{
	time_t now = time(NULL);
	struct tm tm = {0};

	localtime_r(&now, &tm);
	logfile.utc_off = tm.tm_gmtoff;
	if (config->log_to == BL_LOG_TO_FILE)
		snprintf(logfile.path, sizeof(logfile.path), "%s", config->log_file);
	else
		snprintf(logfile.path, sizeof(logfile.path), "%s/cufile_%d_%lld.log", config->log_dir, (int)getpid(),
			 (long long)now);
}

void bl_logfile_start(const struct bl_file_config *config)
{
	set_level(config->log_level);
	if (config->log_to == BL_LOG_TO_NONE) {
		bl_log_set_sink(to_none);
		return;
	}
	if (config->log_to == BL_LOG_TO_STDERR || !config->log_max_file_size_mb)
		return;
	if (!keep_writers_out()) {
		log_warn("file/log: %s is still being written to; messages go to stderr", logfile.path);
		return;
	}
	close_file();
	name_file(config);
	logfile.max = config->log_max_file_size_mb < 0 ? -1 : config->log_max_file_size_mb << 20;
	logfile.refused = false;
	logfile.active = true;
	pthread_rwlock_unlock(&logfile.use);
	bl_log_set_sink(to_file);
}

/* Also when the library is unloaded: the sink is code of this library, and the log may be another's. */
void bl_logfile_stop(void)
{
	bl_log_set_sink(NULL);
	if (level_before >= 0)
		bl_log_set_level((enum bl_log_level)level_before);
	level_before = -1;
	/* a writer that does not come back, as on a file system that hangs, keeps its descriptor */
	if (!keep_writers_out())
		return;
	logfile.active = false;
	close_file();
	pthread_rwlock_unlock(&logfile.use);
}

void bl_logfile_after_fork(void)
{
	pthread_mutex_init(&logfile.lock, NULL);
	pthread_rwlock_init(&logfile.use, NULL);
}
