// SPDX-License-Identifier: MIT
/* Path mapped with host memory in the place of the GPU's mapping, and a flush that the test decides on. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file/file.h"
#include "file/io.h"
#include "file/tune.h"
#include "tap.h"

extern const struct bl_path_ops bl_path_mapped;

static int flushes, flush_result;

int __wrap_bl_flush(bl_pin_t pin);

int __wrap_bl_flush(bl_pin_t pin)
{
	(void)pin;
	flushes++;
	return flush_result;
}

/* A file whose bytes are in the page cache, and a read of it that goes straight to the mapping. */
struct read {
	struct bl_io io;
	uint64_t handle;
	int fd;
	size_t len;
	char *mapping;
};

static void begin(struct read *read, bool flush, int result)
{
	char path[] = "/dev/shm/barlane-mapped-XXXXXX";
	char *bytes;

	memset(read, 0, sizeof(*read));
	read->len = bl_file_tune()->straight_min;
	bytes = malloc(read->len);
	read->mapping = calloc(1, read->len);
	check(bytes && read->mapping);
	memset(bytes, 7, read->len);
	read->fd = mkstemp(path);
	check(read->fd >= 0);
	unlink(path);
	check_eq(pwrite(read->fd, bytes, read->len, 0), read->len);
	free(bytes);
	check_eq(bl_file_add(read->fd, &read->handle), 0);
	read->io.file = bl_file_get(read->handle, NULL);
	check(read->io.file);
	read->io.len = read->len;
	read->io.mem.mapped = read->mapping;
	read->io.mem.flush = flush;
	read->io.deadline_ns = UINT64_MAX;
	flushes = 0;
	flush_result = result;
}

static void end(struct read *read)
{
	bl_file_put(read->io.file);
	check_eq(bl_file_remove(read->handle), 0);
	close(read->fd);
	free(read->mapping);
}

static void bytes_that_were_flushed_count(void)
{
	struct read read;

	begin(&read, true, 0);
	check(!bl_path_mapped.usable(&read.io));
	check_eq(bl_path_mapped.run(&read.io), 0);
	check_eq(read.io.done, read.len);
	check_eq(flushes, 1);
	check_eq(read.mapping[0], 7);
	check_eq(read.mapping[read.len - 1], 7);
	end(&read);
}

static void where_the_gpu_orders_writes_nothing_is_flushed(void)
{
	struct read read;

	begin(&read, false, -EIO);
	check_eq(bl_path_mapped.run(&read.io), 0);
	check_eq(read.io.done, read.len);
	check_eq(flushes, 0);
	end(&read);
}

static void bytes_that_could_not_be_flushed_do_not_count(void)
{
	struct read read;

	begin(&read, true, -EINVAL);
	check_eq(bl_path_mapped.run(&read.io), -EIO);
	check_eq(read.io.done, 0);
	check_eq(flushes, 1);
	end(&read);
}

static const struct tap_test tests[] = {
	{"bytes that were flushed count", bytes_that_were_flushed_count},
	{"where the GPU orders writes nothing is flushed", where_the_gpu_orders_writes_nothing_is_flushed},
	{"bytes that could not be flushed do not count", bytes_that_could_not_be_flushed_do_not_count},
};

int main(int argc, char **argv)
{
	/* a piece's way leads through the core's pins, of which there are none here */
	setenv("BARLANE_FILE_TUNE", "straight_min=64K,straight_max=64K", 1);
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
