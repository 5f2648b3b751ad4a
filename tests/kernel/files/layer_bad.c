// SPDX-License-Identifier: MIT
/* A file of which some bytes cannot be read or written: every request tells, and what it moved before is there. */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "layer.h"
#include "tests/tap.h"

#define PIECE (128UL << 10)
#define NR    (LAYER_SIZE / PIECE)

static struct tested tested;
static struct memory memory;

static void fill(void)
{
	layer_fill();
}

/*
 * What plain calls find bad, in blocks of 4096 bytes: just the bad bytes past the page cache, more of it through it, where
 * that is filled in larger pieces.
 */
static void find_bad(int flags, size_t *bad_p, size_t *behind_p)
{
	static unsigned char bytes[4096] __attribute__((aligned(4096)));
	int fd = open(tested.path, O_RDONLY | O_CLOEXEC | flags);
	size_t bad = layer_number("LAYER_BAD");

	check(fd >= 0);
	*bad_p = LAYER_SIZE;
	*behind_p = 0;
	for (size_t at = 0; at < LAYER_SIZE; at += 4096) {
		if (pread(fd, bytes, 4096, (off_t)at) == 4096)
			continue;
		check_eq(errno, EIO);
		*bad_p = at < *bad_p ? at : *bad_p;
		*behind_p = at + 4096;
	}
	close(fd);
	check(*bad_p <= bad && *behind_p >= bad + layer_hurt());
	check(!flags || (*bad_p == bad && *behind_p == bad + layer_hurt()));
}

/* What is on the device. */
static void read_back(unsigned char *bytes, size_t len, size_t pos)
{
	int fd = open(tested.path, O_RDONLY | O_CLOEXEC | O_DIRECT);

	check(fd >= 0);
	check_eq(pread(fd, bytes, len, (off_t)pos), len);
	close(fd);
}

static void expect_error(ssize_t got)
{
	check_eq(got, -1);
	check_eq(errno, EIO);
}

static void read_over(const void *arg)
{
	const struct layer_way *way = arg;
	size_t bad, behind;
	ssize_t got;

	layer_open(way, &tested, &memory);
	find_bad(way->flags, &bad, &behind);
	check_eq(cuFileRead(tested.handle, memory.base, bad, 0, 0), bad);
	layer_check(&memory, 0, 0, bad);
	/* all of it through the page cache; past it the kernel may fail a piece as a whole, or a call for host memory */
	got = cuFileRead(tested.handle, memory.base, LAYER_SIZE, 0, 0);
	check(got == -1 ? errno == EIO : got > 0 && got <= (ssize_t)bad);
	if (!way->flags)
		check_eq(got, bad);
	else if (way->kind != PAGEABLE)
		check(got >= (ssize_t)(1UL << 20));
	layer_check(&memory, 0, 0, got > 0 ? (size_t)got : 0);
	printf("# path '%s', flags 0%o, %s: %zd bytes of 0x%zx in front of the bad ones\n", way->path,
	       (unsigned int)way->flags, kind_names[way->kind], got, bad);
	fflush(stdout);
	expect_error(cuFileRead(tested.handle, memory.base, 4096, (off_t)bad, 0));
	expect_error(cuFileRead(tested.handle, memory.base, 100, (off_t)behind - 1000, 0));
	/* who goes on in small steps gets all that can be had */
	for (size_t at = got > 0 ? (size_t)got : 0; at < bad; at += 4096)
		check_eq(cuFileRead(tested.handle, memory.base, 4096, (off_t)at, (off_t)at), 4096);
	layer_check(&memory, 4096, 4096, bad - 4096);
	expect_error(cuFileRead(tested.handle, memory.base, 1UL << 20, (off_t)bad, 0));
	check_eq(cuFileRead(tested.handle, memory.base, LAYER_SIZE - behind, (off_t)behind, 0), LAYER_SIZE - behind);
	layer_check(&memory, 0, behind, LAYER_SIZE - behind);
	check_eq(cuFileRead(tested.handle, memory.base, 100, (off_t)bad - 100, 0), 100);
	layer_check(&memory, 0, bad - 100, 100);
	layer_close(&tested, &memory);
}

static void reads(void)
{
	layer_each(read_over, 0);
}

static void write_direct(const void *arg)
{
	static unsigned char bytes[LAYER_SIZE], back[LAYER_SIZE] __attribute__((aligned(4096)));
	static unsigned char value = 0x20;
	const struct layer_way *way = arg;
	size_t bad = layer_number("LAYER_BAD"), behind = bad + layer_hurt();
	ssize_t got;

	layer_open(way, &tested, &memory);
	value += (unsigned char)(strlen(way->path) + way->kind);
	memset(bytes, value, LAYER_SIZE);
	memory_put(&memory, 0, bytes, LAYER_SIZE);
	got = cuFileWrite(tested.handle, memory.base, LAYER_SIZE, 0, 0);
	check(got == -1 ? errno == EIO : got > 0 && got <= (ssize_t)bad);
	if (way->kind != PAGEABLE)
		check(got > 0);
	if (got > 0) {
		read_back(back, (size_t)got, 0);
		check(!memcmp(back, bytes, (size_t)got));
	}
	expect_error(cuFileWrite(tested.handle, memory.base, 4096, (off_t)bad, 0));
	check_eq(cuFileWrite(tested.handle, memory.base, bad, 0, 0), bad);
	check_eq(cuFileWrite(tested.handle, memory.base, LAYER_SIZE - behind, (off_t)behind, 0), LAYER_SIZE - behind);
	read_back(back, bad, 0);
	read_back(back + behind, LAYER_SIZE - behind, behind);
	check(!memcmp(back, bytes, bad) && !memcmp(back + behind, bytes + behind, LAYER_SIZE - behind));
	layer_close(&tested, &memory);
}

static void direct_writes(void)
{
	layer_each(write_direct, 1);
}

/* Through the page cache the write itself is done; the program's own fsync() must hear of it, once. */
static void write_cached(const void *arg)
{
	size_t bad = layer_number("LAYER_BAD"), hurt = layer_hurt();

	layer_open(arg, &tested, &memory);
	check_eq(cuFileWrite(tested.handle, memory.base, 4 * hurt, (off_t)(bad - hurt), 0), 4 * hurt);
	check_eq(fsync(tested.fd), -1);
	check_eq(errno, EIO);
	check_eq(fsync(tested.fd), 0);
	layer_close(&tested, &memory);
}

static void cached_writes(void)
{
	static const struct layer_way ways[] = { { "", "0", 0, REGISTERED }, { "plain", "1", 0, PAGEABLE } };

	for (size_t i = 0; i < 2; i++)
		layer_in_time(write_cached, &ways[i], "");
}

/* Entries that meet the bad bytes fail, and nobody else's. */
static void batch_over(const void *arg)
{
	const struct layer_way *way = arg;
	size_t bad = layer_number("LAYER_BAD");
	CUfileIOEvents_t events[NR], *event;
	CUfileIOParams_t params[NR];
	unsigned int failed = 0, nr;
	CUfileBatchHandle_t batch;

	layer_open(way, &tested, &memory);
	for (size_t i = 0; i < NR; i++)
		params[i] = (CUfileIOParams_t){ .mode = CUFILE_BATCH,
						.u.batch = { memory.base, (off_t)(i * PIECE), (off_t)(i * PIECE), PIECE },
						.fh = tested.handle,
						.opcode = CUFILE_READ,
						.cookie = (void *)i };
	check_eq(cuFileBatchIOSetUp(&batch, NR).err, CU_FILE_SUCCESS);
	check_eq(cuFileBatchIOSubmit(batch, NR, params, 0).err, CU_FILE_SUCCESS);
	for (unsigned int done = 0; done < NR; done += nr) {
		struct timespec patience = { 30, 0 };

		nr = NR - done;
		check_eq(cuFileBatchIOGetStatus(batch, 1, &nr, events + done, &patience).err, CU_FILE_SUCCESS);
		check(nr);
	}
	for (event = events; event < events + NR; event++) {
		size_t at = (size_t)event->cookie * PIECE;
		bool hit = at < bad + layer_hurt() && bad < at + PIECE;

		/* a piece that begins in front of the bad bytes may be short instead */
		if (hit && event->status == CUFILE_COMPLETE)
			check(event->ret <= bad - at);
		else
			check_eq(event->status, hit ? CUFILE_FAILED : CUFILE_COMPLETE);
		failed += hit;
		if (!hit)
			check_eq(event->ret, PIECE);
		else if (event->status == CUFILE_FAILED)
			check_eq((ssize_t)event->ret, -EIO);
		layer_check(&memory, at, at, hit ? 0 : PIECE);
	}
	check_eq(failed, 1);
	cuFileBatchIODestroy(batch);
	layer_close(&tested, &memory);
}

static void batches(void)
{
	layer_each(batch_over, 0);
}

/* Operations of a stream behind one that fails are done. */
static void stream_over(const void *arg)
{
	size_t bad = layer_number("LAYER_BAD"), size = 4096;
	ssize_t bytes[3] = { 0 };
	off_t pos[3] = { 0, (off_t)bad, (off_t)LAYER_SIZE - 4096 }, off[3] = { 0, 4096, 8192 };
	CUstream stream;

	layer_open(arg, &tested, &memory);
	check_eq(world.cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	for (int i = 0; i < 3; i++)
		check_eq(cuFileReadAsync(tested.handle, memory.base, &size, &pos[i], &off[i], &bytes[i], stream).err,
			 CU_FILE_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(bytes[0], 4096);
	check_eq(bytes[1], -EIO);
	check_eq(bytes[2], 4096);
	layer_check(&memory, 0, 0, 4096);
	layer_check(&memory, 8192, LAYER_SIZE - 4096, 4096);
	check_eq(world.cuda->cuStreamDestroy(stream), CUDA_SUCCESS);
	layer_close(&tested, &memory);
}

static void streams(void)
{
	static const struct layer_way ways[] = { { "", "0", 0, REGISTERED }, { "", "0", O_DIRECT, REGISTERED } };

	for (size_t i = 0; i < 2; i++)
		layer_in_time(stream_over, &ways[i], "");
}

static const struct tap_test tests[] = {
	{ "the_file_is_made", fill },
	{ "reads_tell_what_was_read_and_where_it_ends", reads },
	{ "entries_of_a_batch_fail_alone", batches },
	{ "operations_of_a_stream_fail_alone", streams },
	{ "direct_writes_tell_what_was_written", direct_writes },
	{ "fsync_tells_of_cached_writes", cached_writes },
};

TAP_MAIN(tests)
