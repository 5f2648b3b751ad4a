/* SPDX-License-Identifier: MIT */
/*
 * file.h - registered files (CUfileHandle_t)
 *
 * A handle is a generation-tagged number dressed as a pointer. It keeps the file open by a descriptor of its own, so that
 * what the caller does with theirs (close it, have its number reused) never makes a request go to another file.
 */
#ifndef BL_FILE_FILE_H
#define BL_FILE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "path.h"

/**
 * struct bl_file - a registered file
 * @refs:      its handle and every request under way; 0: not in use. The memory is never freed, see util/ref.h
 * @handle:    its number
 * @fd:        the caller's descriptor; it stays theirs
 * @direct_fd: the same file with O_DIRECT, ours; -1: not opened yet, other negative: the error by which there will be none
 * @cached_fd: the same file without O_DIRECT, ours; negative as @direct_fd
 * @flags:     of @fd, as fcntl(F_GETFL) gave them
 * @dev:       with @ino, which file it is
 * @ino:       see @dev
 * @magic:     file system, as fstatfs() says
 * @align:     what direct I/O wants offsets, sizes and addresses to be multiples of; 0: no direct I/O
 * @device:    st_dev's disk can be read with direct I/O: regular file or block device
 * @no_nowait: the file system does not know reads of what is cached alone
 * @told:      bit per path: it was said why it is not taken
 * @nvfs:      why path nvfs cannot serve it, valid for ever; "": it can; NULL: nobody has looked
 * @pages:     the same of path devicepages
 * @counts:    bytes and calls per path and direction
 */
struct bl_file {
	_Alignas(64) atomic_int refs;
	_Alignas(64) uint64_t handle; /* what is only read is apart from what each request writes */
	int fd;
	atomic_int direct_fd;
	atomic_int cached_fd;
	int flags;
	dev_t dev;
	ino_t ino;
	long magic;
	uint32_t align;
	bool device;
	atomic_bool no_nowait;
	atomic_uint told;
	_Atomic(const char *) nvfs;
	_Atomic(const char *) pages;
	_Alignas(64) struct bl_file_counts {
		_Atomic(uint64_t) calls[2];
		_Atomic(uint64_t) bytes[2];
	} counts[BL_PATH_NR];
	struct bl_file *next_free;
};

/**
 * bl_file_add() - Register a descriptor
 * @fd:       open file
 * @handle_p: receives the handle: a generation-tagged id, never a pointer to be followed
 *
 * Return: 0; -(CU_FILE_INVALID_VALUE): no open file; -(CU_FILE_INVALID_FILE_TYPE): neither a regular file nor a block
 * device; -(CU_FILE_INVALID_FILE_OPEN_FLAG); -(CU_FILE_HANDLE_ALREADY_REGISTERED); -ENOMEM, -EMFILE.
 */
int bl_file_add(int fd, uint64_t *handle_p);

/* 0, or -(CU_FILE_HANDLE_NOT_REGISTERED); requests under way finish. */
int bl_file_remove(uint64_t handle);

/* All of them, as the last cuFileDriverClose() does. */
void bl_file_remove_all(void);

/* The file of a handle, referenced, or NULL; @was_valid_p (may be NULL): it had been given out once. Takes no lock. */
struct bl_file *bl_file_get(uint64_t handle, bool *was_valid_p);
void bl_file_put(struct bl_file *file);

/* One more reference for who has one. */
void bl_file_hold(struct bl_file *file);

/* Forget all that was inherited, in a child that starts anew. */
void bl_file_forget(void);

#endif
