/* SPDX-License-Identifier: MIT */
/* bounce_world.h - a file and one stream, for tests of operations by way of pinned memory */
#ifndef TESTS_EMU_BOUNCE_WORLD_H
#define TESTS_EMU_BOUNCE_WORLD_H

#include <stdatomic.h>

#include "file_world.h"

#define BIG	   (24UL << 20)
#define NOT_ENDED  12345
#define ALL_FIXED  (CU_FILE_STREAM_FIXED_BUF_OFFSET | CU_FILE_STREAM_FIXED_FILE_OFFSET | CU_FILE_STREAM_FIXED_FILE_SIZE)

/**
 * struct transfer - an operation
 */
struct transfer {
	size_t size;
	off_t pos;
	off_t off;
	ssize_t bytes;
};

/* Without the kernel, what is not fixed is supposed to stay; the second, where all streams share a channel. */
#define NR_SUPPOSING 2
extern const char *const supposing[NR_SUPPOSING][5];

extern struct tested tested;
extern CUstream stream;

/* @gate: the stream goes on behind close_gate() when it is 1 */
extern atomic_int gate;

/* The file, and the stream with the flags @fixed; where the kernel is asked for, it is loaded. */
void enter(size_t file_size, int flags, unsigned int fixed);
void leave(void);

CUfileError_t submit(const struct memory *memory, struct transfer *transfer, int write);

/* Submit, and wait for the stream. */
void run(const struct memory *memory, struct transfer *transfer, int write);

unsigned char *host_bytes(size_t size);

void close_gate(void);

/* And wait for the stream. */
void open_gate(void);

#endif
