// SPDX-License-Identifier: MIT
/*
 * Path "plain": one piece after the other, each read and then copied by CUDA, or the other way round. Host memory is read
 * and written by the file system itself. Serves everything; what other paths cannot do comes here.
 */
#define log_fmt(fmt) "file/plain: " fmt
#include <errno.h>

#include "fio.h"
#include "io.h"
#include "pages.h"
#include "util/clock.h"
#include "util/log.h"

/* Whether the file system can take the host memory of a request as it is. */
static bool takes(const struct bl_io *io)
{
	return !io->mem.target &&
	       (!io->direct || !(((uintptr_t)io->mem.va | io->len | (size_t)io->pos) & (io->file->align - 1)));
}

static int run_host(struct bl_io *io)
{
	char *host = (char *)(uintptr_t)io->mem.va + io->done;
	off_t pos = io->pos + (off_t)io->done;
	size_t left = io->len - io->done, skip;
	int err;

	if (io->write)
		io->done += bl_fio_write(io->file, host, left, pos, &err);
	else if (io->direct)
		io->done += bl_fio_read_direct(io->file, host, left, pos, &skip, &err);
	else
		io->done += bl_fio_read(io->file, host, left, pos, &err);
	return err;
}

/* Up to the next multiple of the piece's size, so that pieces after the first are aligned. */
static size_t piece_len(const struct bl_io *io)
{
	size_t room = BL_PAGES_SIZE - bl_fio_lead(io->pos + (off_t)io->done);
	size_t left = io->len - io->done;

	return left < room ? left : room;
}

static int read_piece(struct bl_io *io, char *pages, bool *end_p)
{
	size_t len = piece_len(io), skip, got;
	int err, ret = 0;

	got = bl_fio_read_any(io->file, pages, len, io->pos + (off_t)io->done, &skip, &err);
	*end_p = got < len;
	if (got && io->by_cpu && io->mem.target)
		ret = bl_mem_store(&io->mem, io->done, pages + skip, got);
	else if (got)
		ret = bl_mem_copy(&io->mem, io->done, pages + skip, got, BL_COPY_TO);
	if (ret)
		return ret;
	io->done += got;
	return err;
}

static int write_piece(struct bl_io *io, char *pages, bool *end_p)
{
	off_t pos = io->pos + (off_t)io->done;
	char *at = pages + bl_fio_lead(pos);
	size_t len = piece_len(io), put;
	int err, ret;

	ret = bl_mem_copy(&io->mem, io->done, at, len, BL_COPY_FROM);
	if (ret)
		return ret;
	put = bl_fio_write(io->file, at, len, pos, &err);
	*end_p = put < len;
	io->done += put;
	return err;
}

static int run_pieces(struct bl_io *io)
{
	char *pages = bl_pages_get();
	bool end = false;
	int ret = 0;

	if (!pages)
		return fail(ENOMEM, "no memory for a piece of the file");
	while (!ret && !end && io->done < io->len) {
		if (bl_now_ns() > io->deadline_ns)
			ret = fail(ETIMEDOUT, "fd %d: not done in time", io->file->fd);
		else
			ret = io->write ? write_piece(io, pages, &end) : read_piece(io, pages, &end);
	}
	bl_pages_put(pages);
	return ret;
}

static int run(struct bl_io *io)
{
	return takes(io) ? run_host(io) : run_pieces(io);
}

/* Measured: a copy that is waited for costs 15 us more than its bytes, which pass through the cache twice. */
static double score(const struct bl_io *io)
{
	return io->mem.target ? 20000 + 0.25 * (double)io->len : 0;
}

const struct bl_path_ops bl_path_plain = { .name = "plain", .score = score, .run = run };
