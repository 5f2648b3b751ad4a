// SPDX-License-Identifier: MIT
/* Reads by two threads, with host memory in the place of the GPU's mapping, and a page cache that the test decides on. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file/buffer.h"
#include "file/crew.h"
#include "file/file.h"
#include "file/pair.h"
#include "file/tune.h"
#include "tap.h"
#include "util/clock.h"

#define LEN    (1UL << 20)
#define MS     1000000ULL
#define ROUNDS 2000

static uint64_t handle;
static int fd;
static struct bl_file *file;
static char *bytes, *mapping;
static struct bl_buffer buffer = { .kind = BL_MEM_DEVICE };

/* What the page cache does. */
static pthread_t caller;
static atomic_int by_helper, by_caller, nap_ms;
static _Atomic(off_t) uncached;

ssize_t __real_bl_fio_read_cached(struct bl_file *file, void *buf, size_t len, off_t pos);
ssize_t __wrap_bl_fio_read_cached(struct bl_file *file, void *buf, size_t len, off_t pos);

ssize_t __wrap_bl_fio_read_cached(struct bl_file *from, void *buf, size_t len, off_t pos)
{
	bool helper = !pthread_equal(pthread_self(), caller);

	atomic_fetch_add(helper ? &by_helper : &by_caller, 1);
	if (helper && atomic_load(&nap_ms))
		usleep((useconds_t)atomic_load(&nap_ms) * 1000);
	if (pos >= atomic_load(&uncached))
		return -EAGAIN;
	return __real_bl_fio_read_cached(from, buf, len, pos);
}

static void set_up(void)
{
	char path[] = "/dev/shm/barlane-pair-XXXXXX";

	bytes = malloc(LEN);
	mapping = malloc(LEN);
	check(bytes && mapping);
	for (size_t i = 0; i < LEN; i++)
		bytes[i] = (char)((i * 7 + (i >> 12)) & 0x7f);
	fd = mkstemp(path);
	check(fd >= 0);
	unlink(path);
	check_eq(pwrite(fd, bytes, LEN, 0), LEN);
	check_eq(bl_file_add(fd, &handle), 0);
	file = bl_file_get(handle, NULL);
	check(file);
	atomic_store(&buffer.refs, 5);
}

static void begin(void)
{
	caller = pthread_self();
	atomic_store(&by_helper, 0);
	atomic_store(&by_caller, 0);
	atomic_store(&nap_ms, 0);
	atomic_store(&uncached, LEN);
	memset(mapping, 0xff, LEN);
}

static struct bl_io read_of(size_t len, off_t pos)
{
	struct bl_io io = { .file = file, .len = len, .pos = pos, .deadline_ns = bl_now_ns() + 10000 * MS };

	io.mem.mapped = mapping;
	io.mem.buffer = &buffer;
	return io;
}

/* Until the helper has a part in reads, if that is wanted. */
static void in_a_row(bool until_helped)
{
	uint64_t end = bl_now_ns() + 5000 * MS;

	do {
		struct bl_io io = read_of(LEN, 0);

		check(bl_pair_fits(&io));
		check_eq(bl_pair_read(&io), 0);
		check(io.done == 0 || io.done == LEN);
	} while (until_helped && !atomic_load(&by_helper) && bl_now_ns() < end);
	check(!until_helped || atomic_load(&by_helper));
}

static void both_threads_read_the_right_bytes(void)
{
	size_t wrong = 0;
	unsigned int seed = 1;

	begin();
	in_a_row(true);
	for (int i = 0; i < ROUNDS; i++) {
		size_t len = bl_file_tune()->pair_min + (size_t)rand_r(&seed) % (LEN / 4);
		off_t pos = (off_t)((size_t)rand_r(&seed) % (LEN - len));
		struct bl_io io = read_of(len, pos);

		memset(mapping, 0xff, len + 1);
		check_eq(bl_pair_read(&io), 0);
		wrong += io.done && (io.done != len || memcmp(mapping, bytes + pos, len) != 0);
		wrong += mapping[len] != (char)0xff;
	}
	check_eq(wrong, 0);
	check(atomic_load(&by_caller) > 0);
}

static void a_read_ends_at_the_first_gap(void)
{
	struct bl_io io;

	begin();
	in_a_row(true);
	atomic_store(&uncached, 2 * 131072);
	do {
		io = read_of(LEN, 0);
		memset(mapping, 0xff, LEN);
		check_eq(bl_pair_read(&io), 0);
	} while (!io.done);
	check_eq(io.done, 2 * 131072);
	check_eq(memcmp(mapping, bytes, io.done), 0);
	/* and at the end of the file */
	atomic_store(&uncached, LEN);
	do {
		io = read_of(LEN, LEN / 2 + 100);
		check_eq(bl_pair_read(&io), 0);
	} while (!io.done);
	check_eq(io.done, LEN / 2 - 100);
	check_eq(memcmp(mapping, bytes + LEN / 2 + 100, io.done), 0);
}

static void sizes_and_requests_that_it_is_not_for_are_left_alone(void)
{
	struct bl_io io = read_of(LEN, 0);

	check(bl_pair_fits(&io));
	io.by_cpu = true;
	check(!bl_pair_fits(&io));
	io = read_of(LEN, 0);
	io.write = true;
	check(!bl_pair_fits(&io));
	io = read_of(LEN, 0);
	io.mem.buffer = NULL;
	check(!bl_pair_fits(&io));
	io = read_of(bl_file_tune()->pair_min - 1, 0);
	check(!bl_pair_fits(&io));
	io = read_of(bl_file_tune()->pair_max + 1UL, 0);
	check(!bl_pair_fits(&io));
}

/* Waiting for a helper that does not come in time: the read is given up, what it uses is held, and all goes on later. */
static void a_helper_that_hangs_is_left(void)
{
	uint64_t end = bl_now_ns() + 5000 * MS;
	struct bl_io io;
	int ret;

	begin();
	atomic_store(&nap_ms, 300);
	do {
		io = read_of(LEN, 0);
		io.deadline_ns = bl_now_ns() + 20 * MS;
		ret = bl_pair_read(&io);
	} while (!ret && bl_now_ns() < end);
	check_eq(ret, -ETIMEDOUT);
	check_eq(io.done, 0);
	check_eq(atomic_load(&buffer.refs), 6);
	/* meanwhile others read alone */
	io = read_of(LEN, 0);
	check_eq(bl_pair_read(&io), 0);
	check_eq(io.done, 0);
	while (atomic_load(&buffer.refs) != 5 && bl_now_ns() < end)
		usleep(1000);
	check_eq(atomic_load(&buffer.refs), 5);
	atomic_store(&nap_ms, 0);
	atomic_store(&by_helper, 0);
	in_a_row(true);
}

/* One that is late, again and again: it is called less often. */
static void a_helper_that_is_late_is_given_a_rest(void)
{
	uint64_t end;
	int nr = 0, lone = 0;

	begin();
	in_a_row(true);
	atomic_store(&nap_ms, 2);
	for (end = bl_now_ns() + 300 * MS; bl_now_ns() < end; nr++) {
		struct bl_io io = read_of(LEN, 0);

		check_eq(bl_pair_read(&io), 0);
		lone += !io.done;
	}
	check(lone > nr / 2);
	atomic_store(&nap_ms, 0);
	usleep(60000);
	atomic_store(&by_helper, 0);
	in_a_row(true);
}

static void a_forked_child_has_a_helper_of_its_own(void)
{
	int status;
	pid_t pid;

#if defined(__SANITIZE_THREAD__)
	skip("ThreadSanitizer refuses threads in a forked child");
#endif
	begin();
	in_a_row(true);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(20);
		bl_buffer_forget();
		begin();
		in_a_row(true);
		_exit(0);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
}

static void *read_much(void *arg)
{
	size_t at = (size_t)(uintptr_t)arg * (LEN / 4);
	size_t wrong = 0;

	for (int i = 0; i < ROUNDS / 4; i++) {
		struct bl_io io = read_of(LEN / 4, (off_t)at);

		io.mem.mapped = mapping + at;
		memset(mapping + at, 0xff, LEN / 4);
		wrong += bl_pair_read(&io) || (io.done && (io.done != LEN / 4 || memcmp(mapping + at, bytes + at, LEN / 4)));
	}
	return (void *)wrong;
}

static void many_callers_share_it(void)
{
	pthread_t threads[4];
	void *wrong;

	begin();
	for (uintptr_t i = 0; i < 4; i++)
		check_eq(pthread_create(&threads[i], NULL, read_much, (void *)i), 0);
	for (int i = 0; i < 4; i++) {
		check_eq(pthread_join(threads[i], &wrong), 0);
		check_eq((uintptr_t)wrong, 0);
	}
}

static void it_leaves_with_the_crew(void)
{
	begin();
	in_a_row(true);
	check_eq(bl_crew_stop(5000 * MS), 0);
	check_eq(bl_crew_size(), 0);
	atomic_store(&by_helper, 0);
	in_a_row(true);
	check_eq(bl_crew_stop(5000 * MS), 0);
	bl_file_put(file);
	check_eq(bl_file_remove(handle), 0);
	close(fd);
}

static const struct tap_test tests[] = {
	{ "both threads read the right bytes", both_threads_read_the_right_bytes },
	{ "a read ends at the first gap", a_read_ends_at_the_first_gap },
	{ "sizes and requests that it is not for are left alone", sizes_and_requests_that_it_is_not_for_are_left_alone },
	{ "a helper that hangs is left", a_helper_that_hangs_is_left },
	{ "a helper that is late is given a rest", a_helper_that_is_late_is_given_a_rest },
	{ "a forked child has a helper of its own", a_forked_child_has_a_helper_of_its_own },
	{ "many callers share it", many_callers_share_it },
	{ "it leaves with the crew", it_leaves_with_the_crew },
};

int main(int argc, char **argv)
{
	setenv("BARLANE_FILE_TUNE", "pair_max=1M,pair_min=16K,pair_call=16K,pair_hot_us=500", 1);
	set_up();
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
