/* SPDX-License-Identifier: MIT */
/* file_world.h - files, and memory of every kind, for tests of libcufile over the emulated GPU */
#ifndef TESTS_EMU_FILE_WORLD_H
#define TESTS_EMU_FILE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "pattern.h"
#include "world.h"

#include "cufile.h"

/* Kinds of memory that a request can have. */
enum kind {
	REGISTERED,
	UNREGISTERED,
	VMM,
	POOL,
	MANAGED,
	PINNED,
	PAGEABLE,
	NR_KINDS,
};

extern const char *const kind_names[NR_KINDS];

/**
 * struct memory - memory of a kind
 * @kind: what it is
 * @base: as cuFile gets it
 * @size: bytes
 */
struct memory {
	enum kind kind;
	void *base;
	size_t size;
};

void memory_make(struct memory *memory, enum kind kind, size_t size);
void memory_drop(struct memory *memory);

/* Move bytes between a test and the memory, without the library. */
void memory_put(const struct memory *memory, size_t off, const void *bytes, size_t len);
void memory_get(const struct memory *memory, size_t off, void *bytes, size_t len);

/**
 * struct tested - a file under test
 * @fd:     as the library has it
 * @plain:  descriptor without O_DIRECT, for comparison; reading and writing
 * @handle: its registration
 * @path:   name
 */
struct tested {
	int fd;
	int plain;
	CUfileHandle_t handle;
	char path[256];
};

/* An empty file in @dir ("disk": the build folder, "tmpfs": /dev/shm), opened with @flags; ends the test on failure. */
void tested_make(struct tested *tested, const char *dir, int flags);
/* The same with a name in the current folder that stays until unlink() of @path. */
void tested_make_named(struct tested *tested, int flags);
/* The pattern of @seed. */
void tested_fill(struct tested *tested, size_t size, unsigned int seed);
void tested_drop(struct tested *tested);

/* Rings of io_uring that this process has. */
unsigned int nr_rings(void);

/*
 * Whether it can have some: the kernel and liburing are there. TEST_URING of the environment says which of them the run was
 * to do without ("blocked", "absent"); that it does is checked.
 */
bool may_have_rings(void);

/* Pseudo-random numbers that a seed repeats. */
unsigned long next_random(unsigned long *state);
void random_fill(unsigned char *bytes, size_t len, unsigned long *state);

/* cuFileHandleRegister(), which must succeed. */
CUfileHandle_t must_register(int fd);

#endif
