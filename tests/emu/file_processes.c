// SPDX-License-Identifier: MIT
/* Processes that fork, are killed, exit, or close the library while requests are under way. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "file_world.h"
#include "tests/tap.h"

#define SIZE (8UL << 20)

static const char *const no_env[] = { NULL };

static struct tested tested;
static struct memory memory;

static void set_up(int flags)
{
	world_enter();
	tested_make(&tested, "disk", O_RDWR | flags);
	tested_fill(&tested, SIZE, 1);
	memory_make(&memory, REGISTERED, SIZE);
	check_eq(cuFileRead(tested.handle, memory.base, SIZE, 0, 0), SIZE);
}

static void *keep_moving(void *arg)
{
	size_t len = (size_t)(uintptr_t)arg;

	world.cuda->cuCtxSetCurrent(world.context);
	for (;;) {
		if (cuFileRead(tested.handle, memory.base, len, 0, 0) < 0 ||
		    cuFileWrite(tested.handle, memory.base, len, 0, 0) < 0)
			break;
	}
	return NULL;
}

static void start_moving(void)
{
	static const size_t lens[] = { 4096, 65536, 1UL << 20, SIZE };
	pthread_t thread;

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		check_eq(pthread_create(&thread, NULL, keep_moving, (void *)lens[i]), 0);
		pthread_detach(thread);
	}
	usleep(50000);
}

static void wait_for(pid_t pid, int *status_p)
{
	for (int i = 0; i < 2000; i++) {
		if (waitpid(pid, status_p, WNOHANG) == pid)
			return;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	tap_end(TAP_FAILED, "the process does not end");
}

/* What the file held, each write writes again: after any end it holds that. */
static void file_is_whole(void)
{
	unsigned char *bytes = malloc(SIZE);

	check(bytes);
	check_eq(lseek(tested.plain, 0, SEEK_END), SIZE);
	check_eq(pread(tested.plain, bytes, SIZE, 0), SIZE);
	check_eq(pattern_wrong(bytes, SIZE, 1, 0), 0);
	free(bytes);
}

static void end_in_motion(int flags, bool killed)
{
	char path[] = "./cufile-process.XXXXXX";
	int status = 0;
	pid_t pid;

	tested.plain = mkstemp(path);
	check(tested.plain >= 0);
	tested_fill(&tested, SIZE, 1);
	fflush(NULL);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		if (setjmp(tap_env))
			_exit(9);
		world_enter();
		tested.fd = open(path, O_RDWR | flags);
		tested.handle = must_register(tested.fd);
		memory_make(&memory, REGISTERED, SIZE);
		check_eq(cuFileRead(tested.handle, memory.base, SIZE, 0, 0), SIZE);
		start_moving();
		if (killed)
			raise(SIGKILL);
		exit(0);
	}
	wait_for(pid, &status);
	unlink(path);
	if (killed)
		check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	else
		check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	file_is_whole();
	close(tested.plain);
}

static void kill_9(const void *arg)
{
	end_in_motion(0, true);
	end_in_motion(O_DIRECT, true);
}

static void killed(void)
{
	child_run(kill_9, NULL, no_env);
}

static void exit_0(const void *arg)
{
	end_in_motion(0, false);
	end_in_motion(O_DIRECT, false);
}

static void exited(void)
{
	child_run(exit_0, NULL, no_env);
}

static int in_child(void)
{
	int fds = world_fds();

	/* the library's descriptors are closed, and the numbers may be used */
	if (cuFileRead(tested.handle, memory.base, 4096, 0, 0) != -CU_FILE_DRIVER_NOT_INITIALIZED)
		return 1;
	if (cuFileBufRegister(&fds, sizeof(fds), 0).err != CU_FILE_DRIVER_NOT_INITIALIZED)
		return 2;
	cuFileHandleDeregister(tested.handle);
	cuFileBufDeregister(memory.base);
	if (world_fds() != fds)
		return 3;
	return 0;
}

static void fork_in_motion(const void *arg)
{
	int status;
	pid_t pid;

	set_up(*(const int *)arg);
	start_moving();
	for (int i = 0; i < 10; i++) {
		pid = fork();
		check(pid >= 0);
		if (!pid)
			_exit(in_child());
		wait_for(pid, &status);
		check(WIFEXITED(status));
		check_eq(WEXITSTATUS(status), 0);
	}
	/* the parent is none the worse */
	check_eq(cuFileRead(tested.handle, memory.base, SIZE, 0, 0), SIZE);
	file_is_whole();
}

static void forked(void)
{
	static const int flags[] = { 0, O_DIRECT };

	child_run(fork_in_motion, &flags[0], no_env);
	child_run(fork_in_motion, &flags[1], no_env);
}

/* The library is closed with its threads asleep; its code stays, and it can be opened again. */
static void close_library(const void *arg)
{
	CUfileError_t (*open_driver)(void), (*close_driver)(void);
	void *lib;

	world_enter();
	for (int i = 0; i < 3; i++) {
		lib = dlopen("libcufile.so.0", RTLD_NOW);
		if (!lib)
			skip("%s", dlerror());
		*(void **)&open_driver = dlsym(lib, "cuFileDriverOpen");
		*(void **)&close_driver = dlsym(lib, "cuFileDriverClose_v2");
		check(open_driver && close_driver);
		check_eq(open_driver().err, CU_FILE_SUCCESS);
		set_up(0);
		check_eq(close_driver().err, CU_FILE_SUCCESS);
		check_eq(close_driver().err, CU_FILE_DRIVER_NOT_INITIALIZED);
		check_eq(dlclose(lib), 0);
	}
}

static void closed(void)
{
	child_run(close_library, NULL, no_env);
}

static const struct tap_test tests[] = {
	{ "a_killed_process_leaves_the_file_whole", killed },
	{ "a_process_exits_with_requests_under_way", exited },
	{ "a_forked_child_is_refused_and_does_no_harm", forked },
	{ "the_library_is_closed_and_opened_again", closed },
};

TAP_MAIN(tests)
