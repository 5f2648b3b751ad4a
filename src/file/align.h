/* SPDX-License-Identifier: MIT */
/* align.h - what direct I/O on a file wants offsets, sizes and addresses to be multiples of */
#ifndef BL_FILE_ALIGN_H
#define BL_FILE_ALIGN_H

#include <stdint.h>

/* No file wants more than this; memory for direct I/O is aligned to it. */
#define BL_ALIGN_MAX 4096U

/**
 * bl_align_of() - Alignment of direct I/O on a file
 * @fd: open file
 *
 * As statx() tells (Linux 6.1 and later), else the block size of the device, else BL_ALIGN_MAX.
 * Return: a power of two up to BL_ALIGN_MAX; 0: the kernel says that there is no direct I/O on this file, or it would
 * want more.
 */
uint32_t bl_align_of(int fd);

#endif
