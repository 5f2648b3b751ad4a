// SPDX-License-Identifier: MIT
/*
 * Memory, shadows, nodes, processes, drives and the card that go while requests that nobody waits for are in flight.
 * The drive is slow, so that they are. Afterwards nothing is bound, and nothing was written to memory that had been
 * given back.
 */
#include "drives.h"
#include "hotplug.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define NR_MAPS	 4
#define MEM_SIZE (4 * MIB)
/* until it is let go */
#define VERY_SLOW (64 * KIB)

static int gpu, node, drive;
static struct gpu_mem mem;
static struct lane_map maps[NR_MAPS];

static void set_up(void)
{
	lane_open_all(&gpu, &node, &drive);
	mem = gpu_alloc(gpu, MEM_SIZE);
	for (int i = 0; i < NR_MAPS; i++)
		maps[i] = lane_bind(node, mem.va, MEM_SIZE, MIB);
}

static void begin(const char *parameters)
{
	lane_need_patched();
	lane_reload(parameters);
	set_up();
}

static void unbind_all(void)
{
	for (int i = 0; i < NR_MAPS; i++)
		lane_unbind(&maps[i]);
}

static void end(void)
{
	lane_close_all(gpu, node, drive);
}

static void start_all_of(int fd, bool write)
{
	for (int i = 0; i < NR_MAPS; i++) {
		struct nvidia_fs_io io = lane_io(&maps[i], fd, i * (int64_t)MIB, (uint64_t)i * MIB, MIB);

		check_eq(try_start(node, write, io, 1), 0);
	}
}

/* At least one is under way for a while. */
static void start_at(unsigned long rate, bool write)
{
	drive_slow(rate);
	start_all_of(drive, write);
	check(!lane_ended(&maps[NR_MAPS - 1], 1));
}

static void start_slowly(bool write)
{
	start_at(drive_slow_rate(), write);
}

static void all_end_with(int64_t result, int64_t other)
{
	for (int i = 0; i < NR_MAPS; i++) {
		int64_t ret = lane_wait(&maps[i], 1);

		if (ret != result)
			check_eq(ret, other);
	}
}

/* The owner waits until the drive has ended what was under way, and only that. */
static void memory_freed(void)
{
	for (int i = 0; i < 2; i++) {
		begin(LANE_LEGACY);
		start_slowly(i);
		gpu_free(gpu, &mem);
		all_end_with(MIB, -EIO);
		for (int j = 0; j < NR_MAPS; j++)
			check_eq(maps[j].meta->state, NVIDIA_FS_DIED);
		drive_slow(0);
		check_eq(gpu_counters(gpu).late_writes, 0);
		check_eq(lane_read(node, &maps[0], drive, 0, 0, 4096), -EIO);
		unbind_all();
		end();
	}
}

/* munmap() waits: what the process does with the memory after it is not disturbed. */
static void shadow_unmapped(void)
{
	for (int i = 0; i < 4; i++) {
		begin(i & 1 ? LANE_LEGACY : "");
		start_slowly(i & 2);
		for (int j = 0; j < NR_MAPS; j++) {
			check_eq(munmap(maps[j].shadow, maps[j].shadow_len), 0);
			check(lane_ended(&maps[j], 1));
			check_eq(maps[j].meta->result, MIB);
			munmap(maps[j].meta, 4096);
		}
		check_eq(lane_stat("Bar1-map", "active"), 0);
		drive_slow(0);
		end();
	}
}

/* The requests hold what they came through, and the driver of the drive goes on working with the module. */
static void node_closed(void)
{
	begin("");
	start_at(VERY_SLOW, false);
	close(node);
	check(!lane_ended(&maps[NR_MAPS - 1], 1));
	drive_slow(0);
	all_end_with(MIB, MIB);
	node = lane_open();
	check_eq(lane_read(node, &maps[0], drive, 0, 0, MIB), MIB);
	unbind_all();
	end();
}

/* The descriptor of the file goes too. */
static void file_closed(void)
{
	begin("");
	start_at(VERY_SLOW, true);
	close(drive);
	check(!lane_ended(&maps[NR_MAPS - 1], 1));
	drive_slow(0);
	all_end_with(MIB, MIB);
	drive = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	check_eq(lane_read(node, &maps[0], drive, 0, 0, MIB), MIB);
	unbind_all();
	end();
}

/* What: 0 it ends, 1 it is killed, 2 it becomes another program. */
static int starts_and_goes(void *arg)
{
	int what = *(int *)arg;

	set_up();
	start_all_of(drive, what & 1);
	if (what == 1)
		kill(getpid(), SIGKILL);
	if (what == 2)
		execl("/bin/true", "true", NULL);
	return 0;
}

static void process_gone(void)
{
	for (int i = 0; i < 6; i++) {
		int what = i % 3;

		begin(i & 1 ? LANE_LEGACY : "");
		unbind_all();
		drive_slow(drive_slow_rate());
		check_eq(in_child(starts_and_goes, &what), what == 1 ? 128 + SIGKILL : 0);
		/* its end was waited for */
		check_eq(lane_stat("Ops", "Read") + lane_stat("Ops", "Write"), 0);
		drive_slow(0);
		end();
	}
}

/* What is in flight ends within the two seconds that the module gives it: a debug kernel warns of what takes longer. */
static void drive_unbound(void)
{
	char bdf[32];

	for (int i = 0; i < 2; i++) {
		begin(i & 1 ? LANE_LEGACY : "");
		lane_drive_bdf(bdf, sizeof(bdf));
		drive_slow(4 * MIB);
		start_all_of(drive, i);
		lane_drive_move(bdf, "unbind");
		for (int j = 0; j < NR_MAPS; j++) {
			int64_t ret = lane_wait(&maps[j], 1);

			/* some of its pieces may have come through */
			check(ret == -EIO || ret == -ENODEV || (ret > 0 && ret <= (int64_t)MIB && !(ret % 4096)));
		}
		drive_slow(0);
		close(drive);
		lane_drive_move(bdf, "bind");
		drive = -1;
		for (int j = 0; j < 250 && drive < 0; j++) {
			usleep(20000);
			drive = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
		}
		check(drive >= 0);
		check_eq(lane_read(node, &maps[0], drive, 0, 0, MIB), MIB);
		unbind_all();
		end();
	}
}

/* Requests go on until the drive does not answer any more. */
static int64_t read_until_error(int fd)
{
	int64_t ret = 0;

	for (uint64_t fence = 10; ret >= 0; fence++) {
		struct nvidia_fs_io io = lane_io(&maps[0], fd, 0, 0, MIB);

		ret = lane_async(node, false, &maps[0], &io, fence);
	}
	return ret;
}

static void drive_pulled(void)
{
	static void (*const ways[])(void) = { second_drive_remove, second_drive_unplug };
	char name[32];

	second_drive_needed();
	if (!second_drive_may_go())
		skip("Linux 6.1 crashes when a drive that has left its bus and an IOMMU is closed");
	for (int i = 0; i < 2; i++) {
		int second;
		int64_t ret;

		begin("");
		second = second_drive_open(name);
		start_all_of(second, false);
		ways[i]();
		all_end_with(MIB, -EIO);
		ret = read_until_error(second);
		check(ret == -ENODEV || ret == -EIO);
		close(second);
		/* the other one does not notice */
		check_eq(lane_read(node, &maps[0], drive, 0, 0, MIB), MIB);
		unbind_all();
		end();
	}
}

static void card_gone(void)
{
	static const struct way *ways[] = { &way_unbind, &way_remove };

	for (int i = 0; i < 4; i++) {
		begin(i & 1 ? LANE_LEGACY : "");
		card_locate(gpu);
		start_slowly(i & 1);
		ways[i / 2]->take();
		all_end_with(MIB, -EIO);
		for (int j = 0; j < NR_MAPS; j++)
			check_eq(maps[j].meta->state, NVIDIA_FS_DIED);
		drive_slow(0);
		unbind_all();
		close(gpu);
		ways[i / 2]->give();
		gpu = gpu_open();
		end();
	}
}

static void unload_asked(void)
{
	begin("");
	start_at(VERY_SLOW, false);
	close(node);
	check(try_module_unload("nvidia_fs"));
	check(try_module_unload(!strcmp(lane_driver(), "nvme") ? "nvme" : "nvme_nvfs"));
	check(try_module_unload("bl_card"));
	check(!lane_ended(&maps[NR_MAPS - 1], 1));
	drive_slow(0);
	all_end_with(MIB, MIB);
	unbind_all();
	node = lane_open();
	end();
}

static const struct tap_test tests[] = {
	{ "memory_freed_in_flight", memory_freed }, { "shadow_unmapped_in_flight", shadow_unmapped },
	{ "node_closed_in_flight", node_closed },   { "file_closed_in_flight", file_closed },
	{ "process_gone_in_flight", process_gone }, { "drive_unbound_in_flight", drive_unbound },
	{ "drive_pulled_in_flight", drive_pulled }, { "card_gone_in_flight", card_gone },
	{ "unload_asked_in_flight", unload_asked },
};

TAP_MAIN(tests)
