// SPDX-License-Identifier: MIT
/* Reads that take no waiting, for threads that have other things to do. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "config.h"
#include "file.h"
#include "fio.h"
#include "io.h"
#include "tune.h"
#include "util/clock.h"
#include "util/log.h"

/* The mapped path reads what is in the page cache and nothing else. */
static bool allowed(struct bl_file *file)
{
	enum bl_path forced = bl_file_config()->path;

	return bl_paths[BL_PATH_MAPPED] && (forced == BL_PATH_NR || forced == BL_PATH_MAPPED) &&
	       (file->flags & O_ACCMODE) != O_WRONLY && !bl_fio_direct(file);
}

static bool move(struct bl_io *io)
{
	const struct bl_path_ops *mapped = bl_paths[BL_PATH_MAPPED];

	return io->mem.target && !(mapped->usable && mapped->usable(io)) && !mapped->run(io);
}

static ssize_t run(struct bl_io *io, void *base, off_t buf_off)
{
	bool moved;

	if (bl_mem_get(base, buf_off, io->len, &io->mem))
		return -EAGAIN;
	moved = move(io);
	bl_mem_put(&io->mem);
	return moved ? (ssize_t)io->done : -EAGAIN;
}

ssize_t bl_io_try(struct bl_file *file, void *base, size_t len, off_t pos, off_t buf_off, enum bl_path *path_p)
{
	struct bl_io io = { .file = file, .len = len, .pos = pos, .path = BL_PATH_MAPPED };
	ssize_t ret;

	if (!base || !len || pos < 0 || buf_off < 0 || len > SSIZE_MAX || pos > LLONG_MAX - (off_t)len || !allowed(file))
		return -EAGAIN;
	io.deadline_ns = bl_now_ns() + bl_file_tune()->timeout_ms * 1000000ULL;
	/* what goes wrong goes wrong again in bl_io_run_quiet(), and is said there */
	bl_fail_hush(1);
	ret = run(&io, base, buf_off);
	bl_fail_hush(-1);
	if (ret < 0)
		return ret;
	atomic_fetch_add_explicit(&file->counts[BL_PATH_MAPPED].calls[0], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&file->counts[BL_PATH_MAPPED].bytes[0], (uint64_t)ret, memory_order_relaxed);
	*path_p = BL_PATH_MAPPED;
	return ret;
}
