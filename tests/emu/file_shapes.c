// SPDX-License-Identifier: MIT
/*
 * Files of every shape: holes, ends at odd places, writes that make them longer, one descriptor past the page cache beside
 * one through it. Read and written where something changes, and compared with a model and with plain reads. The current
 * folder is on the file system under test.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "file_world.h"
#include "tests/tap.h"

#define SIZE  (3UL << 20)
#define ROOM  (SIZE + (1UL << 20)) /* of memory, and for what lies behind the end */
#define CHUNK (64UL << 10)

/**
 * struct way - how the file is read and written
 * @path:   BARLANE_FILE_PATH; empty: free choice
 * @strict: no other path
 * @flags:  of the descriptor
 */
struct way {
	const char *path;
	const char *strict;
	int flags;
};

static const struct way cached_ways[] = { { "", "0", 0 }, { "plain", "1", 0 }, { "staged", "1", 0 }, { "mapped", "0", 0 } };
static const struct way direct_ways[] = { { "", "0", O_DIRECT }, { "plain", "1", O_DIRECT }, { "staged", "1", O_DIRECT } };

static struct tested tested;
static struct memory memory;
static unsigned char model[ROOM], seen[ROOM];
static size_t model_size;

static void make_longer(size_t size)
{
	if (size > model_size)
		model_size = size;
}

static void compare(const unsigned char *got, const unsigned char *want, size_t len, const char *what, size_t pos)
{
	if (!memcmp(got, want, len))
		return;
	for (size_t i = 0; i < len; i++) {
		if (got[i] != want[i])
			tap_end(TAP_FAILED, "%s, 0x%zx bytes at 0x%zx, %s: byte 0x%zx is 0x%02x, not 0x%02x", what, len, pos,
				kind_names[memory.kind], i, got[i], want[i]);
	}
}

static void read_from(CUfileHandle_t handle, size_t pos, size_t len)
{
	size_t want = pos >= model_size ? 0 : len < model_size - pos ? len : model_size - pos;

	memset(seen, 0xa5, len + 1);
	memory_put(&memory, 0, seen, len + 1);
	check_eq(cuFileRead(handle, memory.base, len, (off_t)pos, 0), want);
	memory_get(&memory, 0, seen, len + 1);
	compare(seen, model + pos, want, "read", pos);
	check_eq(seen[len], 0xa5);
	/* the kernel reads whole blocks into host memory, also behind the end of the file */
	for (size_t i = want; i < len && memory.kind != PAGEABLE; i++)
		check_eq(seen[i], 0xa5);
}

static void write_to(CUfileHandle_t handle, size_t pos, size_t len)
{
	static unsigned int seed;

	seed++;
	pattern_fill(model + pos, len, seed * 977, 0);
	memory_put(&memory, 0, model + pos, len);
	check_eq(cuFileWrite(handle, memory.base, len, (off_t)pos, 0), len);
	make_longer(pos + len);
}

/* The whole file as others see it. */
static void check_file(void)
{
	check_eq(lseek(tested.plain, 0, SEEK_END), model_size);
	check_eq(pread(tested.plain, seen, ROOM, 0), model_size);
	compare(seen, model, model_size, "file", 0);
}

static void resize(size_t size)
{
	check_eq(ftruncate(tested.plain, (off_t)size), 0);
	if (size < model_size)
		memset(model + size, 0, model_size - size);
	model_size = size;
}

/* Chunks of data, of nothing, and of blocks that are allocated and were never written, by turns. */
static void make_sparse(void)
{
	resize(SIZE);
	for (size_t at = 0; at < SIZE; at += CHUNK) {
		size_t turn = at / CHUNK % 3;

		if (turn == 2 && fallocate(tested.plain, FALLOC_FL_KEEP_SIZE, (off_t)at, CHUNK) && errno != EOPNOTSUPP)
			tap_end(TAP_FAILED, "fallocate: %s", strerror(errno));
		if (turn)
			continue;
		pattern_fill(model + at, CHUNK, 3, at);
		check_eq(pwrite(tested.plain, model + at, CHUNK, (off_t)at), CHUNK);
	}
}

static void holes(void)
{
	static const size_t lens[] = { 1, 4096, CHUNK + 3, 256UL << 10, 1UL << 20, SIZE };
	static const int beside[] = { -4096, -511, 0, 1, 512 };
	size_t edge = CHUNK;

	make_sparse();
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		for (size_t j = 0; j < sizeof(beside) / sizeof(beside[0]); j++, edge = edge % (SIZE / 2) + CHUNK)
			read_from(tested.handle, edge + (size_t)beside[j], lens[i]);
	}
	check_file();
	/* over each kind of edge, by parts of blocks and by whole ones */
	for (edge = CHUNK; edge <= 6 * CHUNK; edge += CHUNK) {
		write_to(tested.handle, edge - 700, 1400);
		write_to(tested.handle, SIZE / 2 + edge - 8192, 16384);
		read_from(tested.handle, edge - 9000, 18000);
	}
	write_to(tested.handle, SIZE - 8 * CHUNK + 5, 4 * CHUNK);
	check_file();
}

static void ends(void)
{
	static const size_t sizes[] = { 1, 511, 4095, 4096, 4097, CHUNK + 1, (1UL << 20) + 513, SIZE - 7, 2 };
	static const size_t lens[] = { 1, 4096, 200000, 1UL << 20 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i];

		resize(size);
		/* what is behind the end is nobody's: the next resize makes it zeros */
		write_to(tested.handle, size / 2, size - size / 2);
		for (size_t j = 0; j < sizeof(lens) / sizeof(lens[0]); j++) {
			read_from(tested.handle, size - 1, lens[j]);
			read_from(tested.handle, size > 5000 ? size - 5000 : 0, lens[j]);
			read_from(tested.handle, size, lens[j]);
			read_from(tested.handle, size + 4096, lens[j]);
			read_from(tested.handle, 0, size + lens[j] < ROOM ? size + lens[j] : ROOM - 1);
		}
		check_file();
	}
}

static void extending(void)
{
	static const size_t lens[] = { 1, 4095, 4096, 512, 8192, CHUNK + 1, 3, (1UL << 20) + 7, 200000, 4096 - 1 };
	static const size_t gaps[] = { 1, 4096, 5000, CHUNK };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		write_to(tested.handle, model_size, lens[i]);
		check_file();
	}
	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		write_to(tested.handle, model_size + gaps[i], lens[i + 1]);
		check_file();
		read_from(tested.handle, model_size - lens[i + 1] - gaps[i] - 1, gaps[i] + lens[i + 1] + 9);
	}
	/* half of it over what is there, half behind */
	write_to(tested.handle, model_size - 300000, 600000);
	check_file();
}

/* The same file through the page cache, past it, and by others' plain calls: each read has the last write, whoever did it. */
static void coherent(void)
{
	int fd = open(tested.path, O_RDWR | O_CLOEXEC);
	CUfileHandle_t handles[] = { tested.handle, must_register(fd) };
	unsigned long state = 88172645463325252UL;

	resize(1UL << 20);
	for (int round = 0; round < 60; round++) {
		size_t pos = next_random(&state) % ((1UL << 20) - 300000), len = next_random(&state) % 300000 + 1;
		CUfileHandle_t by = handles[next_random(&state) & 1], other = by == handles[0] ? handles[1] : handles[0];

		if (round % 2) {
			pos &= ~4095UL;
			len = (len + 4095) & ~4095UL;
		}
		if (round % 5) {
			write_to(by, pos, len);
		} else {
			memset(model + pos, round, len);
			check_eq(pwrite(tested.plain, model + pos, len, (off_t)pos), len);
		}
		read_from(other, pos > 100 ? pos - 100 : 0, len + 200);
		read_from(by, pos, len);
		check_file();
	}
	cuFileHandleDeregister(handles[1]);
	close(fd);
}

/**
 * struct plan - one child
 */
struct plan {
	void (*run)(void);
	int flags;
};

static void with_memory(const void *arg)
{
	static const enum kind kinds[] = { REGISTERED, UNREGISTERED, PAGEABLE };
	const struct plan *plan = arg;

	world_enter();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		memory_make(&memory, kinds[i], ROOM);
		tested_make_named(&tested, O_RDWR | plan->flags);
		memset(model, 0, sizeof(model));
		model_size = 0;
		plan->run();
		unlink(tested.path);
		tested_drop(&tested);
		memory_drop(&memory);
	}
	world_check_rules();
}

static void each(const struct way *ways, size_t nr, void (*run)(void))
{
	for (size_t i = 0; i < nr; i++) {
		struct plan plan = { run, ways[i].flags };
		const char *env[] = { "BARLANE_FILE_PATH", ways[i].path, "BARLANE_FILE_STRICT", ways[i].strict, NULL };

		child_run(with_memory, &plan, env);
	}
}

static void each_cached(void (*run)(void))
{
	each(cached_ways, sizeof(cached_ways) / sizeof(cached_ways[0]), run);
}

static void each_direct(void (*run)(void))
{
	each(direct_ways, sizeof(direct_ways) / sizeof(direct_ways[0]), run);
}

static void holes_cached(void)
{
	each_cached(holes);
}

static void holes_direct(void)
{
	each_direct(holes);
}

static void ends_cached(void)
{
	each_cached(ends);
}

static void ends_direct(void)
{
	each_direct(ends);
}

static void extending_cached(void)
{
	each_cached(extending);
}

static void extending_direct(void)
{
	each_direct(extending);
}

static void coherence(void)
{
	each_direct(coherent);
}

static const struct tap_test tests[] = {
	{ "holes_are_zeros_and_can_be_filled", holes_cached },
	{ "holes_are_zeros_and_can_be_filled_with_o_direct", holes_direct },
	{ "reads_end_with_the_file", ends_cached },
	{ "reads_end_with_the_file_with_o_direct", ends_direct },
	{ "writes_make_the_file_longer", extending_cached },
	{ "writes_make_the_file_longer_with_o_direct", extending_direct },
	{ "what_one_descriptor_writes_the_other_reads", coherence },
};

TAP_MAIN(tests)
