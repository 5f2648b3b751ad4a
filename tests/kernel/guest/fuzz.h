/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - random use by several threads, for some seconds: NAME [SECONDS [SEED]], or LAB_STRESS seconds
 *
 * Each thread makes one random step after the other. They share files of a node and memory of the card, which come and go.
 */
#ifndef BL_TESTS_KERNEL_FUZZ_H
#define BL_TESTS_KERNEL_FUZZ_H

#include "gdrdrv_gpu.h"
#include "tap.h"

#include <stdatomic.h>

#define FUZZ_THREADS  4
#define FUZZ_FILES    3
#define FUZZ_MEM_SIZE (2 * MIB)

/**
 * struct fuzz - one thread
 * @random: what it draws from
 * @nr:     0 to FUZZ_THREADS - 1
 */
struct fuzz {
	uint64_t random;
	unsigned int nr;
};

/* steps that were made; what no step may meet; the card */
extern atomic_ulong nr_calls, nr_failures;
extern int fuzz_gpu;

/* Any number, and one below nr. */
uint64_t draw(struct fuzz *s);
uint64_t pick(struct fuzz *s, uint64_t nr);

/* One of the files; another one opened in its place. */
int a_file(struct fuzz *s);
void fuzz_reopen(struct fuzz *s, const char *path);

/* Some memory, which may be gone; some freed, and other memory allocated where there is any. */
struct gpu_mem a_mem(struct fuzz *s);
void fuzz_free(struct fuzz *s);

/* Opens the card and the files by open_file(), and allocates nr_mems pieces of memory, 8 at most. */
void fuzz_set_up(int (*open_file)(void), unsigned int nr_mems);

/* Runs the threads until time is over: each steps, and ends. 0, or 1 when there are no threads. */
int fuzz_run(void (*step)(struct fuzz *s), void (*end)(struct fuzz *s));

/* In a child, whose end must clear up what the threads left: what it returns is to be 0. */
void fuzz_in_child(int (*child)(void *arg));

/* The words on the command line, then tap_main(). */
int fuzz_main(const struct tap_test *tests, size_t nr, unsigned int seconds, int argc, char **argv);

#endif
