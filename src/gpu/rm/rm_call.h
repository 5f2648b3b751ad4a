/* SPDX-License-Identifier: MIT */
/*
 * rm_call.h - RM's escapes as functions
 *
 * Each gives 0 or -errno; the error of a refused call is logged and kept with escape, status and driver version. The
 * descriptor @ctl is that of the control node on which the client was made.
 */
#ifndef BL_GPU_RM_CALL_H
#define BL_GPU_RM_CALL_H

#include "rm_abi.h"

/**
 * struct rm_conn - a client on an open control node
 * @ctl:    descriptor of the control node
 * @client: handle of the client, 0 while there is none
 * @layout: layout of the running driver
 * @driver: its version, for messages
 */
struct rm_conn {
	int ctl;
	uint32_t client;
	const struct rm_layout *layout;
	char driver[64];
};

/* Allocate an object; @parent 0 and class RM_CLASS_CLIENT make the client. */
int rm_alloc(const struct rm_conn *conn, uint32_t parent, uint32_t class_id, void *params, uint32_t *object_p);

/* Free an object, or the client when @object is conn->client. */
int rm_free(const struct rm_conn *conn, uint32_t parent, uint32_t object);

/* Control call on an object. */
int rm_control(const struct rm_conn *conn, uint32_t object, uint32_t cmd, void *params, size_t size);

/* Duplicate another client's object of this process under @parent. */
int rm_dup(const struct rm_conn *conn, uint32_t parent, uint32_t client_src, uint32_t object_src, uint32_t *object_p);

/**
 * rm_map() - Attach a part of a memory object to a device descriptor, ready to be mmapped at offset 0
 * @conn:    client
 * @device:  device object
 * @memory:  memory object under it
 * @offset:  bytes into the object
 * @length:  bytes
 * @fd:      descriptor of the GPU's node, never used for a mapping before
 * @addr_p:  receives the CPU physical address, the key for rm_unmap()
 * @flags_p: receives RM's flags, RM_MAP_CACHING() of which is the caching type
 */
int rm_map(const struct rm_conn *conn, uint32_t device, uint32_t memory, uint64_t offset, uint64_t length, int fd,
	   uint64_t *addr_p, uint32_t *flags_p);

/* Undo rm_map(); the mmap must be gone. */
int rm_unmap(const struct rm_conn *conn, uint32_t device, uint32_t memory, uint64_t addr);

/* Tie a device descriptor to the control node, so that a mapping keeps the client alive. */
int rm_register_fd(const struct rm_conn *conn, int fd);

/* Describe all GPUs of the host; @nr entries, unused ones have valid 0. */
int rm_card_info(const struct rm_conn *conn, struct rm_card_info *cards, size_t nr);

#endif
