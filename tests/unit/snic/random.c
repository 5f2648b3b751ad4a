// SPDX-License-Identifier: MIT
/*
 * Random requests over a wire that loses, doubles and reorders at random. SNIC_SEED repeats a run. In every second set of
 * runs both sides are on one NIC, and long messages are placed.
 */
#include <inttypes.h>
#include <time.h>

#include "model.h"
#include "mover.h"
#include "tap.h"

static void memory_is_what_the_model_says(void)
{
	static const unsigned int fates[] = {0, 5, 20, 60};
	const char *given = getenv("SNIC_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 16;

	for (unsigned int i = 0; i < (given ? 1 : 12); i++, seed++) {
		printf("# SNIC_SEED=%" PRIu64 ": %u of 1000 packets meet a fate%s\n", seed, fates[seed % 4],
		       seed / 4 % 2 ? ", one NIC" : "");
		fflush(stdout);
		model_run(seed, 250, fates[seed % 4],
			  &(struct world_options){.one_nic = seed / 4 % 2, .mover = &mover});
	}
}

static const struct tap_test tests[] = {
	{"memory_is_what_the_model_says", memory_is_what_the_model_says},
};

TAP_MAIN(tests)
