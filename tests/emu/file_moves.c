// SPDX-License-Identifier: MIT
#include "file_moves.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"

unsigned long moves_seed;
static unsigned char bytes[MOVES_MEM], other[MOVES_MEM];

/* Around whatever stands in for libc's. */
static ssize_t plain_read(int fd, void *buf, size_t len, off_t pos)
{
	return syscall(SYS_pread64, fd, buf, len, pos);
}

void moves_choose_seed(void)
{
	const char *text = getenv("SEED");

	moves_seed = text ? strtoul(text, NULL, 0) : (unsigned long)time(NULL) | 1;
	printf("# SEED=%lu\n", moves_seed);
	fflush(stdout);
}

/* Small ones and large ones alike, half of them aligned. */
static size_t random_size(size_t max)
{
	size_t size = next_random(&moves_seed) % (1UL << (next_random(&moves_seed) % 24)) + 1;

	if (next_random(&moves_seed) & 1)
		size = (size + 4095) & ~4095UL;
	return size < max ? size : max;
}

static size_t random_place(size_t below)
{
	size_t at = next_random(&moves_seed) % below;

	return next_random(&moves_seed) & 1 ? at & ~4095UL : at;
}

static size_t expected_count(int fd, size_t len, off_t pos)
{
	off_t size = lseek(fd, 0, SEEK_END);

	if (pos >= size)
		return 0;
	return (off_t)len < size - pos ? len : (size_t)(size - pos);
}

void moves_read(const struct tested *tested, const struct memory *memory)
{
	unsigned char *around = other;
	size_t len = random_size(MOVES_MEM / 2), off = random_place(MOVES_MEM / 2);
	off_t pos = (off_t)random_place(MOVES_FILE + 65536);
	size_t want = expected_count(tested->plain, len, pos);
	size_t from = off ? off - 1 : 0, past = off + len < MOVES_MEM ? off + len + 1 : MOVES_MEM;

	memset(around, 0x5a, past - from);
	memory_put(memory, from, around, past - from);
	check_eq(cuFileRead(tested->handle, memory->base, len, pos, (off_t)off), want);
	memory_get(memory, from, bytes, past - from);
	check_eq(plain_read(tested->plain, around + (off - from), want, pos), want);
	/* the kernel reads whole blocks into host memory, also behind the end of the file */
	if (memory->kind == PINNED || memory->kind == PAGEABLE)
		memcpy(around + (off - from) + want, bytes + (off - from) + want, len - want);
	if (memcmp(bytes, around, past - from))
		tap_end(TAP_FAILED, "read of 0x%zx at 0x%llx to 0x%zx, %s: bytes differ", len, (long long)pos, off,
			kind_names[memory->kind]);
}

void moves_write(const struct tested *tested, const struct memory *memory)
{
	size_t len = random_size(MOVES_MEM / 2), off = random_place(MOVES_MEM / 2);
	off_t pos = (off_t)random_place(MOVES_FILE + 65536);
	off_t before = lseek(tested->plain, 0, SEEK_END), after = pos + (off_t)len > before ? pos + (off_t)len : before;
	unsigned char edge[2] = { 0 }, now[2] = { 0 };

	if (pos)
		check(plain_read(tested->plain, &edge[0], 1, pos - 1) >= 0);
	check(plain_read(tested->plain, &edge[1], 1, pos + (off_t)len) >= 0);
	random_fill(bytes, len, &moves_seed);
	memory_put(memory, off, bytes, len);
	check_eq(cuFileWrite(tested->handle, memory->base, len, pos, (off_t)off), len);
	check_eq(lseek(tested->plain, 0, SEEK_END), after);
	check_eq(plain_read(tested->plain, other, len, pos), len);
	if (memcmp(bytes, other, len))
		tap_end(TAP_FAILED, "write of 0x%zx at 0x%llx from 0x%zx, %s: bytes differ", len, (long long)pos, off,
			kind_names[memory->kind]);
	if (pos)
		check(plain_read(tested->plain, &now[0], 1, pos - 1) >= 0);
	check(plain_read(tested->plain, &now[1], 1, pos + (off_t)len) >= 0);
	check_eq(now[0], edge[0]);
	check_eq(now[1], edge[1]);
}

void moves_make_file(struct tested *tested, const char *dir, int flags)
{
	tested_make(tested, dir, O_RDWR | flags);
	tested_fill(tested, MOVES_FILE / 2, 7);
	check_eq(ftruncate(tested->plain, (off_t)(MOVES_FILE - 12345)), 0);
}
