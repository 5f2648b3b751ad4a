// SPDX-License-Identifier: MIT
/* One file and one buffer for sixteen threads; ranges and handles that go while requests are under way. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "file_world.h"
#include "tests/tap.h"

#define THREADS 16
#define SHARE	(256UL << 10) /* of file and memory, for each thread */
#define ROUNDS	40

/**
 * struct crowd - what the threads share
 */
struct crowd {
	struct tested *tested;
	struct memory *memory;
	atomic_int failures;
	atomic_bool stop;
};

/**
 * struct one - a thread
 */
struct one {
	struct crowd *crowd;
	pthread_t thread;
	unsigned int nr;
};

static bool move(const struct one *one, unsigned char *bytes, unsigned long *state)
{
	size_t len = next_random(state) % (SHARE / 2) + 1, off = next_random(state) % (SHARE / 2);
	size_t base = one->nr * SHARE;
	CUdeviceptr va = (uintptr_t)one->crowd->memory->base + base + off;
	CUfileHandle_t handle = one->crowd->tested->handle;

	random_fill(bytes, len, state);
	if (world.cuda->cuMemcpyHtoD(va, bytes, len) ||
	    cuFileWrite(handle, one->crowd->memory->base, len, (off_t)(base + off), (off_t)(base + off)) != (ssize_t)len)
		return false;
	/* fills do not wait for themselves */
	if (world.cuda->cuMemsetD8(va, 0, len) || world.cuda->cuStreamSynchronize(NULL) ||
	    cuFileRead(handle, one->crowd->memory->base, len, (off_t)(base + off), (off_t)(base + off)) != (ssize_t)len)
		return false;
	if (world.cuda->cuMemcpyDtoH(bytes + SHARE, va, len))
		return false;
	return !memcmp(bytes, bytes + SHARE, len);
}

static void *own_part(void *arg)
{
	struct one *one = arg;
	unsigned char *bytes = malloc(2 * SHARE);
	unsigned long state = one->nr * 7919 + 13;

	world.cuda->cuCtxSetCurrent(world.context);
	for (int i = 0; i < ROUNDS && bytes; i++) {
		if (!move(one, bytes, &state))
			atomic_fetch_add(&one->crowd->failures, 1);
	}
	free(bytes);
	return NULL;
}

static void run_all(struct crowd *crowd, void *(*body)(void *arg), unsigned int nr, struct one *ones)
{
	for (unsigned int i = 0; i < nr; i++) {
		ones[i] = (struct one){ .crowd = crowd, .nr = i };
		check_eq(pthread_create(&ones[i].thread, NULL, body, &ones[i]), 0);
	}
}

static void join_all(struct one *ones, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		check_eq(pthread_join(ones[i].thread, NULL), 0);
}

/**
 * struct setting - a child
 */
struct setting {
	int flags;
	enum kind kind;
};

static void own_parts(const void *arg)
{
	const struct setting *setting = arg;
	struct memory memory;
	struct tested tested;
	struct crowd crowd = { &tested, &memory, 0, false };
	struct one ones[THREADS];

	world_enter();
	tested_make(&tested, "disk", O_RDWR | setting->flags);
	tested_fill(&tested, THREADS * SHARE, 1);
	memory_make(&memory, setting->kind, THREADS * SHARE);
	run_all(&crowd, own_part, THREADS, ones);
	join_all(ones, THREADS);
	check_eq(atomic_load(&crowd.failures), 0);
	memory_drop(&memory);
	tested_drop(&tested);
	world_check_rules();
}

static void threads(void)
{
	static const char *const env[] = { NULL };
	static const struct setting settings[] = {
		{ 0, REGISTERED }, { O_DIRECT, REGISTERED }, { 0, UNREGISTERED }, { O_DIRECT, MANAGED }
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		child_run(own_parts, &settings[i], env);
}

static bool allowed(ssize_t got, int err, size_t len)
{
	return got == (ssize_t)len || (got == -1 && (err == CU_FILE_HANDLE_NOT_REGISTERED));
}

static void *read_on(void *arg)
{
	struct one *one = arg;
	unsigned long state = one->nr + 1;

	world.cuda->cuCtxSetCurrent(world.context);
	while (!atomic_load(&one->crowd->stop)) {
		size_t len = next_random(&state) % SHARE + 1;
		ssize_t got = cuFileRead(one->crowd->tested->handle, one->crowd->memory->base, len, 0,
					 (off_t)(one->nr * SHARE));

		if (!allowed(got, errno, len))
			atomic_fetch_add(&one->crowd->failures, 1);
	}
	return NULL;
}

/* A range that is deregistered is memory all the same: every read succeeds, and at the end nothing is pinned. */
static void ranges_go(const void *arg)
{
	struct memory memory;
	struct tested tested;
	struct crowd crowd = { &tested, &memory, 0, false };
	struct snapshot before;
	struct one ones[8];

	world_enter();
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, SHARE, 1);
	memory_make(&memory, UNREGISTERED, 8 * SHARE);
	check_eq(cuFileBufRegister(memory.base, memory.size, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileBufDeregister(memory.base).err, CU_FILE_SUCCESS);
	snapshot_take(&before);
	run_all(&crowd, read_on, 8, ones);
	for (int i = 0; i < 200; i++) {
		check_eq(cuFileBufRegister(memory.base, memory.size, 0).err, CU_FILE_SUCCESS);
		check_eq(cuFileBufRegister((char *)memory.base + 4096, SHARE, 0).err, CU_FILE_SUCCESS);
		check_eq(cuFileBufDeregister(memory.base).err, CU_FILE_SUCCESS);
		check_eq(cuFileBufDeregister((char *)memory.base + 4096).err, CU_FILE_SUCCESS);
	}
	atomic_store(&crowd.stop, true);
	join_all(ones, 8);
	check_eq(atomic_load(&crowd.failures), 0);
	snapshot_check(&before);
	memory_drop(&memory);
	tested_drop(&tested);
	world_check_rules();
}

static void deregistered_ranges(void)
{
	static const char *const env[] = { "BARLANE_FILE_TUNE", "cpu_max=0", NULL };

	child_run(ranges_go, NULL, env);
}

static void *reopen(void *arg)
{
	struct one *one = arg;
	char bytes[256];

	for (int i = 0; i < 300; i++) {
		int fd = open(one->crowd->tested->path, O_RDONLY | O_CLOEXEC);
		CUfileHandle_t handle = must_register(fd);

		if (cuFileRead(handle, bytes, sizeof(bytes), 0, 0) != (ssize_t)sizeof(bytes) ||
		    (unsigned char)bytes[200] != pattern_at(1, 200))
			atomic_fetch_add(&one->crowd->failures, 1);
		cuFileHandleDeregister(handle);
		close(fd);
	}
	return NULL;
}

static void *read_stale(void *arg)
{
	struct one *one = arg;
	char bytes[256];

	while (!atomic_load(&one->crowd->stop)) {
		for (uintptr_t i = 1; i < 16; i++) {
			for (uintptr_t generation = 1; generation < 64; generation++) {
				ssize_t got = cuFileRead((CUfileHandle_t)(generation << 32 | i), bytes, 200, 50, 0);

				if (got != 200 && got != -1)
					atomic_fetch_add(&one->crowd->failures, 1);
			}
		}
	}
	return NULL;
}

/* Handles come and go; who guesses numbers gets a file or an error, and never one that is half closed. */
static void handles_go(const void *arg)
{
	struct tested tested;
	struct crowd crowd = { &tested, NULL, 0, false };
	struct one ones[8], stale;

	snprintf(tested.path, sizeof(tested.path), "./cufile-threads.XXXXXX");
	tested.plain = mkstemp(tested.path);
	check(tested.plain >= 0);
	tested_fill(&tested, 4096, 1);
	stale = (struct one){ .crowd = &crowd };
	check_eq(pthread_create(&stale.thread, NULL, read_stale, &stale), 0);
	run_all(&crowd, reopen, 8, ones);
	join_all(ones, 8);
	atomic_store(&crowd.stop, true);
	join_all(&stale, 1);
	unlink(tested.path);
	check_eq(atomic_load(&crowd.failures), 0);
}

static void deregistered_handles(void)
{
	static const char *const env[] = { NULL };

	child_run(handles_go, NULL, env);
}

static const struct tap_test tests[] = {
	{ "sixteen_threads_share_a_file_and_a_buffer", threads },
	{ "ranges_that_go_do_so_under_requests", deregistered_ranges },
	{ "handles_that_go_do_so_under_requests", deregistered_handles },
};

TAP_MAIN(tests)
