/* SPDX-License-Identifier: MIT */
/* file.h - registered files (CUfileHandle_t) */
#ifndef BL_FILE_FILE_H
#define BL_FILE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "path.h"

/**
 * struct bl_file - a registered file
 * @refs:      its handle and every request under way
 * @fd:        the caller's descriptor; it stays theirs
 * @direct_fd: the same file with O_DIRECT, ours; -1: none (yet, or the file system has none)
 * @cached_fd: the same file without O_DIRECT, ours; -1: none
 * @flags:     of @fd, as fcntl(F_GETFL) gave them
 * @dev:       with @ino, which file it is
 * @ino:       see @dev
 * @magic:     file system, as fstatfs() says
 * @align:     what direct I/O wants offsets, sizes and addresses to be multiples of; 0: no direct I/O
 * @device:    st_dev's disk can be read with direct I/O: regular file or block device
 * @counts:    bytes and calls per path and direction
 */
struct bl_file {
	atomic_int refs;
	int fd;
	int direct_fd;
	int cached_fd;
	int flags;
	dev_t dev;
	ino_t ino;
	long magic;
	uint32_t align;
	bool device;
	struct bl_file_counts {
		_Atomic(uint64_t) calls[2];
		_Atomic(uint64_t) bytes[2];
	} counts[BL_PATH_NR];
};

/**
 * bl_file_add() - Register a descriptor
 * @fd:       open file
 * @handle_p: receives the handle: a generation-tagged id, never a pointer to be followed
 *
 * Return: 0, or a negative error of io.h.
 */
int bl_file_add(int fd, uint64_t *handle_p);

/* 0, or -(CU_FILE_HANDLE_NOT_REGISTERED); requests under way finish. */
int bl_file_remove(uint64_t handle);

/* All of them, as the last cuFileDriverClose() does. */
void bl_file_remove_all(void);

/* The file of a handle, referenced, or NULL; @was_valid_p (may be NULL): it had been given out once. */
struct bl_file *bl_file_get(uint64_t handle, bool *was_valid_p);
void bl_file_put(struct bl_file *file);

#endif
