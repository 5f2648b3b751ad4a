// SPDX-License-Identifier: MIT
#include "shared.h"

#include <endian.h>

#include "softnic/rwqe.h"
#include "tap.h"

#define SEG 16U

static bool is_linked(const struct shared *s)
{
	return s->options.type == BL_SNIC_SRQ_LINKED;
}

uint8_t *shared_wqe(struct shared *s, uint16_t index)
{
	return s->ring + (size_t)(index & (s->options.nr - 1)) * s->stride;
}

uint8_t *shared_list(struct shared *s, uint16_t index)
{
	return shared_wqe(s, index) + (is_linked(s) ? SEG : 0);
}

static void set_next(struct shared *s, uint16_t index, uint16_t next)
{
	uint16_t wire = htobe16(next);

	memcpy(shared_wqe(s, index) + 2, &wire, sizeof(wire));
}

static uint16_t get_next(struct shared *s, uint16_t index)
{
	uint16_t wire;

	memcpy(&wire, shared_wqe(s, index) + 2, sizeof(wire));
	return be16toh(wire);
}

void shared_defaults(struct shared_options *options)
{
	options->nr = options->nr ? options->nr : 16;
	options->sges = options->sges ? options->sges : 1;
	options->qps = options->qps ? options->qps : 2;
}

void shared_make_queue(struct shared *s, const struct world_side *base, const struct world_options *world)
{
	struct bl_snic_srq_attr attr = {.type = s->options.type,
					.nr = s->options.nr,
					.sges = s->options.sges,
					.dbrec = &s->record};

	s->stride = (s->options.sges + is_linked(s)) * SEG;
	s->ring = calloc(s->options.nr, s->stride);
	for (uint32_t i = 0; is_linked(s) && i < s->options.nr; i++)
		set_next(s, (uint16_t)i, (uint16_t)((i + 1) % s->options.nr));
	s->tail = (uint16_t)(s->options.nr - 1);
	attr.ring.addr = s->ring;
	check_eq(bl_snic_srq_create(base->pd, &attr, &s->srq), 0);
	world_queue_make(base->nic, &s->cq, world);
}

void shared_make_pair_end(struct shared *s, struct world_side *side, const struct world_side *base, bool receives,
			  const struct world_options *world)
{
	struct bl_snic_qp_attr attr = {.type = world->uc ? BL_SNIC_UC : BL_SNIC_RC,
				       .sq_nr = world->sq_nr,
				       .dbrec = side->dbrec,
				       .srq = receives ? s->srq : NULL,
				       .recv_cq = receives ? s->cq.cq : NULL};

	side->nic = base->nic;
	side->pd = base->pd;
	side->uar = base->uar;
	side->mem = base->mem;
	side->iova = base->iova;
	side->bytes = base->bytes;
	side->key = base->key;
	side->sq_nr = world->sq_nr;
	side->sq = calloc(side->sq_nr, 64);
	world_queue_make(side->nic, &side->send, world);
	attr.sq.addr = side->sq;
	attr.send_cq = side->send.cq;
	check_eq(bl_snic_qp_create(side->pd, &attr, &side->qp), 0);
}

struct shared *shared_begin(const struct world_options *world, const struct shared_options *options)
{
	struct world *w = world_begin(world);
	struct shared *s = calloc(1, sizeof(*s));

	s->w = w;
	s->options = *options;
	shared_defaults(&s->options);
	shared_make_queue(s, &w->b, &w->options);
	for (unsigned int i = 0; i < s->options.qps; i++) {
		shared_make_pair_end(s, &s->tx[i], &w->a, false, &w->options);
		shared_make_pair_end(s, &s->rx[i], &w->b, true, &w->options);
		world_side_to_rts(w, &s->tx[i], &s->rx[i]);
		world_side_to_rts(w, &s->rx[i], &s->tx[i]);
	}
	return s;
}

void shared_drop_pair_end(struct world_side *side)
{
	if (side->qp)
		check_eq(bl_snic_qp_destroy(side->qp), 0);
	if (side->send.cq)
		check_eq(bl_snic_cq_destroy(side->send.cq), 0);
	free(side->send.ring);
	free(side->sq);
	*side = (struct world_side){.nic = NULL};
}

void shared_drop_queue(struct shared *s)
{
	if (s->srq)
		check_eq(bl_snic_srq_destroy(s->srq), 0);
	check_eq(bl_snic_cq_destroy(s->cq.cq), 0);
	free(s->cq.ring);
	free(s->ring);
}

void shared_end(struct shared *s)
{
	struct world *w = s->w;

	for (unsigned int i = 0; i < s->options.qps; i++) {
		shared_drop_pair_end(&s->tx[i]);
		shared_drop_pair_end(&s->rx[i]);
	}
	shared_drop_queue(s);
	free(s);
	world_end(w);
}

static void put_sge(uint8_t *at, const struct shared_sge *sge)
{
	uint32_t words[2] = {htobe32(sge->len), htobe32(sge->key)};
	uint64_t addr = htobe64(sge->addr);

	memcpy(at, words, sizeof(words));
	memcpy(at + 8, &addr, sizeof(addr));
}

uint16_t shared_post(struct shared *s, const struct shared_sge *sges, unsigned int nr)
{
	static const struct shared_sge end = {.key = BL_RWQE_END};
	uint16_t index = is_linked(s) ? s->head : (uint16_t)s->posted;
	uint8_t *at = shared_list(s, index);

	/* the last one is kept back: it is what the list goes on with */
	check(!is_linked(s) || s->head != s->tail);
	if (is_linked(s))
		s->head = get_next(s, index);
	for (unsigned int i = 0; i < nr; i++)
		put_sge(at + (size_t)i * SEG, &sges[i]);
	if (nr < s->options.sges)
		put_sge(at + (size_t)nr * SEG, &end);
	s->posted++;
	__atomic_store_n(&s->record, htobe32(s->posted & 0xffff), __ATOMIC_RELEASE);
	return index;
}

uint16_t shared_post_one(struct shared *s, size_t to, uint32_t len)
{
	const struct world_side *side = &s->rx[0];
	const struct shared_sge sge = {side->iova + to, side->key, len};

	return shared_post(s, &sge, 1);
}

void shared_free(struct shared *s, uint16_t index)
{
	if (!is_linked(s))
		return;
	set_next(s, s->tail, index);
	s->tail = index;
}

struct world_cqe shared_expect(struct shared *s, unsigned int qp, uint8_t opcode, uint8_t syndrome, uint16_t index)
{
	struct world_cqe cqe = world_expect(&s->cq, opcode, syndrome, index);

	check_eq(cqe.qpn, bl_snic_qp_num(s->rx[qp].qp));
	check_eq(cqe.srqn, bl_snic_srq_num(s->srq));
	shared_free(s, index);
	return cqe;
}

struct bl_snic_srq_info shared_query(struct shared *s)
{
	struct bl_snic_srq_info info;

	check_eq(bl_snic_srq_query(s->srq, &info), 0);
	return info;
}
