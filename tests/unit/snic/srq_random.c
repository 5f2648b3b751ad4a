// SPDX-License-Identifier: MIT
/*
 * Random messages between four pairs of queue pairs that receive from one queue, over a wire that loses, doubles and
 * reorders at random. Each message arrives once, whole, in the order of its sender, in a list that nothing else has.
 * SNIC_SEED repeats a run.
 */
#include <inttypes.h>
#include <time.h>

#include "shared.h"
#include "softnic/cq.h"
#include "tap.h"

#define LISTS	 16U
#define SLOT	 4096U
#define MESSAGES 120U

static uint64_t state;
static unsigned int fated;

static uint32_t next(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % below;
}

static enum world_fate fate(const struct bl_packet *packet, unsigned int nr)
{
	static const enum world_fate fates[] = {WORLD_DROP, WORLD_DOUBLE, WORLD_HOLD};

	return next(1000) < fated ? fates[next(3)] : WORLD_PASS;
}

/**
 * struct run - what there is to know of a run
 * @sent, @received: messages of each sender
 * @len:      of them, by their number
 * @places:   that no list has; @nr_places of them
 * @where:    place of each list, by its slot; LISTS: it is not posted
 */
struct run {
	struct shared *s;
	uint32_t sent[SHARED_QPS], received[SHARED_QPS];
	uint32_t len[SHARED_QPS][MESSAGES];
	unsigned int places[LISTS], nr_places;
	unsigned int where[LISTS];
};

static unsigned int seed_of(unsigned int qp, uint32_t nr)
{
	return qp << 16 | nr;
}

/* A cyclic slot is free only when what was posted there before has completed. */
static bool may_post(const struct run *run)
{
	const struct shared *s = run->s;

	if (!run->nr_places)
		return false;
	return s->options.type == BL_SNIC_SRQ_LINKED ? s->head != s->tail : run->where[s->posted & (LISTS - 1)] == LISTS;
}

static void post_list(struct run *run)
{
	unsigned int place;
	uint16_t index;

	if (!may_post(run))
		return;
	place = run->places[--run->nr_places];
	index = shared_post_one(run->s, place * SLOT, SLOT);
	check_eq(run->where[index & (LISTS - 1)], LISTS);
	run->where[index & (LISTS - 1)] = place;
}

static void send_message(struct run *run, unsigned int qp)
{
	struct world_side *tx = &run->s->tx[qp];
	uint32_t nr = run->sent[qp];
	/* the bytes stay until it is acknowledged */
	size_t at = (qp * 16 + nr % 16) * SLOT;

	if (nr == MESSAGES || tx->pi - world_query(tx).sq_ci >= 16)
		return;
	run->len[qp][nr] = next(SLOT + 1);
	fill(tx->mem + at, run->len[qp][nr], seed_of(qp, nr));
	post_send(tx, at, run->len[qp][nr]);
	run->sent[qp]++;
}

static void take_completions(struct run *run)
{
	struct shared *s = run->s;
	struct world_cqe cqe;

	while (world_poll(&s->cq, &cqe)) {
		unsigned int qp = 0, slot = cqe.counter & (LISTS - 1), place = run->where[slot];
		uint32_t nr;

		while (qp < SHARED_QPS - 1 && bl_snic_qp_num(s->rx[qp].qp) != cqe.qpn)
			qp++;
		check_eq(bl_snic_qp_num(s->rx[qp].qp), cqe.qpn);
		check_eq(cqe.srqn, bl_snic_srq_num(s->srq));
		check_eq(cqe.opcode, BL_CQE_RESP_SEND);
		nr = run->received[qp]++;
		check(place < LISTS && nr < run->sent[qp]);
		check_eq(cqe.len, run->len[qp][nr]);
		check(is_filled(s->rx[0].mem + place * SLOT, cqe.len, seed_of(qp, nr)));
		run->where[slot] = LISTS;
		run->places[run->nr_places++] = place;
		shared_free(s, cqe.counter);
	}
}

static bool is_over(const struct run *run)
{
	for (unsigned int i = 0; i < SHARED_QPS; i++) {
		if (run->received[i] < MESSAGES)
			return false;
	}
	return true;
}

static void run_one(uint64_t seed)
{
	static const unsigned int fates[] = {0, 5, 20, 60};
	const struct world_options world = {.bytes = 64UL * SLOT, .rnr_retry = 7, .cq_nr = 64};
	struct run run = {.nr_places = LISTS};

	state = seed * 0x9e3779b97f4a7c15ULL + 1;
	fated = fates[seed % 4];
	printf("# SNIC_SEED=%" PRIu64 ": %u of 1000 packets meet a fate, %s\n", seed, fated,
	       seed / 4 % 2 ? "cyclic" : "linked");
	fflush(stdout);
	for (unsigned int i = 0; i < LISTS; i++)
		run.where[i] = LISTS;
	for (unsigned int i = 0; i < LISTS; i++)
		run.places[i] = i;
	run.s = shared_begin(&world, &(struct shared_options){.type = seed / 4 % 2 ? BL_SNIC_SRQ_CYCLIC : BL_SNIC_SRQ_LINKED,
							      .nr = LISTS,
							      .qps = SHARED_QPS});
	world_fate = fate;
	for (unsigned int step = 0; step < 100000 && !is_over(&run); step++) {
		switch (next(8)) {
		case 0 ... 2:
			post_list(&run);
			break;
		case 3 ... 5:
			send_message(&run, next(SHARED_QPS));
			break;
		case 6:
			world_run(run.s->w);
			break;
		default:
			world_leap(run.s->w, next(20) * WORLD_MS);
		}
		take_completions(&run);
	}
	check(is_over(&run));
	check_eq(shared_query(run.s).done, SHARED_QPS * MESSAGES);
	shared_end(run.s);
}

static void every_message_arrives_once_and_whole(void)
{
	const char *given = getenv("SNIC_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 16;

	for (unsigned int i = 0; i < (given ? 1 : 8); i++)
		run_one(seed++);
}

static const struct tap_test tests[] = {
	{"every_message_arrives_once_and_whole", every_message_arrives_once_and_whole},
};

TAP_MAIN(tests)
