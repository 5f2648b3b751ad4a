/* SPDX-License-Identifier: MIT */
/*
 * fio.h - the file side of a request: which descriptor, whole counts in spite of short ones, alignment
 *
 * Requests go the way that the caller's descriptor was opened for: past the page cache when it has O_DIRECT (or
 * force_odirect_mode is set), else through it. Where a piece of a direct request cannot go that way (its ends, on writes),
 * the other descriptor is used; the kernel keeps the two coherent, see docs/storage-paths.md.
 */
#ifndef BL_FILE_FIO_H
#define BL_FILE_FIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "align.h"
#include "file.h"

/* Whether requests on this file go past the page cache. Opens the descriptor for it when it is the first. */
bool bl_fio_direct(struct bl_file *file);

/* Descriptor without O_DIRECT, opened when it is needed first; or the negative error by which there is none. */
int bl_fio_cached_fd(struct bl_file *file);

/* Descriptor with O_DIRECT, likewise. */
int bl_fio_direct_fd(struct bl_file *file);

/**
 * bl_fio_read() - Read through the page cache
 * @file:  file
 * @buf:   receives the bytes
 * @len:   bytes wanted
 * @pos:   offset in the file
 * @err_p: receives 0 when the end of the file ended it, or the negative error that did
 *
 * Return: bytes read, @len or fewer.
 */
size_t bl_fio_read(struct bl_file *file, void *buf, size_t len, off_t pos, int *err_p);

/**
 * bl_fio_read_cached() - Read what the page cache has, and wait for nothing
 * @file: file
 * @buf:  receives the bytes; may be a GPU's mapping
 * @len:  bytes wanted
 * @pos:  offset in the file
 *
 * Return: bytes read, perhaps fewer; 0: the end of the file; -EAGAIN: the first of them is not in the page cache, or the
 * file system cannot tell, which is noted; or the error.
 */
ssize_t bl_fio_read_cached(struct bl_file *file, void *buf, size_t len, off_t pos);

/* Whether the file system can tell, as far as is known. */
bool bl_fio_knows_cached(const struct bl_file *file);

/* Have the kernel begin to fill the page cache with a range, @step bytes at a time. */
void bl_fio_read_ahead(struct bl_file *file, size_t len, off_t pos, size_t step);

/**
 * bl_fio_read_direct() - Read past the page cache
 * @file:   file
 * @buf:    BL_ALIGN_MAX-aligned, @len + 2 * BL_ALIGN_MAX bytes
 * @len:    bytes wanted
 * @pos:    offset in the file, any
 * @skip_p: receives where in @buf the first byte wanted is
 * @err_p:  as bl_fio_read()
 *
 * Reads all blocks that hold the range. A file that refuses that (EINVAL: its rules are other than it says) is read through
 * the page cache.
 * Return: bytes read that were wanted.
 */
size_t bl_fio_read_direct(struct bl_file *file, void *buf, size_t len, off_t pos, size_t *skip_p, int *err_p);

/* Either of the two, as the file has it; @buf as for bl_fio_read_direct(). */
size_t bl_fio_read_any(struct bl_file *file, void *buf, size_t len, off_t pos, size_t *skip_p, int *err_p);

/* Where in a page-aligned buffer the byte for @pos belongs, so that direct writes of it are aligned. */
static inline size_t bl_fio_lead(off_t pos)
{
	return (size_t)pos & (BL_ALIGN_MAX - 1);
}

/**
 * bl_fio_write() - Write
 * @file:  file
 * @buf:   the bytes; for direct writes at bl_fio_lead(@pos) in a BL_ALIGN_MAX-aligned buffer
 * @len:   bytes
 * @pos:   offset in the file
 * @err_p: receives 0, or the negative error that ended it
 *
 * Return: bytes written.
 */
size_t bl_fio_write(struct bl_file *file, const void *buf, size_t len, off_t pos, int *err_p);

#endif
