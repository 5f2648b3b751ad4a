// SPDX-License-Identifier: MIT
/*
 * Shadows that are used again: UNMAP gives memory back and keeps the shadow, and a shadow that is unmapped may come back
 * with the next mmap(). Bytes are compared by the host.
 */
#include "drives.h"
#include "host.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEM_SIZE  (2 * MIB)
#define VERY_SLOW (256 * KIB)

static int gpu, node, drive;
static struct gpu_mem mems[2];

static void begin(const char *parameters)
{
	if (!lane_has_patched())
		skip("there are no patches for the NVMe driver of this kernel");
	lane_use_patched(true);
	lane_reload(parameters);
	gpu = gpu_open();
	node = lane_open();
	drive = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	check(drive >= 0);
	for (int i = 0; i < 2; i++)
		mems[i] = gpu_alloc(gpu, MEM_SIZE);
}

static void end(void)
{
	close(drive);
	close(node);
	lane_check_clean(gpu);
	close(gpu);
}

/* With the page for reports that the binding before had, or with another one. */
static int try_bind_again(const struct lane_map *map, uint64_t va, uint64_t size, const void *meta)
{
	struct nvidia_fs_map arg = {
		.size = (int64_t)size,
		.cpuvaddr = (uintptr_t)map->shadow,
		.gpuvaddr = va,
		.end_fence_addr = (uintptr_t)meta,
		.sbuf_block = (uint32_t)(map->shadow_len / NVIDIA_FS_BLOCK),
	};

	return try_bind(node, &arg);
}

static void memory_changes_behind_a_shadow(void)
{
	struct lane_map map;

	for (int legacy = 0; legacy < 2; legacy++) {
		begin(legacy ? LANE_LEGACY : "");
		for (int i = 0; i < 2; i++)
			check(host_ask("fill", mems[i].offset, MEM_SIZE, "ee"));
		check(host_ask("fill-drive", 4 * MIB, 2 * MIB, "0123456789abcdef"));
		map = lane_bind(node, mems[0].va, MEM_SIZE, 256 * KIB);
		check_eq(lane_read(node, &map, drive, 4 * MIB, 0, MIB), MIB);
		check_eq(try_unmap(node, map.shadow), 0);
		check_eq(gpu_counters(gpu).pins, 0);
		check_eq(lane_stat("Bar1-map", "active"), 0);
		check_eq(lane_read(node, &map, drive, 4 * MIB, 0, 4096), -EBUSY);
		/* other memory, another size, the same page */
		check_eq(try_bind_again(&map, mems[1].va + 64 * KIB, MIB, NULL), 0);
		check_eq(gpu_counters(gpu).pins, 1);
		check_eq(lane_read(node, &map, drive, 4 * MIB, 0, MIB), MIB);
		check_eq(lane_read(node, &map, drive, 4 * MIB, MIB, 4096), -EINVAL);
		check(host_ask("check", mems[0].offset, MIB, "0123456789abcdef"));
		check(host_ask("check", mems[0].offset + MIB, MIB, "ee"));
		check(host_ask("check", mems[1].offset, 64 * KIB, "ee"));
		check(host_ask("check", mems[1].offset + 64 * KIB, MIB, "0123456789abcdef"));
		check_eq(lane_stat("Bar1-map", "n"), 2);
		lane_unbind(&map);
		end();
	}
}

static void reports_go_where_the_last_binding_says(void)
{
	struct lane_map map, other;
	struct nvidia_fs_io io;

	begin("");
	map = lane_bind(node, mems[0].va, MEM_SIZE, MIB);
	io = lane_io(&map, drive, 4 * MIB, 0, 64 * KIB);
	check_eq(lane_async(node, false, &map, &io, 5), 64 * KIB);
	check_eq(try_unmap(node, map.shadow), 0);
	/* the page that was kept */
	check_eq(try_bind_again(&map, mems[0].va, MEM_SIZE, NULL), 0);
	check_eq(lane_async(node, false, &map, &io, 6), 64 * KIB);
	check_eq(try_unmap(node, map.shadow), 0);
	other = map;
	other.meta = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(other.meta != MAP_FAILED);
	check_eq(try_bind_again(&map, mems[0].va, MEM_SIZE, other.meta), 0);
	check_eq(lane_async(node, false, &other, &io, 7), 64 * KIB);
	check_eq(map.meta->end_fence_val, 6);
	munmap(other.meta, 4096);
	lane_unbind(&map);
	end();
}

static int unmaps_the_parents(void *shadow)
{
	return try_unmap(node, shadow) == -EINVAL ? 0 : 1;
}

static void what_is_not_bound_is_not_unmapped(void)
{
	struct nvidia_fs_unmap arg = { 0 };
	struct lane_map map;

	begin("");
	map = lane_bind(node, mems[0].va, MEM_SIZE, 64 * KIB);
	check_eq(try_unmap(node, (char *)map.shadow + 4096), -EINVAL);
	check_eq(try_unmap(node, map.meta), -EINVAL);
	/* no shadow at all asks whether there is such a request */
	check_eq(try_unmap(node, NULL), 0);
	arg.cpuvaddr = (uintptr_t)map.shadow;
	arg.flags = 1;
	check_eq(ioctl(node, NVIDIA_FS_IOC_UNMAP, &arg), -1);
	check_eq(errno, EINVAL);
	arg.flags = 0;
	arg.pad = 1;
	check_eq(ioctl(node, NVIDIA_FS_IOC_UNMAP, &arg), -1);
	check_eq(errno, EINVAL);
	check_eq(ioctl(node, NVIDIA_FS_IOC_UNMAP, NULL), -1);
	check_eq(errno, EFAULT);
	check_eq(in_child(unmaps_the_parents, map.shadow), 0);
	check_eq(gpu_counters(gpu).pins, 1);
	check_eq(try_unmap(node, map.shadow), 0);
	check_eq(try_unmap(node, map.shadow), -EINVAL);
	/* what is refused leaves the page as it was */
	check_eq(try_bind_again(&map, 64 * KIB, MIB, NULL), -EINVAL);
	check_eq(try_bind_again(&map, mems[0].va, 0, NULL), -EINVAL);
	check_eq(try_bind_again(&map, mems[0].va, MIB, (void *)4096), -EFAULT);
	check_eq(try_bind_again(&map, mems[0].va, MIB, NULL), 0);
	check_eq(lane_read(node, &map, drive, 0, 0, 4096), 4096);
	lane_unbind(&map);
	/* one that never had a page */
	map.shadow_len = 64 * KIB;
	map.shadow = try_shadow(node, map.shadow_len);
	check(map.shadow);
	check_eq(try_bind_again(&map, mems[0].va, MIB, NULL), -EINVAL);
	munmap(map.shadow, map.shadow_len);
	end();
}

static void what_is_in_flight_keeps_its_memory(void)
{
	struct nvidia_fs_io io;
	struct lane_map map;

	begin("");
	map = lane_bind(node, mems[0].va, MEM_SIZE, MIB);
	io = lane_io(&map, drive, 4 * MIB, 0, MIB);
	check(host_ask("fill-drive", 4 * MIB, MIB, "0123456789abcdef"));
	drive_slow(VERY_SLOW);
	check_eq(try_start(node, false, io, 9), 0);
	check_eq(try_unmap(node, map.shadow), -EBUSY);
	check_eq(gpu_counters(gpu).pins, 1);
	drive_slow(0);
	check_eq(lane_wait(&map, 9), MIB);
	/* who has read the fence may unmap */
	check_eq(try_unmap(node, map.shadow), 0);
	check_eq(gpu_counters(gpu).pins, 0);
	check(host_ask("check", mems[0].offset, MIB, "0123456789abcdef"));
	lane_unbind(&map);
	end();
}

static void a_shadow_outlives_memory_that_was_freed(void)
{
	struct lane_map map;

	begin(LANE_LEGACY);
	map = lane_bind(node, mems[0].va, MEM_SIZE, 64 * KIB);
	check_eq(lane_read(node, &map, drive, 0, 0, 4096), 4096);
	gpu_free(gpu, &mems[0]);
	check_eq(map.meta->state, NVIDIA_FS_DIED);
	check_eq(lane_read(node, &map, drive, 0, 0, 4096), -EIO);
	check_eq(try_unmap(node, map.shadow), 0);
	map.meta->state = NVIDIA_FS_CLEAN;
	check_eq(try_bind_again(&map, mems[1].va, MEM_SIZE, NULL), 0);
	check_eq(lane_read(node, &map, drive, 0, 0, 4096), 4096);
	check_eq(map.meta->state, NVIDIA_FS_CLEAN);
	lane_unbind(&map);
	end();
}

static bool is_zero(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i])
			return false;
	}
	return true;
}

static int finds_zeroes(void *arg)
{
	char *shadow = try_shadow(*(int *)arg, 256 * KIB);

	return shadow && is_zero(shadow, 256 * KIB) ? 0 : 1;
}

/* Whatever became of one, the next one is as a new one: zero, and bound to nothing. */
static void a_shadow_shows_nothing_of_another(void)
{
	struct lane_map map;
	int fd;

	begin("");
	check(host_ask("fill-drive", 0, MIB, "0123456789abcdef"));
	for (int i = 0; i < 6; i++) {
		map = lane_bind(node, mems[0].va, MEM_SIZE, 256 * KIB);
		check_eq(lane_read(node, &map, drive, 0, 0, MIB), MIB);
		/* a read that ends with the drive, and one of cached bytes */
		if (i & 1)
			check_eq(lane_read(node, &map, drive, lseek(drive, 0, SEEK_END) - 4096, 0, MIB), 4096);
		if (i & 2)
			memset(map.shadow, 0x5a, map.shadow_len);
		if (i & 4)
			check_eq(try_unmap(node, map.shadow), 0);
		lane_unbind(&map);
		check_eq(lane_stat("Bar1-map", "active"), 0);
		map.shadow_len = 256 * KIB;
		map.shadow = try_shadow(node, map.shadow_len);
		check(map.shadow);
		check_eq(try_bind_again(&map, mems[0].va, MIB, NULL), -EINVAL);
		check_eq(try_unmap(node, map.shadow), -EINVAL);
		munmap(map.shadow, map.shadow_len);
		check_eq(in_child(finds_zeroes, &node), 0);
	}
	/* the node goes before its shadows, and after */
	fd = lane_open();
	map.shadow = try_shadow(fd, 256 * KIB);
	check(map.shadow);
	munmap(map.shadow, 256 * KIB);
	map.shadow = try_shadow(fd, 256 * KIB);
	check(map.shadow);
	close(fd);
	check(is_zero(map.shadow, 256 * KIB));
	munmap(map.shadow, 256 * KIB);
	end();
	check_eq(try_module_unload("nvidia_fs"), 0);
}

static struct nvidia_fs_map good_map(void *shadow, const void *meta)
{
	return (struct nvidia_fs_map){
		.size = 4096,
		.cpuvaddr = (uintptr_t)shadow,
		.gpuvaddr = mems[0].va,
		.end_fence_addr = (uintptr_t)meta,
		.sbuf_block = 1,
	};
}

/* MAP reads its struct and no more, and writes when there is an error to tell. */
static void arguments_need_be_no_larger_than_they_are(void)
{
	struct nvidia_fs_map *arg;
	char *shadow, *meta, *pages;

	begin("");
	shadow = try_shadow(node, 128 * KIB);
	meta = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(shadow && meta != MAP_FAILED && pages != MAP_FAILED);
	check_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	arg = (struct nvidia_fs_map *)(pages + 4096) - 1;
	*arg = good_map(shadow, meta);
	check_eq(ioctl(node, NVIDIA_FS_IOC_MAP, arg), 0);
	check_eq(gpu_counters(gpu).pins, 1);
	check_eq(try_unmap(node, shadow), 0);
	check_eq(mprotect(pages, 4096, PROT_READ), 0);
	check_eq(ioctl(node, NVIDIA_FS_IOC_MAP, arg), 0);
	check_eq(gpu_counters(gpu).pins, 1);
	check_eq(ioctl(node, NVIDIA_FS_IOC_MAP, arg), -1);
	check_eq(errno, EFAULT);
	check_eq(gpu_counters(gpu).pins, 1);
	check_eq(try_unmap(node, shadow), 0);
	check_eq(ioctl(node, NVIDIA_FS_IOC_MAP, (char *)arg + 8), -1);
	check_eq(errno, ENOMEM);
	check_eq(gpu_counters(gpu).pins, 0);
	munmap(pages, 8192);
	munmap(meta, 4096);
	munmap(shadow, 128 * KIB);
	end();
}

static void bind_and_give_back(int by, void *shadow, const void *meta)
{
	struct nvidia_fs_map arg = good_map(shadow, meta);

	check_eq(try_bind(by, &arg), 0);
	check_eq(gpu_counters(gpu).pins, 1);
	check_eq(try_unmap(by, shadow), 0);
	check_eq(gpu_counters(gpu).pins, 0);
}

/* By its address now, through the node that it was mapped through or another one. */
static void shadows_are_found_where_they_are(void)
{
	enum { NR = 300 };
	static void *shadows[NR];
	struct nvidia_fs_map arg;
	char *meta, *other;
	int by;

	begin("");
	by = lane_open();
	meta = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	other = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(meta != MAP_FAILED && other != MAP_FAILED);
	for (int i = 0; i < NR; i++)
		check(shadows[i] = try_shadow(node, 4096));
	for (int i = NR - 1; i >= 0; i--)
		bind_and_give_back(i % 2 ? node : by, shadows[i], meta);
	/* one that refuses to move is where it was */
	check(mremap(shadows[0], 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, other) == MAP_FAILED);
	bind_and_give_back(node, shadows[0], meta);
	/* the same place: nothing, something else, another shadow */
	munmap(shadows[1], 4096);
	arg = good_map(shadows[1], meta);
	check_eq(try_bind(node, &arg), -EINVAL);
	check(mmap(shadows[1], 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	      shadows[1]);
	check_eq(try_bind(node, &arg), -EINVAL);
	check(mmap(shadows[1], 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, by, 0) == shadows[1]);
	bind_and_give_back(node, shadows[1], meta);
	bind_and_give_back(by, shadows[1], meta);
	/* the open node that it was mapped through is gone */
	close(node);
	node = lane_open();
	bind_and_give_back(by, shadows[2], meta);
	bind_and_give_back(node, shadows[2], meta);
	close(by);
	for (int i = 0; i < NR; i++)
		munmap(shadows[i], 4096);
	munmap(other, 4096);
	munmap(meta, 4096);
	end();
}

static const struct tap_test tests[] = {
	{ "memory_changes_behind_a_shadow", memory_changes_behind_a_shadow },
	{ "reports_go_where_the_last_binding_says", reports_go_where_the_last_binding_says },
	{ "what_is_not_bound_is_not_unmapped", what_is_not_bound_is_not_unmapped },
	{ "what_is_in_flight_keeps_its_memory", what_is_in_flight_keeps_its_memory },
	{ "a_shadow_outlives_memory_that_was_freed", a_shadow_outlives_memory_that_was_freed },
	{ "a_shadow_shows_nothing_of_another", a_shadow_shows_nothing_of_another },
	{ "arguments_need_be_no_larger_than_they_are", arguments_need_be_no_larger_than_they_are },
	{ "shadows_are_found_where_they_are", shadows_are_found_where_they_are },
};

TAP_MAIN(tests)
