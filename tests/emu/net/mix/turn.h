/* SPDX-License-Identifier: MIT */
/* turn.h - one end posts the requests of a script, the other one is their responder */
#ifndef TESTS_EMU_NET_MIX_TURN_H
#define TESTS_EMU_NET_MIX_TURN_H

#include "end.h"

/**
 * struct mix_case - what is done with a queue pair; a message of the control connection
 * @nr:	   requests of each turn
 * @psn:   first sequence number of both ends
 * @lossy: the network may lose messages of an unreliable connection
 */
struct mix_case {
	uint64_t seed;
	uint32_t nr;
	uint32_t ops;
	uint32_t mtu;
	uint32_t psn;
	uint32_t uc;
	uint32_t lossy;
};

/**
 * struct mix_lost - messages that did not come, where some may get lost
 * @nr:   how many
 * @last: number of the last one that did
 */
struct mix_lost {
	uint32_t nr;
	uint32_t last;
};

/* Sends and receives of the control connection, @sock. Return: 0, or -errno with tool_why(). */
int mix_turn_request(struct mix_end *end, int sock, const struct mix_case *one, unsigned int timeout_s);
int mix_turn_respond(struct mix_end *end, int sock, const struct mix_case *one, unsigned int timeout_s,
		     struct mix_lost *lost);

#endif
