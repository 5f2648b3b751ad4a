// SPDX-License-Identifier: MIT
/* Memory behind functions, such as a GPU's: what is written is seen before what tells of it, and it may go away. */
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

#define FAR_LEN 8192

/* What was written, and what of it its owner sees: that is all once it is flushed. */
struct far {
	uint8_t written[FAR_LEN];
	uint8_t seen[FAR_LEN];
	unsigned int reads, writes, flushes;
	int fails;
};

static struct far far;

static int far_read(void *priv, uint64_t off, void *dst, size_t len)
{
	struct far *at = priv;

	check(off + len <= FAR_LEN);
	memcpy(dst, at->written + off, len);
	at->reads++;
	return at->fails;
}

static int far_write(void *priv, uint64_t off, const void *src, size_t len)
{
	struct far *at = priv;

	check(off + len <= FAR_LEN);
	memcpy(at->written + off, src, len);
	at->writes++;
	return at->fails;
}

static void far_flush(void *priv)
{
	struct far *at = priv;

	memcpy(at->seen, at->written, FAR_LEN);
	at->flushes++;
}

static struct bl_snic_mr *far_region(struct world_side *side)
{
	struct bl_snic_mem mem = {.read = far_read, .write = far_write, .flush = far_flush, .priv = &far};
	struct bl_snic_mr *mr;

	memset(&far, 0, sizeof(far));
	check_eq(bl_snic_mr_create(side->pd, &mem, 0, FAR_LEN,
				   BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_WRITE | BL_SNIC_REMOTE_READ, &mr),
		 0);
	return mr;
}

static void end(struct world *w, struct bl_snic_mr *mr)
{
	check_eq(bl_snic_mr_destroy(mr), 0);
	world_end(w);
}

static void post_far_write(struct world *w, uint32_t key, uint64_t to, uint32_t len)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, to, key);
	wqe_data(&wqe, w->a.iova, w->a.key, len);
	wqe_post(&wqe, &w->a);
}

/* Looks at what the owner sees, at the moment in which a word elsewhere changes, or a packet tells of it. */
static bool told_too_early;

static enum world_fate on_ack(const struct bl_packet *packet, unsigned int nr)
{
	if (packet->opcode == BL_PKT_ACK && !is_filled(far.seen, 3000, 1))
		told_too_early = true;
	return WORLD_PASS;
}

static void a_write_is_seen_before_it_is_acknowledged(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_mr *mr = far_region(&w->b);

	told_too_early = false;
	world_fate = on_ack;
	fill(w->a.mem, 3000, 1);
	post_far_write(w, bl_snic_mr_rkey(mr), 0, 3000);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(!told_too_early);
	check(far.flushes >= 1);
	end(w, mr);
}

/* A flag in other memory of the same side. */
static int flag_write(void *priv, uint64_t off, const void *src, size_t len)
{
	if (!is_filled(far.seen, 3000, 1))
		told_too_early = true;
	return 0;
}

static void a_write_is_seen_before_a_later_one_elsewhere(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_mr *mr = far_region(&w->b), *flag;
	struct bl_snic_mem mem = {.read = far_read, .write = flag_write};

	told_too_early = false;
	check_eq(bl_snic_mr_create(w->b.pd, &mem, 0, 64, BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_WRITE, &flag), 0);
	fill(w->a.mem, 3000, 1);
	post_far_write(w, bl_snic_mr_rkey(mr), 0, 3000);
	post_far_write(w, bl_snic_mr_rkey(flag), 0, 8);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check(!told_too_early);
	check_eq(bl_snic_mr_destroy(flag), 0);
	end(w, mr);
}

/* The ring of completions lies behind functions too. */
static uint8_t cq_ring[64 * 4];
static unsigned int cq_writes;

static int cq_write(void *priv, uint64_t off, const void *src, size_t len)
{
	check(off + len <= sizeof(cq_ring));
	/* the rest of a CQE comes before its last word */
	check(off % 64 == 56 ? cq_writes % 2 == 1 && len == 8 : cq_writes % 2 == 0 && off % 64 == 0 && len == 56);
	memcpy(cq_ring + off, src, len);
	cq_writes++;
	if (!is_filled(far.seen, 3000, 1))
		told_too_early = true;
	return 0;
}

static void a_read_is_seen_before_its_completion(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_mr *mr = far_region(&w->a);
	struct bl_snic_qp_attr attr = world_query(&w->a).attr;
	struct bl_snic_cq_attr cq_attr = {.ring.read = far_read, .ring.write = cq_write, .nr = 4, .overrun = true};
	struct world_wqe wqe;
	struct bl_snic_cq *cq;

	told_too_early = false;
	cq_writes = 0;
	memset(cq_ring, 0xf1, sizeof(cq_ring));
	check_eq(bl_snic_qp_destroy(w->a.qp), 0);
	check_eq(bl_snic_cq_create(w->a.nic, &cq_attr, &cq), 0);
	attr.send_cq = cq;
	check_eq(bl_snic_qp_create(w->a.pd, &attr, &w->a.qp), 0);
	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	world_connect(w);
	fill(w->b.mem, 3000, 1);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_READ, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key);
	wqe_data(&wqe, 0, bl_snic_mr_lkey(mr), 3000);
	wqe_post(&wqe, &w->a);
	world_run(w);
	check_eq(cq_writes, 2);
	check_eq(cq_ring[63], 0);
	check(!told_too_early);
	check_eq(bl_snic_qp_destroy(w->a.qp), 0);
	w->a.qp = NULL;
	check_eq(bl_snic_cq_destroy(cq), 0);
	end(w, mr);
}

static void memory_that_goes_away_there_is_a_remote_error(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_mr *mr = far_region(&w->b);

	far.fails = -EFAULT;
	post_far_write(w, bl_snic_mr_rkey(mr), 0, 100);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x13, 0);
	check_has(world_query(&w->b).error.text, "cannot be written any more");
	end(w, mr);
}

static void memory_that_goes_away_here_is_a_local_error(void)
{
	static const uint8_t opcodes[] = {BL_WQE_WRITE, BL_WQE_READ};

	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct world *w = world_begin(NULL);
		struct bl_snic_mr *mr = far_region(&w->a);
		struct world_wqe wqe;

		far.fails = -EFAULT;
		wqe_begin(&wqe, &w->a, 0, opcodes[i], WORLD_SIGNAL, 0);
		wqe_raddr(&wqe, w->b.iova, w->b.key);
		wqe_data(&wqe, 0, bl_snic_mr_lkey(mr), 100);
		wqe_post(&wqe, &w->a);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x11, 0);
		end(w, mr);
	}
}

/* Many requests, one long read of the ring: a slow memory is not read once per block. */
static struct world *ring_world;
static unsigned int ring_reads;

static int ring_read(void *priv, uint64_t off, void *dst, size_t len)
{
	memcpy(dst, ring_world->a.sq + off, len);
	ring_reads++;
	return far.fails;
}

static void a_ring_behind_functions_is_read_in_long_pieces(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_qp_attr attr = world_query(&w->a).attr;

	memset(&far, 0, sizeof(far));
	ring_world = w;
	ring_reads = 0;
	check_eq(bl_snic_qp_destroy(w->a.qp), 0);
	attr.sq = (struct bl_snic_mem){.read = ring_read, .write = far_write};
	check_eq(bl_snic_qp_create(w->a.pd, &attr, &w->a.qp), 0);
	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	world_connect(w);
	for (unsigned int i = 0; i < 60; i++) {
		struct world_wqe wqe;

		wqe_begin(&wqe, &w->a, 0, BL_WQE_NOP, WORLD_SIGNAL, 0);
		wqe_put(&wqe, &w->a);
	}
	side_ring(&w->a);
	world_run(w);
	for (uint16_t i = 0; i < 60; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	check_eq(ring_reads, 1);
	far.fails = -EFAULT;
	post_nop(&w->a, WORLD_SIGNAL);
	world_run(w);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_ERR);
	check_has(world_query(&w->a).error.text, "cannot be read");
	world_end(w);
}

static const struct tap_test tests[] = {
	{"a_write_is_seen_before_it_is_acknowledged", a_write_is_seen_before_it_is_acknowledged},
	{"a_write_is_seen_before_a_later_one_elsewhere", a_write_is_seen_before_a_later_one_elsewhere},
	{"a_read_is_seen_before_its_completion", a_read_is_seen_before_its_completion},
	{"memory_that_goes_away_there_is_a_remote_error", memory_that_goes_away_there_is_a_remote_error},
	{"memory_that_goes_away_here_is_a_local_error", memory_that_goes_away_here_is_a_local_error},
	{"a_ring_behind_functions_is_read_in_long_pieces", a_ring_behind_functions_is_read_in_long_pieces},
};

TAP_MAIN(tests)
