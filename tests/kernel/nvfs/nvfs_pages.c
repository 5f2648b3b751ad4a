// SPDX-License-Identifier: MIT
/*
 * Memory of the card with struct pages: plain direct I/O of a mapping makes the drive's DMA reach the card, on a kernel
 * that nobody patched. What it costs: that memory is uncached for CPUs; the rest of the BAR is as it was.
 */
#include "host.h"
#include "pages.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST "/sys/kernel/debug/x86/pat_memtype_list"

static int gpu, drive;

static void begin(void)
{
	card_reload(SLICE);
	gpu = gpu_open();
	drive = drive_open();
}

static void end(void)
{
	close(drive);
	slice_check_clean(gpu);
	close(gpu);
}

static void none_unless_asked_for(void)
{
	struct gpu_mem mem;
	void *at;

	card_reload("");
	gpu = gpu_open();
	drive = drive_open();
	check_eq(gpu_info(gpu).pages_size, 0);
	check_eq(try_slice_alloc(gpu, MIB, &mem), -EOPNOTSUPP);
	mem = gpu_alloc(gpu, 2 * MIB);
	at = mmap(NULL, mem.len, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)mem.offset);
	check(at != MAP_FAILED);
	check_eq(try_read(drive, at, 4096, 0), -EFAULT);
	check_eq(try_write(drive, at, 4096, 0), -EFAULT);
	munmap(at, mem.len);
	gpu_free(gpu, &mem);
	end();
}

/* The module is there, but serves no card. */
static void parameters_are_checked(void)
{
	static const char *const bad[] = { "pages=3M@64M", "pages=4M@1M", "pages=4M@0", "pages=64M@224M", "pages=1G",
					   "pages=4Mx", "pages=4M@64Mx", "pages=x", "pages=16E@2M" };

	printf("# host: expect bl_card: pages .*multiples\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		printf("# %s\n", bad[i]);
		card_reload(bad[i]);
		check(open(BL_CARD_PATH, O_RDWR | O_CLOEXEC) < 0 && errno == ENODEV);
	}
	card_reload("pages=0");
	gpu = gpu_open();
	check_eq(gpu_info(gpu).pages_size, 0);
	close(gpu);
	card_reload("pages=4M");
	gpu = gpu_open();
	check_eq(gpu_info(gpu).pages_size, 4 * MIB);
	check_eq(gpu_info(gpu).pages_off, gpu_info(gpu).size - 4 * MIB);
	close(gpu);
}

static void given_by_kind(void)
{
	struct gpu_mem mem, all, before, behind;

	begin();
	check_eq(gpu_info(gpu).pages_off, SLICE_OFF);
	check_eq(gpu_info(gpu).pages_size, SLICE_SIZE);
	check_eq(try_slice_alloc(gpu, SLICE_SIZE + 1, &mem), -ENOMEM);
	check_eq(try_slice_alloc(gpu, SLICE_SIZE, &all), 0);
	check_eq(all.offset, SLICE_OFF);
	check_eq(try_slice_alloc(gpu, 1, &mem), -ENOMEM);
	/* the first block is nobody's */
	check_eq(try_gpu_alloc(gpu, SLICE_OFF, &behind), 0);
	check_eq(behind.offset, SLICE_OFF + SLICE_SIZE);
	check_eq(try_gpu_alloc(gpu, SLICE_OFF - 2 * MIB, &before), 0);
	check_eq(before.offset, 2 * MIB);
	gpu_free(gpu, &all);
	check_eq(try_gpu_alloc(gpu, gpu_info(gpu).size - SLICE_OFF - SLICE_SIZE, &mem), -ENOMEM);
	gpu_free(gpu, &before);
	gpu_free(gpu, &behind);
	end();
}

/* The type of the listed range that holds an address; "" when there is none. */
static const char *type_of(uint64_t pa)
{
	static char type[64];
	char line[256];
	FILE *file = fopen(LIST, "re");

	check(file);
	type[0] = '\0';
	while (fgets(line, sizeof(line), file)) {
		uint64_t from, to;
		char word[64];

		if (sscanf(line, "PAT: [mem 0x%" SCNx64 "-0x%" SCNx64 "] %63s", &from, &to, word) == 3 &&
		    from <= pa && pa < to)
			snprintf(type, sizeof(type), "%s", word);
	}
	fclose(file);
	return type;
}

/* As a client of the card's driver maps it, write-combining when it may be. */
static void the_rest_is_write_combining(void)
{
	struct gpu_mem mem;
	struct slice_mem slice;
	uint64_t pa = gpu_bar_pa();
	uint64_t handle;
	void *addr;
	int drv;

	begin();
	check_str(type_of(pa + SLICE_OFF), "uncached-minus");
	check_str(type_of(pa + SLICE_OFF + SLICE_SIZE - 4096), "uncached-minus");
	check(!strstr(type_of(pa + SLICE_OFF - 4096), "uncached"));
	slice = slice_alloc(gpu, 2 * MIB);
	slice.at[0] = 1;
	check_str(type_of(pa + slice.mem.offset), "uncached-minus");
	drv_reload("");
	drv = drv_open();
	mem = gpu_alloc(gpu, 2 * MIB);
	handle = drv_pin(drv, &mem);
	addr = drv_map(drv, handle, mem.len);
	*(volatile uint8_t *)addr = 1;
	check_str(type_of(pa + mem.offset), "write-combining");
	check_str(type_of(pa + SLICE_OFF), "uncached-minus");
	munmap(addr, mem.len);
	check_eq(try_unpin(drv, handle), 0);
	close(drv);
	try_module_unload("gdrdrv");
	gpu_free(gpu, &mem);
	slice_free(gpu, &slice);
	end();
}

/**
 * struct move - a request of the raw drive
 * @off: in the object
 * @len: bytes
 * @pos: on the drive
 */
struct move {
	uint64_t off;
	uint64_t len;
	int64_t pos;
};

static const struct move moves[] = {
	{ 0, 4096, 0 },		   { 4096, 4096, 8192 },	   { 512, 1536, 512 },
	{ 65536, 65536, 1 << 20 }, { 12288, 69632, 3 << 20 },	   { 1 << 20, 1 << 20, 4 << 20 },
	{ 1024, 3 << 20, 8 << 20 }, { 4 << 20, 64 << 20, 128 << 20 },
};

static void bytes_arrive(void)
{
	static const char *const patterns[] = { "a1b2c3d4e5f60718", "0f1e2d3c4b5a6978" };
	struct slice_mem mem;

	begin();
	mem = slice_alloc(gpu, 72 * MIB);
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		const struct move *move = &moves[i];
		uint64_t at = mem.mem.offset + move->off;

		printf("# move %zu: off %" PRIu64 " len %" PRIu64 "\n", i, move->off, move->len);
		check(host_ask("fill", at, move->len + 4096, "cc"));
		check(host_ask("fill-drive", (uint64_t)move->pos, move->len, patterns[i & 1]));
		check_eq(try_read(drive, mem.at + move->off, move->len, move->pos), (int64_t)move->len);
		check(host_ask("check", at, move->len, patterns[i & 1]));
		check(host_ask("check", at + move->len, 4096, "cc"));
		check(host_ask("fill", at, move->len, patterns[!(i & 1)]));
		check_eq(try_write(drive, mem.at + move->off, move->len, move->pos), (int64_t)move->len);
		check_eq(fsync(drive), 0);
		check(host_ask("check-drive", (uint64_t)move->pos, move->len, patterns[!(i & 1)]));
	}
	slice_free(gpu, &mem);
	end();
}

/* The other way to a mapping, which is what CUDA has. */
static void a_dmabuf_has_pages_too(void)
{
	struct bl_card_export export = { .off = MIB, .len = MIB, .flags = BL_CARD_EXPORT_MMAP };
	struct slice_mem mem;
	uint8_t *at;

	begin();
	mem = slice_alloc(gpu, 2 * MIB);
	export.handle = mem.mem.handle;
	check_eq(try_request(gpu, BL_CARD_IOC_EXPORT, &export), 0);
	at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, export.fd, 0);
	check(at != MAP_FAILED);
	close(export.fd);
	check(host_ask("fill-drive", 0, 65536, "5aa5"));
	check_eq(try_read(drive, at + 4096, 65536, 0), 65536);
	check(host_ask("check", mem.mem.offset + MIB + 4096, 65536, "5aa5"));
	/* the owner frees it: the mapping of the dma-buf keeps it */
	slice_free(gpu, &mem);
	check(host_ask("fill-drive", 0, 65536, "a55a"));
	check_eq(try_read(drive, at, 65536, 0), 65536);
	check(host_ask("check", mem.mem.offset + MIB, 65536, "a55a"));
	munmap(at, MIB);
	end();
}

static long number_of(const char *path)
{
	FILE *file = fopen(path, "re");
	long value = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

static long cached_kib(void)
{
	char line[128];
	FILE *file = fopen("/proc/meminfo", "re");
	long kib = -1, part, sum = 0;

	check(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Buffers: %ld", &part) == 1 || sscanf(line, "Cached: %ld", &part) == 1)
			sum += part;
	}
	fclose(file);
	kib = sum;
	return kib;
}

/* The kernel's bounce buffers: how many there are ("nslabs"), and are in use ("used"). -1: it has made none at all. */
static long bounce_slots(const char *which)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/debug/swiotlb/io_tlb_%s", which);
	return number_of(path);
}

/* 64 MiB go by, and neither the page cache nor a bounce buffer has any of it. */
static void no_cpu_touches_them(void)
{
	struct slice_mem mem;
	long before, slots;

	begin();
	/* it is mounted already where another test has done so */
	mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	check_eq(access("/sys/kernel/debug/bdi", F_OK), 0);
	slots = bounce_slots("nslabs");
	mem = slice_alloc(gpu, 64 * MIB);
	before = cached_kib();
	check_eq(try_read(drive, mem.at, 64 * MIB, 0), 64L * (long)MIB);
	check_eq(try_write(drive, mem.at, 64 * MIB, 0), 64L * (long)MIB);
	check(cached_kib() - before < 1024);
	if (slots > 0)
		check_eq(bounce_slots("used"), 0);
	else
		check_eq(bounce_slots("nslabs"), slots);
	slice_free(gpu, &mem);
	end();
}

/* In a child: its own memory, its own part of the drive. Returns 0, or which step failed. */
static int work_alone(void *arg)
{
	off_t pos = *(off_t *)arg;
	uint8_t value = (uint8_t)(pos >> 20);
	int own = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC), fd = open(DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	struct gpu_mem mem;
	uint8_t *at;

	if (own < 0 || fd < 0 || try_slice_alloc(own, 2 * MIB, &mem))
		return 1;
	at = mmap(NULL, mem.len, PROT_READ | PROT_WRITE, MAP_SHARED, own, (off_t)mem.offset);
	if (at == MAP_FAILED)
		return 2;
	for (int i = 0; i < 20; i++) {
		memset(at, value, MIB);
		memset(at + MIB, ~value, MIB);
		if (try_write(fd, at, MIB, pos) != (int64_t)MIB)
			return 3;
		if (try_read(fd, at + MIB, MIB, pos) != (int64_t)MIB)
			return 4;
		if (memcmp(at, at + MIB, MIB))
			return 5;
	}
	return 0;
}

static void two_processes(void)
{
	off_t first = 16 << 20, second = 32 << 20;
	int status = -1;
	pid_t pid;

	begin();
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(work_alone(&first));
	check_eq(in_child(work_alone, &second), 0);
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check(host_ask("check-drive", (uint64_t)first, MIB, "10"));
	check(host_ask("check-drive", (uint64_t)second, MIB, "20"));
	end();
}

/* A child does not inherit mappings, and the other process' memory is not its own. */
static int child_is_refused(void *arg)
{
	const struct slice_mem *mem = arg;
	unsigned char there;

	if (!mincore(mem->at, 4096, &there) || errno != ENOMEM)
		return 1;
	return mmap(NULL, 4096, PROT_READ, MAP_SHARED, gpu, (off_t)mem->mem.offset) == MAP_FAILED ? 0 : 2;
}

static void children_have_none(void)
{
	struct slice_mem mem;

	begin();
	mem = slice_alloc(gpu, 2 * MIB);
	check_eq(in_child(child_is_refused, &mem), 0);
	check_eq(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, gpu, (off_t)mem.mem.offset) == MAP_FAILED, 1);
	slice_free(gpu, &mem);
	end();
}

static const struct tap_test tests[] = {
	{ "no_memory_has_pages_unless_it_was_asked_for", none_unless_asked_for },
	{ "a_slice_that_makes_no_sense_is_refused", parameters_are_checked },
	{ "memory_with_pages_is_for_who_asks_for_it", given_by_kind },
	{ "the_slice_is_uncached_and_the_rest_stays_write_combining", the_rest_is_write_combining },
	{ "bytes_go_between_drive_and_card_at_any_size_and_alignment", bytes_arrive },
	{ "a_dmabuf_of_such_memory_has_pages_too", a_dmabuf_has_pages_too },
	{ "neither_page_cache_nor_bounce_buffers_have_a_part_in_it", no_cpu_touches_them },
	{ "two_processes_do_not_disturb_each_other", two_processes },
	{ "children_inherit_no_mapping", children_have_none },
};

TAP_MAIN(tests)
