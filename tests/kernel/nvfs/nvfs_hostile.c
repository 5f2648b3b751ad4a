// SPDX-License-Identifier: MIT
/*
 * User space that means harm, request by request: lengths that overflow, mappings of another process, shadows, reports
 * and entries that are taken away or changed in use. Bytes are compared by the host. What nvfs_fuzz does at random is
 * here in words; nvfs_abi, nvfs_io, nvfs_batch and nvfs_rdma have what is refused of each request alone.
 */
#include "drives.h"
#include "host.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEM_SIZE  (4 * MIB)
#define NR	  3
#define WRITES	  (1U << NVIDIA_FS_IO_OP_SHIFT)
#define RATE	  MIB /* of the drive: what is tried takes a second or more */
#define WAIT_SECS 90

static int gpu, node, drive;
static struct gpu_mem mem;
static struct lane_map maps[NR];

static void begin(void)
{
	if (!lane_has_patched())
		skip("there are no patches for the NVMe driver of this kernel");
	lane_use_patched(true);
	lane_reload("info_enabled=0");
	gpu = gpu_open();
	node = lane_open();
	drive = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	check(drive >= 0);
	mem = gpu_alloc(gpu, MEM_SIZE);
	for (int i = 0; i < NR; i++)
		maps[i] = lane_bind(node, mem.va, MEM_SIZE, MIB);
	check(host_ask("fill", mem.offset, MEM_SIZE, "ee"));
	check(host_ask("fill-drive", 0, MEM_SIZE, "0123456789abcdef"));
}

static void end(void)
{
	for (int i = 0; i < NR; i++) {
		if (maps[i].shadow)
			lane_unbind(&maps[i]);
	}
	close(drive);
	close(node);
	lane_check_clean(gpu);
	close(gpu);
}

/**
 * struct place - where in a file, how much, and where in the memory
 * @pos:  in the file
 * @size: bytes
 * @off:  in the memory
 */
struct place {
	int64_t pos;
	uint64_t size;
	uint64_t off;
};

/* Sums that leave 64 bits, or 63, or what is bound; each by one block too many. */
static const struct place too_far[] = {
	{ 0, MEM_SIZE + 4096, 0 },
	{ 0, 8192, MEM_SIZE - 4096 },
	{ 0, 4096, MEM_SIZE },
	{ 0, UINT64_MAX - 4095, 0 },
	{ 0, UINT64_MAX - 4095, 4096 },
	{ 0, 1ULL << 63, 1ULL << 63 },
	{ 0, 4096, UINT64_MAX - 4095 },
	{ 0, 1ULL << 32, 0 },
	{ 0, (1ULL << 32) + 4096, 4096 },
	{ 0, 4096, 1ULL << 32 },
	{ INT64_MAX - 4095, 4096, 0 },
	{ INT64_MAX - 4095, 8192, 0 },
	{ INT64_MIN, 4096, 0 },
	{ INT64_MIN, 1ULL << 63, 0 },
	{ -4096, 8192, 0 },
	{ INT64_MAX - 4095, 1ULL << 63, 0 },
};

static struct nvidia_fs_io io_at(const struct place *at, bool wait)
{
	struct nvidia_fs_io io = lane_io(&maps[0], drive, at->pos, at->off, at->size);

	if (!wait) {
		io.flags = 0;
		io.end_fence_value = 5;
	}
	return io;
}

static void lengths_that_overflow(void)
{
	struct nvidia_fs_io entries[2];

	begin();
	for (size_t i = 0; i < 4 * sizeof(too_far) / sizeof(too_far[0]); i++) {
		bool write = i & 1, wait = i & 2;
		struct nvidia_fs_io io = io_at(&too_far[i / 4], wait);

		check_eq(try_io(node, write, &io), -EINVAL);
		entries[0] = lane_io(&maps[1], drive, 0, 0, 4096);
		entries[1] = io;
		entries[1].flags |= write ? WRITES : 0;
		check_eq(try_batch(node, entries, 2), -EPERM);
		check_eq(entries[0].ioctl_return, -ECANCELED);
		check_eq(entries[1].ioctl_return, -EINVAL);
	}
	check_eq(maps[0].meta->end_fence_val, 0);
	check(host_ask("check", mem.offset, MEM_SIZE, "ee"));
	check(host_ask("check-drive", 0, MEM_SIZE, "0123456789abcdef"));
	end();
}

/* What a mapping of another process is named by: its address. */
static int uses_the_parents(void *unused)
{
	struct place at = { 0, 4096, 0 };
	struct nvidia_fs_io io;
	uint32_t value;

	for (int i = 0; i < 4; i++) {
		io = io_at(&at, i & 1);
		if (try_io(node, i & 2, &io) != -EINVAL)
			return 1 + i;
		io.flags |= i & 2 ? WRITES : 0;
		if (try_batch(node, &io, 1) != -EPERM || io.ioctl_return != -EINVAL)
			return 11 + i;
	}
	/* nor by a mapping of its own at the very place */
	if (mmap(maps[0].shadow, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, node, 0) != maps[0].shadow)
		return 21;
	io = io_at(&at, true);
	return try_io(node, false, &io) == -EBUSY && !load_signal(maps[0].shadow, &value) && !value ? 0 : 22;
}

static void another_process(void)
{
	begin();
	check_eq(in_child(uses_the_parents, NULL), 0);
	check_eq(maps[0].meta->end_fence_val, 0);
	check(host_ask("check", mem.offset, MEM_SIZE, "ee"));
	check(host_ask("check-drive", 0, MEM_SIZE, "0123456789abcdef"));
	check_eq(lane_read(node, &maps[0], drive, 0, 0, MIB), MIB);
	end();
}

/* Ways to get at pages of a process that go round its own loads and stores. */
static void a_shadow_is_nobodys_buffer(void)
{
	static char buffer[4096];
	struct iovec ours = { buffer, 4096 }, shadow = { NULL, 4096 };
	int pipes[2], self;

	begin();
	shadow.iov_base = maps[0].shadow;
	check_eq(process_vm_readv(getpid(), &ours, 1, &shadow, 1, 0), -1);
	check_eq(process_vm_writev(getpid(), &ours, 1, &shadow, 1, 0), -1);
	self = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	check(self >= 0);
	check_eq(pread(self, buffer, 4096, (off_t)(uintptr_t)maps[0].shadow), -1);
	check_eq(pwrite(self, buffer, 4096, (off_t)(uintptr_t)maps[0].shadow), -1);
	close(self);
	check_eq(pipe2(pipes, O_CLOEXEC), 0);
	check_eq(vmsplice(pipes[1], &shadow, 1, 0), -1);
	close(pipes[0]);
	close(pipes[1]);
	check_eq(pread(drive, maps[0].shadow, 4096, 0), -1);
	end();
}

/* A slow request that nobody waits for, through the first mapping. */
static void start_slowly(bool write)
{
	struct nvidia_fs_io io = lane_io(&maps[0], drive, 0, 0, MIB);

	drive_slow(RATE);
	check_eq(try_start(node, write, io, 9), 0);
	check(!lane_ended(&maps[0], 9));
}

static void only_a_whole_shadow_goes(void)
{
	char *shadow;

	begin();
	shadow = maps[0].shadow;
	start_slowly(false);
	check_eq(munmap(shadow, 4096), -1);
	check_eq(munmap(shadow + MIB - 4096, 4096), -1);
	check_eq(munmap(shadow + 4096, 4096), -1);
	check(mmap(shadow + 64 * KIB, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED);
	check_eq(mprotect(shadow + 4096, 4096, PROT_NONE), -1);
	check(mremap(shadow, MIB, 64 * KIB, 0) == MAP_FAILED);
	check(mremap(shadow, MIB, 2 * MIB, MREMAP_MAYMOVE) == MAP_FAILED);
	madvise(shadow, MIB, MADV_DONTNEED);
	madvise(shadow, MIB, MADV_REMOVE);
	madvise(shadow, MIB, MADV_PAGEOUT);
	/* the CPU's view may go: nothing goes by it */
	mprotect(shadow, MIB, PROT_NONE);
	drive_slow(0);
	check_eq(lane_wait(&maps[0], 9), MIB);
	check(host_ask("check", mem.offset, MIB, "0123456789abcdef"));
	end();
}

/* Other memory takes the place of a shadow in use: that comes first to its end. */
static void other_memory_in_place_of_a_shadow(void)
{
	char *at;

	for (int write = 0; write < 2; write++) {
		begin();
		start_slowly(write);
		at = mmap(maps[0].shadow, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		check(at == maps[0].shadow);
		check(lane_ended(&maps[0], 9));
		check_eq(maps[0].meta->result, MIB);
		drive_slow(0);
		for (size_t i = 0; i < MIB; i++)
			check_eq(at[i], 0);
		check(host_ask(write ? "check-drive" : "check", write ? 0 : mem.offset, MIB,
			       write ? "ee" : "0123456789abcdef"));
		end();
	}
}

/* The page that was named is the one that is written, wherever its address leads by then. */
static void the_page_for_reports_goes(void)
{
	struct nvidia_fs_meta *meta;
	char *other;

	begin();
	meta = maps[0].meta;
	start_slowly(false);
	other = mmap(meta, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	check(other == (char *)meta);
	drive_slow(0);
	check_eq(munmap(maps[0].shadow, maps[0].shadow_len), 0);
	maps[0].shadow = NULL;
	for (size_t i = 0; i < 4096; i++)
		check_eq(other[i], 0);
	munmap(other, 4096);
	check(host_ask("check", mem.offset, MIB, "0123456789abcdef"));
	/* one that nobody may touch, and one that is gone */
	meta = maps[1].meta;
	check_eq(mprotect(meta, 4096, PROT_NONE), 0);
	check_eq(munmap(maps[2].meta, 4096), 0);
	check_eq(lane_read(node, &maps[1], drive, 0, 0, MIB), MIB);
	check_eq(lane_read(node, &maps[2], drive, 0, 0, MIB), MIB);
	end();
}

static int waits_a_little(void *unused)
{
	usleep(50000);
	return 0;
}

/* A child gets pages of its own: the end is told to who asked for it. */
static void a_fork_takes_no_report_away(void)
{
	begin();
	start_slowly(false);
	check_eq(in_child(waits_a_little, NULL), 0);
	maps[0].meta->pad = 1;
	drive_slow(0);
	check_eq(lane_wait(&maps[0], 9), MIB);
	check_eq(maps[0].meta->pad, 1);
	end();
}

/* A batch in a thread, whose entries lie in a page of their own. */
static struct nvidia_fs_io *entries;

struct call {
	pthread_t thread;
	int ret;
};

static void *run_batch(void *arg)
{
	struct call *call = arg;

	call->ret = try_batch(node, entries, NR);
	return NULL;
}

static void start_batch(struct call *call)
{
	entries = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(entries != MAP_FAILED);
	for (uint64_t i = 0; i < NR; i++)
		entries[i] = lane_io(&maps[i], drive, (int64_t)(i * MIB), i * MIB, MIB);
	drive_slow(RATE);
	check_eq(pthread_create(&call->thread, NULL, run_batch, call), 0);
	for (int i = 0; lane_stat("Ops", "Read") < NR; i++) {
		check(i < WAIT_SECS * 1000);
		usleep(1000);
	}
}

static void end_batch(struct call *call)
{
	drive_slow(0);
	check_eq(pthread_join(call->thread, NULL), 0);
	check_eq(lane_stat("Ops", "BatchIO"), 0);
	/* what was asked for first, and nothing else */
	check(host_ask("check", mem.offset, NR * MIB, "0123456789abcdef"));
	check(host_ask("check", mem.offset + NR * MIB, MEM_SIZE - NR * MIB, "ee"));
}

static void shadows_go_under_a_batch(void)
{
	struct call call;

	begin();
	start_batch(&call);
	for (int i = 0; i < NR; i++)
		check_eq(munmap(maps[i].shadow, maps[i].shadow_len), 0);
	end_batch(&call);
	check_eq(call.ret, 0);
	for (int i = 0; i < NR; i++) {
		check_eq(entries[i].ioctl_return, MIB);
		munmap(maps[i].meta, 4096);
		maps[i].shadow = NULL;
	}
	munmap(entries, 4096);
	end();
}

static void entries_change_under_a_batch(void)
{
	struct call call;

	begin();
	start_batch(&call);
	memset(entries, 0xff, 4096);
	end_batch(&call);
	check_eq(call.ret, 0);
	for (int i = 0; i < NR; i++)
		check_eq(entries[i].ioctl_return, MIB);
	munmap(entries, 4096);
	end();
}

static void entries_go_under_a_batch(void)
{
	struct call call;

	begin();
	start_batch(&call);
	check_eq(munmap(entries, 4096), 0);
	end_batch(&call);
	check_eq(call.ret, -EFAULT);
	end();
}

static int becomes_nobody(void *arg)
{
	return setuid(1000) || open((const char *)arg, O_WRONLY | O_CLOEXEC) >= 0;
}

/* In all ways of reading, at any place; of writing, that which is for root. */
static void files_in_proc_are_read_in_any_way(void)
{
	static const char *const names[] = { "version",	      "devcount", "modules", "stats", "bridges",
					     "peer_distance", "peer_affinity" };
	static const off_t places[] = { 0, 1, 4095, 4096, 1 << 20, INT64_MAX - 1, INT64_MAX };
	static char text[8192];
	char path[64], *nowhere;

	begin();
	nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(nowhere != MAP_FAILED);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bool is_stats = !strcmp(names[i], "stats");
		int fd;

		snprintf(path, sizeof(path), "/proc/driver/nvidia-fs/%s", names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		check(fd >= 0);
		for (size_t j = 0; j < sizeof(places) / sizeof(places[0]); j++) {
			for (size_t len = 1; len <= sizeof(text); len = len * 7 + 1) {
				ssize_t ret = pread(fd, text, len, places[j]);

				/* beyond that the sum of both may be no place */
				check(places[j] > 1 << 20 ? ret <= 0 : ret >= 0);
			}
		}
		check_eq(pread(fd, text, 16, -1), -1);
		check_eq(pread(fd, nowhere, 16, 0), pread(fd, text, 16, 0) ? -1 : 0);
		check_eq(in_child(becomes_nobody, path), 0);
		close(fd);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		check(fd >= 0);
		check_eq(write(fd, text, sizeof(text)), is_stats ? (ssize_t)sizeof(text) : -1);
		close(fd);
	}
	munmap(nowhere, 4096);
	check_eq(lane_stat("Bar1-map", "active"), NR);
	end();
}

static const struct tap_test tests[] = {
	{ "lengths_that_overflow_are_refused_by_all_requests", lengths_that_overflow },
	{ "another_process_has_no_use_of_a_mapping", another_process },
	{ "a_shadow_is_nobodys_buffer", a_shadow_is_nobodys_buffer },
	{ "a_shadow_in_use_goes_as_a_whole_or_not_at_all", only_a_whole_shadow_goes },
	{ "other_memory_in_place_of_a_shadow_in_use_is_left_alone", other_memory_in_place_of_a_shadow },
	{ "other_memory_in_place_of_the_page_for_reports_is_left_alone", the_page_for_reports_goes },
	{ "a_fork_takes_no_report_away", a_fork_takes_no_report_away },
	{ "shadows_may_go_under_a_batch", shadows_go_under_a_batch },
	{ "entries_that_change_under_a_batch_change_nothing", entries_change_under_a_batch },
	{ "entries_that_go_under_a_batch_are_an_error", entries_go_under_a_batch },
	{ "files_in_proc_are_read_in_any_way", files_in_proc_are_read_in_any_way },
};

TAP_MAIN(tests)
