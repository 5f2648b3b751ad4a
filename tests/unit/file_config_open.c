// SPDX-License-Identifier: MIT
/* Configurations in force: one after the other, beside readers, and in programs that run for somebody else. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file/config_load.h"
#include "file/tune.h"
#include "tap.h"
#include "temp_dir.h"

static char dir[] = "/tmp/barlane-config-XXXXXX";

static void open_with(const char *path)
{
	setenv("CUFILE_ENV_PATH_JSON", path, 1);
	check_eq(bl_config_open(), 0);
	bl_logfile_stop();
}

static char first_path[256], second_path[256];

static void two_configurations(void)
{
	snprintf(first_path, sizeof(first_path), "%s",
		 temp_file("first.json", "{\"properties\":{\"io_batchsize\":31,\"io_priority\":\"high\"},"
				    "\"denylist\":{\"mounts\":[\"/a\",\"/b\"]}}"));
	snprintf(second_path, sizeof(second_path), "%s",
		 temp_file("second.json", "{\"properties\":{\"io_batchsize\":32,\"io_priority\":\"low\"}}"));
}

/* A request that outlived the close of the driver still looks at what was in force when it began. */
static void an_open_leaves_what_was_in_force_as_it_was(void)
{
	static struct bl_file_config copy;
	const struct bl_file_config *old;

	two_configurations();
	open_with(first_path);
	old = bl_file_config();
	memcpy(&copy, old, sizeof(copy));
	open_with(second_path);
	check_eq(memcmp(old, &copy, sizeof(copy)), 0);
	check(bl_file_config() != old);
	check_eq(bl_file_config()->io_batchsize, 32);
	check_str(bl_file_config()->io_priority, "low");
	unsetenv("CUFILE_ENV_PATH_JSON");
}

static void opens_with_the_same_settings_take_no_more_memory(void)
{
	const struct bl_file_config *first, *second;

	two_configurations();
	open_with(first_path);
	first = bl_file_config();
	open_with(second_path);
	second = bl_file_config();
	for (int i = 0; i < 20; i++) {
		open_with(first_path);
		check(bl_file_config() == first);
		check_eq(first->max_direct_io_size_kb, 16384);
		check(!first->use_poll_mode);
		/* as calls of the API do while the driver is open; the next open takes it back */
		bl_config_in_force()->max_direct_io_size_kb = 64;
		bl_config_in_force()->use_poll_mode = true;
		open_with(second_path);
		check(bl_file_config() == second);
	}
	unsetenv("CUFILE_ENV_PATH_JSON");
}

static _Atomic(bool) over;

/* Return: NULL, or @arg: numbers of two configurations at once. */
static void *read_on(void *arg)
{
	while (!atomic_load(&over)) {
		const struct bl_file_config *now = bl_file_config();
		bool first = now->io_batchsize == 31;

		if (strcmp(now->io_priority, first ? "high" : "low") || now->deny[BL_DENY_MOUNTS].nr != (first ? 2 : 0))
			return arg;
	}
	return NULL;
}

static void readers_meet_one_configuration_at_a_time(void)
{
	pthread_t threads[2];
	void *bad;

	two_configurations();
	open_with(first_path);
	atomic_store(&over, false);
	for (int i = 0; i < 2; i++)
		check(!pthread_create(&threads[i], NULL, read_on, threads));
	for (int i = 0; i < 200; i++)
		open_with(i & 1 ? first_path : second_path);
	atomic_store(&over, true);
	for (int i = 0; i < 2; i++) {
		check(!pthread_join(threads[i], &bad));
		check(!bad);
	}
	unsetenv("CUFILE_ENV_PATH_JSON");
}

/* In a program with the set-user-id bit: 0, 1: a variable had an effect, 77: the file system has no such bit. */
static int look_in_secure_mode(void)
{
	if (!getauxval(AT_SECURE))
		return 77;
	if (bl_config_open())
		return 2;
	return bl_file_tune()->lanes == 7 || bl_file_config()->force_compat_mode || bl_file_config()->io_batchsize == 31;
}

static void copy_program(const char *path)
{
	char bytes[65536];
	int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_EXCL, 0700);
	ssize_t len;

	check(from >= 0 && to >= 0);
	while ((len = read(from, bytes, sizeof(bytes))) > 0)
		check(write(to, bytes, (size_t)len) == len);
	check_eq(len, 0);
	check(!fchown(to, 65534, 65534) && !fchmod(to, 04755) && !close(to) && !close(from));
}

static void variables_are_ignored_in_set_user_id_programs(void)
{
	char path[300];
	int status;
	pid_t pid;

	if (geteuid())
		skip("making a program of another user takes root");
	snprintf(path, sizeof(path), "%s/secure", dir);
	copy_program(path);
	check(!chmod(dir, 0755));
	pid = fork();
	if (!pid) {
		setenv("BARLANE_FILE_TUNE", "lanes=7", 1);
		setenv("CUFILE_FORCE_COMPAT_MODE", "1", 1);
		setenv("CUFILE_ENV_PATH_JSON", temp_file("e.json", "{\"properties\":{\"io_batchsize\":31}}"), 1);
		execl(path, path, "--secure", NULL);
		_exit(78);
	}
	check(waitpid(pid, &status, 0) == pid);
	unlink(path);
	check(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip("%s is mounted without set-user-id bits", dir);
	check_eq(WEXITSTATUS(status), 0);
}

static const struct tap_test tests[] = {
	{"an open leaves what was in force as it was", an_open_leaves_what_was_in_force_as_it_was},
	{"opens with the same settings take no more memory", opens_with_the_same_settings_take_no_more_memory},
	{"readers meet one configuration at a time", readers_meet_one_configuration_at_a_time},
	{"variables are ignored in set-user-id programs", variables_are_ignored_in_set_user_id_programs},
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--secure"))
		_exit(look_in_secure_mode()); /* a leak checker cannot look at such a process */
	if (temp_dir_make(dir))
		return 2;
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
