/* SPDX-License-Identifier: MIT */
/*
 * uring_lib.h - what is used of liburing, which is loaded and never linked
 *
 * Functions that its header has inline are used as they are, as long as they call none that is exported and read no member
 * of struct io_uring that came after release 2.2.
 */
#ifndef BL_FILE_URING_LIB_H
#define BL_FILE_URING_LIB_H

#include <liburing.h>

/* X(name without "io_uring_"); the last one came with 2.2, the others were always there */
#define BL_LIBURING(X)                                                                                                 \
	X(queue_init_params)                                                                                           \
	X(queue_exit)                                                                                                  \
	X(ring_dontfork)                                                                                               \
	X(register_buffers)                                                                                            \
	X(get_sqe)                                                                                                     \
	X(submit)                                                                                                      \
	X(peek_batch_cqe)                                                                                              \
	X(submit_and_wait_timeout)

#define BL_LIBURING_FIELD(name) __typeof__(&io_uring_##name) name;

struct bl_liburing {
	BL_LIBURING(BL_LIBURING_FIELD)
};

/**
 * bl_liburing() - The library, loaded by the first call
 * @why_p: receives why there is none, valid for ever
 *
 * Return: its functions, or NULL.
 */
const struct bl_liburing *bl_liburing(const char **why_p);

#endif
