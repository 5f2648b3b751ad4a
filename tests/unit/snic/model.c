// SPDX-License-Identifier: MIT
#include "model.h"

#include <errno.h>

#include "mover.h"
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"

#define PART	 16384U /* of memory: 0 target of the peer, 1 source, 2 results, 3 receives */
#define BYTES	 (4 * PART)
#define MAX_LEN	 6000U
#define NR_RECVS 32

static uint64_t state;
static unsigned int per_mille; /* packets that meet a fate */

static uint32_t dice(uint32_t sides)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % sides;
}

static enum world_fate some_fate(const struct bl_packet *packet, unsigned int nr)
{
	if (dice(1000) >= per_mille)
		return WORLD_PASS;
	switch (dice(4)) {
	case 0:
		return WORLD_DOUBLE;
	case 1:
		return WORLD_HOLD;
	default:
		return WORLD_DROP;
	}
}

struct job {
	uint8_t opcode;
	uint32_t len, to, from, imm;
	uint64_t add;
};

/* What the memory of a side should be, and what it posted and received. */
struct model {
	struct world_side *side;
	uint8_t mem[BYTES];
	struct job jobs[64];
	uint64_t posted, done, received;
	uint32_t recv_to[NR_RECVS];
};

static struct model models[2];

static uint32_t place(uint32_t part, uint32_t len)
{
	return part * PART + dice(PART - len);
}

static void post_one(struct model *me, struct world_side *peer)
{
	static const uint8_t opcodes[] = {BL_WQE_WRITE,	    BL_WQE_READ,      BL_WQE_SEND,
					  BL_WQE_FETCH_ADD, BL_WQE_WRITE_IMM, BL_WQE_SEND_IMM};
	struct job *job = &me->jobs[me->posted % 64];
	struct world_side *side = me->side;
	struct world_wqe wqe;

	*job = (struct job){.opcode = opcodes[dice(sizeof(opcodes))], .len = dice(4) ? dice(MAX_LEN) : dice(3)};
	job->imm = (uint32_t)me->posted * 0x01010101U;
	wqe_begin(&wqe, side, 0, job->opcode, (uint8_t)(WORLD_SIGNAL | (dice(4) ? 0 : dice(5)) << 5), job->imm);
	switch (job->opcode) {
	case BL_WQE_READ:
		job->from = place(1, job->len);
		job->to = place(2, job->len);
		wqe_raddr(&wqe, peer->iova + job->from, peer->key);
		break;
	case BL_WQE_FETCH_ADD:
		job->len = 8;
		job->from = dice(PART / 8) * 8;
		job->to = 2 * PART + dice(PART / 8) * 8;
		job->add = (uint64_t)dice(1000000) << dice(40);
		wqe_raddr(&wqe, peer->iova + job->from, peer->key);
		wqe_seg64(&wqe, job->add, 0);
		break;
	case BL_WQE_WRITE:
	case BL_WQE_WRITE_IMM:
		job->from = place(1, job->len);
		job->to = place(0, job->len);
		wqe_raddr(&wqe, peer->iova + job->to, peer->key);
		break;
	default:
		job->from = place(1, job->len);
	}
	if (job->opcode == BL_WQE_READ || job->opcode == BL_WQE_FETCH_ADD) {
		wqe_data(&wqe, side->iova + job->to, side->key, job->len);
	} else {
		uint32_t first = job->len ? dice(job->len) : 0;

		wqe_data(&wqe, side->iova + job->from, side->key, first);
		wqe_data(&wqe, side->iova + job->from + first, side->key, job->len - first);
	}
	wqe_post(&wqe, side);
	me->posted++;
}

static void receive_one(struct model *peer, const struct job *job, const uint8_t *bytes)
{
	static const uint8_t kinds[] = {[BL_WQE_SEND] = BL_CQE_RESP_SEND,
					[BL_WQE_SEND_IMM] = BL_CQE_RESP_SEND_IMM,
					[BL_WQE_WRITE_IMM] = BL_CQE_RESP_WRITE_IMM};
	struct world_cqe cqe = world_expect(&peer->side->recv, kinds[job->opcode], 0, (uint16_t)peer->received);
	uint32_t *to = &peer->recv_to[peer->received % NR_RECVS];

	check_eq(cqe.len, job->len);
	if (job->opcode != BL_WQE_SEND)
		check_eq(cqe.imm, job->imm);
	if (job->opcode != BL_WQE_WRITE_IMM)
		memcpy(peer->mem + *to, bytes, job->len);
	peer->received++;
	*to = place(3, MAX_LEN);
	post_recv(peer->side, *to, MAX_LEN);
}

/* The request is complete: the model does it. */
static void model_one(struct model *me, struct model *peer)
{
	const struct job *job = &me->jobs[me->done % 64];
	uint64_t old, new;

	world_expect(&me->side->send, BL_CQE_REQ, 0, (uint16_t)me->done);
	me->done++;
	switch (job->opcode) {
	case BL_WQE_READ:
		memcpy(me->mem + job->to, peer->mem + job->from, job->len);
		break;
	case BL_WQE_FETCH_ADD:
		memcpy(&old, peer->mem + job->from, 8);
		new = old + job->add;
		memcpy(peer->mem + job->from, &new, 8);
		memcpy(me->mem + job->to, &old, 8);
		break;
	case BL_WQE_WRITE:
		memcpy(peer->mem + job->to, me->mem + job->from, job->len);
		break;
	case BL_WQE_WRITE_IMM:
		memcpy(peer->mem + job->to, me->mem + job->from, job->len);
		receive_one(peer, job, NULL);
		break;
	default:
		receive_one(peer, job, me->mem + job->from);
	}
}

static void begin_model(struct model *model, struct world_side *side)
{
	memset(model, 0, sizeof(*model));
	model->side = side;
	for (uint32_t i = 0; i < BYTES; i++)
		side->mem[i] = (uint8_t)dice(256);
	memcpy(model->mem, side->mem, BYTES);
	for (unsigned int i = 0; i < NR_RECVS; i++) {
		model->recv_to[i] = place(3, MAX_LEN);
		post_recv(side, model->recv_to[i], MAX_LEN);
	}
}

/* A mover that takes its time, and now and then does not want to at all. */
static bool whim(void)
{
	if (!dice(1000))
		test_mover.refuse = -ENOMEM;
	return dice(2);
}

void model_run(uint64_t seed, unsigned int nr, unsigned int fates, const struct world_options *given)
{
	static const uint32_t mtus[] = {256, 1024, 4096};
	struct bl_snic_fault fault = {.seed = seed, .drop = 10000, .reorder = 20000, .duplicate = 20000, .nak = 10000};
	struct world_options options = *given;
	struct world *w;

	options.bytes = BYTES;
	options.rnr_retry = 7;
	options.rq_nr = NR_RECVS;

	state = seed * 0x9e3779b97f4a7c15ULL | 1;
	per_mille = fates;
	if (!options.mtu)
		options.mtu = mtus[dice(3)];
	options.sq_psn = 0x1000000 - dice(200) - 1;
	options.max_rd = (uint8_t)(1 + dice(8));
	if (!options.fault && !(seed % 3))
		options.fault = &fault;
	mover_begin();
	test_mover.whim = whim;
	w = world_begin(&options);
	begin_model(&models[0], &w->a);
	begin_model(&models[1], &w->b);
	world_fate = some_fate;
	for (unsigned int done = 0; done < nr;) {
		unsigned int batch = 1 + dice(12);

		for (unsigned int i = 0; i < batch; i++) {
			unsigned int who = dice(2);

			if (models[who].posted - models[who].done < 12)
				post_one(&models[who], models[!who].side);
		}
		for (int i = 0; i < 100 && (world_query(&w->a).sq_ci < models[0].posted ||
					    world_query(&w->b).sq_ci < models[1].posted);
		     i++)
			world_wait(w, 100 * WORLD_MS);
		for (unsigned int who = 0; who < 2; who++) {
			while (models[who].done < models[who].posted) {
				model_one(&models[who], &models[!who]);
				done++;
			}
		}
		check(!memcmp(w->a.mem, models[0].mem, BYTES));
		check(!memcmp(w->b.mem, models[1].mem, BYTES));
	}
	world_expect_none(&w->a.recv);
	world_expect_none(&w->b.recv);
	if (options.mover)
		check_eq(test_mover.started > 0, options.one_nic);
	world_end(w);
}
