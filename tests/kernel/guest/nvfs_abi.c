// SPDX-License-Identifier: MIT
/* The interface of nvidia-fs.ko: nodes, files in /proc, shadows, and the binding of GPU memory to them. */
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int gpu, node;
static struct gpu_mem mem;

static void begin(const char *parameters)
{
	lane_reload(parameters);
	gpu = gpu_open();
	node = lane_open();
	mem = gpu_alloc(gpu, 2 * MIB);
}

static void end(void)
{
	close(node);
	lane_check_clean(gpu);
	close(gpu);
}

static void check_file(const char *name, const char *want)
{
	char path[64], text[256] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/driver/nvidia-fs/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0);
	check(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	check_str(text, want);
}

static int count_nodes(mode_t mode)
{
	struct stat st;
	char path[32];
	int nr = 0;

	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), NVIDIA_FS_PATH "%d", i);
		if (stat(path, &st))
			continue;
		check(S_ISCHR(st.st_mode));
		check_eq(st.st_mode & 0777, mode);
		nr++;
	}
	return nr;
}

static void nodes_are_as_many_as_asked_for(void)
{
	lane_reload("");
	check_eq(count_nodes(0666), 16);
	check_file("devcount", "16\n");
	check_file("version", "version: 2.28\n");
	check_file("modules", "");
	lane_reload("max_devices=3 node_mode=0600");
	check_eq(count_nodes(0600), 3);
	check_file("devcount", "3\n");
	lane_reload("max_devices=100");
	check_eq(count_nodes(0666), 16);
	lane_reload("max_devices=0");
	check_eq(count_nodes(0666), 16);
	check_eq(try_module_unload("nvidia_fs"), 0);
	check_eq(try_module_load("nvidia-fs", "max_devices=-1"), -EINVAL);
	check_eq(try_module_load("nvidia-fs", "node_mode=01777"), -EINVAL);
	check_eq(count_nodes(0666), 0);
}

static void unknown_requests_are_refused(void)
{
	union nvidia_fs_arg arg = { 0 };
	static const unsigned int unknown[] = { 0, 1, 0x40047400, 0x40047409, 0xc0047402, 0x40087403, 0xffffffff };

	begin("");
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		check_eq(ioctl(node, unknown[i], &arg), -1);
		check_eq(errno, ENOTTY);
	}
	for (unsigned int cmd = NVIDIA_FS_IOC_REMOVE; cmd <= NVIDIA_FS_IOC_BATCH; cmd++) {
		check_eq(ioctl(node, cmd, NULL), -1);
		check_eq(errno, ENOMEM);
		check_eq(ioctl(node, cmd, -1UL), -1);
		check_eq(errno, ENOMEM);
	}
	check_eq(ioctl(node, NVIDIA_FS_IOC_REMOVE, &arg), 0);
	end();
}

static void refused_shadow(size_t len, int prot, int flags, off_t off, int err)
{
	check(mmap(NULL, len, prot, flags, node, off) == MAP_FAILED);
	check_eq(errno, err);
}

static void shadows_have_the_lengths_of_the_interface(void)
{
	static const size_t good[] = { 4 * KIB, 60 * KIB, 64 * KIB, 128 * KIB, 16 * MIB };

	begin("");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		void *shadow = try_shadow(node, good[i]);

		check(shadow);
		check_eq(munmap(shadow, good[i]), 0);
	}
	refused_shadow(68 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED, 0, EINVAL);
	refused_shadow(16 * MIB + 64 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED, 0, EINVAL);
	refused_shadow(64 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED, 4096, EIO);
	refused_shadow(64 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0, EINVAL);
	refused_shadow(64 * KIB, PROT_READ, MAP_SHARED, 0, EINVAL);
	refused_shadow(64 * KIB, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, 0, EINVAL);
	check_eq(lane_stat("Mmap", "ok"), 5);
	check_eq(lane_stat("Mmap", "err"), 6);
	check_eq(lane_stat("Mmap", "munmap"), 5);
	end();
}

static int finds_nothing(void *addr)
{
	uint32_t value;

	return load_signal(addr, &value) == SIGSEGV ? 0 : 1;
}

/* It reads as zero, goes as a whole, stays where it is, and is not inherited. */
static void a_shadow_is_of_one_piece(void)
{
	char *shadow, *place;

	begin("");
	shadow = try_shadow(node, 128 * KIB);
	place = mmap(NULL, 128 * KIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(shadow && place != MAP_FAILED);
	for (size_t i = 0; i < 128 * KIB; i += 64)
		check_eq(shadow[i], 0);
	shadow[100] = 1;
	check_eq(munmap(shadow + 64 * KIB, 64 * KIB), -1);
	check_eq(munmap(shadow, 64 * KIB), -1);
	check_eq(mprotect(shadow, 4096, PROT_READ), -1);
	check(mremap(shadow, 128 * KIB, 256 * KIB, MREMAP_MAYMOVE) == MAP_FAILED);
	check(mremap(shadow, 128 * KIB, 128 * KIB, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED);
	check_eq(madvise(shadow, 128 * KIB, MADV_DOFORK), -1);
	check_eq(in_child(finds_nothing, shadow), 0);
	check_eq(shadow[100], 1);
	munmap(place, 128 * KIB);
	/* the file of the node is not what holds it */
	close(node);
	check_eq(shadow[100], 1);
	check_eq(munmap(shadow, 128 * KIB), 0);
	node = lane_open();
	end();
}

/* Its pages cannot be sent to a drive behind the module's back. */
static void no_drive_reaches_a_shadow(void)
{
	void *shadow;
	int fd;

	begin("");
	shadow = try_shadow(node, 64 * KIB);
	check(shadow);
	fd = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	check(fd >= 0);
	check_eq(pread(fd, shadow, 4096, 0), -1);
	check_eq(errno, EFAULT);
	check_eq(pwrite(fd, shadow, 4096, 0), -1);
	check_eq(errno, EFAULT);
	close(fd);
	munmap(shadow, 64 * KIB);
	end();
}

/* What is changed of an argument that is good. */
static struct nvidia_fs_map good_map(void *shadow, void *meta)
{
	return (struct nvidia_fs_map){
		.size = MIB,
		.cpuvaddr = (uintptr_t)shadow,
		.gpuvaddr = mem.va,
		.end_fence_addr = (uintptr_t)meta,
		.sbuf_block = 32,
	};
}

static void refused_map(const struct nvidia_fs_map *arg, int err)
{
	struct nvidia_fs_map copy = *arg;

	check_eq(try_bind(node, &copy), err);
	check_eq(gpu_counters(gpu).pins, 0);
}

static void bad_bindings_are_refused(void)
{
	char *shadow, *meta;
	struct nvidia_fs_map arg;

	begin("");
	shadow = try_shadow(node, 128 * KIB);
	meta = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(shadow && meta != MAP_FAILED);
#define REFUSED(field, value, err)                                                                                     \
	do {                                                                                                           \
		arg = good_map(shadow, meta);                                                                          \
		arg.field = (value);                                                                                   \
		refused_map(&arg, err);                                                                                \
	} while (0)
	REFUSED(size, 0, -EINVAL);
	REFUSED(size, -1, -EINVAL);
	REFUSED(size, INT64_MIN, -EINVAL);
	REFUSED(size, INT64_MAX, -EINVAL);
	REFUSED(size, 3 * (int64_t)MIB, -EINVAL);
	REFUSED(cpuvaddr, 0, -EINVAL);
	REFUSED(cpuvaddr, arg.cpuvaddr + 4096, -EINVAL);
	REFUSED(cpuvaddr, (uintptr_t)meta, -EINVAL);
	REFUSED(cpuvaddr, UINT64_MAX, -EINVAL);
	REFUSED(gpuvaddr, 0, -EINVAL);
	REFUSED(gpuvaddr, UINT64_MAX, -EINVAL);
	REFUSED(gpuvaddr, UINT64_MAX - MIB + 2, -EINVAL);
	REFUSED(gpuvaddr, 64 * KIB, -EINVAL);
	REFUSED(end_fence_addr, 0, -EINVAL);
	REFUSED(end_fence_addr, arg.end_fence_addr + 8, -EINVAL);
	REFUSED(end_fence_addr, 4096, -EFAULT);
	REFUSED(end_fence_addr, (uintptr_t)shadow, -EFAULT);
	REFUSED(sbuf_block, 0, -EINVAL);
	REFUSED(sbuf_block, 33, -EINVAL);
	REFUSED(sbuf_block, UINT32_MAX, -EINVAL);
	/* less than a GPU page needs a stand-in for each of its blocks */
	arg = good_map(shadow, meta);
	arg.sbuf_block = 2;
	arg.size = 8192;
	arg.gpuvaddr += 4096;
	refused_map(&arg, -EINVAL);
	/* the shadow is as good as it was */
	arg = good_map(shadow, meta);
	check_eq(try_bind(node, &arg), 0);
	check_eq(gpu_counters(gpu).pins, 1);
	arg = good_map(shadow, meta);
	check_eq(try_bind(node, &arg), -EINVAL);
	check_eq(gpu_counters(gpu).pins, 1);
	munmap(shadow, 128 * KIB);
	check_eq(gpu_counters(gpu).pins, 0);
	munmap(meta, 8192);
	end();
}

static void any_part_of_memory_is_bound(void)
{
	struct lane_map map;

	begin("");
	map = lane_bind(node, mem.va, 2 * MIB, 16 * MIB);
	check_eq(gpu_counters(gpu).pins, 1);
	lane_unbind(&map);
	map = lane_bind(node, mem.va + 1, 2 * MIB - 1, 64 * KIB);
	lane_unbind(&map);
	map = lane_bind(node, mem.va + 100 * KIB, 1, 64 * KIB);
	lane_unbind(&map);
	map = lane_bind(node, mem.va, 4096, 4096);
	lane_unbind(&map);
	check_eq(try_lane_bind(node, mem.va + 1, 2 * MIB, 64 * KIB, &map), -EINVAL);
	end();
}

static void what_the_driver_refuses_is_refused(void)
{
	struct lane_map map;

	for (int legacy = 0; legacy < 2; legacy++) {
		begin(legacy ? LANE_LEGACY : "");
		gpu_knob("fail_errno", ENOMEM);
		gpu_knob("fail_get_pages", 1);
		check_eq(try_lane_bind(node, mem.va, MIB, 64 * KIB, &map), -ENOMEM);
		gpu_knob("page_size", 0);
		check_eq(try_lane_bind(node, mem.va, MIB, 64 * KIB, &map), -EINVAL);
		gpu_knob("page_size", 1);
		gpu_knob("page_table_version", 0x30000);
		check_eq(try_lane_bind(node, mem.va, MIB, 64 * KIB, &map), -EINVAL);
		gpu_knob("page_table_version", 0x10002);
		map = lane_bind(node, mem.va, MIB, 64 * KIB);
		gpu_knob("page_table_version", 0x20000);
		lane_unbind(&map);
		end();
	}
}

static void persistent_pins_fall_back(void)
{
	struct lane_map map;

	begin("");
	map = lane_bind(node, mem.va, MIB, 64 * KIB);
	check_eq(gpu_counters(gpu).persistent, 1);
	lane_unbind(&map);
	gpu_knob("persistent", 0);
	map = lane_bind(node, mem.va, MIB, 64 * KIB);
	gpu_knob("persistent", 1);
	check_eq(gpu_counters(gpu).persistent, 0);
	check_eq(gpu_counters(gpu).pins, 1);
	lane_unbind(&map);
	end();
}

static void freed_memory_is_told(void)
{
	struct lane_map map;

	begin(LANE_LEGACY);
	map = lane_bind(node, mem.va, MIB, 64 * KIB);
	check_eq(map.meta->state, NVIDIA_FS_CLEAN);
	gpu_free(gpu, &mem);
	check_eq(map.meta->state, NVIDIA_FS_DIED);
	check_eq(gpu_counters(gpu).pins, 0);
	check_eq(lane_stat("Bar1-map", "callbacks"), 1);
	check_eq(lane_stat("Bar1-map", "active"), 1);
	lane_unbind(&map);
	check_eq(gpu_counters(gpu).late_puts, 0);
	end();
}

static void persistent_memory_stays(void)
{
	struct lane_map map;

	begin("");
	map = lane_bind(node, mem.va, MIB, 64 * KIB);
	gpu_free(gpu, &mem);
	check_eq(map.meta->state, NVIDIA_FS_CLEAN);
	check_eq(gpu_counters(gpu).pins, 1);
	lane_unbind(&map);
	check_eq(gpu_counters(gpu).used, 0);
	end();
}

static void check_stats(const char *want)
{
	static char text[4096];
	int fd = open("/proc/driver/nvidia-fs/stats", O_RDONLY | O_CLOEXEC);
	ssize_t len;

	check(fd >= 0);
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	check(len > 0);
	text[len] = '\0';
	check_has(text, want);
}

/* Whether it was bound before the memory went, or after. */
static void check_counted_no_more(const struct lane_map *map)
{
	for (int i = 0; i < 500 && map->meta->state != NVIDIA_FS_DIED; i++)
		usleep(10000);
	check_eq(map->meta->state, NVIDIA_FS_DIED);
	check_stats(" : Registered_MiB=0 ");
}

/* The pin is revoked while it is made, or just after; with pauses in the driver at each side. */
static void revoked_while_bound(void)
{
	struct lane_map map;

	begin(LANE_LEGACY);
	for (int i = 0; i < 8; i++) {
		int ret;

		gpu_knob("delay_put_ms", i & 1 ? 20 : 0);
		gpu_knob("delay_callback_ms", i & 2 ? 20 : 0);
		gpu_knob("revoke_get_pages", 1);
		ret = try_lane_bind(node, mem.va, MIB, 64 * KIB, &map);
		check(!ret || ret == -EINVAL);
		if (ret)
			continue;
		if (i & 4)
			check_counted_no_more(&map);
		lane_unbind(&map);
	}
	gpu_knob("delay_put_ms", 0);
	gpu_knob("delay_callback_ms", 0);
	check_eq(lane_stat("Bar1-map", "n"), 8);
	end();
}

/* In the words that tools look for. */
static void statistics_tell_what_there_is(void)
{
	struct bl_card_info info;
	struct lane_map map;
	char line[128];

	begin("rw_stats_enabled=1");
	info = gpu_info(gpu);
	check_stats("GDS Version: 1.17.1 \nNVFS statistics(ver: 4.0)\nNVFS Driver(version: 2.28.4)\n"
		    "Mellanox PeerDirect Supported: False\nIO stats: Enabled, peer IO stats: Disabled\n"
		    "Logging level: info\n\nActive Shadow-Buffer (MiB): 0\nActive Process: 0\n"
		    "Batches\t\t\t\t: n=0 ok=0 err=0 Avg-Submit-Latency(usec)=0\n"
		    "Reads\t\t\t\t: n=0 ok=0 err=0 readMiB=0 io_state_err=0\n"
		    "Reads\t\t\t\t: Bandwidth(MiB/s)=0 Avg-Latency(usec)=0\n"
		    "Sparse Reads\t\t        : n=0 io=0 holes=0 pages=0 \n"
		    "Writes\t\t\t\t: n=0 ok=0 err=0 writeMiB=0 io_state_err=0 "
		    "pg-cache=0 pg-cache-fail=0 pg-cache-eio=0\n"
		    "Writes\t\t\t\t: Bandwidth(MiB/s)=0 Avg-Latency(usec)=0\n"
		    "Mmap\t\t\t\t: n=0 ok=0 err=0 munmap=0\n"
		    "Bar1-map\t\t\t: n=0 ok=0 err=0 free=0 callbacks=0 active=0 delay-frees=0\n"
		    "Error\t\t\t\t: cpu-gpu-pages=0 sg-ext=0 dma-map=0 dma-ref=0\n"
		    "Ops\t\t\t\t: Read=0 Write=0 BatchIO=0\n");
	map = lane_bind(node, mem.va + 4096, MIB, 2 * MIB);
	check_stats("Active Shadow-Buffer (MiB): 2\n");
	snprintf(line, sizeof(line),
		 "GPU %04x:%02x:%02x.%x  uuid:ba121a9e-0e41-4d55-806d-677075ca4d01 : Registered_MiB=1 ", info.domain,
		 info.bus, info.devfn >> 3, info.devfn & 7);
	check_stats(line);
	check_stats(" Cache_MiB=0 max_pinned_MiB=1 \n");
	lane_unbind(&map);
	check_stats(" : Registered_MiB=0 Cache_MiB=0 max_pinned_MiB=1 \n");
	check_eq(lane_stat("Mmap", "ok"), 1);
	/* a line that is written begins to count anew; what there is stays */
	map = lane_bind(node, mem.va, MIB, 64 * KIB);
	check_eq(system("echo 1 >/proc/driver/nvidia-fs/stats"), 0);
	check_eq(lane_stat("Mmap", "ok"), 0);
	check_eq(lane_stat("Bar1-map", "n"), 0);
	check_eq(lane_stat("Bar1-map", "ok"), 0);
	check_eq(lane_stat("Bar1-map", "free"), 0);
	check_eq(lane_stat("Bar1-map", "active"), 1);
	lane_unbind(&map);
	check_eq(lane_stat("Bar1-map", "free"), 1);
	check_eq(lane_stat("Bar1-map", "active"), 0);
	end();
}

static int binds_the_parents(void *arg)
{
	struct nvidia_fs_map map = *(struct nvidia_fs_map *)arg;

	return try_bind(node, &map) == -EINVAL ? 0 : 1;
}

static void another_process_has_no_use_of_it(void)
{
	struct nvidia_fs_map arg;
	void *shadow, *meta;

	begin("");
	shadow = try_shadow(node, 128 * KIB);
	meta = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	arg = good_map(shadow, meta);
	check_eq(in_child(binds_the_parents, &arg), 0);
	munmap(shadow, 128 * KIB);
	munmap(meta, 4096);
	end();
}

static int binds_and_waits(void *arg)
{
	int fd = gpu_open(), own = lane_open();
	struct gpu_mem own_mem = gpu_alloc(fd, 2 * MIB);
	struct lane_map map;

	if (try_lane_bind(own, own_mem.va, MIB, 64 * KIB, &map))
		return 1;
	if (*(bool *)arg)
		kill(getpid(), SIGKILL);
	return 0;
}

static void processes_that_end_leave_nothing(void)
{
	bool killed;

	for (int i = 0; i < 4; i++) {
		begin(i & 1 ? LANE_LEGACY : "");
		killed = i & 2;
		check_eq(in_child(binds_and_waits, &killed), killed ? 128 + SIGKILL : 0);
		end();
	}
}

static void the_module_stays_while_something_is_mapped(void)
{
	void *shadow;

	begin("");
	shadow = try_shadow(node, 64 * KIB);
	close(node);
	check(try_module_unload("nvidia_fs"));
	munmap(shadow, 64 * KIB);
	/* the driver of the GPU is held while something is bound, and not longer */
	node = lane_open();
	end();
	for (int i = 0; i < 50 && try_module_unload("bl_card"); i++)
		usleep(20000);
	check(access("/sys/module/bl_card", F_OK));
}

static void without_a_gpu_driver_nothing_is_bound(void)
{
	struct lane_map map;

	begin("");
	close(gpu);
	for (int i = 0; i < 50 && try_module_unload("bl_card"); i++)
		usleep(20000);
	check_eq(try_lane_bind(node, mem.va, MIB, 64 * KIB, &map), -ENODEV);
	close(node);
}

static const struct tap_test tests[] = {
	{ "nodes_are_as_many_as_asked_for", nodes_are_as_many_as_asked_for },
	{ "unknown_requests_are_refused", unknown_requests_are_refused },
	{ "shadows_have_the_lengths_of_the_interface", shadows_have_the_lengths_of_the_interface },
	{ "a_shadow_is_of_one_piece", a_shadow_is_of_one_piece },
	{ "no_drive_reaches_a_shadow", no_drive_reaches_a_shadow },
	{ "bad_bindings_are_refused", bad_bindings_are_refused },
	{ "any_part_of_memory_is_bound", any_part_of_memory_is_bound },
	{ "what_the_driver_refuses_is_refused", what_the_driver_refuses_is_refused },
	{ "persistent_pins_fall_back", persistent_pins_fall_back },
	{ "freed_memory_is_told", freed_memory_is_told },
	{ "persistent_memory_stays", persistent_memory_stays },
	{ "revoked_while_bound", revoked_while_bound },
	{ "statistics_tell_what_there_is", statistics_tell_what_there_is },
	{ "another_process_has_no_use_of_it", another_process_has_no_use_of_it },
	{ "processes_that_end_leave_nothing", processes_that_end_leave_nothing },
	{ "the_module_stays_while_something_is_mapped", the_module_stays_while_something_is_mapped },
	{ "without_a_gpu_driver_nothing_is_bound", without_a_gpu_driver_nothing_is_bound },
};

/* In two of the four guests of suite kernel, those that have no other long tests. */
int main(int argc, char **argv)
{
	const char *kernel = getenv("LAB_KERNEL"), *iommu = getenv("LAB_IOMMU");

	if (argc == 1 && kernel && iommu &&
	    ((!strcmp(kernel, "6.1") && !strcmp(iommu, "off")) || (!strcmp(kernel, "6.12") && !strcmp(iommu, "on")))) {
		printf("1..0 # SKIP on 6.1 with an IOMMU and 6.12 without\n");
		return 0;
	}
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
