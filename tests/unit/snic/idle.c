// SPDX-License-Identifier: MIT
/* Many queue pairs of which few are used: the others are not served, and found as soon as something happens to them. */
#include <endian.h>
#include <inttypes.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "softnic/cq.h"
#include "softnic/nic.h"
#include "softnic/qp.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "util/clock.h"
#include "world.h"

#define NR     100
#define QUIET  400 /* passes after which one that has nothing to do is not served any more */
#define BLOCKS 16
#define LEN    64

/* A queue pair that is connected to itself. */
struct loop {
	struct bl_snic_qp *qp;
	struct bl_snic_cq *cq;
	uint8_t sq[BLOCKS * 64], ring[BLOCKS * 64] __attribute__((aligned(64)));
	uint32_t record[2];
	uint32_t pi, ci;
};

static struct world *w;
static struct loop *loops[NR];

static void loop_open(unsigned int i)
{
	struct loop *loop = aligned_alloc(64, sizeof(*loop));
	struct bl_snic_cq_attr cq_attr = {.ring.addr = loop->ring, .nr = BLOCKS, .overrun = true};
	struct bl_snic_qp_attr attr = {.type = BL_SNIC_RC, .sq.addr = loop->sq, .sq_nr = BLOCKS, .dbrec = loop->record};
	struct bl_snic_qp_mod mod = world_query(&w->a).mod;

	memset(loop, 0, sizeof(*loop));
	for (unsigned int slot = 0; slot < BLOCKS; slot++)
		loop->ring[slot * 64 + 63] = 0xf1;
	check_eq(bl_snic_cq_create(w->a.nic, &cq_attr, &loop->cq), 0);
	attr.send_cq = loop->cq;
	check_eq(bl_snic_qp_create(w->a.pd, &attr, &loop->qp), 0);
	mod.dest_qpn = bl_snic_qp_num(loop->qp);
	memcpy(mod.dest_gid, bl_snic_gid(w->a.nic), sizeof(mod.dest_gid));
	for (int state = BL_SNIC_INIT; state <= BL_SNIC_RTS; state++) {
		mod.state = (enum bl_snic_qp_state)state;
		check_eq(bl_snic_qp_modify(loop->qp, &mod), 0);
	}
	loops[i] = loop;
}

static void loop_close(unsigned int i)
{
	check_eq(bl_snic_qp_destroy(loops[i]->qp), 0);
	check_eq(bl_snic_cq_destroy(loops[i]->cq), 0);
	free(loops[i]);
	loops[i] = NULL;
}

static void put(struct loop *loop)
{
	uint8_t *at = loop->sq + loop->pi % BLOCKS * 64UL;
	uint32_t words[16] = {htobe32(loop->pi << 8 | BL_WQE_WRITE),
			      htobe32(bl_snic_qp_num(loop->qp) << 8 | 3),
			      htobe32(WORLD_SIGNAL),
			      0,
			      htobe32((uint32_t)((w->a.iova + 4096) >> 32)),
			      htobe32((uint32_t)(w->a.iova + 4096)),
			      htobe32(w->a.key),
			      0,
			      htobe32(LEN),
			      htobe32(w->a.key),
			      htobe32((uint32_t)(w->a.iova >> 32)),
			      htobe32((uint32_t)w->a.iova)};

	memcpy(at, words, sizeof(words));
	loop->pi++;
}

static void post(struct loop *loop)
{
	put(loop);
	__atomic_store_n(&loop->record[1], htobe32(loop->pi & 0xffff), __ATOMIC_RELEASE);
}

/* The next completion, if it is there, of @syndrome. */
static bool poll_for(struct loop *loop, uint8_t syndrome)
{
	const uint8_t *cqe = loop->ring + loop->ci % BLOCKS * 64UL;
	uint64_t last = __atomic_load_n((const uint64_t *)(const void *)(cqe + 56), __ATOMIC_ACQUIRE);
	uint8_t own = (uint8_t)(le64toh(last) >> 56);

	if (own >> 4 == 15 || (own & 1) != !!(loop->ci & BLOCKS))
		return false;
	check_eq(own >> 4, syndrome ? BL_CQE_REQ_ERR : BL_CQE_REQ);
	check(!syndrome || cqe[55] == syndrome);
	loop->ci++;
	return true;
}

static void run(unsigned int passes)
{
	for (unsigned int i = 0; i < passes; i++)
		check(bl_snic_progress(w->a.nic) >= 0);
}

static unsigned int nr_active(void)
{
	unsigned int nr = 0;

	for (const struct bl_snic_qp *qp = w->a.nic->first_active; qp; qp = qp->next_active)
		nr++;
	return nr;
}

static void begin(unsigned int nr)
{
	/* what a test that failed has left is lost */
	memset(loops, 0, sizeof(loops));
	w = world_begin(&(struct world_options){.shm = true});
	for (unsigned int i = 0; i < nr; i++)
		loop_open(i);
	run(QUIET);
	check_eq(nr_active(), 0);
}

static void end(void)
{
	for (unsigned int i = 0; i < NR; i++) {
		if (loops[i])
			loop_close(i);
	}
	world_end(w);
}

/* A call that says that there is nothing to be done has looked at all of them. */
static void a_doorbell_of_any_of_them_is_found(void)
{
	begin(NR);
	for (unsigned int i = 0; i < NR; i += 7) {
		post(loops[i]);
		while (bl_snic_progress(w->a.nic))
			;
		check(poll_for(loops[i], 0));
	}
	run(QUIET);
	check_eq(nr_active(), 0);
	for (unsigned int i = 0; i < NR; i++)
		post(loops[i]);
	while (bl_snic_progress(w->a.nic))
		;
	for (unsigned int i = 0; i < NR; i++)
		check(poll_for(loops[i], 0));
	end();
}

static void one_that_is_busy_does_not_keep_the_others_waiting(void)
{
	begin(NR);
	for (unsigned int i = 1; i < NR; i += 13) {
		unsigned int passes = 0;

		post(loops[i]);
		for (; !poll_for(loops[i], 0); passes++) {
			post(loops[0]);
			while (!poll_for(loops[0], 0))
				bl_snic_progress(w->a.nic);
			check(passes < NR);
		}
	}
	end();
}

static void a_packet_wakes_one_that_is_quiet(void)
{
	begin(0);
	for (int i = 0; i < QUIET; i++)
		bl_snic_progress(w->b.nic);
	fill(w->a.mem, 3000, 1);
	post_write(&w->a, &w->b, 0, 0, 3000);
	post_read(&w->a, &w->b, 8192, 0, 3000);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check(is_filled(w->b.mem, 3000, 1));
	end();
}

static void a_watched_word_is_looked_at_too(void)
{
	uint64_t word = 0;

	begin(NR);
	check_eq(bl_snic_qp_watch(loops[NR - 1]->qp, &word), 0);
	run(QUIET);
	put(loops[NR - 1]);
	word = 1;
	run(4);
	check(poll_for(loops[NR - 1], 0));
	check_eq(bl_snic_qp_watch(loops[NR - 1]->qp, NULL), 0);
	end();
}

static void errors_of_quiet_ones_are_told_and_flushed(void)
{
	begin(NR);
	check_eq(bl_snic_qp_modify(loops[3]->qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
	post(loops[3]);
	run(QUIET);
	check(poll_for(loops[3], BL_SYNDROME_FLUSHED));
	/* a long time after */
	post(loops[3]);
	run(2);
	check(poll_for(loops[3], BL_SYNDROME_FLUSHED));
	/* a doorbell that cannot be */
	__atomic_store_n(&loops[90]->record[1], htobe32(BLOCKS + 1), __ATOMIC_RELEASE);
	run(2);
	{
		struct bl_snic_qp_info info;

		check_eq(bl_snic_qp_query(loops[90]->qp, &info), 0);
		check_eq(info.mod.state, BL_SNIC_ERR);
	}
	end();
}

static uint64_t state;

static unsigned int next_random(unsigned int below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(state >> 33) % below;
}

/* They come and go, are quiet or not, wherever the look at them has just arrived. */
static void queue_pairs_come_and_go(void)
{
	const char *given = getenv("SNIC_SEED");

	state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	printf("# SNIC_SEED=%" PRIu64 "\n", state);
	begin(NR / 2);
	for (int turn = 0; turn < 3000; turn++) {
		unsigned int i = next_random(NR);

		if (next_random(40) == 0)
			run(QUIET);
		if (!loops[i]) {
			loop_open(i);
		} else if (next_random(5) == 0) {
			loop_close(i);
		} else {
			unsigned int passes = next_random(3);

			post(loops[i]);
			run(passes);
			while (!poll_for(loops[i], 0))
				check(bl_snic_progress(w->a.nic) >= 0 && passes++ < 1000);
		}
	}
	end();
}

/* The NIC's own thread, awake or asleep; a GPU that rings cannot wake it. */
static void its_thread_finds_all_of_them(void)
{
	state = 7;
	memset(loops, 0, sizeof(loops));
	w = world_begin(&(struct world_options){.shm = true, .thread = true});
	for (unsigned int i = 0; i < NR; i++)
		loop_open(i);
	for (int turn = 0; turn < 100; turn++) {
		struct loop *loop = loops[next_random(NR)];
		uint64_t deadline = bl_now_ns() + 10000 * WORLD_MS;

		if (turn % 10 == 0)
			usleep(3000);
		post(loop);
		while (!poll_for(loop, 0)) {
			check(bl_now_ns() < deadline);
			sched_yield();
		}
	}
	end();
}

static const struct tap_test tests[] = {
	{"a_doorbell_of_any_of_them_is_found", a_doorbell_of_any_of_them_is_found},
	{"one_that_is_busy_does_not_keep_the_others_waiting", one_that_is_busy_does_not_keep_the_others_waiting},
	{"a_packet_wakes_one_that_is_quiet", a_packet_wakes_one_that_is_quiet},
	{"a_watched_word_is_looked_at_too", a_watched_word_is_looked_at_too},
	{"errors_of_quiet_ones_are_told_and_flushed", errors_of_quiet_ones_are_told_and_flushed},
	{"queue_pairs_come_and_go", queue_pairs_come_and_go},
	{"its_thread_finds_all_of_them", its_thread_finds_all_of_them},
};

TAP_MAIN(tests)
