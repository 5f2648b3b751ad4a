/* SPDX-License-Identifier: MIT */
/* backoff.h - what a thread that polls does when it finds nothing: spins, then yields, then sleeps in growing steps */
#ifndef BL_NET_BACKOFF_H
#define BL_NET_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define BL_BACKOFF_SPINS  256U /* passes in a row without work before the CPU is offered to others */
#define BL_BACKOFF_YIELDS 64U  /* passes after that before the first sleep, of 1 us */

enum bl_backoff_step { BL_BACKOFF_SPIN, BL_BACKOFF_YIELD, BL_BACKOFF_SLEEP };

/**
 * struct bl_backoff - state of one thread; zero but for @max_us at first
 * @max_us:   longest sleep, > 0
 * @idle:     passes in a row without work, no further than to the first sleep
 * @sleep_us: next sleep
 */
struct bl_backoff {
	uint32_t max_us;
	uint32_t idle;
	uint32_t sleep_us;
};

/**
 * bl_backoff_next() - What to do after a pass
 * @backoff: state
 * @worked:  there was work: everything begins anew
 * @us_p:    receives the microseconds of a sleep, each twice the one before up to the longest
 *
 * Return: what to do.
 */
enum bl_backoff_step bl_backoff_next(struct bl_backoff *backoff, bool worked, uint32_t *us_p);

#endif
