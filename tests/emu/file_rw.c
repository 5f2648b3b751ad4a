// SPDX-License-Identifier: MIT
/*
 * cuFileRead() and cuFileWrite() at random places of files and memory, compared with plain reads. Each path, each kind of
 * memory, through and past the page cache, on a disk and on tmpfs. SEED repeats a run.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "file_world.h"
#include "tests/tap.h"

#define FILE_SIZE (12UL << 20)
#define MEM_SIZE  (10UL << 20)

/**
 * struct plan - one child
 */
struct plan {
	const char *dir;
	int flags;
	unsigned int rounds;
	const char *path; /* BARLANE_FILE_PATH, NULL: free choice */
};

static unsigned long seed;
static unsigned char *bytes, *other;

static void choose_seed(void)
{
	const char *text = getenv("SEED");

	seed = text ? strtoul(text, NULL, 0) : (unsigned long)time(NULL) | 1;
	printf("# SEED=%lu\n", seed);
	fflush(stdout);
}

/* Small ones and large ones alike, half of them aligned. */
static size_t random_size(size_t max)
{
	size_t size = next_random(&seed) % (1UL << (next_random(&seed) % 24)) + 1;

	if (next_random(&seed) & 1)
		size = (size + 4095) & ~4095UL;
	return size < max ? size : max;
}

static size_t random_place(size_t below)
{
	size_t at = next_random(&seed) % below;

	return next_random(&seed) & 1 ? at & ~4095UL : at;
}

static size_t expected_count(int fd, size_t len, off_t pos)
{
	off_t size = lseek(fd, 0, SEEK_END);

	if (pos >= size)
		return 0;
	return (off_t)len < size - pos ? len : (size_t)(size - pos);
}

static void read_once(const struct tested *tested, const struct memory *memory, unsigned char *around)
{
	size_t len = random_size(MEM_SIZE / 2), off = random_place(MEM_SIZE / 2);
	off_t pos = (off_t)random_place(FILE_SIZE + 65536);
	size_t want = expected_count(tested->plain, len, pos);
	size_t from = off ? off - 1 : 0, past = off + len < MEM_SIZE ? off + len + 1 : MEM_SIZE;

	memset(around, 0x5a, past - from);
	memory_put(memory, from, around, past - from);
	check_eq(cuFileRead(tested->handle, memory->base, len, pos, (off_t)off), want);
	memory_get(memory, from, bytes, past - from);
	check_eq(pread(tested->plain, around + (off - from), want, pos), want);
	/* the kernel reads whole blocks into host memory, also behind the end of the file */
	if (memory->kind == PINNED || memory->kind == PAGEABLE)
		memcpy(around + (off - from) + want, bytes + (off - from) + want, len - want);
	if (memcmp(bytes, around, past - from))
		tap_end(TAP_FAILED, "read of 0x%zx at 0x%llx to 0x%zx, %s: bytes differ", len, (long long)pos, off,
			kind_names[memory->kind]);
}

static void write_once(const struct tested *tested, const struct memory *memory)
{
	size_t len = random_size(MEM_SIZE / 2), off = random_place(MEM_SIZE / 2);
	off_t pos = (off_t)random_place(FILE_SIZE + 65536);
	off_t before = lseek(tested->plain, 0, SEEK_END), after = pos + (off_t)len > before ? pos + (off_t)len : before;
	unsigned char edge[2] = { 0 }, now[2] = { 0 };

	if (pos)
		check(pread(tested->plain, &edge[0], 1, pos - 1) >= 0);
	check(pread(tested->plain, &edge[1], 1, pos + (off_t)len) >= 0);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)next_random(&seed);
	memory_put(memory, off, bytes, len);
	check_eq(cuFileWrite(tested->handle, memory->base, len, pos, (off_t)off), len);
	check_eq(lseek(tested->plain, 0, SEEK_END), after);
	check_eq(pread(tested->plain, other, len, pos), len);
	if (memcmp(bytes, other, len))
		tap_end(TAP_FAILED, "write of 0x%zx at 0x%llx from 0x%zx, %s: bytes differ", len, (long long)pos, off,
			kind_names[memory->kind]);
	if (pos)
		check(pread(tested->plain, &now[0], 1, pos - 1) >= 0);
	check(pread(tested->plain, &now[1], 1, pos + (off_t)len) >= 0);
	check_eq(now[0], edge[0]);
	check_eq(now[1], edge[1]);
}

/* A hole, so that some reads are of nothing that was written. */
static void make_file(struct tested *tested, const struct plan *plan)
{
	tested_make(tested, plan->dir, O_RDWR | plan->flags);
	tested_fill(tested, FILE_SIZE / 2, 7);
	check_eq(ftruncate(tested->plain, (off_t)(FILE_SIZE - 12345)), 0);
}

static void mixed(const void *arg)
{
	const struct plan *plan = arg;
	struct memory memory;
	struct tested tested;

	world_enter();
	bytes = malloc(MEM_SIZE);
	other = malloc(MEM_SIZE);
	check(bytes && other);
	make_file(&tested, plan);
	for (int kind = 0; kind < NR_KINDS; kind++) {
		memory_make(&memory, (enum kind)kind, MEM_SIZE);
		for (unsigned int i = 0; i < plan->rounds; i++) {
			read_once(&tested, &memory, other);
			write_once(&tested, &memory);
		}
		memory_drop(&memory);
	}
	tested_drop(&tested);
	world_check_rules();
}

static void with(const char *dir, int flags, const char *path)
{
	struct plan plan = { dir, flags, 24, path };
	/* strict: the path that is named, or an error. Path mapped is for some of the requests only */
	const char *strict = path && strcmp(path, "mapped") ? "1" : "0";
	const char *env[] = { "BARLANE_FILE_PATH", path ? path : "", "BARLANE_FILE_STRICT", strict, NULL };

	if (!seed)
		choose_seed();
	child_run(mixed, &plan, env);
	next_random(&seed);
}

static void disk(void)
{
	with("disk", 0, NULL);
}

static void disk_direct(void)
{
	with("disk", O_DIRECT, NULL);
}

static void tmpfs(void)
{
	with("tmpfs", 0, NULL);
}

static void tmpfs_direct(void)
{
	with("tmpfs", O_DIRECT, NULL);
}

static void plain_alone(void)
{
	with("disk", 0, "plain");
}

static void plain_direct(void)
{
	with("disk", O_DIRECT, "plain");
}

static void staged_alone(void)
{
	with("disk", 0, "staged");
}

static void staged_direct(void)
{
	with("disk", O_DIRECT, "staged");
}

static void mapped_alone(void)
{
	with("disk", 0, "mapped");
}

static const struct tap_test tests[] = {
	{ "any_range_of_a_disk_file_is_read_and_written", disk },
	{ "any_range_of_a_disk_file_is_read_and_written_with_o_direct", disk_direct },
	{ "any_range_of_a_tmpfs_file_is_read_and_written", tmpfs },
	{ "any_range_of_a_tmpfs_file_is_read_and_written_with_o_direct", tmpfs_direct },
	{ "path_plain_does_every_range", plain_alone },
	{ "path_plain_does_every_range_with_o_direct", plain_direct },
	{ "path_staged_does_every_range", staged_alone },
	{ "path_staged_does_every_range_with_o_direct", staged_direct },
	{ "path_mapped_does_every_range", mapped_alone },
};

TAP_MAIN(tests)
