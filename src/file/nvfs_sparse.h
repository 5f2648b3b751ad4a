/* SPDX-License-Identifier: MIT */
/* nvfs_sparse.h - holes that a read met: the module lists them, user space zeroes them */
#ifndef BL_FILE_NVFS_SPARSE_H
#define BL_FILE_NVFS_SPARSE_H

#include "nvfs_map.h"

/**
 * bl_nvfs_sparse_fill() - Zero what a read has not written
 * @meta:    the page for reports, its state is NVIDIA_FS_SPARSE
 * @pos:     offset in the file that the read began at
 * @va:      device address of its first byte
 * @len:     bytes that it reported; holes count up to there
 * @zero:    zeroes GPU memory; NULL: nobody can
 * @priv:    for @zero
 * @holes_p: counts zeroed bytes
 *
 * The list is looked through before anything is zeroed.
 * Return: 0; -EPROTO (a list that cannot be: the memory holds what it held, or what was read), -EOPNOTSUPP (no @zero),
 * or what @zero gave.
 */
int bl_nvfs_sparse_fill(const struct nvidia_fs_meta *meta, uint64_t pos, uint64_t va, size_t len,
			int (*zero)(void *priv, uint64_t va, size_t len), void *priv, size_t *holes_p);

#endif
