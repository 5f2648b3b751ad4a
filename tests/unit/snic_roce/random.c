// SPDX-License-Identifier: MIT
/* Random requests over an interface, by both kinds of sockets, addresses of all kinds, and faults. SNIC_SEED repeats. */
#include <inttypes.h>
#include <time.h>

#include "net.h"
#include "snic/model.h"
#include "snic/overtaken.h"
#include "tap.h"

#define REQUESTS (TAP_TSAN ? 60 : 200)

static void one(uint64_t seed, bool faults)
{
	static const char *const wires[] = {"packet", "udp"};
	static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};
	struct bl_snic_fault fault = {.seed = seed, .drop = 15000, .reorder = 30000, .duplicate = 30000,
				      .corrupt = 10000, .delay = 5000, .delay_us = 500};
	struct world_options options = {.names = {"soft_va", "soft_vb"}, .enter = net_enter};

	options.sgid[0] = options.sgid[1] = (uint8_t)(seed % 3);
	options.mtu = mtus[seed % 5];
	options.fault = faults ? &fault : &(struct bl_snic_fault){.seed = 1};
	setenv("BARLANE_SNIC_WIRE", wires[seed % 2], 1);
	printf("# SNIC_SEED=%" PRIu64 ": %s sockets, address %u, path MTU %u\n", seed, wires[seed % 2], options.sgid[0],
	       options.mtu);
	fflush(stdout);
	model_run(seed, REQUESTS, 0, &options);
}

static void some(unsigned int nr, bool faults)
{
	const char *given = getenv("SNIC_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 64;

	net_need(4300);
	for (unsigned int i = 0; i < (given ? 1 : nr); i++)
		one(seed + i, faults);
}

static void all_is_done_once_and_in_order(void)
{
	some(6, false);
}

/* Thirty combinations there are; each of them comes again in some run. */
static void all_is_done_once_whatever_the_wire_does(void)
{
	some(15, true);
}

static void a_refusal_that_overtakes_answers_fails_one_request(void)
{
	const char *given = getenv("SNIC_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 64;
	unsigned int nr = given ? 1 : 12, right = 0;

	net_need(4300);
	for (unsigned int i = 0; i < nr; i++) {
		struct bl_snic_fault fault = {.seed = seed + i, .reorder = 150000};
		struct world_options options = {
			.names = {"soft_va", "soft_vb"}, .enter = net_enter, .mtu = 256, .fault = &fault};

		options.sgid[0] = options.sgid[1] = (uint8_t)((seed + i) % 3);
		setenv("BARLANE_SNIC_WIRE", (seed + i) % 2 ? "udp" : "packet", 1);
		printf("# SNIC_SEED=%" PRIu64 "\n", seed + i);
		fflush(stdout);
		right += overtaken_run(seed + i, &options);
	}
	printf("# %u of %u: all answers before it came\n", right, nr);
}

static const struct tap_test tests[] = {
	{"all_is_done_once_and_in_order", all_is_done_once_and_in_order},
	{"all_is_done_once_whatever_the_wire_does", all_is_done_once_whatever_the_wire_does},
	{"a_refusal_that_overtakes_answers_fails_one_request", a_refusal_that_overtakes_answers_fails_one_request},
};

TAP_MAIN(tests)
