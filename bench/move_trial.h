/* SPDX-License-Identifier: MIT */
/* move_trial.h - questions to a GPU, each in a process of its own that may hang */
#ifndef BENCH_MOVE_TRIAL_H
#define BENCH_MOVE_TRIAL_H

#include <stdatomic.h>

#include "gpu/cuda.h"

/**
 * struct move_share - what a process and the one that watches it share
 * @at:    call that is being made; a constant string
 * @ready: all is set up, the question begins
 * @gate:  lets go on what was stopped to ask the question
 * @times: calls that have returned, and what they took in ms; written by one thread
 */
struct move_share {
	_Atomic(const char *) at;
	atomic_int ready;
	atomic_int gate;
	char times[400];
};

/**
 * struct move_step - a question
 * @name:     what is asked
 * @may_wait: a call that waits until the gate is opened is an answer, not a failure
 * @run:      asks; returns whether all bytes are right
 */
struct move_step {
	const char *name;
	int may_wait;
	int (*run)(const struct bl_cuda *cuda, struct move_share *share);
};

extern const struct move_step move_steps[];
extern const unsigned int nr_move_steps;

#endif
