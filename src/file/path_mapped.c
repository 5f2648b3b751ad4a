// SPDX-License-Identifier: MIT
/*
 * Path "mapped": what the page cache has goes to the GPU's mapping by the CPU: by the kernel itself, with a second thread where
 * that is awake, or through a buffer that stays in the CPU's own cache, piece by piece. The user's file is never mapped, so that
 * nobody's truncation is our SIGBUS. Reads only: the CPU reads the GPU's memory a hundred times slower than it writes it.
 *
 * What would have to wait for a disk is left to the next path, which has many requests under way.
 */
#define log_fmt(fmt) "file/mapped: " fmt
#include <errno.h>

#include "copy/fence.h"
#include "fio.h"
#include "io.h"
#include "pages.h"
#include "pair.h"
#include "tune.h"
#include "util/log.h"

/* Of the time that one thread takes, with the helper. */
#define PAIR_SHARE 0.55

static const char *usable(const struct bl_io *io)
{
	if (io->write)
		return "the CPU reads the GPU's memory too slowly";
	if (!io->mem.mapped)
		return "the buffer is not registered, or cannot be mapped";
	if (io->direct)
		return "the file is read past the page cache";
	if (!bl_fio_knows_cached(io->file))
		return "the file system cannot say what it has in the page cache";
	return NULL;
}

static bool goes_straight(const struct bl_io *io)
{
	const struct bl_file_tune *tune = bl_file_tune();

	return io->len >= tune->straight_min && io->len <= tune->straight_max;
}

/* The kernel copies to the mapping by itself. */
static ssize_t move_straight(struct bl_io *io)
{
	ssize_t nr = bl_fio_read_cached(io->file, (char *)io->mem.mapped + io->done, io->len - io->done,
				 io->pos + (off_t)io->done);

	bl_fence_wc_store();
	return nr;
}

static ssize_t move_piece(struct bl_io *io, void *pages, size_t piece)
{
	size_t left = io->len - io->done;
	ssize_t nr;
	int ret;

	nr = bl_fio_read_cached(io->file, pages, left < piece ? left : piece, io->pos + (off_t)io->done);
	if (nr <= 0)
		return nr;
	ret = bl_copy_to(io->mem.pin, (char *)io->mem.mapped + io->done, pages, (size_t)nr);
	return ret ? ret : nr;
}

static int move(struct bl_io *io, void *pages)
{
	bool straight = goes_straight(io);
	size_t piece = bl_file_tune()->bounce;
	ssize_t nr;
	int ret;

	if (straight && bl_pair_fits(io)) {
		ret = bl_pair_read(io);
		if (ret)
			return ret;
	}
	while (io->done < io->len) {
		nr = straight ? move_straight(io) : move_piece(io, pages, piece);
		if (nr == -EFAULT && straight) {
			straight = false; /* a mapping that the kernel does not write to */
			continue;
		}
		if (nr <= 0)
			return (int)nr;
		io->done += (size_t)nr;
	}
	return 0;
}

static int run(struct bl_io *io)
{
	size_t before = io->done;
	void *pages = bl_pages_get();
	int ret;

	if (!pages)
		return fail(ENOMEM, "no memory for a piece of the file");
	ret = move(io, pages);
	bl_pages_put(pages);
	if (io->done == before)
		return ret;
	/* whoever copies the same bytes next with a copy engine must have it wait for these */
	bl_ce_wrote();
	if (!io->mem.flush || !bl_flush(io->mem.pin))
		return ret;
	/* nobody knows what of it the GPU's work will see */
	io->done = before;
	return -EIO;
}

static double score(const struct bl_io *io)
{
	const struct bl_file_tune *tune = bl_file_tune();

	double each = tune->mapped_kib_ns;

	if (goes_straight(io) && bl_pair_fits(io) && !bl_pair_rests())
		each *= PAIR_SHARE;
	return tune->mapped_call_ns + each * ((double)io->len / 1024);
}

const struct bl_path_ops bl_path_mapped = { .name = "mapped", .usable = usable, .score = score, .run = run };
