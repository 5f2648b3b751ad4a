// SPDX-License-Identifier: MIT
/* Where messages go when cuFile's configuration says so. */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "file/config_load.h"
#include "tap.h"
#include "temp_dir.h"
#define log_fmt(fmt) "test: " fmt
#include "util/log.h"

static char dir[] = "/tmp/barlane-log-XXXXXX";

/* Writing takes its time, so that others come by meanwhile. */
static atomic_uint write_us;
static atomic_uint writing;

ssize_t __real_write(int fd, const void *buf, size_t len);
ssize_t __wrap_write(int fd, const void *buf, size_t len);

ssize_t __wrap_write(int fd, const void *buf, size_t len)
{
	unsigned int us = atomic_load(&write_us);

	if (us) {
		atomic_store(&writing, 1);
		usleep(us);
	}
	return __real_write(fd, buf, len);
}
static struct bl_file_config config;
static char text[1 << 16];

static const char *slurp(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	close(fd);
	text[len < 0 ? 0 : len] = '\0';
	return text;
}

static void start(enum bl_log_to to, const char *level)
{
	bl_logfile_stop();
	unsetenv("BARLANE_LOG");
	config = bl_config_defaults;
	config.log_to = to;
	snprintf(config.log_level, sizeof(config.log_level), "%s", level);
	snprintf(config.log_dir, sizeof(config.log_dir), "%s", dir);
	snprintf(config.log_file, sizeof(config.log_file), "%s/named.log", dir);
	bl_log_set_level(BL_LOG_ERROR);
	bl_logfile_start(&config);
}

static size_t count(const char *pattern)
{
	char path[300];
	glob_t found;
	size_t nr;

	snprintf(path, sizeof(path), "%s/%s", dir, pattern);
	if (glob(path, 0, NULL, &found))
		return 0;
	nr = found.gl_pathc;
	globfree(&found);
	return nr;
}

static void levels_are_cufiles(void)
{
	static const struct {
		const char *name;
		enum bl_log_level last;
	} levels[] = {{"ERROR", BL_LOG_ERROR}, {"WARN", BL_LOG_WARN},	{"NOTICE", BL_LOG_WARN},
		      {"INFO", BL_LOG_INFO},   {"DEBUG", BL_LOG_DEBUG}, {"TRACE", BL_LOG_TRACE}};

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		start(BL_LOG_TO_STDERR, levels[i].name);
		check(bl_log_enabled(levels[i].last));
		check(levels[i].last == BL_LOG_TRACE || !bl_log_enabled(levels[i].last + 1));
	}
	start(BL_LOG_TO_STDERR, "");
	check(!bl_log_enabled(BL_LOG_WARN));
}

static void our_own_variable_comes_first(void)
{
	start(BL_LOG_TO_STDERR, "");
	setenv("BARLANE_LOG", "error", 1);
	strcpy(config.log_level, "TRACE");
	bl_logfile_start(&config);
	check(!bl_log_enabled(BL_LOG_WARN));
	unsetenv("BARLANE_LOG");
}

static void a_file_is_made_with_the_first_message(void)
{
	start(BL_LOG_TO_DIR, "WARN");
	check_eq(count("cufile_*.log"), 0);
	log_info("not shown");
	check_eq(count("cufile_*.log"), 0);
	log_warn("shown %d", 5);
	check_eq(count("cufile_*.log"), 1);
	bl_logfile_stop();
}

static void a_line_says_when_and_who_and_what(void)
{
	char wanted[64];

	start(BL_LOG_TO_FILE, "WARN");
	errno = ENOSPC;
	log_warn("a message");
	check_eq(errno, ENOSPC);
	snprintf(wanted, sizeof(wanted), " pid %d warn: test: a message\n", (int)getpid());
	check_has(slurp(config.log_file), wanted);
	check_eq(text[4], '-');
	check_eq(unlink(config.log_file), 0);
}

static void an_empty_path_means_silence(void)
{
	char path[300];
	int keep = dup(2), fd;

	snprintf(path, sizeof(path), "%s/stderr", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	check(fd >= 0 && dup2(fd, 2) == 2);
	start(BL_LOG_TO_NONE, "TRACE");
	log_warn("nobody hears this");
	bl_logfile_stop();
	bl_log_set_level(BL_LOG_WARN);
	log_warn("but this");
	dup2(keep, 2);
	check_str(slurp(path), "barlane: warn: test: but this\n");
	close(fd);
	close(keep);
}

static void a_file_has_a_limit_and_one_before_it_is_kept(void)
{
	char old[5000], line[900];
	struct stat st;

	start(BL_LOG_TO_FILE, "WARN");
	config.log_max_file_size_mb = 1;
	bl_logfile_start(&config);
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	for (int i = 0; i < 3000; i++)
		log_warn("%d %s", i, line);
	snprintf(old, sizeof(old), "%s.1", config.log_file);
	check(!stat(config.log_file, &st));
	check(st.st_size > 0 && st.st_size <= 1 << 20);
	check(!stat(old, &st));
	check(st.st_size > 1 << 19 && st.st_size <= 1 << 20);
	check_has(slurp(old), "xxx");
	bl_logfile_stop();
	check(!unlink(old) && !unlink(config.log_file));
}

static void no_limit_means_none(void)
{
	char line[900];
	struct stat st;

	start(BL_LOG_TO_FILE, "WARN");
	config.log_max_file_size_mb = -1;
	bl_logfile_start(&config);
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	for (int i = 0; i < 2000; i++)
		log_warn("%d %s", i, line);
	check(!stat(config.log_file, &st));
	check(st.st_size > 1800000);
	bl_logfile_stop();
	check(!unlink(config.log_file));
}

/* A daemon closes all descriptors, and opens others in their place: a message must not end up in one of those. */
static void a_descriptor_that_was_closed_is_not_written_to(void)
{
	char path[300];
	int fds[64];

	start(BL_LOG_TO_FILE, "WARN");
	log_warn("one");
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	snprintf(path, sizeof(path), "%s/others", dir);
	for (int i = 0; i < 32; i++)
		fds[i] = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
	log_warn("two");
	check_str(slurp(path), "");
	check_has(slurp(config.log_file), "two");
	for (int i = 0; i < 32; i++)
		close(fds[i]);
	bl_logfile_stop();
	check(!unlink(config.log_file));
}

static void what_cannot_be_written_goes_to_stderr(void)
{
	char path[300];
	int keep = dup(2), fd;

	snprintf(path, sizeof(path), "%s/stderr", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	check(fd >= 0 && dup2(fd, 2) == 2);
	start(BL_LOG_TO_FILE, "WARN");
	snprintf(config.log_file, sizeof(config.log_file), "%s/none/x.log", dir);
	bl_logfile_start(&config);
	log_warn("one");
	log_warn("two");
	dup2(keep, 2);
	slurp(path);
	check_has(text, "none/x.log: No such file or directory; messages go to stderr\n");
	check_has(text, "warn: test: one\n");
	check_has(text, "warn: test: two\n");
	check_eq(!!strstr(strstr(text, "messages go") + 1, "messages go"), 0);
	bl_logfile_stop();
	close(fd);
	close(keep);
}

static void a_child_writes_to_the_same_file(void)
{
	char wanted[64];
	int status;
	pid_t pid;

	start(BL_LOG_TO_FILE, "WARN");
	log_warn("parent");
	pid = fork();
	if (!pid) {
		log_warn("child");
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && !status);
	snprintf(wanted, sizeof(wanted), " pid %d warn: test: child\n", (int)pid);
	check_has(slurp(config.log_file), wanted);
	bl_logfile_stop();
	check(!unlink(config.log_file));
}

static void the_level_goes_with_the_driver(void)
{
	start(BL_LOG_TO_STDERR, "TRACE");
	check(bl_log_enabled(BL_LOG_TRACE));
	bl_logfile_stop();
	check(bl_log_enabled(BL_LOG_ERROR) && !bl_log_enabled(BL_LOG_WARN));
	/* an open that says nothing of it has the level that there was */
	*config.log_level = '\0';
	bl_logfile_start(&config);
	check(!bl_log_enabled(BL_LOG_WARN));
	bl_logfile_stop();
	check(!bl_log_enabled(BL_LOG_WARN));
}

static void the_time_is_local_time(void)
{
	struct tm tm = {0};
	time_t before, after, said;

	setenv("TZ", "XXX-5:30", 1);
	tzset();
	start(BL_LOG_TO_FILE, "WARN");
	before = time(NULL);
	log_warn("now");
	after = time(NULL);
	check(strptime(slurp(config.log_file), "%Y-%m-%d %H:%M:%S", &tm));
	said = timegm(&tm) - 19800;
	check(said >= before && said <= after);
	bl_logfile_stop();
	unsetenv("TZ");
	tzset();
	check(!unlink(config.log_file));
}

static void *say_one(void *arg)
{
	log_warn("slowly");
	return arg;
}

/* Have a thread be at a line for some time, and not before it is there. */
static pthread_t begin_line(unsigned int us)
{
	pthread_t thread;

	atomic_store(&writing, 0);
	atomic_store(&write_us, us);
	check(!pthread_create(&thread, NULL, say_one, NULL));
	for (int ms = 0; ms < 10000 && !atomic_load(&writing); ms++)
		usleep(1000);
	check(atomic_load(&writing));
	atomic_store(&write_us, 0);
	return thread;
}

/* The driver is closed while a thread is about to write: its line must not end up in a file that is opened next. */
static void a_line_under_way_is_waited_for(void)
{
	char path[300];
	pthread_t thread;
	int fd;

	start(BL_LOG_TO_FILE, "WARN");
	log_warn("first");
	thread = begin_line(100000);
	bl_logfile_stop();
	snprintf(path, sizeof(path), "%s/next", dir);
	fd = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
	check(fd >= 0);
	check(!pthread_join(thread, NULL));
	check_str(slurp(path), "");
	check_has(slurp(config.log_file), "slowly");
	check(!close(fd) && !unlink(path) && !unlink(config.log_file));
}

/* ... and for a second at most. */
static void a_line_that_does_not_end_is_left_alone(void)
{
	pthread_t thread;
	time_t begin;

	start(BL_LOG_TO_FILE, "WARN");
	log_warn("first");
	thread = begin_line(4000000);
	begin = time(NULL);
	bl_logfile_stop();
	check(time(NULL) - begin <= 3);
	check(!pthread_join(thread, NULL));
	check_has(slurp(config.log_file), "slowly");
	/* what it kept is given back with the next open */
	bl_logfile_start(&config);
	bl_logfile_stop();
	check(!unlink(config.log_file));
}

static atomic_bool over;

static void *ask_the_time(void *arg)
{
	time_t now = time(NULL);
	struct tm tm;

	while (!atomic_load(&over))
		localtime_r(&now, &tm);
	return arg;
}

static void a_child_needs_no_lock_of_the_c_library(void)
{
	int status = 0, bad = 0;
	pthread_t thread;

	start(BL_LOG_TO_FILE, "WARN");
	atomic_store(&over, false);
	check(!pthread_create(&thread, NULL, ask_the_time, NULL));
	for (int i = 0; i < 20 && !bad; i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(20);
			log_warn("child");
			_exit(0);
		}
		bad = waitpid(pid, &status, 0) != pid || status;
	}
	atomic_store(&over, true);
	check(!pthread_join(thread, NULL));
	check(!bad);
	bl_logfile_stop();
	check(!unlink(config.log_file));
}

static const struct tap_test tests[] = {
	{"levels are cuFile's", levels_are_cufiles},
	{"our own variable comes first", our_own_variable_comes_first},
	{"a file is made with the first message", a_file_is_made_with_the_first_message},
	{"a line says when and who and what", a_line_says_when_and_who_and_what},
	{"an empty path means silence", an_empty_path_means_silence},
	{"a file has a limit, and one before it is kept", a_file_has_a_limit_and_one_before_it_is_kept},
	{"no limit means none", no_limit_means_none},
	{"a descriptor that was closed is not written to", a_descriptor_that_was_closed_is_not_written_to},
	{"what cannot be written goes to stderr", what_cannot_be_written_goes_to_stderr},
	{"a child writes to the same file", a_child_writes_to_the_same_file},
	{"the level goes with the driver", the_level_goes_with_the_driver},
	{"the time is local time", the_time_is_local_time},
	{"a line under way is waited for", a_line_under_way_is_waited_for},
	{"a line that does not end is left alone", a_line_that_does_not_end_is_left_alone},
	{"a child needs no lock of the C library", a_child_needs_no_lock_of_the_c_library},
};

int main(int argc, char **argv)
{
	if (temp_dir_make(dir))
		return 2;
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
