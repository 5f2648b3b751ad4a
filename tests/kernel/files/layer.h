/* SPDX-License-Identifier: MIT */
/*
 * layer.h - a file or a block device whose lower layers fail, for tests in a guest
 *
 * The script that starts the program has made the layers and says in the environment what they are like:
 * LAYER_FILE, a file or a block device of LAYER_SIZE bytes, which layer_fill() has filled;
 * LAYER_BAD, the first of its bytes that cannot be read or written; LAYER_HURT, how many they are: 64 KiB if it is not set.
 */
#ifndef BL_TESTS_KERNEL_LAYER_H
#define BL_TESTS_KERNEL_LAYER_H

#include "tests/emu/file_world.h"

#define LAYER_SIZE (8UL << 20)
#define LAYER_SEED 11

/**
 * struct layer_way - how the library gets at the file
 * @path:   BARLANE_FILE_PATH; empty: free choice
 * @strict: BARLANE_FILE_STRICT
 * @flags:  of the descriptor
 * @kind:   of the memory
 */
struct layer_way {
	const char *path;
	const char *strict;
	int flags;
	enum kind kind;
};

/* Run a function for each way, in a child each; @argument reaches it as struct layer_way. */
void layer_each(void (*run)(const void *arg), int direct_only);

/* One child with its own deadline of requests. */
void layer_in_time(void (*run)(const void *arg), const struct layer_way *way, const char *tune);

/* The file, opened as the way says; memory of LAYER_SIZE bytes. Ends the test when that cannot be. */
void layer_open(const struct layer_way *way, struct tested *tested, struct memory *memory);
void layer_close(struct tested *tested, struct memory *memory);

/* What layer_fill() writes, in the memory from @off on. */
void layer_check(const struct memory *memory, size_t off, size_t pos, size_t len);

/* Bytes from the environment; ends the test when they are not there. */
size_t layer_number(const char *name);
const char *layer_text(const char *name);

/* How many bytes are bad. */
size_t layer_hurt(void);

/* A command that must succeed, or need not. */
void layer_must(const char *command);
int layer_run(const char *command);

/* The file anew, through the page cache and down to the device. */
void layer_fill(void);

#endif
