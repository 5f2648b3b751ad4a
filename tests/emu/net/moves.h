/* SPDX-License-Identifier: MIT */
/*
 * moves.h - what every pair of queue pairs must be able to do, whatever NIC it is on
 */
#ifndef TESTS_EMU_NET_MOVES_H
#define TESTS_EMU_NET_MOVES_H

#include "pair.h"

/* Write from the start of one side to somewhere in the other, and look there. */
void write_and_check(struct side *from, struct side *to, uint32_t len, unsigned char seed);

/* In both directions, more than one round of the rings, with sizes around a packet's. */
void write_rounds(struct side sides[2]);

/*
 * A read, where the connection has them, and a send. The NIC is waited for until @posted says that it has seen what a side
 * has posted to receive, ten seconds at most; NULL: it sees that at once.
 */
void read_and_send(struct side sides[2], uint32_t type, bool (*posted)(const struct side *side));

/* Through RST to RTS, after an error. */
void reset_both(struct side sides[2], uint32_t type);

/* They are not promised, and asked for an error that says @why. */
void no_shared_receive_queues(const struct side *side, const char *why);

#endif
