/* SPDX-License-Identifier: MIT */
/*
 * devpages_world.h - path devicepages on the emulated GPU, whose mappings are of a memfd and so have pages
 *
 * Direct I/O of them is what a drive's DMA would be. What kernels, drivers and file systems say against it, calls of
 * the test program say that come before libc's.
 */
#ifndef TESTS_EMU_DEVPAGES_WORLD_H
#define TESTS_EMU_DEVPAGES_WORLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file_moves.h"

/**
 * struct devpages_mapping - the mapping that the library has, and calls that concern it
 * @at:     it
 * @len:    bytes
 * @calls:  so far
 * @failed: of these
 * @err:    calls fail so, 0: they do not
 * @when:   from this call on
 * @cut:    they move a block, if that is less
 * @bare:   the mapping has no pages
 */
extern struct devpages_mapping {
	char *at;
	size_t len;
	atomic_uint calls;
	atomic_uint failed;
	int err;
	unsigned int when;
	bool cut;
	bool bare;
} mapping;

/**
 * struct devpages_ring - requests by io_uring
 * @posts:  so far
 * @result: what request @tag says that it did; 0: the truth
 * @tag:    see there
 * @late:   nobody waits for them until they have ended
 */
extern struct devpages_ring {
	atomic_uint posts;
	int64_t result;
	uint64_t tag;
	bool late;
} ring;

extern struct tested tested;
extern struct memory memory;

/* A file that tested_fill() has filled by seed 7, on a drive of that name, and registered memory. */
void devpages_begin_on(const char *type, const char *name);
void devpages_begin(void);
void devpages_end(void);

/* Write and read whole blocks, whatever the seed makes of other requests. */
void devpages_there_and_back(void);

/* The memory has the file's first bytes from @pos on. */
void devpages_check(size_t off, size_t len, off_t pos);

/* Run a body in a child, with the path forced. */
void devpages_run(void (*body)(const void *arg), const void *arg, const char *strict, const char *tune);

#endif
