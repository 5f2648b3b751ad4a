/* SPDX-License-Identifier: MIT */
/* litmus.h - parts of net_litmus: what is run, the NIC's side of it, and what came of it */
#ifndef BENCH_NET_LITMUS_LITMUS_H
#define BENCH_NET_LITMUS_LITMUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/kernels/litmus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of r0 + 2 * r1 + 4 * r2. */
#define LITMUS_OUTCOMES 8

/* Where something lies. */
enum litmus_place { LITMUS_HOST, LITMUS_ON_GPU };

/**
 * struct litmus_case - a shape with all that can be chosen
 * @name:      of the shape
 * @shape:     enum bl_litmus_shape
 * @message:   enum litmus_place of x
 * @word:      enum litmus_place of y, and of z unless the GPU alone uses that
 * @handler:   of BL_LITMUS_SUBMIT: enum doca_gpu_dev_verbs_nic_handler; 0: the NIC polls the record
 * @line:      of BL_LITMUS_CQE: one store writes all of it, where the CPU has such a store
 * @gpu_scope: fences of GPU scope
 * @how:       enum bl_litmus_how
 * @judged:    forbidden outcomes are failures; else they are shown
 */
struct litmus_case {
	const char *name;
	uint32_t shape;
	uint8_t message;
	uint8_t word;
	uint8_t handler;
	uint8_t gpu_scope;
	uint8_t how;
	bool judged;
	bool line;
};

/* All cases, in the order in which they are run; the last has no name. */
extern const struct litmus_case litmus_cases[];

/**
 * struct litmus_shape - what is true of a shape in all of its cases
 * @actors:    bits of enum bl_litmus_actor
 * @nr_regs:   registers
 * @forbidden: bit n: outcome n
 * @text:      one line: who does what
 */
struct litmus_shape {
	uint32_t actors;
	unsigned int nr_regs;
	unsigned int forbidden;
	const char *text;
};

/* Of a case: forbidden outcomes are not the same with and without a record. */
struct litmus_shape litmus_shape_of(const struct litmus_case *test);

/**
 * struct litmus_nic - the NIC's thread
 * @test:   what is run
 * @x:      addresses for the CPU
 * @y:      the same
 * @z:      the same
 * @meet:   words that actors meet by
 * @runs:   how many
 * @seed:   as the kernel's
 * @spread: as the kernel's
 * @log:    a byte for each run
 * @step:   called before each access; NULL: nothing is
 * @idle:   called in each turn of a wait; @nr is the run; not 0: give up
 * @arg:    for @idle
 */
struct litmus_nic {
	const struct litmus_case *test;
	unsigned char *x;
	unsigned char *y;
	unsigned char *z;
	unsigned char *meet;
	uint64_t runs;
	uint64_t seed;
	uint64_t spread;
	uint8_t *log;
	void (*step)(void);
	int (*idle)(void *arg, uint64_t nr);
	void *arg;
};

/**
 * litmus_nic_play() - All runs of the NIC's thread; of a shape without it nothing
 * @nic: see there
 *
 * Return: 0, or what @idle returned.
 */
int litmus_nic_play(const struct litmus_nic *nic);

/* What the completion queue of BL_LITMUS_CQE is at first, and the words that tell of nothing. */
void litmus_nic_clear_cqes(unsigned char *cqes);

/**
 * struct litmus_counts - what came of the runs of a case
 * @outcomes: how often each was seen
 * @broken:   runs in which something was read that nobody had stored
 */
struct litmus_counts {
	uint64_t outcomes[LITMUS_OUTCOMES];
	uint64_t broken;
};

/* Count what logs say: one of each actor, each has the registers that it read. */
void litmus_count(struct litmus_counts *counts, const uint8_t *const logs[BL_LITMUS_NR_ACTORS], uint64_t runs);

/* Runs that must not be. */
uint64_t litmus_forbidden(const struct litmus_case *test, const struct litmus_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
