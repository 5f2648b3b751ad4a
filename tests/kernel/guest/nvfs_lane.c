// SPDX-License-Identifier: MIT
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define STOCK "/lib/modules/nvme.ko"

static bool is_patched;

static int load_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return ret;
}

/* The last process of an earlier test may still be ending. */
static int unload(const char *name)
{
	int ret = 0;

	for (int i = 0; i < 100; i++) {
		ret = try_module_unload(name);
		if (!ret || ret == -ENOENT)
			return 0;
		usleep(20000);
	}
	return ret;
}

static void unload_all(void)
{
	unload("nvidia_fs");
	if (is_patched)
		lane_use_patched(false);
	unload("bl_card");
}

static void leave_as_found(void)
{
	static bool registered;

	if (!registered)
		registered = !atexit(unload_all);
}

static bool is_lab(const char *name, const char *value)
{
	const char *is = getenv(name);

	return is && !strcmp(is, value);
}

/* What goes through the emulator's root complex, which is on no list; tests of that have the parameter themselves. */
static const char *with_route(const char *parameters)
{
	static char text[256];

	if ((!is_lab("LAB_IOMMU", "on") && !is_lab("LAB_DRIVE", "root")) || strstr(parameters, "allow_unknown_routes"))
		return parameters;
	snprintf(text, sizeof(text), "%s allow_unknown_routes=1", parameters);
	return text;
}

void lane_reload(const char *parameters)
{
	int ret = try_module_load("bl_card", "");

	leave_as_found();
	check(!ret || ret == -EEXIST);
	check_eq(unload("nvidia_fs"), 0);
	check_eq(try_module_load("nvidia-fs", with_route(parameters)), 0);
}

bool lane_has_patched(void)
{
	return !access("/modules/nvme-nvfs.ko", R_OK);
}

/* The kernel's own driver cannot be unloaded: the patched one has a name of its own. */
static bool is_builtin(void)
{
	return access(STOCK, R_OK);
}

const char *lane_driver(void)
{
	return is_patched && is_builtin() ? "nvme-nvfs" : "nvme";
}

void lane_drive_bdf(char *bdf, size_t size)
{
	char target[256];
	ssize_t len = readlink("/sys/class/nvme/nvme0/device", target, sizeof(target) - 1);

	check(len > 0);
	target[len] = '\0';
	snprintf(bdf, size, "%s", strrchr(target, '/') + 1);
}

void lane_drive_move(const char *bdf, const char *verb)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/%s", lane_driver(), verb);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	check(fd >= 0);
	check_eq(write(fd, bdf, strlen(bdf)), (ssize_t)strlen(bdf));
	close(fd);
}

/* The driver looks for its drives on its own time. */
static void wait_for_drive(void)
{
	struct stat st;

	for (int i = 0; i < 500; i++) {
		if (!stat(LANE_DRIVE, &st) && S_ISBLK(st.st_mode))
			return;
		usleep(20000);
	}
	check(!"the drive comes back");
}

static void swap_beside_builtin(bool patched)
{
	char bdf[32];

	/* a test that failed may have left it */
	if (patched && !access("/sys/module/nvme_nvfs", F_OK)) {
		is_patched = true;
		return;
	}
	lane_drive_bdf(bdf, sizeof(bdf));
	if (patched) {
		lane_drive_move(bdf, "unbind");
		check_eq(load_file("/modules/nvme-nvfs.ko"), 0);
		is_patched = true;
	} else {
		check_eq(unload("nvme_nvfs"), 0);
		is_patched = false;
		lane_drive_move(bdf, "bind");
	}
	wait_for_drive();
}

void lane_use_patched(bool patched)
{
	leave_as_found();
	if (is_patched == patched)
		return;
	if (is_builtin()) {
		swap_beside_builtin(patched);
		return;
	}
	check_eq(unload("nvme"), 0);
	check_eq(load_file(patched ? "/modules/nvme-nvfs.ko" : STOCK), 0);
	is_patched = patched;
	wait_for_drive();
}

void lane_need_patched(void)
{
	if (!lane_has_patched())
		skip("there are no patches for the NVMe driver of this kernel");
	lane_use_patched(true);
}

int lane_open(void)
{
	int fd = open(NVIDIA_FS_PATH "0", O_RDWR | O_CLOEXEC);

	check(fd >= 0);
	return fd;
}

void lane_open_all(int *gpu, int *node, int *drive)
{
	*gpu = gpu_open();
	*node = lane_open();
	*drive = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	check(*drive >= 0);
}

void lane_close_all(int gpu, int node, int drive)
{
	close(drive);
	close(node);
	lane_check_clean(gpu);
	close(gpu);
}

void *try_shadow(int node, size_t len)
{
	void *shadow = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, node, 0);

	return shadow == MAP_FAILED ? NULL : shadow;
}

static int64_t call(int node, unsigned long request, union nvidia_fs_arg *arg)
{
	int64_t reason;

	if (ioctl(node, request, arg) >= 0)
		return 0;
	if (errno != EPERM)
		return -errno;
	memcpy(&reason, (char *)arg + NVIDIA_FS_RETURN_OFFSET, sizeof(reason));
	return reason < 0 ? reason : -EPROTO;
}

int try_bind(int node, struct nvidia_fs_map *arg)
{
	union nvidia_fs_arg room = { .map = *arg };
	int ret = (int)call(node, NVIDIA_FS_IOC_MAP, &room);

	*arg = room.map;
	return ret;
}

int try_lane_bind(int node, uint64_t va, uint64_t size, size_t shadow_len, struct lane_map *map)
{
	struct nvidia_fs_map arg;
	int ret;

	*map = (struct lane_map){ .shadow_len = shadow_len };
	map->shadow = try_shadow(node, shadow_len);
	if (!map->shadow)
		return -errno;
	map->meta = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map->meta == MAP_FAILED) {
		munmap(map->shadow, shadow_len);
		return -ENOMEM;
	}
	arg = (struct nvidia_fs_map){
		.size = (int64_t)size,
		.cpuvaddr = (uintptr_t)map->shadow,
		.gpuvaddr = va,
		.end_fence_addr = (uintptr_t)map->meta,
		.sbuf_block = (uint32_t)(shadow_len / NVIDIA_FS_BLOCK),
	};
	ret = try_bind(node, &arg);
	if (ret)
		lane_unbind(map);
	return ret;
}

struct lane_map lane_bind(int node, uint64_t va, uint64_t size, size_t shadow_len)
{
	struct lane_map map;

	check_eq(try_lane_bind(node, va, size, shadow_len, &map), 0);
	return map;
}

void lane_unbind(struct lane_map *map)
{
	munmap(map->shadow, map->shadow_len);
	munmap(map->meta, 4096);
	*map = (struct lane_map){ 0 };
}

int try_unmap(int node, const void *shadow)
{
	struct nvidia_fs_unmap arg = { .cpuvaddr = (uintptr_t)shadow };

	return ioctl(node, NVIDIA_FS_IOC_UNMAP, &arg) ? -errno : 0;
}

struct nvidia_fs_io lane_io(const struct lane_map *map, int fd, int64_t pos, uint64_t off, uint64_t size)
{
	struct nvidia_fs_io io = { .cpuvaddr = (uintptr_t)map->shadow, .offset = pos, .size = size, .fd = fd };
	struct stat st = { 0 };
	dev_t dev;

	fstat(fd, &st);
	dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	io.flags = NVIDIA_FS_IO_SYNC;
	io.file = (struct nvidia_fs_file){ .inum = st.st_ino, .majdev = major(dev), .mindev = minor(dev) };
	io.file.devptroff = off;
	return io;
}

int64_t try_io(int node, bool write, const struct nvidia_fs_io *io)
{
	union nvidia_fs_arg arg = { .io = *io };
	int64_t ret = call(node, write ? NVIDIA_FS_IOC_WRITE : NVIDIA_FS_IOC_READ, &arg);

	return ret ? ret : arg.io.ioctl_return;
}

int64_t lane_read(int node, const struct lane_map *map, int fd, int64_t pos, uint64_t off, uint64_t size)
{
	struct nvidia_fs_io io = lane_io(map, fd, pos, off, size);

	return try_io(node, false, &io);
}

int64_t lane_write(int node, const struct lane_map *map, int fd, int64_t pos, uint64_t off, uint64_t size)
{
	struct nvidia_fs_io io = lane_io(map, fd, pos, off, size);

	return try_io(node, true, &io);
}

int try_start(int node, bool write, struct nvidia_fs_io io, uint64_t fence)
{
	int64_t ret;

	io.flags &= (uint8_t)~NVIDIA_FS_IO_SYNC;
	io.end_fence_value = fence;
	ret = try_io(node, write, &io);
	return ret < 0 ? (int)ret : 0;
}

bool lane_ended(const struct lane_map *map, uint64_t fence)
{
	return __atomic_load_n(&map->meta->end_fence_val, __ATOMIC_ACQUIRE) == fence;
}

int64_t lane_wait(const struct lane_map *map, uint64_t fence)
{
	for (int i = 0; !lane_ended(map, fence); i++) {
		check(i < 60000);
		usleep(1000);
	}
	return map->meta->result;
}

int64_t lane_async(int node, bool write, const struct lane_map *map, const struct nvidia_fs_io *io, uint64_t fence)
{
	int ret = try_start(node, write, *io, fence);

	return ret ? ret : lane_wait(map, fence);
}

int try_batch(int node, struct nvidia_fs_io *entries, uint64_t nr)
{
	union nvidia_fs_arg arg = { .batch = { .nents = nr, .io_entries = (uintptr_t)entries } };

	return ioctl(node, NVIDIA_FS_IOC_BATCH, &arg) ? -errno : 0;
}

long lane_stat(const char *line, const char *name)
{
	FILE *file = fopen("/proc/driver/nvidia-fs/stats", "re");
	size_t len = strlen(name);
	char text[256];
	long value = -1;

	check(file);
	while (value < 0 && fgets(text, sizeof(text), file)) {
		if (strncmp(text, line, strlen(line)) || !strchr(" \t:", text[strlen(line)]))
			continue;
		for (char *at = text; (at = strstr(at, name)); at += len) {
			if (at[len] == '=' && strchr(" \t", at[-1]))
				value = strtol(at + len + 1, NULL, 10);
		}
	}
	fclose(file);
	check(value >= 0);
	return value;
}

void lane_check_clean(int gpu)
{
	struct bl_card_counters counters;

	for (int i = 0; i < 100 && lane_stat("Bar1-map", "active"); i++)
		usleep(20000);
	check_eq(lane_stat("Bar1-map", "active"), 0);
	check_eq(lane_stat("Ops", "Read"), 0);
	check_eq(lane_stat("Ops", "Write"), 0);
	counters = gpu_counters(gpu);
	check_eq(counters.pins, 0);
	check_eq(counters.late_writes, 0);
	check_eq(counters.misuses, 0);
}

bool lane_is_all(const uint8_t *at, size_t len, uint8_t value)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i] != value)
			return false;
	}
	return true;
}
