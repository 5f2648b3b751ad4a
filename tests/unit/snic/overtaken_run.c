// SPDX-License-Identifier: MIT
#include "overtaken.h"

#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "util/clock.h"

#define NR	    12
#define PIECE	    4096
#define DEADLINE_NS 10000000000ULL

/* Where things lie in the memory of a side: what is read there, what is written there, and a word. */
#define READ_AT	 0
#define WRITE_AT (NR * PIECE)
#define WORD_AT	 (2 * NR * PIECE)
#define BYTES	 (2 * NR * PIECE + 4096)

enum kind { WRITE, READ, ADD, NR_KINDS };

static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return random_state >> 33;
}

enum world_fate overtaken_fate(const struct bl_packet *packet, unsigned int nr)
{
	return next_random() % 4 ? WORLD_PASS : WORLD_HOLD;
}

static uint32_t len_of(unsigned int i)
{
	return 1 + i * 331 % PIECE;
}

static void post(struct world *w, unsigned int i, enum kind kind)
{
	size_t at = (size_t)i * PIECE;

	if (kind == READ)
		post_read(&w->a, &w->b, WRITE_AT + at, READ_AT + at, len_of(i));
	else if (kind == WRITE)
		post_write(&w->a, &w->b, WRITE_AT + at, READ_AT + at, len_of(i));
	else
		post_add(&w->a, &w->b, WORD_AT, WORD_AT + 8 + 8UL * i, 1);
}

static void post_refused(struct world *w)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key ^ 0x10);
	wqe_data(&wqe, w->a.iova, w->a.key, 100);
	wqe_post(&wqe, &w->a);
}

/* The bytes are where they belong. */
static void check_done(struct world *w, unsigned int i, enum kind kind, uint64_t adds)
{
	size_t at = (size_t)i * PIECE;

	if (kind == READ)
		check(is_filled(w->a.mem + WRITE_AT + at, len_of(i), 100 + i));
	else if (kind == WRITE)
		check(is_filled(w->b.mem + WRITE_AT + at, len_of(i), i));
	else
		check_eq(((uint64_t *)(w->a.mem + WORD_AT + 8))[i], adds);
}

static struct world_cqe next(struct world *w)
{
	uint64_t deadline = bl_now_ns() + DEADLINE_NS;
	struct world_cqe cqe = {.opcode = 15};

	while (!world_poll(&w->a.send, &cqe) && bl_now_ns() < deadline)
		world_leap(w, WORLD_MS);
	check(cqe.opcode != 15);
	return cqe;
}

static void check_flushed(struct world *w, unsigned int from)
{
	for (unsigned int i = from; i < NR; i++) {
		struct world_cqe cqe = next(w);

		check_eq(cqe.counter, i);
		check_eq(cqe.syndrome, BL_SYNDROME_FLUSHED);
	}
}

bool overtaken_run(uint64_t seed, const struct world_options *options)
{
	struct world_options all = *options;
	enum kind kinds[NR];
	struct world_cqe cqe = {.syndrome = 0};
	unsigned int bad, i;
	uint64_t adds = 0;
	struct world *w;

	random_state = seed;
	all.bytes = BYTES;
	w = world_begin(&all);
	world_fate = options->names[0] || options->shm ? NULL : overtaken_fate;
	bad = 1 + (unsigned int)(next_random() % (NR - 1));
	for (i = 0; i < NR; i++) {
		fill(w->a.mem + READ_AT + i * PIECE, PIECE, i);
		fill(w->b.mem + READ_AT + i * PIECE, PIECE, 100 + i);
		kinds[i] = (enum kind)(next_random() % NR_KINDS);
		if (i == bad)
			post_refused(w);
		else
			post(w, i, kinds[i]);
	}
	for (i = 0; i < NR && !cqe.syndrome; i++) {
		cqe = next(w);
		check_eq(cqe.counter, i);
		if (cqe.syndrome)
			continue;
		check(i < bad);
		check_done(w, i, kinds[i], adds);
		adds += kinds[i] == ADD;
	}
	/* @i is one further than that which failed */
	if (i - 1 == bad) {
		check_eq(cqe.syndrome, BL_SYNDROME_REMOTE_ACCESS);
	} else {
		check(i - 1 < bad && kinds[i - 1] != WRITE);
		check_eq(cqe.syndrome, BL_SYNDROME_RETRIES);
	}
	check_flushed(w, i);
	world_expect_none(&w->a.send);
	check_eq(world_counter(&w->a, BL_SNIC_WQE_DONE), i - 1);
	check_eq(world_counter(&w->a, BL_SNIC_WQE_FAILED), 1);
	check_eq(world_counter(&w->a, BL_SNIC_WQE_FLUSHED), NR - i);
	world_end(w);
	return i - 1 == bad;
}
