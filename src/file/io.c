// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/io: " fmt
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "error.h"
#include "fio.h"
#include "stats.h"
#include "tune.h"
#include "util/clock.h"
#include "util/log.h"

static __attribute__((noinline, cold)) int refuse_mode(const struct bl_file *file, bool write)
{
	if (write)
		return fail(EIO, "fd %d: opened for reading only", file->fd);
	return bl_fail(-BL_CUFILE(CU_FILE_INVALID_FILE_OPEN_FLAG), log_fmt("fd %d: opened for writing only"), file->fd);
}

int bl_io_check(const struct bl_file *file, const void *base, size_t len, off_t pos, off_t buf_off, bool write)
{
	if (!base)
		return fail(EINVAL, "no buffer");
	if (pos < 0 || len > SSIZE_MAX || pos > LLONG_MAX - (off_t)len)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("file offset %lld len 0x%zx"), (long long)pos, len);
	if (buf_off < 0)
		return bl_fail(-BL_CUFILE(CU_FILE_INTERNAL_ERROR), log_fmt("buffer offset %lld"), (long long)buf_off);
	if ((file->flags & O_ACCMODE) == (write ? O_RDONLY : O_WRONLY))
		return refuse_mode(file, write);
	return 0;
}

static ssize_t run(struct bl_io *io, void *base, off_t buf_off, uint64_t start)
{
	int ret = bl_mem_get(base, buf_off, io->len, &io->mem);

	if (ret)
		return ret;
	io->deadline_ns = start + bl_file_tune()->timeout_ms * 1000000ULL;
	io->direct = bl_fio_direct(io->file);
	ret = bl_io_dispatch(io);
	bl_mem_put(&io->mem);
	return io->done ? (ssize_t)io->done : ret;
}

static void count(const struct bl_io *io, ssize_t result)
{
	struct bl_file_counts *counts = &io->file->counts[io->path];

	if (result < 0)
		return;
	atomic_fetch_add_explicit(&counts->calls[io->write], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&counts->bytes[io->write], (uint64_t)result, memory_order_relaxed);
}

void bl_io_count(const struct bl_io *io, ssize_t result, uint64_t ns)
{
	count(io, result);
	bl_stats_io(io->path, io->write, result, ns, io->mem.ordinal, ((size_t)io->pos | io->len) % 4096);
}

static ssize_t carry_out(struct bl_io *io, void *base, off_t buf_off, uint64_t start)
{
	ssize_t ret = bl_io_check(io->file, base, io->len, io->pos, buf_off, io->write);

	io->done = 0;
	io->by_cpu = false;
	io->path = BL_PATH_PLAIN;
	io->mem.ordinal = -1;
	if (ret || !io->len)
		return ret;
	ret = run(io, base, buf_off, start);
	count(io, ret);
	return ret;
}

int bl_io_open(struct bl_io *io, void *base, off_t buf_off)
{
	int ret = bl_io_check(io->file, base, io->len, io->pos, buf_off, io->write);

	io->done = 0;
	io->by_cpu = false;
	io->path = BL_PATH_PLAIN;
	if (!ret)
		ret = bl_mem_get(base, buf_off, io->len, &io->mem);
	if (ret)
		return ret;
	io->deadline_ns = bl_now_ns() + bl_file_tune()->timeout_ms * 1000000ULL;
	io->direct = bl_fio_direct(io->file);
	return 0;
}

void bl_io_close(struct bl_io *io)
{
	bl_mem_put(&io->mem);
	if (io->done)
		count(io, (ssize_t)io->done);
}

ssize_t bl_io_run_quiet(struct bl_file *file, void *base, size_t len, off_t pos, off_t buf_off, bool write,
			enum bl_path *path_p)
{
	struct bl_io io;
	ssize_t ret;

	io.file = file;
	io.len = len;
	io.pos = pos;
	io.write = write;
	ret = carry_out(&io, base, buf_off, bl_now_ns());
	*path_p = io.path;
	return ret;
}

ssize_t bl_io_run(struct bl_file *file, void *base, size_t len, off_t pos, off_t buf_off, bool write)
{
	uint64_t start = bl_now_ns();
	struct bl_io io;
	ssize_t ret;

	io.file = file;
	io.len = len;
	io.pos = pos;
	io.write = write;
	ret = carry_out(&io, base, buf_off, start);
	bl_stats_io(io.path, write, ret, bl_now_ns() - start, io.mem.ordinal, ((size_t)pos | len) % 4096);
	return ret;
}
