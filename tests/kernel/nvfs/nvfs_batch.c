// SPDX-License-Identifier: MIT
/* BATCH of nvidia-fs.ko: many requests by one call, each with a result of its own. Bytes are compared by the host. */
#include "drives.h"
#include "host.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define NR_MAPS	 6
#define MEM_SIZE (8 * MIB)
/* bytes a second, until it is let go */
#define VERY_SLOW (256 * KIB)
#define WRITES	  (1U << NVIDIA_FS_IO_OP_SHIFT)

static int gpu, node, drive;
static struct gpu_mem mem;
static struct lane_map maps[NR_MAPS];
static struct nvidia_fs_io entries[NVIDIA_FS_MAX_BATCH + 1];

static void begin(size_t shadow_len)
{
	lane_need_patched();
	lane_reload("rw_stats_enabled=1");
	lane_open_all(&gpu, &node, &drive);
	mem = gpu_alloc(gpu, MEM_SIZE);
	for (int i = 0; i < NR_MAPS; i++)
		maps[i] = lane_bind(node, mem.va, MEM_SIZE, shadow_len);
	check(host_ask("fill", mem.offset, MEM_SIZE, "ee"));
}

static void end(void)
{
	for (int i = 0; i < NR_MAPS; i++)
		lane_unbind(&maps[i]);
	check_eq(lane_stat("Ops", "BatchIO"), 0);
	lane_close_all(gpu, node, drive);
}

/* One entry a mapping: a MiB each, from 4 MiB of the drive on. */
static void fill_entries(bool write, bool wait)
{
	for (uint64_t i = 0; i < NR_MAPS; i++) {
		entries[i] = lane_io(&maps[i], drive, (int64_t)((4 + i) * MIB), i * MIB, MIB);
		if (write)
			entries[i].flags |= WRITES;
		if (wait)
			continue;
		entries[i].flags &= (uint8_t)~NVIDIA_FS_IO_SYNC;
		entries[i].end_fence_value = 7 + i;
	}
}

struct call {
	pthread_t thread;
	int ret;
	atomic_bool ended;
};

static void *run_batch(void *arg)
{
	struct call *call = arg;

	call->ret = try_batch(node, entries, NR_MAPS);
	atomic_store(&call->ended, true);
	return NULL;
}

static void entries_are_in_flight_together(void)
{
	for (int write = 0; write < 2; write++) {
		struct call call = { 0 };
		int most = 0;

		begin(MIB);
		check(host_ask("fill-drive", 4 * MIB, NR_MAPS * MIB, "0123456789abcdef"));
		fill_entries(write, true);
		drive_slow(VERY_SLOW);
		check_eq(pthread_create(&call.thread, NULL, run_batch, &call), 0);
		while (!atomic_load(&call.ended) && (most < NR_MAPS || drive_load("nvme0n1") < 2)) {
			/* more than a mapping has */
			most = (int)lane_stat("Ops", write ? "Write" : "Read");
			usleep(2000);
		}
		drive_slow(0);
		pthread_join(call.thread, NULL);
		check_eq(call.ret, 0);
		check_eq(most, NR_MAPS);
		for (int i = 0; i < NR_MAPS; i++)
			check_eq(entries[i].ioctl_return, MIB);
		check(host_ask(write ? "check-drive" : "check", write ? 4 * MIB : mem.offset, NR_MAPS * MIB,
			       write ? "ee" : "0123456789abcdef"));
		check_eq(lane_stat("Batches", "ok"), 1);
		end();
	}
}

static void entries_may_end_after_the_call(void)
{
	begin(MIB);
	check(host_ask("fill-drive", 4 * MIB, NR_MAPS * MIB, "0123456789abcdef"));
	fill_entries(false, false);
	drive_slow(VERY_SLOW);
	check_eq(try_batch(node, entries, NR_MAPS), 0);
	check(!lane_ended(&maps[NR_MAPS - 1], 7 + NR_MAPS - 1));
	check_eq(entries[NR_MAPS - 1].ioctl_return, 0);
	drive_slow(0);
	for (uint64_t i = 0; i < NR_MAPS; i++)
		check_eq(lane_wait(&maps[i], 7 + i), MIB);
	check(host_ask("check", mem.offset, NR_MAPS * MIB, "0123456789abcdef"));
	end();
}

/* One of them fails, and one is short; the others do not notice. */
static void each_entry_has_its_own_result(void)
{
	off_t size;

	begin(MIB);
	size = lseek(drive, 0, SEEK_END);
	check(host_ask("fill-drive", 4 * MIB, NR_MAPS * MIB, "0123456789abcdef"));
	fill_entries(false, true);
	entries[1].offset = size - 8192;
	entries[2].offset = size;
	entries[2].flags |= WRITES;
	entries[3].size = 0;
	entries[4].flags &= (uint8_t)~NVIDIA_FS_IO_SYNC;
	entries[4].flags |= WRITES;
	entries[4].offset = size;
	entries[4].end_fence_value = 99;
	check_eq(try_batch(node, entries, NR_MAPS), 0);
	check_eq(entries[0].ioctl_return, MIB);
	check_eq(entries[1].ioctl_return, 8192);
	check_eq(entries[2].ioctl_return, -ENOSPC);
	check_eq(entries[3].ioctl_return, 0);
	check_eq(entries[4].ioctl_return, 0);
	check_eq(lane_wait(&maps[4], 99), -ENOSPC);
	check_eq(entries[5].ioctl_return, MIB);
	check(host_ask("check", mem.offset, MIB, "0123456789abcdef"));
	check(host_ask("check", mem.offset + 5 * MIB, MIB, "0123456789abcdef"));
	check_eq(lane_stat("Batches", "err"), 0);
	end();
}

static void one_bad_entry_and_none_is_begun(void)
{
	begin(MIB);
	fill_entries(false, true);
	entries[1].fd = -1;
	entries[2].flags |= 2U << NVIDIA_FS_IO_OP_SHIFT;
	entries[3].file.inum++;
	entries[4].flags = 0;
	entries[4].end_fence_value = 55;
	entries[5].size = UINT64_MAX - 4095;
	check_eq(try_batch(node, entries, NR_MAPS), -EPERM);
	check_eq(entries[0].ioctl_return, -ECANCELED);
	check_eq(entries[1].ioctl_return, -EINVAL);
	check_eq(entries[2].ioctl_return, -EINVAL);
	check_eq(entries[3].ioctl_return, -ESTALE);
	check_eq(entries[4].ioctl_return, -ECANCELED);
	check_eq(entries[5].ioctl_return, -EINVAL);
	check(!lane_ended(&maps[4], 55));
	check(host_ask("check", mem.offset, MEM_SIZE, "ee"));
	check_eq(lane_stat("Batches", "err"), 1);
	check_eq(lane_stat("Reads", "readMiB"), 0);
	end();
}

static void batches_that_make_no_sense_are_refused(void)
{
	static const uint64_t counts[] = { 0, NVIDIA_FS_MAX_BATCH + 1, UINT32_MAX, 1ULL << 32, UINT64_MAX };
	char *room;

	begin(MIB);
	fill_entries(false, true);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		check_eq(try_batch(node, entries, counts[i]), -EINVAL);
	check_eq(try_batch(node, NULL, 1), -EFAULT);
	check_eq(try_batch(node, (struct nvidia_fs_io *)-4096L, 256), -EFAULT);
	check_eq(try_batch(node, (struct nvidia_fs_io *)0xffff800000000000, 1), -EFAULT);
	/* the last one is half outside; and where no result can be written */
	room = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(room != MAP_FAILED);
	check_eq(munmap(room + 4096, 4096), 0);
	memcpy(room + 4096 - 120, entries, 120);
	check_eq(try_batch(node, (struct nvidia_fs_io *)(room + 4096 - 120), 2), -EFAULT);
	memcpy(room, entries, sizeof(entries[0]));
	check_eq(mprotect(room, 4096, PROT_READ), 0);
	check_eq(try_batch(node, (struct nvidia_fs_io *)room, 1), -EFAULT);
	munmap(room, 4096);
	check(host_ask("check", mem.offset, MEM_SIZE, "ee"));
	check_eq(lane_stat("Batches", "err"), 10);
	end();
}

/* Many more than there are slots: they wait for one another, in the order of the batch. */
static void as_many_as_there_may_be_through_one_slot(void)
{
	uint64_t *card, *buffer = NULL;

	begin(64 * KIB);
	check(!posix_memalign((void **)&buffer, 4096, MIB));
	card = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)mem.offset);
	check(card != MAP_FAILED);
	for (uint64_t i = 0; i < 256; i++) {
		buffer[i * 512] = 1000 + i;
		card[i * 512] = 2000 + i;
	}
	check_eq(pwrite(drive, buffer, MIB, 4 * MIB), MIB);
	/* even blocks go to the drive, 4 MiB behind; odd ones come to the card, 4 MiB behind */
	for (uint64_t i = 0; i < NVIDIA_FS_MAX_BATCH; i++) {
		bool write = !(i & 1);

		entries[i] = lane_io(&maps[0], drive, (int64_t)(((write ? 8 : 4) * MIB) + i * 4096),
				     (write ? 0 : 4 * MIB) + i * 4096, 4096);
		entries[i].flags |= write ? WRITES : 0;
	}
	check_eq(try_batch(node, entries, NVIDIA_FS_MAX_BATCH), 0);
	check_eq(pread(drive, buffer, MIB, 8 * MIB), MIB);
	for (uint64_t i = 0; i < NVIDIA_FS_MAX_BATCH; i++) {
		check_eq(entries[i].ioctl_return, 4096);
		check_eq(i & 1 ? card[4 * MIB / 8 + i * 512] : buffer[i * 512], (i & 1 ? 1000 : 2000) + i);
	}
	munmap(card, MEM_SIZE);
	free(buffer);
	end();
}

static const struct tap_test tests[] = {
	{ "entries_are_in_flight_together", entries_are_in_flight_together },
	{ "entries_may_end_after_the_call", entries_may_end_after_the_call },
	{ "each_entry_has_its_own_result", each_entry_has_its_own_result },
	{ "one_bad_entry_and_none_is_begun", one_bad_entry_and_none_is_begun },
	{ "batches_that_make_no_sense_are_refused", batches_that_make_no_sense_are_refused },
	{ "as_many_as_there_may_be_through_one_slot", as_many_as_there_may_be_through_one_slot },
};

TAP_MAIN(tests)
