/* SPDX-License-Identifier: MIT */
/*
 * staged.h - the ways of path "staged"
 *
 * Each moves bytes from io->done on and advances it. 0: all that there is was moved; -EAGAIN: the rest is for another
 * path (no pinned memory, no lane); else the error.
 */
#ifndef BL_FILE_STAGED_H
#define BL_FILE_STAGED_H

#include "io.h"
#include "lane.h"
#include "pieces.h"

/* Pieces read by this thread and, where the request is large, by some of the crew. */
int bl_staged_read(struct bl_io *io);

/* One thread, many reads past the page cache by io_uring. */
int bl_staged_read_direct(struct bl_io *io);

/* The GPU's bytes in order, transfers ahead of writes. */
int bl_staged_write(struct bl_io *io);

/* Many writes past the page cache by io_uring. */
int bl_staged_write_direct(struct bl_io *io);

/* Size of pieces for what is left of a request. */
size_t bl_staged_piece(const struct bl_io *io);

/* A lane; what keeps it from being had is for another path. 0, -EAGAIN, or the error. */
int bl_staged_lane(const struct bl_io *io, const struct bl_ce_target *target, size_t slot, struct bl_lane **lane_p);

/*
 * What an error of the file means for the request. -EFAULT, with memory that is there: the kernel cannot have devices reach
 * CUDA's pinned memory. Path plain has other memory, so that becomes -EAGAIN, and is said once.
 */
int bl_staged_error(int err);

#endif
