// SPDX-License-Identifier: MIT
/* Path devicepages by io_uring: pieces out of order, threads, errors in the middle, deadlines. */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "devpages_world.h"
#include "tests/tap.h"

static void run_ring(void (*body)(const void *arg), const void *arg, const char *strict)
{
	devpages_run(body, arg, strict, "pages_one=0,pages_piece=64K");
}

static void ring_moves(const void *arg)
{
	devpages_begin();
	if (!may_have_rings())
		skip("no io_uring");
	devpages_there_and_back();
	for (int i = 0; i < (TAP_TSAN ? 8 : 40); i++) {
		/* now and then one ends early */
		ring.tag = (uint64_t)i % 3;
		ring.result = i % 4 ? 0 : 8192;
		moves_read(&tested, &memory);
		moves_write(&tested, &memory);
	}
	check(atomic_load(&ring.posts) >= 32);
	devpages_end();
	check_eq(nr_rings(), 0);
}

static void any_range_by_ring(void)
{
	run_ring(ring_moves, NULL, "0");
}

#define NR_THREADS 4
#define SHARE	   (MOVES_FILE / 2 / NR_THREADS)

/* One quarter of the memory and of the file's written half; NULL or what went wrong. */
static void *work(void *arg)
{
	size_t at = (uintptr_t)arg * SHARE;

	for (size_t i = 0; i < 12; i++) {
		size_t len = (i % 3 + 1) << 18;

		if (cuFileRead(tested.handle, memory.base, len, (off_t)at, (off_t)at) != (ssize_t)len)
			return "a read is short";
		if (cuFileWrite(tested.handle, memory.base, len, (off_t)at, (off_t)at) != (ssize_t)len)
			return "a write is short";
	}
	return NULL;
}

/* What each wrote is what it had read. */
static void ring_threads(const void *arg)
{
	pthread_t threads[NR_THREADS];
	void *why[NR_THREADS];

	devpages_begin();
	if (!may_have_rings())
		skip("no io_uring");
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		check_eq(pthread_create(&threads[i], NULL, work, (void *)i), 0);
	for (int i = 0; i < NR_THREADS; i++)
		check_eq(pthread_join(threads[i], &why[i]), 0);
	for (int i = 0; i < NR_THREADS; i++)
		check_str(why[i] ? why[i] : "", "");
	for (size_t i = 0; i < NR_THREADS; i++)
		devpages_check(i * SHARE, 768 << 10, (off_t)(i * SHARE));
	check(nr_rings() >= 1 && nr_rings() <= NR_THREADS);
	devpages_end();
	check_eq(nr_rings(), 0);
}

static void threads_by_ring(void)
{
	run_ring(ring_threads, NULL, "1");
}

/* Pieces before the one that fails count, whatever became of those behind it. */
static void ring_failed(const void *arg)
{
	devpages_begin();
	if (!may_have_rings())
		skip("no io_uring");
	ring.tag = 2;
	ring.result = -EIO;
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 0, 4096), 2 * 65536);
	devpages_check(4096, 2 * 65536, 0);
	ring.tag = 0;
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 0, 4096), -1);
	check_eq(errno, EIO);
	/* refused: others take over from there, and the ring is not asked again */
	ring.tag = 2;
	ring.result = -EREMOTEIO;
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 0, 4096), 1 << 20);
	devpages_check(4096, 1 << 20, 0);
	atomic_store(&ring.posts, 0);
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 0, 4096), 1 << 20);
	check_eq(atomic_load(&ring.posts), 0);
	devpages_end();
	check_eq(nr_rings(), 0);
}

/* The kernel may still be at the memory, so that stays where it is until the ring is done with it. */
static void ring_late(const void *arg)
{
	devpages_begin();
	if (!may_have_rings())
		skip("no io_uring");
	ring.late = true;
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 0, 4096), -1);
	check_eq(errno, ETIMEDOUT);
	check_eq(nr_rings(), 1);
	check_eq(cuFileBufDeregister(memory.base).err, CU_FILE_SUCCESS);
	check_eq(madvise(mapping.at, 4096, MADV_NORMAL), 0);
	ring.late = false;
	usleep(200000);
	check_eq(cuFileBufRegister(memory.base, MOVES_MEM, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileRead(tested.handle, memory.base, 1 << 20, 0, 4096), 1 << 20);
	devpages_check(4096, 1 << 20, 0);
	check_eq(nr_rings(), 1);
	devpages_end();
	check_eq(nr_rings(), 0);
}

static void errors_by_ring(void)
{
	run_ring(ring_failed, NULL, "0");
	run_ring(ring_late, NULL, "0");
}

static const struct tap_test tests[] = {
	{ "any_range_is_read_and_written", any_range_by_ring },
	{ "threads_have_rings_of_their_own", threads_by_ring },
	{ "errors_and_deadlines_leave_nothing_behind", errors_by_ring },
};

TAP_MAIN(tests)
