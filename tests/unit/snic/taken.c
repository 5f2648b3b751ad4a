// SPDX-License-Identifier: MIT
/*
 * Memory and queues that are taken from under the NIC: protected, unmapped, or cut off with the end of their file. That is
 * an error of the request or the queue, and the process lives.
 */
#include <endian.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "util/clock.h"
#include "util/guard.h"
#include "world.h"

#define SECOND (1000 * WORLD_MS)
#define BYTES  65536

enum way { PROTECTED, UNMAPPED, CUT_OFF, NR_WAYS };

/* What of a side can be taken, each in pages of its own. */
enum part { MEMORY, SEND_RING, RECV_RING, RECORD, SEND_CQ, RECV_CQ, CONSUMER, NR_PARTS };

struct apart {
	void *parts[NR_PARTS];
	enum part taken; /* NR_PARTS: none */
};

static struct apart apart[2];

static size_t size_of(enum part part)
{
	return part == MEMORY ? BYTES : 8192;
}

static struct apart *apart_of(const struct world *w, const struct world_side *side)
{
	return &apart[side == &w->b];
}

static void take(const struct world *w, const struct world_side *side, enum part part, enum way way)
{
	void *at = apart_of(w, side)->parts[part];
	size_t len = size_of(part);
	int fd = memfd_create("taken", MFD_CLOEXEC);

	check(fd >= 0);
	apart_of(w, side)->taken = part;
	switch (way) {
	case PROTECTED:
		check(!mprotect(at, len, PROT_NONE));
		break;
	case UNMAPPED:
		check(!munmap(at, len));
		break;
	default:
		check(mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == at);
	}
	close(fd);
}

static void give_back(const struct world *w, const struct world_side *side)
{
	struct apart *of = apart_of(w, side);
	void *at = of->taken == NR_PARTS ? NULL : of->parts[of->taken];
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	if (at)
		check(mmap(at, size_of(of->taken), PROT_READ | PROT_WRITE, flags, -1, 0) == at);
	of->taken = NR_PARTS;
}

static void *part_new(struct apart *of, enum part part)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	of->parts[part] = aligned_alloc(page, size_of(part));
	memset(of->parts[part], 0, size_of(part));
	return of->parts[part];
}

static struct bl_snic_cq *cq_new(struct world_side *side, struct world_queue *queue, struct apart *of, enum part part)
{
	struct bl_snic_cq_attr attr = {.nr = queue->nr, .dbrec = of->parts[CONSUMER]};

	free(queue->ring);
	queue->ring = part_new(of, part);
	for (uint32_t i = 0; i < queue->nr; i++)
		queue->ring[i * 64 + 63] = 0xf1;
	attr.ring.addr = queue->ring;
	check_eq(bl_snic_cq_destroy(queue->cq), 0);
	check_eq(bl_snic_cq_create(side->nic, &attr, &queue->cq), 0);
	return queue->cq;
}

/* All of the side's memory and queues once more, in pages of their own. */
static void move_apart(struct world_side *side, struct apart *of, unsigned int access)
{
	struct bl_snic_qp_info info = world_query(side);
	struct bl_snic_qp_attr attr = info.attr;
	struct bl_snic_mem mem = {.addr = part_new(of, MEMORY)};

	of->taken = NR_PARTS;
	check_eq(bl_snic_qp_destroy(side->qp), 0);
	check_eq(bl_snic_mr_destroy(side->mr), 0);
	free(side->mem);
	free(side->sq);
	free(side->rq);
	side->mem = mem.addr;
	check_eq(bl_snic_mr_create(side->pd, &mem, side->iova, BYTES, access | BL_SNIC_LOCAL_WRITE, &side->mr), 0);
	side->key = bl_snic_mr_lkey(side->mr);
	part_new(of, CONSUMER);
	attr.send_cq = cq_new(side, &side->send, of, SEND_CQ);
	attr.recv_cq = cq_new(side, &side->recv, of, RECV_CQ);
	attr.dbrec = part_new(of, RECORD);
	attr.sq.addr = side->sq = part_new(of, SEND_RING);
	attr.rq.addr = side->rq = part_new(of, RECV_RING);
	check_eq(bl_snic_qp_create(side->pd, &attr, &side->qp), 0);
}

static struct world *begin(const struct world_options *options)
{
	struct world *w;

	if (!BL_GUARD_WORKS)
		skip("accesses are not guarded in this build: no code for this CPU, or ThreadSanitizer");
	w = world_begin(options);
	move_apart(&w->a, &apart[0], w->options.access);
	move_apart(&w->b, &apart[1], w->options.access);
	world_connect(w);
	return w;
}

/* The world frees what is its own, and the rest is this file's. */
static void end(struct world *w)
{
	give_back(w, &w->a);
	give_back(w, &w->b);
	world_end(w);
	for (int i = 0; i < 2; i++) {
		free(apart[i].parts[RECORD]);
		free(apart[i].parts[CONSUMER]);
	}
}

/* Doorbells are written to the pages too, as long as those are there. */
static void ring(struct world *w, struct world_side *side)
{
	const struct apart *of = apart_of(w, side);
	uint32_t *record = of->parts[RECORD];

	if (of->taken == RECORD)
		return;
	__atomic_store_n(&record[0], side->dbrec[0], __ATOMIC_RELEASE);
	__atomic_store_n(&record[1], side->dbrec[1], __ATOMIC_RELEASE);
}

static void run(struct world *w)
{
	ring(w, &w->a);
	ring(w, &w->b);
	world_wait(w, 20 * WORLD_MS);
}

static void check_local(struct world *w, const char *what)
{
	struct bl_snic_error error;

	run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, BL_SYNDROME_LOCAL_ACCESS, 1);
	world_expect_none(&w->a.send);
	error = world_query(&w->a).error;
	check_eq(error.syndrome, BL_SYNDROME_LOCAL_ACCESS);
	check(!error.responder);
	check_has(error.text, what);
	check_eq(world_query(&w->b).mod.state, BL_SNIC_RTS);
}

static void before_it(struct world *w)
{
	fill(w->a.mem, 100, 1);
	post_write(&w->a, &w->b, 0, 0, 100);
	run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->b.mem, 100, 1));
}

static void post_kind(struct world *w, int kind)
{
	if (kind == 0)
		post_write(&w->a, &w->b, 0, 0, 5000);
	else if (kind == 1)
		post_read(&w->a, &w->b, 0, 0, 5000);
	else
		post_add(&w->a, &w->b, 64, 0, 1);
}

static void own_memory_that_is_gone_fails_the_request(void)
{
	for (enum way way = PROTECTED; way < NR_WAYS; way++) {
		for (int kind = 0; kind < 3; kind++) {
			struct world *w = begin(NULL);

			before_it(w);
			take(w, &w->a, MEMORY, way);
			post_kind(w, kind);
			check_local(w, kind ? "the memory cannot be written any more"
					    : "the memory cannot be read any more");
			end(w);
		}
	}
}

static void check_remote(struct world *w, uint8_t syndrome, const char *what)
{
	run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, syndrome, 1);
	check(world_query(&w->b).error.responder);
	check_has(world_query(&w->b).error.text, what);
	check_eq(world_query(&w->b).mod.state, BL_SNIC_ERR);
}

static void memory_of_the_peer_that_is_gone_is_no_access(void)
{
	for (enum way way = PROTECTED; way < NR_WAYS; way++) {
		for (int kind = 0; kind < 3; kind++) {
			struct world *w = begin(NULL);

			before_it(w);
			take(w, &w->b, MEMORY, way);
			post_kind(w, kind);
			check_remote(w, BL_SYNDROME_REMOTE_ACCESS, "any more");
			end(w);
		}
	}
}

/* The sender learns that it failed there, the receiver which list it was. */
static void a_receive_buffer_that_is_gone_fails_both_ends(void)
{
	for (enum way way = PROTECTED; way < NR_WAYS; way++) {
		struct world *w = begin(NULL);

		before_it(w);
		post_recv(&w->b, 0, 100);
		post_recv(&w->b, 0, 100);
		take(w, &w->b, MEMORY, way);
		post_send(&w->a, 0, 100);
		check_remote(w, BL_SYNDROME_REMOTE_OPERATION, "the memory cannot be written any more");
		world_expect(&w->b.recv, BL_CQE_RESP_ERR, BL_SYNDROME_LOCAL_ACCESS, 0);
		world_expect(&w->b.recv, BL_CQE_RESP_ERR, BL_SYNDROME_FLUSHED, 1);
		end(w);
	}
}

/* The text names the place, which is in @part. */
static void check_names(const struct world *w, const struct world_side *side, enum part part, const char *what)
{
	struct bl_snic_error error = world_query(side).error;
	char text[100];

	snprintf(text, sizeof(text), "%s at 0x%" PRIxPTR, what, (uintptr_t)apart_of(w, side)->parts[part] >> 12);
	check_eq(world_query(side).mod.state, BL_SNIC_ERR);
	check_eq(error.syndrome, BL_SYNDROME_LOCAL_ACCESS);
	check_has(error.text, text);
	check_has(error.text, "Bad address");
}

static void a_send_queue_that_is_gone_fails_the_queue_pair(void)
{
	for (enum way way = PROTECTED; way < NR_WAYS; way++) {
		for (int record = 0; record < 2; record++) {
			struct world *w = begin(NULL);

			before_it(w);
			w->a.nr_events = 0;
			post_write(&w->a, &w->b, 0, 0, 8);
			ring(w, &w->a);
			take(w, &w->a, record ? RECORD : SEND_RING, way);
			world_wait(w, 20 * WORLD_MS);
			check_names(w, &w->a, record ? RECORD : SEND_RING, record ? "doorbell record" : "send ring");
			world_expect_none(&w->a.send);
			world_expect_event(&w->a, BL_SNIC_QP_FATAL, bl_snic_qp_num(w->a.qp));
			check_eq(world_query(&w->b).mod.state, BL_SNIC_RTS);
			end(w);
		}
	}
}

static void a_receive_record_that_is_gone_fails_the_queue_pair(void)
{
	for (enum way way = PROTECTED; way < NR_WAYS; way++) {
		struct world *w = begin(NULL);
		struct bl_snic_qp_mod mod;

		/* without a send queue that looks at the same page */
		mod = world_query(&w->b).mod;
		check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
		for (int state = BL_SNIC_INIT; state <= BL_SNIC_RTR; state++) {
			mod.state = (enum bl_snic_qp_state)state;
			check_eq(bl_snic_qp_modify(w->b.qp, &mod), 0);
		}
		before_it(w);
		take(w, &w->b, RECORD, way);
		post_send(&w->a, 0, 100);
		run(w);
		world_expect(&w->a.send, BL_CQE_REQ_ERR, BL_SYNDROME_REMOTE_OPERATION, 1);
		check_names(w, &w->b, RECORD, "receive record");
		check(world_query(&w->b).error.responder);
		end(w);
	}
}

static void a_receive_ring_that_is_gone_fails_both_ends(void)
{
	for (enum way way = PROTECTED; way < NR_WAYS; way++) {
		struct world *w = begin(NULL);

		before_it(w);
		for (int i = 0; i < 3; i++)
			post_recv(&w->b, 0, 100);
		take(w, &w->b, RECV_RING, way);
		post_send(&w->a, 0, 100);
		check_remote(w, BL_SYNDROME_REMOTE_OPERATION, "the receive ring cannot be read");
		/* what they say is of no interest any more */
		for (uint16_t i = 0; i < 3; i++)
			world_expect(&w->b.recv, BL_CQE_RESP_ERR, BL_SYNDROME_FLUSHED, i);
		world_expect_none(&w->b.recv);
		end(w);
	}
}

static void a_completion_queue_that_is_gone_fails_its_queue_pairs(void)
{
	for (enum way way = PROTECTED; way < NR_WAYS; way++) {
		for (int consumer = 0; consumer < 2; consumer++) {
			struct world *w = begin(NULL);

			before_it(w);
			w->a.nr_events = 0;
			take(w, &w->a, consumer ? CONSUMER : SEND_CQ, way);
			post_write(&w->a, &w->b, 0, 0, 8);
			post_write(&w->a, &w->b, 0, 0, 8);
			run(w);
			check_eq(world_query(&w->a).mod.state, BL_SNIC_ERR);
			check_has(world_query(&w->a).error.text, "cannot be written: Bad address");
			check_eq(w->a.nr_events, 2);
			check_eq(w->a.events[0].type, BL_SNIC_CQ_ERR);
			check_eq(w->a.events[1].type, BL_SNIC_QP_FATAL);
			check_eq(world_query(&w->b).mod.state, BL_SNIC_RTS);
			end(w);
		}
	}
}

static void a_doorbell_register_that_is_gone_fails_the_queue_pair(void)
{
	struct world *w;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *uar;

	if (!BL_GUARD_WORKS)
		skip("accesses are not guarded in this build: no code for this CPU, or ThreadSanitizer");
	w = world_begin(&(struct world_options){.uar = true});
	uar = bl_snic_uar_page(w->a.uar);
	check(!mprotect(uar, page, PROT_NONE));
	world_run(w);
	check(!mprotect(uar, page, PROT_READ | PROT_WRITE));
	check_has(world_query(&w->a).error.text, "doorbell register at ");
	check_eq(world_query(&w->a).error.syndrome, BL_SYNDROME_LOCAL_ACCESS);
	world_end(w);
}

/* Who puts everything in its place again can go on. */
static void a_queue_pair_begins_anew_where_memory_is_back(void)
{
	struct world *w = begin(NULL);

	before_it(w);
	take(w, &w->a, RECORD, UNMAPPED);
	world_run(w);
	check_names(w, &w->a, RECORD, "doorbell record");
	give_back(w, &w->a);
	check_eq(bl_snic_qp_modify(w->a.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	w->a.dbrec[0] = w->a.dbrec[1] = w->b.dbrec[0] = w->b.dbrec[1] = 0;
	w->a.pi = w->a.rpi = w->b.pi = w->b.rpi = 0;
	ring(w, &w->b);
	world_connect(w);
	before_it(w);
	end(w);
}

/* The NIC's own thread, which blocks all other signals, and the transport of one host. */
static void the_thread_of_a_nic_survives(void)
{
	struct world *w = begin(&(struct world_options){.thread = true, .shm = true});
	uint64_t deadline = bl_now_ns() + 10 * SECOND;
	struct world_cqe cqe = {.opcode = 15};

	take(w, &w->b, MEMORY, PROTECTED);
	post_write(&w->a, &w->b, 0, 0, 5000);
	ring(w, &w->a);
	while (!world_poll(&w->a.send, &cqe) && bl_now_ns() < deadline)
		usleep(1000);
	check_eq(cqe.syndrome, BL_SYNDROME_REMOTE_ACCESS);
	take(w, &w->a, RECORD, CUT_OFF);
	check_eq(bl_snic_qp_modify(w->a.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
	end(w);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static void post_some(struct world *w, uint64_t *state)
{
	size_t to = next_random(state) % 60 * 512, from = next_random(state) % 60 * 512;
	uint32_t len = (uint32_t)(next_random(state) % 8000);

	switch (next_random(state) % 4) {
	case 0:
		post_read(&w->a, &w->b, to, from, len);
		break;
	case 1:
		post_send(&w->a, from, len);
		break;
	case 2:
		post_add(&w->a, &w->b, to, from, 3);
		break;
	default:
		post_write(&w->a, &w->b, to, from, len);
	}
}

/* Completions in order: success, at most one error, then flushed. Return: how many. */
static uint16_t check_order(struct world *w)
{
	struct world_cqe cqe;
	bool failed = false;
	uint16_t nr = 0;

	for (; world_poll(&w->a.send, &cqe); nr++) {
		check_eq(cqe.counter, nr);
		check_eq(cqe.opcode, cqe.syndrome ? BL_CQE_REQ_ERR : BL_CQE_REQ);
		check(!failed || cqe.syndrome == BL_SYNDROME_FLUSHED);
		failed |= cqe.syndrome != 0;
	}
	check(!failed || world_query(&w->a).mod.state == BL_SNIC_ERR);
	return nr;
}

static void take_at_random(uint64_t seed)
{
	struct world *w = begin(&(struct world_options){.shm = seed % 3 == 0, .cq_nr = 64});
	uint64_t state = seed;
	struct world_side *side = next_random(&state) % 2 ? &w->a : &w->b;
	enum part part = (enum part)(next_random(&state) % NR_PARTS);
	unsigned int when = (unsigned int)(next_random(&state) % 16);
	bool sees;

	for (unsigned int i = 0; i < 16; i++)
		post_recv(&w->b, 40960, 8192);
	for (unsigned int i = 0; i < 16; i++) {
		post_some(w, &state);
		if (i == when) {
			ring(w, &w->a);
			ring(w, &w->b);
			for (uint64_t passes = next_random(&state) % 5; passes; passes--) {
				bl_snic_progress(w->a.nic);
				bl_snic_progress(w->b.nic);
			}
			/* what is not posted yet cannot be: the ring may be what goes */
			take(w, side, part, (enum way)(next_random(&state) % NR_WAYS));
			break;
		}
	}
	run(w);
	world_wait(w, 3 * SECOND);
	sees = side == &w->b || (part != SEND_CQ && part != RECORD && part != SEND_RING && part != CONSUMER);
	if (sees)
		check_eq(check_order(w), when + 1);
	end(w);
}

static void whatever_is_taken_whenever_nobody_dies(void)
{
	const char *given = getenv("SNIC_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 64;

	for (unsigned int i = 0; i < (given ? 1 : 60); i++, seed++) {
		printf("# SNIC_SEED=%" PRIu64 "\n", seed);
		fflush(stdout);
		take_at_random(seed);
	}
}

static const struct tap_test tests[] = {
	{"own_memory_that_is_gone_fails_the_request", own_memory_that_is_gone_fails_the_request},
	{"memory_of_the_peer_that_is_gone_is_no_access", memory_of_the_peer_that_is_gone_is_no_access},
	{"a_receive_buffer_that_is_gone_fails_both_ends", a_receive_buffer_that_is_gone_fails_both_ends},
	{"a_send_queue_that_is_gone_fails_the_queue_pair", a_send_queue_that_is_gone_fails_the_queue_pair},
	{"a_receive_record_that_is_gone_fails_the_queue_pair", a_receive_record_that_is_gone_fails_the_queue_pair},
	{"a_receive_ring_that_is_gone_fails_both_ends", a_receive_ring_that_is_gone_fails_both_ends},
	{"a_completion_queue_that_is_gone_fails_its_queue_pairs", a_completion_queue_that_is_gone_fails_its_queue_pairs},
	{"a_doorbell_register_that_is_gone_fails_the_queue_pair", a_doorbell_register_that_is_gone_fails_the_queue_pair},
	{"a_queue_pair_begins_anew_where_memory_is_back", a_queue_pair_begins_anew_where_memory_is_back},
	{"the_thread_of_a_nic_survives", the_thread_of_a_nic_survives},
	{"whatever_is_taken_whenever_nobody_dies", whatever_is_taken_whenever_nobody_dies},
};

TAP_MAIN(tests)
