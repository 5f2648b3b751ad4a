/* SPDX-License-Identifier: MIT */
/*
 * mover.h - a mover in the hands of a test
 *
 * Its memory is that of a world's side. Bytes are moved when a job ends, so that who looks, or lets go of the memory,
 * too early is found out.
 */
#ifndef TESTS_UNIT_SNIC_MOVER_H
#define TESTS_UNIT_SNIC_MOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/snic.h"
#include "world.h"

#define MOVER_LEAST 4096U

/**
 * struct test_mover - how it shall behave, and what it was asked for
 * @hold:    jobs end when mover_end() says so; else when they are first asked for
 * @room:    jobs under way at most
 * @unable:  it cannot move
 * @refuse:  what the next start returns, 0: it starts
 * @fail:    what the next job that ends returns
 * @whim:    NULL, or asked about each start and each look: true: not this time. Then jobs end in their order
 * @shares:  memory can be shared with other NICs
 * @slow:    calls that attach and detach take
 * @unwilling: what attaching ends with, 0: well
 * @attached: memory of other NICs that is
 * @started, @ended: jobs
 * @bytes:   that were moved
 */
struct test_mover {
	bool hold;
	unsigned int room;
	bool unable;
	int refuse;
	int fail;
	bool (*whim)(void);
	bool shares;
	unsigned int slow;
	int unwilling;
	int attached;
	unsigned int started, ended;
	uint64_t bytes;
};

extern struct test_mover test_mover;
extern const struct bl_snic_mover mover;

/* As at first; nothing is under way. */
void mover_begin(void);

/* Let job number @nr end, counted from 0 since mover_begin(), or all that were started and those that will be. From any
 * thread. */
void mover_end(unsigned int nr);
void mover_end_all(void);

/* A world of one NIC whose memory it moves; held: jobs end when mover_end() says so. */
struct world *mover_world(struct world_options options);
struct world *mover_world_held(struct world_options options);

#endif
