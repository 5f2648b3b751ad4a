// SPDX-License-Identifier: MIT
/* Which path serves a request: those that can, the cheapest first, until nothing is left to move. */
#define log_fmt(fmt) "file/choose: " fmt
#include <errno.h>

#include "config.h"
#include "error.h"
#include "file.h"
#include "io.h"
#include "tune.h"
#include "util/log.h"

static atomic_uint nr_large; /* requests under way */

extern const struct bl_path_ops bl_path_nvfs, bl_path_devicepages, bl_path_mapped, bl_path_staged, bl_path_plain;

const struct bl_path_ops *const bl_paths[BL_PATH_NR] = {
	[BL_PATH_NVFS] = &bl_path_nvfs,
	[BL_PATH_DEVICEPAGES] = &bl_path_devicepages,
	[BL_PATH_MAPPED] = &bl_path_mapped,
	[BL_PATH_STAGED] = &bl_path_staged,
	[BL_PATH_PLAIN] = &bl_path_plain,
};

/**
 * struct turn - a path that can serve
 */
struct turn {
	enum bl_path path;
	double score;
};

/* Once per handle and path; on GPU memory only: host memory has one way. */
static void tell(const struct bl_io *io, enum bl_path path, const char *why)
{
	unsigned int bit = 1U << path;

	if (!io->mem.target || atomic_load_explicit(&io->file->told, memory_order_relaxed) & bit ||
	    atomic_fetch_or(&io->file->told, bit) & bit)
		return;
	bl_fail_quiet(EOPNOTSUPP, log_fmt("fd %d: path %s is not taken: %s"), io->file->fd, bl_paths[path]->name, why);
	log_info("fd %d: path %s is not taken: %s", io->file->fd, bl_paths[path]->name, why);
}

static int refuse(const struct bl_io *io, enum bl_path path, const char *why)
{
	return bl_fail(-BL_CUFILE(CU_FILE_IO_NOT_SUPPORTED), log_fmt("fd %d: path %s alone is allowed, and %s"),
		       io->file->fd, bl_paths[path] ? bl_paths[path]->name : "nvfs", why);
}

static const char *why_not(const struct bl_io *io, enum bl_path path)
{
	if (!bl_paths[path])
		return "it is not built in";
	return bl_paths[path]->usable ? bl_paths[path]->usable(io) : NULL;
}

/* Sorted by score; a path that is forced comes first. */
static int line_up(const struct bl_io *io, enum bl_path forced, struct turn *turns)
{
	double score;
	int nr = 0, at;

	for (enum bl_path path = 0; path < BL_PATH_NR; path++) {
		const char *why = why_not(io, path);

		if (why) {
			if (bl_paths[path])
				tell(io, path, why);
			continue;
		}
		score = path == forced ? -1 : bl_paths[path]->score(io);
		for (at = nr++; at && turns[at - 1].score > score; at--)
			turns[at] = turns[at - 1];
		turns[at] = (struct turn){ path, score };
	}
	return nr;
}

static int take_turn(struct bl_io *io, enum bl_path path)
{
	size_t before = io->done;
	int ret = bl_paths[path]->run(io);

	if (io->done != before || !ret)
		io->path = path;
	return ret;
}

/* No other path than the one that was asked for. */
static int run_only(struct bl_io *io, enum bl_path path)
{
	const char *why = why_not(io, path);
	int ret;

	if (why)
		return refuse(io, path, why);
	ret = take_turn(io, path);
	if (ret != -EAGAIN)
		return ret;
	/* it may know better by now */
	why = why_not(io, path);
	return refuse(io, path, why ? why : "it cannot do this request");
}

static int dispatch(struct bl_io *io)
{
	const struct bl_file_config *config = bl_file_config();
	struct turn turns[BL_PATH_NR];
	int nr, ret = -EAGAIN;

	if (__builtin_expect(config->strict && config->path != BL_PATH_NR && io->mem.target, 0))
		return run_only(io, config->path);
	nr = line_up(io, config->path, turns);
	for (int i = 0; i < nr && ret == -EAGAIN; i++) {
		/* strict, and nothing forced: copies that wait for each other are what nobody wants unknowingly */
		if (config->strict && turns[i].path == BL_PATH_PLAIN && io->mem.target)
			return refuse(io, BL_PATH_STAGED, "only the plain path can do this request");
		ret = take_turn(io, turns[i].path);
	}
	return ret == -EAGAIN ? fail(EIO, "fd %d: no path can do this request", io->file->fd) : ret;
}

enum bl_path bl_io_first(const struct bl_io *io)
{
	const struct bl_file_config *config = bl_file_config();
	struct turn turns[BL_PATH_NR];

	if (config->strict && config->path != BL_PATH_NR && io->mem.target)
		return why_not(io, config->path) ? BL_PATH_NR : config->path;
	return line_up(io, config->path, turns) ? turns[0].path : BL_PATH_NR;
}

int bl_io_dispatch(struct bl_io *io)
{
	bool large = io->mem.target && io->len >= bl_file_tune()->help_from;
	int ret;

	if (large)
		atomic_fetch_add_explicit(&nr_large, 1, memory_order_relaxed);
	ret = dispatch(io);
	if (large)
		atomic_fetch_sub_explicit(&nr_large, 1, memory_order_relaxed);
	return ret;
}

unsigned int bl_io_large(void)
{
	return atomic_load_explicit(&nr_large, memory_order_relaxed);
}

bool bl_io_crowded(void)
{
	return bl_io_large() >= bl_file_tune()->crowd;
}
