// SPDX-License-Identifier: MIT
#include "world.h"

#include <endian.h>

#include "softnic/snic_srq.h"
#include "tap.h"
#include "util/clock.h"

#define INVALID_CQE 0xf1

void wire_begin(uint32_t max_payload);
unsigned int wire_links(void);

static uint64_t clock_ns;
static struct world *present;

uint64_t world_now(void)
{
	return clock_ns;
}

void world_defaults(struct world_options *options)
{
	options->sq_nr = options->sq_nr ? options->sq_nr : 64;
	options->rq_nr = options->rq_nr ? options->rq_nr : 64;
	options->cq_nr = options->cq_nr ? options->cq_nr : 64;
	options->rq_sges = options->rq_sges ? options->rq_sges : 1;
	options->mtu = options->mtu ? options->mtu : 1024;
	options->max_payload = options->max_payload ? options->max_payload : 4096;
	options->retry_cnt = options->retry_cnt || options->no_retry ? options->retry_cnt : 7;
	options->rnr_retry = options->rnr_retry ? options->rnr_retry : 3;
	options->max_rd = options->max_rd ? options->max_rd : 4;
	options->bytes = options->bytes ? options->bytes : 65536;
	if (!options->access && !options->no_access)
		options->access = BL_SNIC_REMOTE_WRITE | BL_SNIC_REMOTE_READ | BL_SNIC_REMOTE_ATOMIC;
}

void world_queue_make(struct bl_snic *nic, struct world_queue *queue, const struct world_options *options)
{
	struct bl_snic_cq_attr attr = {
		.nr = options->cq_nr,
		.overrun = !options->checked_cq,
		.collapsed = options->collapsed,
		.dbrec = options->checked_cq ? queue->record : NULL,
	};

	queue->nr = options->cq_nr;
	queue->ring = aligned_alloc(64, (size_t)queue->nr * 64);
	memset(queue->ring, 0, (size_t)queue->nr * 64);
	for (uint32_t i = 0; i < queue->nr; i++)
		queue->ring[i * 64 + 63] = INVALID_CQE;
	attr.ring.addr = queue->ring;
	check_eq(bl_snic_cq_create(nic, &attr, &queue->cq), 0);
}

static void make_srq(struct world_side *side, const struct world_options *options, struct bl_snic_qp_attr *attr)
{
	const struct bl_snic_srq_attr srq_attr = {
		.type = options->srq_linked ? BL_SNIC_SRQ_LINKED : BL_SNIC_SRQ_CYCLIC,
		.ring = attr->rq,
		.nr = options->rq_nr,
		.sges = options->rq_sges,
		.dbrec = &side->dbrec[0],
	};

	check_eq(bl_snic_srq_create(side->pd, &srq_attr, &side->srq), 0);
	attr->srq = side->srq;
	attr->rq_nr = 0;
}

static void make_qp(struct world_side *side, const struct world_options *options)
{
	struct bl_snic_qp_attr attr = {
		.type = options->uc ? BL_SNIC_UC : BL_SNIC_RC,
		.sq_nr = options->sq_nr,
		.rq_nr = options->rq_nr,
		.rq_sges = options->rq_sges,
		.dbrec = side->dbrec,
		.send_cq = side->send.cq,
		.recv_cq = side->recv.cq,
		.sq_sig_all = options->sig_all,
		.no_dbrec = options->uar,
		.uar = options->uar ? side->uar : NULL,
	};

	side->sq_nr = options->sq_nr;
	side->rq_nr = options->rq_nr;
	side->rq_sges = options->rq_sges;
	side->sq = calloc(options->sq_nr, 64);
	side->rq = calloc(options->rq_nr, 16UL * (options->rq_sges + options->srq_linked));
	attr.sq.addr = side->sq;
	attr.rq.addr = side->rq;
	if (options->srq)
		make_srq(side, options, &attr);
	check_eq(bl_snic_qp_create(side->pd, &attr, &side->qp), 0);
}

static const struct bl_snic_transport_ops *transport_of(const struct world_options *options)
{
	if (options->names[0])
		return &bl_snic_roce;
	if (options->loops)
		return world_loops();
	return options->shm ? &bl_snic_shm : &world_transport;
}

static void enter(const struct world_options *options, int side)
{
	if (options->enter)
		options->enter(side);
}

static void note_event(void *arg, const struct bl_snic_event *event)
{
	struct world_side *side = arg;

	if (side->nr_events < WORLD_EVENTS)
		side->events[side->nr_events] = *event;
	__atomic_fetch_add(&side->nr_events, 1, __ATOMIC_RELEASE);
}

void world_expect_event(struct world_side *side, enum bl_snic_event_type type, uint32_t num)
{
	check_eq(__atomic_load_n(&side->nr_events, __ATOMIC_ACQUIRE), 1);
	check_eq(side->events[0].type, type);
	check_eq(side->events[0].num, num);
	side->nr_events = 0;
}

static void make_side(struct world_side *side, const struct world_options *options, int number, struct bl_snic *nic)
{
	struct bl_snic_attr attr = {
		.name = options->names[number] ? options->names[number] : number ? "b" : "a",
		.transport = transport_of(options),
		.timeout_floor_ns = options->floor_ns,
		.mtu = options->nic_mtu,
		.fault = options->fault,
		.mover = options->mover,
		.manual = !options->thread,
		.now_ns = options->thread ? NULL : world_now,
		.event = note_event,
		.event_arg = side,
	};
	struct bl_snic_mem mem = {.mover = options->no_moved ? NULL : options->mover, .moved = side};

	side->iova = 0x7f0000000000ULL + (uintptr_t)side % 65536;
	side->bytes = options->bytes;
	side->mem = aligned_alloc(64, options->bytes);
	memset(side->mem, 0, options->bytes);
	mem.addr = side->mem;
	/* atomics work on real addresses, so offsets of both kinds must be aligned alike */
	side->iova &= ~63ULL;
	enter(options, number);
	side->nic = nic;
	if (!nic)
		check_eq(bl_snic_open(&attr, &side->nic), 0);
	check_eq(bl_snic_pd_create(side->nic, &side->pd), 0);
	check_eq(bl_snic_mr_create(side->pd, &mem, side->iova, side->bytes, options->access | BL_SNIC_LOCAL_WRITE,
				   &side->mr),
		 0);
	side->key = bl_snic_mr_lkey(side->mr);
	check_eq(bl_snic_mr_rkey(side->mr), side->key);
	check_eq(bl_snic_uar_create(side->nic, &side->uar), 0);
	world_queue_make(side->nic, &side->send, options);
	world_queue_make(side->nic, &side->recv, options);
	make_qp(side, options);
}

void world_side_make(struct world_side *side, const struct world_options *options, int number)
{
	make_side(side, options, number, NULL);
}

struct world *world_begin(const struct world_options *options)
{
	struct world *world;

	/* a test that failed has left its own; its memory is lost, but its ports are not in the way */
	if (present)
		world_end(present);
	clock_ns = 1000 * WORLD_MS;
	world = calloc(1, sizeof(*world));
	present = world;
	if (options)
		world->options = *options;
	world_defaults(&world->options);
	wire_begin(world->options.max_payload);
	make_side(&world->a, &world->options, 0, NULL);
	make_side(&world->b, &world->options, 1, world->options.one_nic ? world->a.nic : NULL);
	world_connect(world);
	return world;
}

void world_side_connect(struct world_side *side, const struct world_options *options, uint8_t sgid_index,
			const uint8_t gid[BL_SNIC_GID_LEN], uint32_t qpn)
{
	struct bl_snic_qp_mod mod = {
		.state = BL_SNIC_INIT,
		.access = options->access,
		.dest_qpn = qpn,
		.sgid_index = sgid_index,
		.mtu = options->mtu,
		.rq_psn = options->sq_psn,
		.sq_psn = options->sq_psn,
		.ack_timeout = 14,
		.retry_cnt = options->retry_cnt,
		.rnr_retry = options->rnr_retry,
		.min_rnr_timer = 12,
		.max_rd_atomic = options->max_rd,
		.max_dest_rd_atomic = options->max_rd,
	};

	memcpy(mod.dest_gid, gid, sizeof(mod.dest_gid));
	check_eq(bl_snic_qp_modify(side->qp, &mod), 0);
	mod.state = BL_SNIC_RTR;
	check_eq(bl_snic_qp_modify(side->qp, &mod), 0);
	mod.state = BL_SNIC_RTS;
	check_eq(bl_snic_qp_modify(side->qp, &mod), 0);
}

/* Whose NIC a side is on, as an index. */
static int number_of(const struct world *world, const struct world_side *side)
{
	return side == &world->b || (side != &world->a && side->nic == world->b.nic);
}

void world_side_to_rts(struct world *world, struct world_side *side, struct world_side *peer)
{
	const struct world_options *options = &world->options;
	int own = number_of(world, side), other = number_of(world, peer);
	uint8_t gid[BL_SNIC_GID_LEN];

	enter(options, other);
	check_eq(bl_snic_gid_at(peer->nic, options->sgid[other], gid), 0);
	enter(options, own);
	world_side_connect(side, options, options->sgid[own], gid, bl_snic_qp_num(peer->qp));
}

void world_connect(struct world *world)
{
	world_side_to_rts(world, &world->a, &world->b);
	world_side_to_rts(world, &world->b, &world->a);
}

static void drop_side(struct world_side *side, bool close)
{
	int bad = 0;

	if (!side->nic)
		return;
	if (side->qp)
		bad |= bl_snic_qp_destroy(side->qp);
	if (side->srq)
		bad |= bl_snic_srq_destroy(side->srq);
	if (side->mr)
		bad |= bl_snic_mr_destroy(side->mr);
	if (side->send.cq)
		bad |= bl_snic_cq_destroy(side->send.cq);
	if (side->recv.cq)
		bad |= bl_snic_cq_destroy(side->recv.cq);
	if (side->uar)
		bad |= bl_snic_uar_destroy(side->uar);
	if (side->pd)
		bad |= bl_snic_pd_destroy(side->pd);
	if (close)
		bl_snic_close(side->nic);
	free(side->send.ring);
	free(side->recv.ring);
	free(side->sq);
	free(side->rq);
	free(side->mem);
	check_eq(bad, 0);
}

void world_side_drop(struct world_side *side)
{
	drop_side(side, true);
}

void world_end(struct world *world)
{
	present = NULL;
	drop_side(&world->b, !world->options.one_nic);
	drop_side(&world->a, true);
	free(world);
	check_eq(wire_links(), 0);
}

void world_run(struct world *world)
{
	int idle = 0;

	for (int turns = 0; idle < 2 && turns < 1000000; turns++) {
		int a, b;

		enter(&world->options, 0);
		a = bl_snic_progress(world->a.nic);
		enter(&world->options, 1);
		b = bl_snic_progress(world->b.nic);
		check(a >= 0 && b >= 0);
		idle = a || b ? 0 : idle + 1;
	}
	check(idle == 2);
}

void world_wait(struct world *world, uint64_t ns)
{
	for (uint64_t gone = 0; gone < ns; gone += WORLD_MS) {
		clock_ns += WORLD_MS;
		world_run(world);
	}
}

void world_leap(struct world *world, uint64_t ns)
{
	clock_ns += ns;
	world_run(world);
}

bool world_poll(struct world_queue *queue, struct world_cqe *cqe)
{
	const uint8_t *raw = queue->ring + (queue->ci & (queue->nr - 1)) * 64;
	uint64_t last = __atomic_load_n((const uint64_t *)(raw + 56), __ATOMIC_ACQUIRE);
	uint8_t tail[8], own = (uint8_t) !!(queue->ci & queue->nr);
	uint32_t word;

	memcpy(tail, &last, sizeof(tail));
	if ((tail[7] & 1) != own || tail[7] >> 4 == 15)
		return false;
	memcpy(&word, tail, sizeof(word));
	*cqe = (struct world_cqe){
		.opcode = tail[7] >> 4,
		.solicited = tail[7] & 2,
		.send_opcode = tail[0],
		.qpn = be32toh(word) & 0xffffff,
		.counter = (uint16_t)(tail[4] << 8 | tail[5]),
		.vendor = raw[54],
		.syndrome = raw[55],
	};
	if (cqe->opcode < 13)
		cqe->vendor = cqe->syndrome = 0;
	memcpy(&word, raw + 32, sizeof(word));
	cqe->srqn = be32toh(word);
	memcpy(&word, raw + 44, sizeof(word));
	cqe->len = be32toh(word);
	memcpy(&cqe->imm, raw + 36, sizeof(cqe->imm));
	queue->ci++;
	__atomic_store_n(&queue->record[0], htobe32((uint32_t)queue->ci & 0xffffff), __ATOMIC_RELEASE);
	return true;
}

struct world_cqe world_expect(struct world_queue *queue, uint8_t opcode, uint8_t syndrome, uint16_t counter)
{
	struct world_cqe cqe;

	check(world_poll(queue, &cqe));
	check_eq(cqe.syndrome, syndrome);
	check_eq(cqe.opcode, opcode);
	check_eq(cqe.counter, counter);
	return cqe;
}

void world_expect_none(struct world_queue *queue)
{
	struct world_cqe cqe;

	check(!world_poll(queue, &cqe));
}

uint64_t world_counter(const struct world_side *side, enum bl_snic_counter counter)
{
	uint64_t values[BL_SNIC_NR_COUNTERS];

	bl_snic_counters(side->nic, values);
	return values[counter];
}

struct bl_snic_qp_info world_query(const struct world_side *side)
{
	struct bl_snic_qp_info info;

	check_eq(bl_snic_qp_query(side->qp, &info), 0);
	return info;
}
