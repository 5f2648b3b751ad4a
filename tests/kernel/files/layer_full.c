// SPDX-License-Identifier: MIT
/* File systems that are full, over a quota, read-only from the start, or read-only since something went wrong. */
#include <fcntl.h>
#include <unistd.h>

#include "layer.h"
#include "tests/tap.h"

#define CHUNK	  (1UL << 20)
#define MAX_CHUNK 200

static struct tested tested;
static struct memory memory;

static void fill(void)
{
	layer_fill();
}

static int wanted_error(void)
{
	return strcmp(layer_text("LAYER_ERROR"), "EDQUOT") ? ENOSPC : EDQUOT;
}

/* Chunk after chunk until an error; the sum of what was told to be written. */
static size_t write_until_full(void)
{
	static unsigned char bytes[CHUNK];
	size_t done = 0;
	ssize_t got = 1;

	for (int i = 0; i < MAX_CHUNK && got > 0; i++) {
		for (size_t at = 0; at < CHUNK; at++)
			bytes[at] = pattern_at(LAYER_SEED, done + at);
		memory_put(&memory, 0, bytes, CHUNK);
		got = cuFileWrite(tested.handle, memory.base, CHUNK, (off_t)done, 0);
		done += got > 0 ? (size_t)got : 0;
	}
	check_eq(got, -1);
	check_eq(errno, wanted_error());
	return done;
}

static void run_full(const void *arg)
{
	static unsigned char bytes[CHUNK];
	size_t done;

	if (*layer_text("LAYER_USER") && setresuid(1000, 1000, 1000))
		tap_end(TAP_FAILED, "setresuid: %s", strerror(errno));
	layer_open(arg, &tested, &memory);
	check_eq(ftruncate(tested.plain, 0), 0);
	check_eq(fsync(tested.plain), 0);
	done = write_until_full();
	printf("# 0x%zx bytes\n", done);
	fflush(stdout);
	check(done >= CHUNK);
	check_eq(fsync(tested.fd), 0);
	check(lseek(tested.plain, 0, SEEK_END) >= (off_t)done);
	for (size_t at = 0; at < done; at += CHUNK) {
		size_t len = done - at < CHUNK ? done - at : CHUNK;

		check_eq(pread(tested.plain, bytes, len, (off_t)at), len);
		for (size_t i = 0; i < len; i++)
			check_eq(bytes[i], pattern_at(LAYER_SEED, at + i));
	}
	/* room again */
	check_eq(ftruncate(tested.plain, 0), 0);
	check_eq(fsync(tested.plain), 0);
	check_eq(cuFileWrite(tested.handle, memory.base, CHUNK, 0, 0), CHUNK);
	layer_close(&tested, &memory);
}

static void full(void)
{
	layer_each(run_full, 0);
}

static void read_only(const void *arg)
{
	const struct layer_way *way = arg;

	world_enter();
	memory_make(&memory, way->kind, LAYER_SIZE);
	check_eq(open(layer_text("LAYER_FILE"), O_RDWR | O_CLOEXEC), -1);
	check_eq(errno, EROFS);
	tested.fd = open(layer_text("LAYER_FILE"), O_RDONLY | O_CLOEXEC | way->flags);
	check(tested.fd >= 0);
	tested.plain = dup(tested.fd);
	tested.handle = must_register(tested.fd);
	check_eq(cuFileRead(tested.handle, memory.base, LAYER_SIZE, 0, 0), LAYER_SIZE);
	layer_check(&memory, 0, 0, LAYER_SIZE);
	check_eq(cuFileRead(tested.handle, memory.base, 1000, 777, 0), 1000);
	layer_check(&memory, 0, 777, 1000);
	check_eq(cuFileWrite(tested.handle, memory.base, 4096, 0, 0), -1);
	check_eq(errno, EIO);
	layer_close(&tested, &memory);
}

static void read_only_mount(void)
{
	layer_each(read_only, 0);
}

/* Error of a plain write of a block of what the file holds, or held at its start, through the same descriptor; 0: it works. */
static int plain_write(off_t pos)
{
	static unsigned char bytes[4096] __attribute__((aligned(4096)));

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = pattern_at(LAYER_SEED, (size_t)pos % LAYER_SIZE + i);
	return pwrite(tested.fd, bytes, sizeof(bytes), pos) < 0 ? errno : 0;
}

static int plain_read(void)
{
	static unsigned char bytes[4096] __attribute__((aligned(4096)));

	return pread(tested.fd, bytes, sizeof(bytes), 0) < 0 ? errno : 0;
}

/* An error of plain calls is the library's. What they may still write is a matter of the moment: see below. */
static void expect(ssize_t got, size_t len, int err)
{
	if (!err && got == (ssize_t)len)
		return;
	check_eq(got, -1);
	check_eq(errno, err ? err : EROFS);
}

/*
 * Linux 6.12 refuses everything. 6.1 lets blocks that are there be written through descriptors that are open, but not when
 * the file's time of change has to go on, and opens no others for writing.
 */
static void turn_read_only(const void *arg)
{
	const struct layer_way *way = arg;
	int over, behind, back;
	ssize_t got;

	layer_open(way, &tested, &memory);
	check_eq(cuFileRead(tested.handle, memory.base, LAYER_SIZE, 0, 0), LAYER_SIZE);
	check_eq(cuFileWrite(tested.handle, memory.base, LAYER_SIZE, 0, 0), LAYER_SIZE);
	check_eq(fsync(tested.fd), 0);
	layer_must(layer_text("LAYER_STOP"));
	over = plain_write(0);
	behind = plain_write(LAYER_SIZE);
	back = plain_read();
	check(!back || back == over);
	printf("# flags 0%o: writes: %s, behind the end: %s, reads: %s\n", (unsigned int)way->flags, strerror(over),
	       strerror(behind), strerror(back));
	fflush(stdout);
	/* through the page cache fsync() may be the first to tell */
	if (!behind)
		check(!way->flags && fsync(tested.plain) == -1);
	else
		check(behind == EROFS || behind == EIO);
	expect(cuFileWrite(tested.handle, memory.base, LAYER_SIZE, 0, 0), LAYER_SIZE, over);
	expect(cuFileWrite(tested.handle, memory.base, 4096, LAYER_SIZE, 0), 4096, behind);
	/* a part of a block, for which a direct file is opened once more, if it was not before */
	expect(cuFileWrite(tested.handle, memory.base, 100, 50, 50), 100, over);
	/* a page that cannot be written out any more stands in the way of direct reads, everybody's */
	back = plain_read();
	got = cuFileRead(tested.handle, memory.base, LAYER_SIZE, 0, 0);
	if (got < 0)
		check_eq(errno, back);
	else
		check_eq(got, LAYER_SIZE);
	check(!back == (got > 0));
	if (!back)
		layer_check(&memory, 0, 0, LAYER_SIZE);
	layer_close(&tested, &memory);
}

static void turned_direct(void)
{
	static const struct layer_way way = { "", "0", O_DIRECT, REGISTERED };

	layer_in_time(turn_read_only, &way, "");
}

static void turned_cached(void)
{
	static const struct layer_way way = { "", "0", 0, REGISTERED };

	layer_in_time(turn_read_only, &way, "");
}

static const struct tap_test tests[] = {
	{ "the_file_is_made", fill },
	{ "what_fits_is_written_and_counted", full },
	{ "read_only_files_are_read", read_only_mount },
	{ "writes_end_when_it_turns_read_only", turned_cached },
	{ "direct_writes_end_when_it_turns_read_only", turned_direct },
};

TAP_MAIN(tests)
