// SPDX-License-Identifier: MIT
/*
 * Every allocation that an operation of nvidia-fs.ko makes fails once. The operation then ends with ENOMEM or
 * copes, and leaves nothing: no shadow, nothing bound, no byte in memory that was given back.
 */
#include "fault.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int gpu = -1, node = -1, drive = -1, fd;
static struct gpu_mem mem;
static struct lane_map map;
static void *shadow;

static struct state now(void)
{
	struct state state = state_now(gpu);

	state.nr_pins = (uint64_t)lane_stat("Bar1-map", "active");
	state.nr_maps = (uint64_t)(lane_stat("Mmap", "ok") - lane_stat("Mmap", "munmap"));
	return state;
}

static void walk(const char *name, const char *parameters, const struct fault_op *op)
{
	fault_needed();
	close(node);
	close(drive);
	close(gpu);
	/* what a walk that failed left would keep the module */
	if (map.shadow)
		lane_unbind(&map);
	lane_need_patched();
	lane_reload(parameters);
	gpu = gpu_open();
	node = lane_open();
	drive = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	mem = gpu_alloc(gpu, 2 * MIB);
	fault_walk(name, op, now);
	close(drive);
	drive = -1;
	close(node);
	node = -1;
	lane_check_clean(gpu);
	close(gpu);
	gpu = -1;
}

static int do_open(void)
{
	fd = open(NVIDIA_FS_PATH "1", O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

static void close_fd(void)
{
	check_eq(close(fd), 0);
}

static int do_shadow(void)
{
	shadow = try_shadow(node, 128 * KIB);
	return shadow ? 0 : -errno;
}

static void unmap_shadow(void)
{
	check_eq(munmap(shadow, 128 * KIB), 0);
}

/* A shadow is there, so that what fails is the binding. */
static void prepare_bind(void)
{
	map = (struct lane_map){ .shadow_len = 128 * KIB };
	map.shadow = try_shadow(node, map.shadow_len);
	map.meta = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	check(map.shadow && map.meta != MAP_FAILED);
}

static int do_bind(void)
{
	struct nvidia_fs_map arg = {
		.size = MIB,
		.cpuvaddr = (uintptr_t)map.shadow,
		.gpuvaddr = mem.va,
		.end_fence_addr = (uintptr_t)map.meta,
		.sbuf_block = 32,
	};

	return try_bind(node, &arg);
}

static void unbind(void)
{
	lane_unbind(&map);
}

static void prepare_io(void)
{
	map = lane_bind(node, mem.va, MIB, 128 * KIB);
}

/* Of a request of several pieces one may have come through before there was no memory for another. */
static int judge_pieces(int64_t ret)
{
	if (ret > 0 && ret < 256 * (int64_t)KIB)
		return -ENOMEM;
	return ret == 256 * (int64_t)KIB ? 0 : ret < 0 ? (int)ret : -EPROTO;
}

/* The first read gives the drive its addresses. */
static int do_read(void)
{
	return judge_pieces(lane_read(node, &map, drive, 0, 0, 256 * KIB));
}

static int do_write(void)
{
	int64_t ret = lane_write(node, &map, drive, 0, 0, 64 * KIB);

	return ret == 64 * (int64_t)KIB ? 0 : ret < 0 ? (int)ret : -EPROTO;
}

/* Pieces, and what follows them. */
static int do_async(void)
{
	static uint64_t fence;
	struct nvidia_fs_io io = lane_io(&map, drive, 0, 0, 256 * KIB);

	return judge_pieces(lane_async(node, false, &map, &io, ++fence));
}

static int do_batch(void)
{
	struct nvidia_fs_io entries[2] = { lane_io(&map, drive, 0, 0, 4096), lane_io(&map, drive, 0, 4096, 4096) };
	int ret = try_batch(node, entries, 2);

	if (ret == -EPERM)
		ret = (int)(entries[0].ioctl_return == -ECANCELED ? entries[1] : entries[0]).ioctl_return;
	if (ret)
		return ret;
	for (int i = 0; i < 2; i++) {
		if (entries[i].ioctl_return != 4096)
			ret = entries[i].ioctl_return < 0 ? (int)entries[i].ioctl_return : -EPROTO;
	}
	return ret;
}

static void opening(void)
{
	walk("open", "", &(struct fault_op){ .run = do_open, .undo = close_fd });
}

static void making_a_shadow(void)
{
	walk("shadow", "", &(struct fault_op){ .run = do_shadow, .undo = unmap_shadow });
}

static void binding(void)
{
	walk("bind", LANE_LEGACY, &(struct fault_op){ .prepare = prepare_bind, .run = do_bind, .undo = unbind });
}

static void binding_persistent(void)
{
	walk("bind persistent", "", &(struct fault_op){ .prepare = prepare_bind, .run = do_bind, .undo = unbind });
}

static void reading(void)
{
	walk("read", LANE_LEGACY, &(struct fault_op){ .prepare = prepare_io, .run = do_read, .undo = unbind });
}

static void writing(void)
{
	walk("write", "", &(struct fault_op){ .prepare = prepare_io, .run = do_write, .undo = unbind });
}

static void reading_without_waiting(void)
{
	walk("async", "", &(struct fault_op){ .prepare = prepare_io, .run = do_async, .undo = unbind });
}

static void batching(void)
{
	walk("batch", "", &(struct fault_op){ .prepare = prepare_io, .run = do_batch, .undo = unbind });
}

static const struct tap_test tests[] = {
	{ "opening", opening },	      { "making_a_shadow", making_a_shadow },
	{ "binding", binding },	      { "binding_persistent", binding_persistent },
	{ "reading", reading },	      { "writing", writing },
	{ "reading_without_waiting", reading_without_waiting },
	{ "batching", batching },
};

TAP_MAIN(tests)
