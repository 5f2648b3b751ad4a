// SPDX-License-Identifier: MIT
/*
 * NICs with threads of their own, in real time
 *
 * Those who post are other threads, and use release stores only: into the ring, then the doorbell record. Those who
 * wait poll words and completions with acquire loads. ThreadSanitizer finds what that does not order.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "mover.h"
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "util/clock.h"
#include "world.h"

#define DEADLINE_NS 30000000000ULL
#define ROUNDS	    2000

/* A deadline of its own: threads cannot end a test by themselves. */
static bool wait_cqe(struct world_queue *queue, struct world_cqe *cqe)
{
	uint64_t until = bl_now_ns() + DEADLINE_NS;

	while (!world_poll(queue, cqe)) {
		if (bl_now_ns() > until)
			return false;
		sched_yield();
	}
	return true;
}

static bool wait_word(const uint64_t *word, uint64_t value)
{
	uint64_t until = bl_now_ns() + DEADLINE_NS;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
		if (bl_now_ns() > until)
			return false;
		sched_yield();
	}
	return true;
}

struct player {
	struct world_side *side, *peer;
	bool first;
	uint32_t least;
	const char *wrong;
};

/*
 * Data, and a word after it that tells of them; the other end answers in the same way. What was sent in a round is in
 * place when its word is, and the peer may not write the next before it has heard.
 */
static void *play(void *arg)
{
	struct player *me = arg;
	struct world_side *side = me->side;
	const uint64_t *flag = (const uint64_t *)(side->mem + 8192);
	struct world_cqe cqe;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		uint32_t len = (uint32_t)(round * 37 % 3000) + me->least;

		if (!me->first && !wait_word(flag, round)) {
			me->wrong = "the peer's word did not come";
			return me;
		}
		if (!me->first && !is_filled(side->mem, len, (unsigned int)round)) {
			me->wrong = "the word came before the data";
			return me;
		}
		fill(side->mem + 16384, len, (unsigned int)round);
		__atomic_store_n((uint64_t *)(side->mem + 24576), round, __ATOMIC_RELAXED);
		post_write(side, me->peer, 0, 16384, len);
		post_write(side, me->peer, 8192, 24576, 8);
		bl_snic_kick(side->nic);
		for (int i = 0; i < 2; i++) {
			if (!wait_cqe(&side->send, &cqe) || cqe.syndrome) {
				me->wrong = "a write did not complete";
				return me;
			}
		}
		if (me->first && (!wait_word(flag, round) || !is_filled(side->mem, len, (unsigned int)round))) {
			me->wrong = "the peer's answer is missing or wrong";
			return me;
		}
	}
	return NULL;
}

static void ping_pong(bool shm, bool placed)
{
	struct world *w = world_begin(&(struct world_options){
		.thread = true, .shm = shm, .one_nic = placed && !test_mover.shares, .mover = placed ? &mover : NULL});
	uint32_t least = placed ? MOVER_LEAST : 1;
	struct player players[2] = {{&w->a, &w->b, true, least, NULL}, {&w->b, &w->a, false, least, NULL}};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		check_eq(pthread_create(&threads[i], NULL, play, &players[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		check_str(players[i].wrong ? players[i].wrong : "nothing", "nothing");
	world_end(w);
}

static void two_threads_play_ping_pong(void)
{
	ping_pong(false, false);
}

static void they_play_through_shared_memory_too(void)
{
	ping_pong(true, false);
}

static void they_play_with_messages_that_are_placed(void)
{
	mover_begin();
	ping_pong(true, true);
	check(test_mover.ended >= 2 * ROUNDS);
}

static void they_play_with_messages_that_the_other_nic_places(void)
{
	mover_begin();
	test_mover.shares = true;
	/* not through shared memory, which each end has mapped elsewhere: ThreadSanitizer would not see the order */
	ping_pong(false, true);
	check(test_mover.ended >= ROUNDS);
	check_eq(test_mover.attached, 0);
}

/* Objects come and go, and are asked about, while packets fly. */
static atomic_bool stop;

static void *meddle(void *arg)
{
	struct world *w = arg;
	struct bl_snic_mem mem = {.addr = w->a.mem};
	struct bl_snic_qp_info info;
	uint64_t values[BL_SNIC_NR_COUNTERS];
	struct bl_snic_mr *mr;
	int ret = 0;

	while (!atomic_load(&stop) && !ret) {
		ret = bl_snic_mr_create(w->a.pd, &mem, 0, 64, 0, &mr);
		if (!ret)
			ret = bl_snic_mr_destroy(mr);
		ret |= bl_snic_qp_query(w->a.qp, &info);
		ret |= bl_snic_qp_query(w->b.qp, &info);
		bl_snic_counters(w->b.nic, values);
		usleep(100);
	}
	return ret ? arg : NULL;
}

static void calls_come_through_while_packets_fly(void)
{
	struct world *w = world_begin(&(struct world_options){.thread = true, .bytes = 1U << 20});
	struct world_cqe cqe;
	pthread_t thread;
	void *bad;

	atomic_store(&stop, false);
	check_eq(pthread_create(&thread, NULL, meddle, w), 0);
	fill(w->a.mem, 100000, 1);
	for (unsigned int i = 0; i < 300; i++) {
		post_write(&w->a, &w->b, 0, 0, 100000);
		if (!wait_cqe(&w->a.send, &cqe) || cqe.syndrome)
			break;
	}
	atomic_store(&stop, true);
	pthread_join(thread, &bad);
	check(!bad);
	check(!cqe.syndrome);
	check_eq(world_query(&w->a).sq_ci, 300);
	check(is_filled(w->b.mem, 100000, 1));
	world_end(w);
}

static void an_idle_nic_sleeps_and_is_woken_by_a_doorbell(void)
{
	struct world *w = world_begin(&(struct world_options){.thread = true});
	struct world_cqe cqe;
	uint64_t until = bl_now_ns() + DEADLINE_NS;

	while (world_counter(&w->a, BL_SNIC_SLEEPS) < 10 && bl_now_ns() < until)
		usleep(1000);
	check(world_counter(&w->a, BL_SNIC_SLEEPS) >= 10);
	/* nobody kicks: a GPU cannot */
	post_write(&w->a, &w->b, 0, 0, 8);
	check(wait_cqe(&w->a.send, &cqe));
	check_eq(cqe.syndrome, 0);
	world_end(w);
}

static void threads_notice_time_outs(void)
{
	struct world *w = world_begin(&(struct world_options){.thread = true, .retry_cnt = 1});
	struct world_cqe cqe;

	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	post_write(&w->a, &w->b, 0, 0, 8);
	check(wait_cqe(&w->a.send, &cqe));
	check_eq(cqe.syndrome, 0x15);
	check_eq(world_counter(&w->a, BL_SNIC_TIMEOUTS), 2);
	world_end(w);
}

/* Memory that may be reached from the NIC's own thread only: the ring of completions here. */
static pthread_t caller;
static atomic_int writes_of_caller, writes_of_nic;
static uint8_t ring[64 * 64];

static int ring_write(void *priv, uint64_t off, const void *src, size_t len)
{
	atomic_fetch_add(pthread_equal(pthread_self(), caller) ? &writes_of_caller : &writes_of_nic, 1);
	memcpy(ring + off, src, len);
	return 0;
}

static int ring_read(void *priv, uint64_t off, void *dst, size_t len)
{
	memcpy(dst, ring + off, len);
	return 0;
}

static void only_the_thread_reaches_memory_behind_functions(void)
{
	struct world *w = world_begin(&(struct world_options){.thread = true});
	struct bl_snic_cq_attr attr = {.ring.read = ring_read, .ring.write = ring_write, .nr = 64, .overrun = true};
	struct bl_snic_qp_attr qp_attr = world_query(&w->a).attr;
	uint64_t until = bl_now_ns() + DEADLINE_NS;
	struct bl_snic_cq *cq;
	struct bl_snic_qp *qp;

	caller = pthread_self();
	atomic_store(&writes_of_caller, 0);
	atomic_store(&writes_of_nic, 0);
	check_eq(bl_snic_cq_create(w->a.nic, &attr, &cq), 0);
	qp_attr.recv_cq = cq;
	check_eq(bl_snic_qp_create(w->a.pd, &qp_attr, &qp), 0);
	post_recv(&w->a, 0, 10);
	check_eq(bl_snic_qp_modify(qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
	while (atomic_load(&writes_of_nic) < 2 && bl_now_ns() < until)
		sched_yield();
	check_eq(atomic_load(&writes_of_nic), 2);
	check_eq(atomic_load(&writes_of_caller), 0);
	check_eq(bl_snic_qp_destroy(qp), 0);
	check_eq(bl_snic_cq_destroy(cq), 0);
	world_end(w);
}

static void the_thread_makes_the_progress(void)
{
	struct world *w = world_begin(&(struct world_options){.thread = true});

	check_eq(bl_snic_progress(w->a.nic), -EINVAL);
	world_end(w);
}

/* Closed in the middle: nothing is touched afterwards, which AddressSanitizer would see. */
static void a_busy_nic_can_be_closed(void)
{
	for (unsigned int i = 0; i < 20; i++) {
		struct world *w = world_begin(&(struct world_options){.thread = true, .bytes = 1U << 20});

		for (unsigned int j = 0; j < 10; j++)
			post_write(&w->a, &w->b, 0, 0, 1U << 20);
		usleep(500 * (i % 5));
		world_end(w);
	}
}

static const struct tap_test tests[] = {
	{"two_threads_play_ping_pong", two_threads_play_ping_pong},
	{"they_play_through_shared_memory_too", they_play_through_shared_memory_too},
	{"they_play_with_messages_that_are_placed", they_play_with_messages_that_are_placed},
	{"they_play_with_messages_that_the_other_nic_places", they_play_with_messages_that_the_other_nic_places},
	{"calls_come_through_while_packets_fly", calls_come_through_while_packets_fly},
	{"an_idle_nic_sleeps_and_is_woken_by_a_doorbell", an_idle_nic_sleeps_and_is_woken_by_a_doorbell},
	{"threads_notice_time_outs", threads_notice_time_outs},
	{"only_the_thread_reaches_memory_behind_functions", only_the_thread_reaches_memory_behind_functions},
	{"the_thread_makes_the_progress", the_thread_makes_the_progress},
	{"a_busy_nic_can_be_closed", a_busy_nic_can_be_closed},
};

TAP_MAIN(tests)
