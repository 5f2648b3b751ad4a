/* SPDX-License-Identifier: MIT */
/*
 * model.h - random requests in both directions, against a model
 *
 * Each side has its own part of the other's memory to write to, and what is read is never written, so that neither the
 * order of the two sides nor that of a read and what follows it matters. The model does each request when it completes.
 */
#ifndef TESTS_UNIT_SNIC_MODEL_H
#define TESTS_UNIT_SNIC_MODEL_H

#include "world.h"

/* @nr requests; @fates: of a thousand packets of the tests' own wire; path MTU and faults where @given has none. */
void model_run(uint64_t seed, unsigned int nr, unsigned int fates, const struct world_options *given);

#endif
