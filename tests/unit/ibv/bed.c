// SPDX-License-Identifier: MIT
#include "bed.h"

#include <endian.h>
#include <string.h>
#include <unistd.h>

#include "net/soft.h"
#include "tap.h"
#include "util/clock.h"

#define WAIT_NS (10000 * BED_MS)
#define IOVA	0x700000000000ULL

static struct bed bed;
static bool used;
static const struct bl_nic_ops *const ops = &bl_nic_verbs;

/* Where things lie in a side's memory. */
enum { RING = 0, SEND_RING = 512 * 64, RECV_RING = SEND_RING + 1024 * 64, DBR = RECV_RING + 1024 * 64, BYTES = DBR + 4096 };
#define ALL (BYTES + BED_BYTES)

static struct bl_nic_umem *umem(struct bed_side *side, size_t off, size_t len)
{
	const struct bl_nic_memory memory = {
		.addr = (char *)side->memory + off, .len = len, .access = IBV_ACCESS_LOCAL_WRITE, .dmabuf_fd = -1 };
	struct bl_nic_umem *made;
	uint32_t id;

	check_eq(ops->umem_create(side->nic, &memory, &made, &id), 0);
	return made;
}

static struct bl_nic_cq *make_cq(struct bed_side *side, struct bl_nic_umem *ring, struct world_queue *queue, size_t off)
{
	const struct bl_nic_cq_attr attr = { .ring = ring, .nr = bed.options.cq_nr, .overrun = true };
	struct bl_nic_cq *cq;
	uint32_t num;

	queue->ring = (uint8_t *)side->memory + off;
	queue->nr = bed.options.cq_nr;
	for (uint32_t i = 0; i < queue->nr; i++)
		queue->ring[i * 64 + 63] = 0xf1;
	check_eq(ops->cq_create(side->nic, &attr, &cq, &num), 0);
	return cq;
}

static void make_qp(struct bed_side *side)
{
	const struct bl_nic_qp_attr attr = {
		.type = bed.options.uc ? DOCA_VERBS_QP_TYPE_UC : DOCA_VERBS_QP_TYPE_RC,
		.ring = side->ring,
		.sq_off = 0,
		.sq_nr = bed.options.sq_nr,
		.rq_off = 256 * 64,
		.rq_nr = bed.options.rq_nr,
		.rq_sges = bed.options.rq_sges,
		.dbr = side->dbr,
		.send_cq = side->send_cq,
		.recv_cq = side->recv_cq,
		.uar = side->uar,
	};

	check_eq(ops->qp_create(side->nic, side->pd, &attr, &side->qp, &side->qpn), 0);
}

static void fill_side(struct bed_side *side, uint32_t lkey, uint32_t rkey)
{
	struct world_side *world = &side->side;

	world->nic = side->nic->snic;
	world->qp = side->qp->qp;
	world->uar = (struct bl_snic_uar *)side->uar;
	world->sq = side->memory;
	world->rq = (uint8_t *)side->memory + 256 * 64;
	world->sq_nr = bed.options.sq_nr;
	world->rq_nr = bed.options.rq_nr;
	world->rq_sges = bed.options.rq_sges;
	world->mem = (uint8_t *)side->memory + BYTES;
	world->iova = IOVA;
	world->bytes = BED_BYTES;
	world->key = lkey;
	side->far = *world;
	side->far.key = rkey;
}

static void side_begin(struct bed_side *side, const char *device)
{
	struct bl_nic_memory memory = { .len = BED_BYTES, .access = 0xf, .dmabuf_fd = -1 };
	struct bl_nic_uar_info info;
	uint32_t num, lkey, rkey;

	check_eq(ops->open(device, &side->nic), 0);
	side->memory = aligned_alloc(65536, (ALL + 65535) & ~65535UL);
	memset(side->memory, 0, ALL);
	check_eq(ops->pd_create(side->nic, &side->pd, &num), 0);
	memory.addr = (char *)side->memory + BYTES;
	check_eq(ops->mr_create(side->nic, side->pd, &memory, IOVA, &side->mr, &lkey, &rkey), 0);
	check_eq(ops->uar_create(side->nic, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &side->uar, &info), 0);
	side->ring = umem(side, RING, SEND_RING);
	side->send_ring = umem(side, SEND_RING, 1024 * 64);
	side->recv_ring = umem(side, RECV_RING, 1024 * 64);
	side->dbr = umem(side, DBR, 4096);
	side->send_cq = make_cq(side, side->send_ring, &side->side.send, SEND_RING);
	side->recv_cq = make_cq(side, side->recv_ring, &side->side.recv, RECV_RING);
	make_qp(side);
	fill_side(side, lkey, rkey);
}

/* The helpers ring the record of their own; the queue pair's is in its memory. */
static void use_records(struct bed_side *side)
{
	uint32_t *dbr = (uint32_t *)((char *)side->memory + DBR);

	__atomic_store_n(&dbr[0], side->side.dbrec[0], __ATOMIC_RELEASE);
	__atomic_store_n(&dbr[1], side->side.dbrec[1], __ATOMIC_RELEASE);
}

struct bed *bed_begin(const struct bed_options *options)
{
	if (used)
		bed_end(&bed);
	fake_ibv_reset();
	memset(&bed, 0, sizeof(bed));
	if (options)
		bed.options = *options;
	if (!bed.options.sq_nr)
		bed.options.sq_nr = 64;
	if (!bed.options.rq_nr)
		bed.options.rq_nr = 64;
	if (!bed.options.cq_nr)
		bed.options.cq_nr = 1024;
	if (!bed.options.rq_sges)
		bed.options.rq_sges = 1;
	if (!bed.options.rnr_retry && !bed.options.no_rnr)
		bed.options.rnr_retry = 7;
	if (bed.options.max_wr)
		fake_ibv.max_wr = bed.options.max_wr;
	fake_ibv.no_atomics = bed.options.no_atomics;
	fake_ibv.vendor = bed.options.vendor;
	fake_ibv.interface = bed.options.interface;
	if (bed.options.loopback)
		memcpy(fake_ibv.gids[2].raw + 12, (const uint8_t[]){ 127, 0, 77, 3 }, 4);
	used = true;
	side_begin(&bed.a, "fake0");
	side_begin(&bed.b, "fake1");
	if (!bed.options.unconnected)
		bed_connect(&bed);
	return &bed;
}

static void side_end(struct bed_side *side)
{
	if (!side->nic)
		return;
	if (side->qp)
		ops->qp_destroy(side->nic, side->qp);
	if (side->send_cq)
		ops->cq_destroy(side->nic, side->send_cq);
	if (side->recv_cq)
		ops->cq_destroy(side->nic, side->recv_cq);
	if (side->ring)
		ops->umem_destroy(side->nic, side->ring);
	if (side->send_ring)
		ops->umem_destroy(side->nic, side->send_ring);
	if (side->recv_ring)
		ops->umem_destroy(side->nic, side->recv_ring);
	if (side->dbr)
		ops->umem_destroy(side->nic, side->dbr);
	if (side->uar)
		ops->uar_destroy(side->nic, side->uar);
	if (side->mr)
		ops->mr_destroy(side->nic, side->mr);
	if (side->pd)
		ops->pd_destroy(side->nic, side->pd);
	ops->close(side->nic);
	free(side->memory);
}

void bed_end(struct bed *the_bed)
{
	used = false;
	side_end(&the_bed->a);
	side_end(&the_bed->b);
	memset(the_bed, 0, sizeof(*the_bed));
	check_str(fake_ibv.complaint, "");
	check_eq(fake_ibv.live, 0);
}

static void fill_mod(struct bl_nic_qp_mod *mod, const struct bed_side *peer)
{
	*mod = (struct bl_nic_qp_mod){
		.addr_type = DOCA_VERBS_ADDR_TYPE_IPv4,
		.sgid_index = 2,
		.hop_limit = 77,
		.traffic_class = 0x68,
		.sl = 3,
		.port = 1,
		.dest_qpn = peer->qpn,
		.mtu = 1024,
		.rq_psn = 0x123456,
		.sq_psn = 0x123456,
		.ack_timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = bed.options.rnr_retry,
		.min_rnr_timer = 12,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 5,
		.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.mask = DOCA_VERBS_QP_ATTR_AH_ATTR,
	};
	memcpy(mod->gid, fake_ibv.gids[2].raw, 16);
}

int bed_move(struct bed *the_bed, struct bed_side *side, const struct bed_side *peer, enum doca_verbs_qp_state to)
{
	int ret = 0;

	if (!side->mod.port)
		fill_mod(&side->mod, peer);
	for (enum doca_verbs_qp_state state = DOCA_VERBS_QP_STATE_RST; state < to && !ret; state++) {
		side->mod.from = state;
		side->mod.to = state + 1;
		ret = ops->qp_modify(side->nic, side->qp, &side->mod);
	}
	return ret;
}

void bed_connect(struct bed *the_bed)
{
	check_eq(bed_move(the_bed, &the_bed->a, &the_bed->b, DOCA_VERBS_QP_STATE_RTS), 0);
	check_eq(bed_move(the_bed, &the_bed->b, &the_bed->a, DOCA_VERBS_QP_STATE_RTS), 0);
}

static bool poll_for(struct world_queue *queue, struct world_cqe *cqe, uint64_t ns)
{
	uint64_t end = bl_now_ns() + ns;

	do {
		use_records(&bed.a);
		use_records(&bed.b);
		if (world_poll(queue, cqe))
			return true;
		usleep(50);
	} while (bl_now_ns() < end);
	return false;
}

void bed_wait_count(struct bed *the_bed, const unsigned int *count, unsigned int nr)
{
	uint64_t end = bl_now_ns() + WAIT_NS;
	unsigned int got;

	do {
		use_records(&the_bed->a);
		use_records(&the_bed->b);
		usleep(100);
		fake_lock();
		got = *count;
		fake_unlock();
	} while (got < nr && bl_now_ns() < end);
	check(got >= nr);
}

struct world_cqe bed_expect(struct world_queue *queue, uint8_t opcode, uint8_t syndrome, uint16_t counter)
{
	struct world_cqe cqe;

	check(poll_for(queue, &cqe, WAIT_NS));
	check_eq(cqe.syndrome, syndrome);
	check_eq(cqe.opcode, opcode);
	check_eq(cqe.counter, counter);
	return cqe;
}

void bed_expect_none(struct world_queue *queue)
{
	struct world_cqe cqe;

	check(!poll_for(queue, &cqe, 20 * BED_MS));
}

struct bl_nic_qp_info bed_query(const struct bed_side *side)
{
	struct bl_nic_qp_info info;

	check_eq(ops->qp_query(side->nic, side->qp, &info), 0);
	return info;
}

void bed_wait_state(const struct bed_side *side, enum doca_verbs_qp_state state)
{
	uint64_t end = bl_now_ns() + WAIT_NS;

	while (bed_query(side).state != state && bl_now_ns() < end)
		usleep(100);
	check_eq(bed_query(side).state, state);
}
