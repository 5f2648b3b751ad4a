// SPDX-License-Identifier: MIT
/*
 * Power that goes: from LAYER_STOP on, a device drops what is written to it. What fsync() had promised before is there when
 * the file system is mounted anew.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layer.h"
#include "tests/tap.h"

static const struct layer_way ways[] = { { "", "0", O_DIRECT, REGISTERED }, { "", "0", 0, REGISTERED },
					 { "plain", "1", 0, UNREGISTERED } };

static struct memory memory;

static CUfileHandle_t make(const char *folder, const char *name, unsigned int nr, int flags, int *fd_p)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s%u", folder, name, nr);
	*fd_p = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0666);
	check(*fd_p >= 0);
	return must_register(*fd_p);
}

/* Never comes back: when the power goes the process is at work, and is killed. */
static void work(unsigned int nr)
{
	static unsigned char bytes[LAYER_SIZE];
	const char *folder = layer_text("LAYER_FOLDER");
	CUfileHandle_t synced, other;
	int fd;

	world_enter();
	memory_make(&memory, ways[nr].kind, LAYER_SIZE);
	for (size_t i = 0; i < LAYER_SIZE; i++)
		bytes[i] = pattern_at(LAYER_SEED, i);
	memory_put(&memory, 0, bytes, LAYER_SIZE);
	synced = make(folder, "synced", nr, ways[nr].flags, &fd);
	check_eq(cuFileWrite(synced, memory.base, LAYER_SIZE, 0, 0), LAYER_SIZE);
	check_eq(cuFileWrite(synced, memory.base, 1000, LAYER_SIZE, 0), 1000);
	check_eq(fsync(fd), 0);
	layer_must(layer_text("LAYER_STOP"));
	other = make(folder, "lost", nr, ways[nr].flags, &fd);
	check_eq(cuFileWrite(other, memory.base, LAYER_SIZE, 0, 0), LAYER_SIZE);
	check_eq(fsync(fd), 0);
	check_eq(kill(getpid(), SIGKILL), 0);
}

static void lose_power(void)
{
	unsigned int nr = (unsigned int)layer_number("LAYER_NR");
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		setenv("BARLANE_FILE_PATH", ways[nr].path, 1);
		setenv("BARLANE_FILE_STRICT", ways[nr].strict, 1);
		if (!setjmp(tap_env))
			work(nr);
		fprintf(stderr, "%s\n", tap_text);
		_exit(9);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void promised(void)
{
	static unsigned char bytes[LAYER_SIZE + 1000];
	const char *folder = layer_text("LAYER_FOLDER"), *nr = layer_text("LAYER_NR");
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/synced%s", folder, nr);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0);
	check_eq(pread(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		check_eq(bytes[i], pattern_at(LAYER_SEED, i % LAYER_SIZE));
	close(fd);
	/* the power was really gone */
	snprintf(path, sizeof(path), "%s/lost%s", folder, nr);
	check_eq(access(path, F_OK), -1);
	check_eq(errno, ENOENT);
}

static const struct tap_test tests[] = {
	{ "a_process_is_at_work_when_power_goes", lose_power },
	{ "what_fsync_promised_is_there", promised },
};

TAP_MAIN(tests)
