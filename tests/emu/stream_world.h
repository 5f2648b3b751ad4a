/* SPDX-License-Identifier: MIT */
/* stream_world.h - a file, memory and streams for tests of operations in the order of streams */
#ifndef TESTS_EMU_STREAM_WORLD_H
#define TESTS_EMU_STREAM_WORLD_H

#include <stdatomic.h>

#include "file_world.h"

#define LEN	  65536UL
#define FILE_SIZE (4 * LEN)

/* The default stream, by its other name, and the calling thread's. */
#define LEGACY	   ((CUstream)1)
#define PER_THREAD ((CUstream)2)

/**
 * struct op - the arguments of an operation, which must stay
 */
struct op {
	size_t size;
	off_t pos;
	off_t off;
	ssize_t bytes;
};

/* What *bytes is before an operation has ended. */
#define NOT_ENDED 12345

/**
 * struct stream_world - what the tests work with
 * @tested: file of FILE_SIZE bytes, tested_fill() with seed 1
 * @memory: registered, as large
 * @pinned: 2 * LEN bytes of host memory
 * @gate:   closed_stream() goes on when it is 1
 */
struct stream_world {
	struct tested tested;
	struct memory memory;
	unsigned char *pinned;
	atomic_int gate;
};

extern struct stream_world stage;

/* With @bypass host functions wait, and not words. */
void stream_world_enter(int bypass);

/* Ends the test if a rule of the driver was broken; above all: if a host function has called CUDA. */
void stream_world_leave(void);

CUstream stream_new(unsigned int flags);

/* A stream that is stopped until stream_open(), which waits for it. */
CUstream stream_closed(void);
void stream_open(CUstream stream);

/* Wait for a stream and destroy it. */
void stream_end(CUstream stream);

/* cuFileReadAsync() or cuFileWriteAsync(). */
CUfileError_t stream_async(struct op *op, CUfileOpcode_t opcode, CUstream stream);

/* Write what a copy before put there, read it to another place, and copy that out: all in one go; and look at it. */
void stream_round_trip(CUstream stream, unsigned char value);

/* A host function: sets an atomic_int. */
void stream_set_flag(void *arg);

#endif
