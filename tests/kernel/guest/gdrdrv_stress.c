// SPDX-License-Identifier: MIT
/*
 * Eight threads pin, map, write, read, unmap, unpin, free and fork for LAB_STRESS seconds, or a few. Unlike with random
 * requests, each result is known and checked: bytes come back, memory that was freed is SIGBUS without persistence and
 * stays with it. Memory is freed by its thread, by another one that got it handed, or by nobody.
 */
#include "gdrdrv_gpu.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NR_THREADS 8
#define NR_HANDED  4
#define ROUNDS_MIN 5 /* of a thread, however slow the guest: one of each kind */

static unsigned int seconds = 2;
static bool persistent;
static int gpu, shared_drv;
static atomic_ulong nr_rounds, nr_frees, nr_signals, nr_forks;
/* memory on its way to another thread that frees it; NULL where there is none */
static _Atomic(struct gpu_mem *) handed[NR_HANDED];

/* What a thread found wrong: the line, 0 for nothing. Threads may not end a test themselves. */
static atomic_int wrong;

#define expect(cond)                                        \
	do {                                                \
		if (!(cond)) {                              \
			int none = 0;                       \
			atomic_compare_exchange_strong(&wrong, &none, __LINE__); \
			return;                             \
		}                                           \
	} while (0)

static _Thread_local sigjmp_buf touch_env;

static void touched_nothing(int sig)
{
	(void)sig;
	siglongjmp(touch_env, 1);
}

/* Out of line: nothing that it keeps in registers matters when a signal ends it. */
__attribute__((noinline)) static int write_and_read(volatile uint32_t *addr, size_t len, uint32_t number)
{
	for (size_t i = 0; i < len / 4; i += 1024)
		addr[i] = number + (uint32_t)i;
	for (size_t i = 0; i < len / 4; i += 1024) {
		if (addr[i] != number + (uint32_t)i)
			return 2;
	}
	return 0;
}

/* Writes the number to each page and reads it back: 0, 1 for SIGBUS, 2 for another number. */
static int touch(volatile uint32_t *addr, size_t len, uint32_t number)
{
	if (sigsetjmp(touch_env, 1)) {
		atomic_fetch_add(&nr_signals, 1);
		return 1;
	}
	return write_and_read(addr, len, number);
}

static int free_mem(const struct gpu_mem *mem)
{
	struct bl_card_free arg = { .handle = mem->handle };

	atomic_fetch_add(&nr_frees, 1);
	return try_request(gpu, BL_CARD_IOC_FREE, &arg);
}

/* Leave memory for others to free, and free what is left there. */
static int hand_over(const struct gpu_mem *mem, unsigned int slot)
{
	struct gpu_mem *mine = malloc(sizeof(*mine)), *other;
	int ret = 0;

	if (!mine)
		return -ENOMEM;
	*mine = *mem;
	other = atomic_exchange(&handed[slot % NR_HANDED], mine);
	if (other)
		ret = free_mem(other);
	free(other);
	return ret;
}

static int fork_once(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct gdrdrv_get_version version;

		_exit(try_request(shared_drv, GDRDRV_IOC_GET_VERSION, &version) == -EACCES ? 0 : 1);
	}
	atomic_fetch_add(&nr_forks, 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status ? 0 : -1;
}

/* The memory is gone, at once or soon, without persistence; with it it stays. */
static void expect_after_free(int drv, uint64_t handle, volatile uint32_t *addr, size_t len, unsigned int n)
{
	int touched = touch(addr, len, n);

	if (persistent)
		expect(!touched && !try_cb_flag(drv, handle));
	else
		expect(touched == 1 && try_cb_flag(drv, handle) == 1);
}

static void one_round(int drv, unsigned int n)
{
	struct gpu_mem mem;
	uint64_t handle;
	void *addr = NULL;
	size_t len;

	expect(!try_gpu_alloc(gpu, 2 * MIB, &mem));
	len = (1 + n % 8) * 64 * KIB;
	expect(!try_pin(drv, mem.va, len, &handle));
	expect(!try_map(drv, handle, len, &addr));
	expect(!touch(addr, len, n));
	switch (n % 5) {
	case 0: /* in order */
		expect(!munmap(addr, len));
		expect(!try_unpin(drv, handle));
		expect(!free_mem(&mem));
		return;
	case 1: /* freed while mapped */
		expect(!free_mem(&mem));
		expect_after_free(drv, handle, addr, len, n);
		expect(!try_unpin(drv, handle));
		expect(!munmap(addr, len));
		return;
	case 2: /* unpinned while mapped */
		expect(!try_unpin(drv, handle));
		expect(touch(addr, len, n) == 1);
		expect(!munmap(addr, len));
		expect(!free_mem(&mem));
		return;
	case 3: /* freed by another thread, at any moment of what follows */
		expect(!hand_over(&mem, n / 5));
		expect(touch(addr, len, n) != 2);
		expect(!munmap(addr, len));
		expect(!try_unpin(drv, handle));
		return;
	default: /* a child comes and goes meanwhile */
		expect(!fork_once());
		expect(!touch(addr, len, n));
		expect(!munmap(addr, len));
		expect(!try_unpin(drv, handle));
		expect(!free_mem(&mem));
	}
}

/* Half of the threads share a file, the others open one for a while. */
static void *work(void *arg)
{
	unsigned int thread = (unsigned int)(uintptr_t)arg, first = thread * 7919, n = first;
	int drv = thread % 2 ? shared_drv : -1;
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	do {
		if (!(thread % 2) && !(n % 16)) {
			close(drv);
			drv = open(GDRDRV_PATH, O_RDWR | O_CLOEXEC);
		} else if (drv < 0) {
			drv = open(GDRDRV_PATH, O_RDWR | O_CLOEXEC);
		}
		one_round(drv, n++);
		atomic_fetch_add(&nr_rounds, 1);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec < end.tv_sec || n < first + ROUNDS_MIN) && !atomic_load(&wrong));
	if (drv != shared_drv)
		close(drv);
	return NULL;
}

static void free_handed(void)
{
	for (size_t i = 0; i < NR_HANDED; i++) {
		struct gpu_mem *mem = atomic_exchange(&handed[i], NULL);

		if (mem)
			check_eq(free_mem(mem), 0);
		free(mem);
	}
}

static void stress(const char *parameters)
{
	struct sigaction action = { .sa_handler = touched_nothing }, old;
	pthread_t threads[NR_THREADS];

	drv_reload(parameters);
	gpu = gpu_open();
	shared_drv = drv_open();
	nr_rounds = nr_frees = nr_signals = nr_forks = 0;
	sigaction(SIGBUS, &action, &old);
	for (size_t i = 0; i < NR_THREADS; i++)
		check_eq(pthread_create(&threads[i], NULL, work, (void *)i), 0);
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	sigaction(SIGBUS, &old, NULL);
	printf("# %u s: %lu rounds, %lu frees, %lu signals, %lu forks\n", seconds, nr_rounds, nr_frees, nr_signals, nr_forks);
	free_handed();
	/* the line of one_round() and its helpers that did not hold */
	check_eq(wrong, 0);
	check(nr_rounds >= ROUNDS_MIN * NR_THREADS && nr_signals && nr_forks);
	/* the last descriptor is still open: nothing may depend on its close */
	check_clean(gpu);
	check_eq(gpu_counters(gpu).used, 0);
	close(shared_drv);
	check_clean(gpu);
	close(gpu);
}

static void stress_persistent(void)
{
	persistent = true;
	stress("dbg_enabled=1");
}

static void stress_otherwise(void)
{
	persistent = false;
	stress("dbg_enabled=1 use_persistent_mapping=0");
}

static const struct tap_test tests[] = {
	{ "eight_threads_leave_nothing_behind_persistent", stress_persistent },
	{ "eight_threads_leave_nothing_behind", stress_otherwise },
};

int main(int argc, char **argv)
{
	const char *asked = getenv("LAB_STRESS");

	if (asked && strtoul(asked, NULL, 0))
		seconds = (unsigned int)strtoul(asked, NULL, 0);
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
