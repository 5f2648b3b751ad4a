/* SPDX-License-Identifier: MIT */
/* overtaken.h - a request that is refused among others, on a wire that reorders */
#ifndef TESTS_UNIT_SNIC_OVERTAKEN_H
#define TESTS_UNIT_SNIC_OVERTAKEN_H

#include "world.h"

/*
 * Requests of all kinds at random, one of which the peer refuses. What completes does so in order: those before it with
 * success and the right bytes, that one with its syndrome, those after it flushed. Or an answer before it never comes; then
 * that one is the first to fail. Ends the test otherwise.
 * Return: whether it was the one that is refused.
 */
bool overtaken_run(uint64_t seed, const struct world_options *options);

/* A fate that holds packets back at random. */
enum world_fate overtaken_fate(const struct bl_packet *packet, unsigned int nr);

#endif
