// SPDX-License-Identifier: MIT
/*
 * Path "staged": by way of pinned memory, file and copy engine at work at once, several requests under way. Which of its
 * ways a request takes depends on its size, its direction, and whether it goes past the page cache.
 */
#define log_fmt(fmt) "file/staged: " fmt
#include "staged.h"

#include <errno.h>
#include <stdatomic.h>

#include "config.h"
#include "fio.h"
#include "pages.h"
#include "tune.h"
#include "util/log.h"

static const char *usable(const struct bl_io *io)
{
	if (io->by_cpu)
		return "a stream waits for the request, and the copy engine may wait for that stream";
	return io->mem.target ? NULL : "the file system reads and writes host memory itself";
}

size_t bl_staged_piece(const struct bl_io *io)
{
	const struct bl_file_tune *tune = bl_file_tune();
	size_t left = io->len - io->done;
	uint32_t large = io->direct ? tune->direct_piece : tune->piece;
	uint32_t direct = io->write ? tune->direct_write_small : tune->direct_small;
	uint32_t small = io->direct ? direct : tune->piece_small;
	uint32_t piece = left >= 8UL * large ? large : small;
	uint64_t most = bl_file_config()->max_direct_io_size_kb << 10;

	if (io->direct && most && piece > most)
		piece = (uint32_t)most;
	/* slots divide the lane's memory */
	return 1UL << (31 - __builtin_clz(piece));
}

int bl_staged_lane(const struct bl_io *io, const struct bl_ce_target *target, size_t slot, struct bl_lane **lane_p)
{
	int ret;

	if (slot < BL_CE_RING_SIZE / BL_LANE_SLOTS)
		slot = BL_CE_RING_SIZE / BL_LANE_SLOTS;
	bl_fail_hush(1);
	ret = bl_lane_get(target, slot, lane_p);
	bl_fail_hush(-1);
	if (ret == -ENOMEM || ret == -EBUSY) {
		log_debug("fd %d: no staging area: %s", io->file->fd, bl_last_error(NULL));
		return -EAGAIN;
	}
	return ret;
}

int bl_staged_error(int err)
{
	static atomic_bool told;

	if (err != -EFAULT)
		return err;
	if (!atomic_exchange(&told, true))
		log_warn("direct I/O does not take CUDA's pinned memory on this machine: path plain is used");
	return -EAGAIN;
}

/* The CPU writes some KiB to the GPU sooner than a transfer is submitted. */
static int read_small(struct bl_io *io)
{
	size_t len = io->len - io->done, skip, got;
	char *pages = bl_pages_get();
	int err, ret = 0;

	if (!pages)
		return fail(ENOMEM, "no memory for a piece of the file");
	got = bl_fio_read_any(io->file, pages, len, io->pos + (off_t)io->done, &skip, &err);
	if (got)
		ret = bl_copy_to(io->mem.pin, (char *)io->mem.mapped + io->done, pages + skip, got);
	bl_pages_put(pages);
	if (ret)
		return ret;
	bl_ce_wrote();
	if (got && io->mem.flush && bl_flush(io->mem.pin))
		return -EIO;
	io->done += got;
	return err;
}

static int write_small(struct bl_io *io)
{
	off_t pos = io->pos + (off_t)io->done;
	size_t len = io->len - io->done;
	char *pages = bl_pages_get(), *at;
	int err, ret;

	if (!pages)
		return fail(ENOMEM, "no memory for a piece of the file");
	at = pages + bl_fio_lead(pos);
	if (io->mem.mapped && len <= bl_file_tune()->load_max)
		ret = bl_copy_from(io->mem.pin, at, (char *)io->mem.mapped + io->done, len);
	else
		ret = bl_mem_copy(&io->mem, io->done, at, len, BL_COPY_FROM);
	if (!ret) {
		io->done += bl_fio_write(io->file, at, len, pos, &err);
		ret = err;
	}
	bl_pages_put(pages);
	return ret;
}

static int run(struct bl_io *io)
{
	const struct bl_file_tune *tune = bl_file_tune();
	size_t left = io->len - io->done;
	uint32_t one = io->write ? tune->direct_write_one : tune->direct_one;
	bool many = io->direct && left > one && bl_uring_allowed();

	if (io->write && (left <= tune->land_max || (io->mem.mapped && left <= tune->load_max)))
		return write_small(io);
	if (io->write)
		return many ? bl_staged_write_direct(io) : bl_staged_write(io);
	if (io->mem.mapped && left <= tune->cpu_max)
		return read_small(io);
	return many ? bl_staged_read_direct(io) : bl_staged_read(io);
}

static double score(const struct bl_io *io)
{
	const struct bl_file_tune *tune = bl_file_tune();

	double each = tune->staged_kib_ns;

	/* with helpers, or, among many, with a copy engine that others keep busy */
	if (!io->write && !io->direct && io->len >= tune->help_from)
		each *= bl_io_crowded() && io->len < bl_file_config()->min_io_threshold_size_kb << 10 ? 1.5 : 0.6;
	return tune->staged_call_ns + each * ((double)io->len / 1024);
}

const struct bl_path_ops bl_path_staged = { .name = "staged", .usable = usable, .score = score, .run = run };
