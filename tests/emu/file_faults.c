// SPDX-License-Identifier: MIT
/* Files that fail, system calls that are short or interrupted, CUDA that fails at any of its calls. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "file_faulty.h"
#include "file_moves.h"
#include "tests/tap.h"

#define SIZE (8UL << 20)

static const char *const no_env[] = { NULL };

/**
 * struct trouble - system calls go wrong this way, and nobody may notice
 */
struct trouble {
	enum faulty_what what;
	int flags;
	unsigned int period;
	int err;
	unsigned int hits; /* at least */
};

static void move_in_trouble(const void *arg)
{
	static const enum kind kinds[] = { REGISTERED, UNREGISTERED, PAGEABLE };
	const struct trouble *trouble = arg;
	unsigned int hits = 0;
	struct memory memory;
	struct tested tested;

	world_enter();
	moves_make_file(&tested, "disk", trouble->flags);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		memory_make(&memory, kinds[i], MOVES_MEM);
		for (int round = 0; round < 12; round++) {
			faulty_set(trouble->what, tested.fd, trouble->period, trouble->err, 0);
			moves_read(&tested, &memory);
			moves_write(&tested, &memory);
			hits += faulty_hits();
		}
		memory_drop(&memory);
	}
	check(hits >= trouble->hits);
	faulty_set(FAULTY_NONE, -1, 1, 0, 0);
	tested_drop(&tested);
	world_check_rules();
}

static void in_trouble(enum faulty_what what, int flags, unsigned int period, int err, unsigned int hits)
{
	struct trouble trouble = { what, flags, period, err, hits };

	if (!moves_seed)
		moves_choose_seed();
	child_run(move_in_trouble, &trouble, no_env);
	next_random(&moves_seed);
}

static void short_calls(void)
{
	in_trouble(FAULTY_SHORT, 0, 2, 0, 1);
	in_trouble(FAULTY_SHORT, O_DIRECT, 2, 0, 1);
}

static void interrupted_calls(void)
{
	in_trouble(FAULTY_EINTR, 0, 2, 0, 1);
	in_trouble(FAULTY_EINTR, O_DIRECT, 2, 0, 1);
}

static void without_nowait(void)
{
	in_trouble(FAULTY_NOWAIT, 0, 1, EOPNOTSUPP, 1);
	in_trouble(FAULTY_NOWAIT, 0, 1, EAGAIN, 1);
	/* few requests ask twice: not with every seed */
	in_trouble(FAULTY_NOWAIT, 0, 2, EAGAIN, 0);
}

static void without_liburing(void)
{
	in_trouble(FAULTY_URING, O_DIRECT, 1, 0, 1);
}

/* A filter of system calls, as containers have it: making a ring fails with @err. */
static void filter_io_uring(int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_io_uring_setup, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_io_uring_register, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	check_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		skip("no seccomp: %s", strerror(errno));
	check_eq(syscall(SYS_io_uring_setup, 1, NULL, 0, 0, 0, 0), -1);
	check_eq(errno, err);
}

static void move_filtered(const void *arg)
{
	const struct trouble *trouble = arg;

	if (!getenv("TEST_URING") || strcmp(getenv("TEST_URING"), "blocked"))
		filter_io_uring(trouble->err);
	move_in_trouble(arg);
	check_eq(nr_rings(), 0);
}

static void blocked_io_uring(void)
{
	static const int errs[] = { EPERM, ENOSYS, ENOMEM };
	struct trouble trouble = { FAULTY_NONE, O_DIRECT, 1, 0, 0 };

	if (!moves_seed)
		moves_choose_seed();
	for (size_t i = 0; i < sizeof(errs) / sizeof(errs[0]); i++) {
		trouble.err = errs[i];
		child_run(move_filtered, &trouble, no_env);
		next_random(&moves_seed);
	}
}

/* The first request that would have used it says so, the next ones do not. */
static void say_it_once(const void *arg)
{
	struct memory memory;
	struct tested tested;

	world_enter();
	moves_make_file(&tested, "disk", O_DIRECT);
	memory_make(&memory, REGISTERED, MOVES_MEM);
	faulty_set(FAULTY_URING, -1, 1, 0, 0);
	check_eq(cuFileRead(tested.handle, memory.base, 4096, 0, 0), 4096);
	check(!strstr(bl_last_error(NULL), "io_uring"));
	check_eq(cuFileRead(tested.handle, memory.base, 1UL << 20, 0, 0), 1L << 20);
	check_has(bl_last_error(NULL), "io_uring");
	check_eq(cuFileRead(tested.handle, NULL, 1UL << 20, 0, 0), -1);
	check_eq(cuFileRead(tested.handle, memory.base, 1UL << 20, 0, 0), 1L << 20);
	check(!strstr(bl_last_error(NULL), "io_uring"));
	memory_drop(&memory);
	tested_drop(&tested);
}

static void said_once(void)
{
	child_run(say_it_once, NULL, no_env);
}

/* Reads work as ever; writes need whole blocks, and say so. */
static void read_without_proc(const void *arg)
{
	struct memory memory;
	struct tested tested;

	world_enter();
	moves_make_file(&tested, "disk", O_DIRECT);
	memory_make(&memory, REGISTERED, MOVES_MEM);
	faulty_set(FAULTY_REOPEN, -1, 1, ENOENT, 0);
	for (int round = 0; round < 20; round++)
		moves_read(&tested, &memory);
	check_eq(cuFileWrite(tested.handle, memory.base, 1UL << 20, 8192, 0), 1L << 20);
	check_eq(cuFileWrite(tested.handle, memory.base, 100, 8192, 0), -1);
	check_eq(errno, EINVAL);
	check_has(bl_last_error(NULL), "O_DIRECT");
	faulty_set(FAULTY_NONE, -1, 1, 0, 0);
	memory_drop(&memory);
	tested_drop(&tested);
}

static void without_proc(void)
{
	if (!moves_seed)
		moves_choose_seed();
	child_run(read_without_proc, NULL, no_env);
}

/* What is wrong at the moment is told as it is, and forgotten when it is over. */
static void write_while_opening_fails(const void *arg)
{
	int err = *(const int *)arg;
	struct memory memory;
	struct tested tested;

	world_enter();
	moves_make_file(&tested, "disk", O_DIRECT);
	memory_make(&memory, REGISTERED, MOVES_MEM);
	faulty_set(FAULTY_REOPEN, -1, 1, err, 0);
	check_eq(cuFileWrite(tested.handle, memory.base, 1UL << 20, 8192, 0), 1L << 20);
	check_eq(cuFileWrite(tested.handle, memory.base, 100, 8192, 0), -1);
	check_eq(errno, err);
	faulty_set(FAULTY_NONE, -1, 1, 0, 0);
	check_eq(cuFileWrite(tested.handle, memory.base, 100, 8192, 0), 100);
	for (int round = 0; round < 4; round++)
		moves_write(&tested, &memory);
	memory_drop(&memory);
	tested_drop(&tested);
}

static void opening_fails(void)
{
	static const int errs[] = { EROFS, EIO, EMFILE };

	if (!moves_seed)
		moves_choose_seed();
	for (size_t i = 0; i < sizeof(errs) / sizeof(errs[0]); i++)
		child_run(write_while_opening_fails, &errs[i], no_env);
}

/**
 * struct limit - a file that cannot be read or written from @after on
 */
struct limit {
	enum faulty_what what;
	int flags;
	int err;
	size_t after;
	size_t len;
};

/* What lies before the failure was moved, counted and not more; nothing there: the error. */
static void up_to_the_failure(const void *arg)
{
	const struct limit *limit = arg;
	size_t want = limit->len < limit->after ? limit->len : limit->after;
	bool write = limit->what == FAULTY_WRITE;
	unsigned char *bytes = malloc(SIZE);
	struct memory memory;
	struct tested tested;
	ssize_t got;

	world_enter();
	check(bytes);
	tested_make(&tested, "disk", O_RDWR | limit->flags);
	tested_fill(&tested, SIZE, 3);
	memory_make(&memory, REGISTERED, SIZE);
	memset(bytes, 0x11, SIZE);
	memory_put(&memory, 0, bytes, SIZE);
	faulty_set(limit->what, tested.fd, 1, limit->err, (off_t)limit->after);
	errno = 0;
	got = write ? cuFileWrite(tested.handle, memory.base, limit->len, 0, 0) :
		      cuFileRead(tested.handle, memory.base, limit->len, 0, 0);
	if (want) {
		check_eq(got, want);
	} else {
		check_eq(got, -1);
		check_eq(errno, limit->err);
	}
	faulty_set(FAULTY_NONE, -1, 1, 0, 0);
	if (write)
		check_eq(pread(tested.plain, bytes, SIZE, 0), SIZE);
	else
		memory_get(&memory, 0, bytes, SIZE);
	check_eq(write ? value_wrong(bytes, want, 0x11) : pattern_wrong(bytes, want, 3, 0), 0);
	check_eq(write ? pattern_wrong(bytes + limit->len, SIZE - limit->len, 3, limit->len) :
			 value_wrong(bytes + limit->len, SIZE - limit->len, 0x11), 0);
	memory_drop(&memory);
	tested_drop(&tested);
}

static void errors(enum faulty_what what, int err)
{
	static const size_t lens[] = { 4096, 65536, 1UL << 20, SIZE };
	static const size_t afters[] = { 0, 4096, 12288, 640UL << 10, 3UL << 20 };
	struct limit limit = { .what = what, .err = err };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		for (size_t j = 0; j < sizeof(afters) / sizeof(afters[0]); j++) {
			limit.len = lens[i];
			limit.after = afters[j];
			child_run(up_to_the_failure, &limit, no_env);
		}
	}
}

static void read_errors(void)
{
	errors(FAULTY_READ, EIO);
}

static void write_errors(void)
{
	errors(FAULTY_WRITE, ENOSPC);
	errors(FAULTY_WRITE, EDQUOT);
}

/* The kernel itself refuses, so that io_uring is told too: no file may be larger than the limit. */
static void write_to_the_limit(const void *arg)
{
	int flags = *(const int *)arg;
	struct rlimit rlimit = { 3UL << 20, RLIM_INFINITY };
	struct memory memory;
	struct tested tested;

	world_enter();
	signal(SIGXFSZ, SIG_IGN);
	tested_make(&tested, "disk", O_RDWR | flags);
	memory_make(&memory, REGISTERED, SIZE);
	check_eq(cuFileWrite(tested.handle, memory.base, 4096, 0, 0), 4096);
	check_eq(setrlimit(RLIMIT_FSIZE, &rlimit), 0);
	check_eq(cuFileWrite(tested.handle, memory.base, SIZE, 0, 0), 3L << 20);
	check_eq(cuFileWrite(tested.handle, memory.base, SIZE, 3L << 20, 0), -1);
	check_eq(errno, EFBIG);
	check_eq(cuFileWrite(tested.handle, memory.base, 4096, 3L << 20, 0), -1);
	check_eq(errno, EFBIG);
	check_eq(cuFileWrite(tested.handle, memory.base, 65536, 0, 0), 65536);
	memory_drop(&memory);
	tested_drop(&tested);
}

/* As if the kernel could not reach the pinned memory: the path with other memory does the rest. */
static void not_into_pinned_memory(void)
{
	in_trouble(FAULTY_PINNED, 0, 1, EFAULT, 1);
	in_trouble(FAULTY_PINNED, O_DIRECT, 1, EFAULT, 1);
}

static void file_limit(void)
{
	static const int flags[] = { 0, O_DIRECT };

	child_run(write_to_the_limit, &flags[0], no_env);
	child_run(write_to_the_limit, &flags[1], no_env);
}

/**
 * struct broken - CUDA fails once, at one point
 */
struct broken {
	const char *point;
	int flags;
	enum kind kind;
};

static unsigned char wanted[SIZE], seen[SIZE];

static bool same(const struct memory *memory, size_t len)
{
	memory_get(memory, 0, seen, len);
	return !memcmp(seen, wanted, len);
}

/* At each of its calls: the request says so or is right all the same, and the next one is right. */
static void with_broken_cuda(const void *arg)
{
	static const size_t lens[] = { 4096, 65536, 1UL << 20 };
	const struct broken *broken = arg;
	struct memory memory;
	struct tested tested;
	ssize_t got;

	world_enter();
	tested_make(&tested, "disk", O_RDWR | broken->flags);
	tested_fill(&tested, SIZE, 5);
	check_eq(pread(tested.plain, wanted, SIZE, 0), SIZE);
	memory_make(&memory, broken->kind, SIZE);
	for (int i = 0; i < 64; i++) {
		size_t len = i % 16 == 15 ? SIZE : lens[i % 3];
		char spec[64];
		bool write = i & 4;

		snprintf(spec, sizeof(spec), "%s:%d", broken->point, i / 8 + 1);
		check_eq(world.fault(spec), 0);
		got = write ? cuFileWrite(tested.handle, memory.base, len, 0, 0) :
			      cuFileRead(tested.handle, memory.base, len, 0, 0);
		check_eq(world.fault(""), 0);
		check(got <= (ssize_t)len);
		check_eq(cuFileRead(tested.handle, memory.base, len, 0, 0), len);
		if (!write)
			check(same(&memory, len));
	}
	memory_drop(&memory);
	tested_drop(&tested);
	world_check_rules();
}

static void broken_cuda(void)
{
	static const char *const points[] = { "cuda.host", "cuda.newstream", "cuda.memop", "cuda.attr", "cuda.memcpy",
					      "cuda.stream" };
	static const enum kind kinds[] = { REGISTERED, UNREGISTERED };
	struct broken broken;

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		for (int j = 0; j < 4; j++) {
			broken = (struct broken){ points[i], j & 1 ? O_DIRECT : 0, kinds[j / 2] };
			child_run(with_broken_cuda, &broken, no_env);
		}
	}
}

static void without_pinned_memory(const void *arg)
{
	struct memory memory;
	struct tested tested;

	world_enter();
	moves_make_file(&tested, "disk", 0);
	memory_make(&memory, REGISTERED, MOVES_MEM);
	check_eq(world.fault("cuda.host:*"), 0);
	for (int i = 0; i < 12; i++) {
		moves_read(&tested, &memory);
		moves_write(&tested, &memory);
	}
	check_eq(world.fault(""), 0);
	memory_drop(&memory);
	tested_drop(&tested);
}

static void no_pinned_memory(void)
{
	child_run(without_pinned_memory, NULL, no_env);
}

/* The GPU takes longer than it may: the call ends all the same, and what follows in time works. */
static void late_gpu(const void *arg)
{
	struct memory memory;
	struct tested tested;

	world_enter();
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, SIZE, 9);
	memory_make(&memory, UNREGISTERED, SIZE);
	check_eq(cuFileRead(tested.handle, memory.base, SIZE, 0, 0), -1);
	check_eq(errno, ETIMEDOUT);
	tested_drop(&tested);
}

static void timeouts(void)
{
	static const char *const env[] = { "BARLANE_EMU_ASYNC_US", "3000000", "BARLANE_CE_TIMEOUT_MS", "300", NULL };

	child_run(late_gpu, NULL, env);
}

/* Writes of @len one after the other: how often the bytes came from another place than before. */
static unsigned int places(const struct tested *tested, const struct memory *memory, size_t off, size_t len)
{
	static unsigned char bytes[256 << 10], got[256 << 10];
	const void *before = NULL;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < 4; i++) {
		pattern_fill(bytes, len, i * 31 + 7, 0);
		memory_put(memory, off, bytes, len);
		check_eq(cuFileWrite(tested->handle, memory->base, len, 0, (off_t)off), len);
		nr += before && faulty_last_source() != before;
		before = faulty_last_source();
		check_eq(pread(tested->plain, got, len, 0), len);
		check_eq(memcmp(got, bytes, len), 0);
	}
	return nr;
}

/* What is watched arriving goes to the file from the landing ring, everything else from the same slot each time. */
static void write_from_where_it_landed(const void *arg)
{
	static const enum kind kinds[] = { REGISTERED, UNREGISTERED, MANAGED };
	bool off = arg;
	struct memory memory;
	struct tested tested, direct;

	world_enter();
	tested_make(&tested, "disk", O_RDWR);
	tested_make(&direct, "disk", O_RDWR | O_DIRECT);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		memory_make(&memory, kinds[i], 1UL << 20);
		faulty_set(FAULTY_NONE, tested.fd, 1, 0, 0);
		check_eq(places(&tested, &memory, 8, 65536), off || kinds[i] == MANAGED ? 0 : 3);
		check_eq(places(&tested, &memory, 4, 131072), off || kinds[i] == MANAGED ? 0 : 3);
		check_eq(places(&tested, &memory, 0, 131072 + 4), 0);
		check_eq(places(&tested, &memory, 0, 65535), 0);
		check_eq(places(&tested, &memory, 6, 65536), 0);
		faulty_set(FAULTY_NONE, direct.fd, 1, 0, 0);
		check_eq(places(&direct, &memory, 0, 65536), 0);
		memory_drop(&memory);
	}
	tested_drop(&tested);
	tested_drop(&direct);
	world_check_rules();
}

static void watched_writes(void)
{
	static const char *const without[] = { "BARLANE_FILE_TUNE", "watch_max=0", NULL };

	child_run(write_from_where_it_landed, NULL, no_env);
	child_run(write_from_where_it_landed, "off", without);
}

static const struct tap_test tests[] = {
	{ "a_write_that_is_watched_goes_from_where_it_landed", watched_writes },
	{ "short_counts_are_completed", short_calls },
	{ "interrupted_calls_are_repeated", interrupted_calls },
	{ "files_without_cached_reads_are_read", without_nowait },
	{ "direct_files_are_read_and_written_without_liburing", without_liburing },
	{ "a_missing_liburing_is_said_once", said_once },
	{ "a_filter_that_blocks_io_uring_is_no_obstacle", blocked_io_uring },
	{ "without_proc_direct_reads_work_and_part_blocks_are_refused", without_proc },
	{ "an_error_of_the_moment_is_told_and_forgotten", opening_fails },
	{ "a_read_error_is_reported_behind_what_was_read", read_errors },
	{ "a_write_error_is_reported_behind_what_was_written", write_errors },
	{ "memory_that_the_disk_cannot_reach_is_done_without", not_into_pinned_memory },
	{ "a_limit_of_the_file_size_is_reported", file_limit },
	{ "a_fault_at_any_cuda_call_is_reported_or_overcome", broken_cuda },
	{ "without_pinned_memory_requests_are_done_all_the_same", no_pinned_memory },
	{ "a_gpu_that_does_not_answer_is_etimedout", timeouts },
};

TAP_MAIN(tests)
