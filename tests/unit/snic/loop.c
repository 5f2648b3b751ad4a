// SPDX-License-Identifier: MIT
/* Short messages between two queue pairs of one NIC: what is handed over, what is a packet all the same, and in which order. */
#include "softnic/cq.h"
#include "softnic/nic.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

#define SECOND (1000 * WORLD_MS)

static struct world *begin(void)
{
	return world_begin(&(struct world_options){.one_nic = true, .loops = true});
}

static void check_ways(const struct world *w, uint64_t looped, uint64_t packets)
{
	check_eq(world_counter(&w->a, BL_SNIC_LOOPED), looped);
	check_eq(world_counter(&w->a, BL_SNIC_TX_PACKETS), packets);
}

static bool has_address(uint8_t opcode)
{
	return opcode == BL_WQE_WRITE || opcode == BL_WQE_WRITE_IMM;
}

/* Of bytes at offset 0 of the memory to offset 1024 of the peer's, where it is a write. */
static uint16_t post(struct world_side *side, struct world_side *peer, uint8_t opcode, uint32_t len, bool brings, uint8_t flags)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, side, 0, opcode, WORLD_SIGNAL | flags, 0x1234);
	if (has_address(opcode))
		wqe_raddr(&wqe, peer->iova + 1024, peer->key);
	if (brings)
		wqe_inline(&wqe, side->mem, len);
	else if (len)
		wqe_data(&wqe, side->iova, side->key, len);
	return wqe_post(&wqe, side);
}

/* What the receiver is told. */
static void expect_told(struct world_side *peer, uint8_t opcode, uint32_t len, uint16_t counter)
{
	static const uint8_t told[] = {
		[BL_WQE_SEND] = BL_CQE_RESP_SEND, [BL_WQE_SEND_IMM] = BL_CQE_RESP_SEND_IMM, [BL_WQE_WRITE_IMM] = BL_CQE_RESP_WRITE_IMM};
	struct world_cqe cqe;

	if (opcode == BL_WQE_WRITE) {
		world_expect_none(&peer->recv);
		return;
	}
	cqe = world_expect(&peer->recv, told[opcode], 0, counter);
	check_eq(cqe.len, len);
	check_eq(cqe.imm, opcode == BL_WQE_SEND ? 0 : 0x1234);
	check_eq(cqe.solicited, opcode != BL_WQE_WRITE_IMM);
	world_expect_none(&peer->recv);
}

/* One message from @second or from the first. */
static void hand_over(bool second, uint8_t opcode, uint32_t len, bool brings)
{
	struct world *w = begin();
	struct world_side *from = second ? &w->b : &w->a, *to = second ? &w->a : &w->b;
	struct world_cqe cqe;

	fill(from->mem, len, opcode + len);
	if (opcode != BL_WQE_WRITE)
		post_recv(to, 1024, 64);
	post(from, to, opcode, len, brings, opcode == BL_WQE_WRITE_IMM ? 0 : 2);
	world_run(w);
	cqe = world_expect(&from->send, BL_CQE_REQ, 0, 0);
	check_eq(cqe.send_opcode, opcode);
	check_eq(cqe.len, len);
	world_expect_none(&from->send);
	expect_told(to, opcode, len, 0);
	check(is_filled(to->mem + 1024, len, opcode + len));
	check_eq(to->mem[1024 + len], 0);
	check_ways(w, 1, 0);
	check_eq(world_counter(&w->a, BL_SNIC_RX_PACKETS), 0);
	check_eq(world_counter(&w->a, BL_SNIC_SERVED), 1);
	check_eq(world_counter(&w->a, BL_SNIC_SERVED_BYTES), len);
	check_eq(world_counter(&w->a, BL_SNIC_WQE_DONE_BYTES), len);
	check_eq(world_query(from).next_psn, 1);
	check_eq(world_query(from).acked_psn, 0);
	check_eq(world_query(to).expected_psn, 1);
	world_end(w);
}

static const uint8_t kinds[] = {BL_WQE_WRITE, BL_WQE_WRITE_IMM, BL_WQE_SEND, BL_WQE_SEND_IMM};

static void short_messages_need_no_packet(void)
{
	static const uint32_t lens[] = {0, 1, 8, 44, 63, 64};

	for (size_t i = 0; i < sizeof(kinds); i++) {
		for (size_t j = 0; j < sizeof(lens) / sizeof(lens[0]); j++) {
			for (int way = 0; way < 4; way++)
				hand_over(way & 1, kinds[i], lens[j], way & 2);
		}
	}
}

/* A write of @len bytes; @packets: that it takes, with those of its answers that are this NIC's. */
static void expect_packets(const struct world_options *options, uint32_t len, uint64_t packets)
{
	struct world *w = world_begin(options);

	fill(w->a.mem, len, 3);
	post(&w->a, &w->b, BL_WQE_WRITE, len, false, 0);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->b.mem + 1024, len, 3));
	check_ways(w, 0, packets);
	world_end(w);
}

static void what_is_longer_goes_in_packets(void)
{
	expect_packets(&(struct world_options){.one_nic = true, .loops = true}, 65, 2);
	expect_packets(&(struct world_options){.one_nic = true, .loops = true}, 1025, 3);
}

static void an_unreliable_connection_has_packets(void)
{
	expect_packets(&(struct world_options){.one_nic = true, .loops = true, .uc = true}, 8, 1);
}

/* Faults are those of a wire, which must not be left out then, whatever their rates are. */
static void faults_are_of_packets(void)
{
	const struct bl_snic_fault fault = {.seed = 1};

	expect_packets(&(struct world_options){.one_nic = true, .loops = true, .fault = &fault}, 8, 2);
}

static void a_wire_that_is_to_be_used_has_packets(void)
{
	expect_packets(&(struct world_options){.one_nic = true}, 8, 2);
}

static void two_nics_have_packets(void)
{
	expect_packets(&(struct world_options){.loops = true}, 8, 1);
}

static void one_that_is_connected_to_itself_has_packets(void)
{
	struct world *w = begin();

	check_eq(bl_snic_qp_modify(w->a.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	world_side_to_rts(w, &w->a, &w->a);
	fill(w->a.mem, 8, 1);
	post(&w->a, &w->a, BL_WQE_WRITE, 8, true, 0);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->a.mem + 1024, 8, 1));
	check_ways(w, 0, 2);
	world_end(w);
}

static uint8_t lost;

static enum world_fate lose(const struct bl_packet *packet, unsigned int nr)
{
	return packet->opcode == lost ? WORLD_DROP : WORLD_PASS;
}

static void post_first(struct world *w, uint8_t packet)
{
	if (packet == BL_PKT_READ_ONLY)
		post_read(&w->a, &w->b, 4096, 8192, 100);
	else if (packet == BL_PKT_ATOMIC_ACK)
		post_add(&w->a, &w->b, 8192, 4096, 1);
	else
		post_write(&w->a, &w->b, 8192, 2048, packet == BL_PKT_WRITE_LAST ? 2000 : 100);
}

/* What is under way is lost, or its answer: nothing passes it, and all of it comes in its order. */
static void behind_what_is_under_way_there_are_packets(void)
{
	static const uint8_t packets[] = {BL_PKT_WRITE_ONLY, BL_PKT_WRITE_LAST, BL_PKT_ACK, BL_PKT_READ_ONLY, BL_PKT_ATOMIC_ACK};

	for (size_t i = 0; i < sizeof(packets); i++) {
		struct world *w = begin();

		lost = packets[i];
		world_fate = lose;
		fill(w->a.mem, 8, 1);
		post_first(w, lost);
		world_run(w);
		post(&w->a, &w->b, BL_WQE_WRITE, 8, true, 0);
		post(&w->a, &w->b, BL_WQE_SEND, 8, false, 0);
		post_recv(&w->b, 0, 8);
		world_run(w);
		check_eq(world_counter(&w->a, BL_SNIC_LOOPED), 0);
		world_expect_none(&w->a.send);
		world_fate = NULL;
		world_wait(w, SECOND);
		for (uint16_t nr = 0; nr < 3; nr++)
			world_expect(&w->a.send, BL_CQE_REQ, 0, nr);
		check_eq(world_counter(&w->a, BL_SNIC_SERVED), 3);
		check_eq(world_counter(&w->a, BL_SNIC_LOOPED), 0);
		check(is_filled(w->b.mem + 1024, 8, 1));
		/* and what comes after all of that does not go there any more */
		post(&w->a, &w->b, BL_WQE_WRITE, 8, true, 0);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, 3);
		check_eq(world_counter(&w->a, BL_SNIC_LOOPED), 1);
		world_end(w);
	}
}

/* Lists say in which order messages have come. */
static void none_overtakes(void)
{
	static const uint32_t lens[] = {8, 2000, 16, 64, 65, 1, 5000, 0, 33};
	struct world *w = begin();

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		post_recv(&w->b, i * 5000, 5000);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		post_send(&w->a, 0, lens[i]);
		if (i % 3 == 2)
			post_read(&w->a, &w->b, 60000, 0, 8);
	}
	world_run(w);
	for (uint16_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		check_eq(world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, i).len, lens[i]);
	for (uint16_t i = 0; i < 12; i++)
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
	check(world_counter(&w->a, BL_SNIC_LOOPED) > 0);
	world_end(w);
}

/* Reads what the fenced one writes over. */
static void a_fence_holds_what_is_short(void)
{
	for (uint8_t mode = BL_WQE_READ_FENCE; mode <= BL_WQE_READ_AND_SMALL_FENCE; mode++) {
		for (int atomic = 0; atomic < 2; atomic++) {
			struct world *w = begin();

			lost = atomic ? BL_PKT_ATOMIC_ACK : BL_PKT_READ_ONLY;
			world_fate = lose;
			fill(w->a.mem, 8, 1);
			if (atomic)
				post_add(&w->a, &w->b, 1024, 4096, 5);
			else
				post_read(&w->a, &w->b, 4096, 1024, 8);
			post(&w->a, &w->b, BL_WQE_WRITE, 8, true, (uint8_t)(mode << 5));
			world_run(w);
			check(!is_filled(w->b.mem + 1024, 8, 1));
			world_fate = NULL;
			world_wait(w, SECOND);
			check(is_filled(w->b.mem + 1024, 8, 1));
			check_eq(memcmp(w->a.mem + 4096, (uint8_t[8]){0}, 8), 0);
			/* nothing is under way when the fence opens */
			check_eq(world_counter(&w->a, BL_SNIC_LOOPED), 1);
			world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
			world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
			world_end(w);
		}
	}
}

static uint32_t last_msn;

static enum world_fate note_ack(const struct bl_packet *packet, unsigned int nr)
{
	if (packet->opcode == BL_PKT_ACK)
		last_msn = packet->msn;
	return WORLD_PASS;
}

/* So does the count of messages go on. */
static void sequence_numbers_wrap(void)
{
	struct world *w = world_begin(&(struct world_options){.one_nic = true, .loops = true, .sq_psn = 0xfffffc});

	world_fate = note_ack;
	for (uint16_t i = 0; i < 12; i++) {
		/* one in packets between, so that both count alike */
		uint32_t len = i % 4 == 3 ? 3000 : 8;

		fill(w->a.mem, len, i);
		post(&w->a, &w->b, BL_WQE_WRITE, len, i % 4 == 1, 0);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, i);
		check(is_filled(w->b.mem + 1024, len, i));
	}
	check_eq(world_counter(&w->a, BL_SNIC_LOOPED), 9);
	check_eq(last_msn, 12);
	check_eq(world_query(&w->a).next_psn, (0xfffffc + 9 + 3 * 3) & 0xffffff);
	check_eq(world_query(&w->b).expected_psn, world_query(&w->a).next_psn);
	check_eq(world_counter(&w->a, BL_SNIC_TX_RETRIES), 0);
	world_end(w);
}

static void a_list_that_comes_late_gets_it_once(void)
{
	static const uint8_t opcodes[] = {BL_WQE_SEND, BL_WQE_WRITE_IMM, BL_WQE_SEND_IMM};

	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct world *w = begin();

		fill(w->a.mem, 8, 1);
		post(&w->a, &w->b, opcodes[i], 8, true, 2);
		post(&w->a, &w->b, BL_WQE_WRITE, 4, false, 0);
		world_run(w);
		world_expect_none(&w->a.send);
		check_eq(world_counter(&w->a, BL_SNIC_RNR_SENT), 1);
		check_eq(world_counter(&w->a, BL_SNIC_RNR_RECEIVED), 1);
		check_eq(w->b.mem[1024], 0);
		post_recv(&w->b, 1024, 64);
		post_recv(&w->b, 1024, 64);
		world_wait(w, 10 * WORLD_MS);
		world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
		world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
		check_eq(world_expect(&w->b.recv, opcodes[i] == BL_WQE_SEND	? BL_CQE_RESP_SEND
						  : opcodes[i] == BL_WQE_SEND_IMM ? BL_CQE_RESP_SEND_IMM
										  : BL_CQE_RESP_WRITE_IMM,
				      0, 0)
				 .len,
			 8);
		world_expect_none(&w->b.recv);
		check(is_filled(w->b.mem + 1024, 8, 1));
		check_eq(world_counter(&w->a, BL_SNIC_SERVED), 2);
		world_end(w);
	}
}

/* What did not go, since the way was blocked, is handed over when it can be: nobody is to wait for an answer then. */
static void one_that_was_blocked_leaves_no_timer(void)
{
	struct world *w = begin();

	check_eq(bl_snic_qp_modify(w->b.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	world_room = 0;
	post(&w->a, &w->b, BL_WQE_WRITE, 8, true, 0);
	world_run(w);
	world_expect_none(&w->a.send);
	world_side_to_rts(w, &w->b, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_ways(w, 1, 0);
	world_wait(w, 3 * SECOND);
	check_eq(world_counter(&w->a, BL_SNIC_TIMEOUTS), 0);
	check_eq(world_query(&w->a).mod.state, BL_SNIC_RTS);
	world_end(w);
}

/* In place of the queue pair of @side, with other completion queues. */
static void remake(struct world *w, struct world_side *side, struct bl_snic_cq *send, struct bl_snic_cq *recv)
{
	struct bl_snic_qp_attr attr = world_query(side).attr;

	attr.send_cq = send;
	attr.recv_cq = recv;
	check_eq(bl_snic_qp_destroy(side->qp), 0);
	check_eq(bl_snic_qp_modify((side == &w->a ? &w->b : &w->a)->qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_RST}), 0);
	memset(side->dbrec, 0, sizeof(side->dbrec));
	side->pi = side->rpi = 0;
	check_eq(bl_snic_qp_create(side->pd, &attr, &side->qp), 0);
	world_connect(w);
}

/* The receiver is told first. */
static void one_completion_queue_has_both(void)
{
	struct world *w = begin();

	remake(w, &w->b, w->a.send.cq, w->a.send.cq);
	for (uint16_t i = 0; i < 3; i++) {
		post_recv(&w->b, 1024, 64);
		post(&w->a, &w->b, BL_WQE_SEND, 8, i & 1, 0);
		world_run(w);
		check_eq(world_expect(&w->a.send, BL_CQE_RESP_SEND, 0, i).qpn, bl_snic_qp_num(w->b.qp));
		check_eq(world_expect(&w->a.send, BL_CQE_REQ, 0, i).qpn, bl_snic_qp_num(w->a.qp));
		world_expect_none(&w->a.send);
	}
	check_ways(w, 3, 0);
	world_end(w);
}

/* The same number, and another queue pair, which is not connected: nothing reaches it. */
static void another_with_the_number_is_another(void)
{
	struct world *w = begin();
	struct bl_snic_qp_attr attr = world_query(&w->b).attr;
	uint32_t num = bl_snic_qp_num(w->b.qp);

	post(&w->a, &w->b, BL_WQE_WRITE, 8, true, 0);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	memset(w->b.mem, 0, 2048);
	check_eq(bl_snic_qp_destroy(w->b.qp), 0);
	w->a.nic->next_qp = num - 1;
	check_eq(bl_snic_qp_create(w->b.pd, &attr, &w->b.qp), 0);
	check_eq(bl_snic_qp_num(w->b.qp), num);
	fill(w->a.mem, 8, 1);
	post(&w->a, &w->b, BL_WQE_WRITE, 8, true, 0);
	world_run(w);
	world_expect_none(&w->a.send);
	check_eq(world_counter(&w->a, BL_SNIC_RX_UNKNOWN_QP), 1);
	/* connected to a third one, it is not the sender's peer; nor is its sequence number the one that comes */
	world_side_to_rts(w, &w->b, &w->b);
	post(&w->a, &w->b, BL_WQE_WRITE, 8, true, 0);
	world_wait(w, 300 * WORLD_MS);
	check_eq(w->b.mem[1024], 0);
	check_eq(world_counter(&w->a, BL_SNIC_LOOPED), 1);
	check(world_counter(&w->a, BL_SNIC_RX_WRONG_PEER) > 0);
	world_end(w);
}

/* What is posted to a queue pair in ERR is flushed, and goes nowhere. */
static void what_is_flushed_is_not_written(void)
{
	for (int brings = 0; brings < 2; brings++) {
		struct world *w = begin();

		fill(w->a.mem, 8, 1);
		check_eq(bl_snic_qp_modify(w->a.qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}), 0);
		post(&w->a, &w->b, BL_WQE_WRITE, 8, brings, 0);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x05, 0);
		check_eq(w->b.mem[1024], 0);
		check_ways(w, 0, 0);
		check_eq(world_query(&w->b).mod.state, BL_SNIC_RTS);
		world_end(w);
	}
}

/* Memory whose owner sees what was written when it is flushed, and a ring that looks at it when it is written to. */
static struct {
	uint8_t written[64], seen[64];
	uint8_t ring[64 * 64];
	unsigned int cqes, early;
} far;

static int far_read(void *priv, uint64_t off, void *dst, size_t len)
{
	memcpy(dst, far.written + off, len);
	return 0;
}

static int far_write(void *priv, uint64_t off, const void *src, size_t len)
{
	check(off + len <= sizeof(far.written));
	memcpy(far.written + off, src, len);
	return 0;
}

static void far_flush(void *priv)
{
	memcpy(far.seen, far.written, sizeof(far.seen));
}

static int ring_read(void *priv, uint64_t off, void *dst, size_t len)
{
	memcpy(dst, far.ring + off, len);
	return 0;
}

static int ring_write(void *priv, uint64_t off, const void *src, size_t len)
{
	memcpy(far.ring + off, src, len);
	far.cqes++;
	if (memcmp(far.seen, far.written, sizeof(far.seen)) != 0)
		far.early++;
	return 0;
}

static void a_completion_comes_after_the_flush(void)
{
	const struct bl_snic_mem memory = {.read = far_read, .write = far_write, .flush = far_flush};
	const struct bl_snic_cq_attr attr = {.ring = {.read = ring_read, .write = ring_write}, .nr = 64, .overrun = true};
	struct bl_snic_mr *mr;
	struct bl_snic_cq *cq;
	struct world *w = begin();

	memset(&far, 0, sizeof(far));
	check_eq(bl_snic_mr_create(w->b.pd, &memory, 0, 64, BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_WRITE, &mr), 0);
	check_eq(bl_snic_cq_create(w->a.nic, &attr, &cq), 0);
	remake(w, &w->a, cq, cq);
	for (unsigned int i = 0; i < 8; i++) {
		struct world_wqe wqe;

		fill(w->a.mem, 8, i);
		wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
		wqe_raddr(&wqe, 8 * (i % 8), bl_snic_mr_rkey(mr));
		if (i & 1)
			wqe_inline(&wqe, w->a.mem, 8);
		else
			wqe_data(&wqe, w->a.iova, w->a.key, 8);
		wqe_post(&wqe, &w->a);
		world_run(w);
		check(is_filled(far.seen + 8UL * i, 8, i));
	}
	check_eq(far.cqes, 16);
	check_eq(far.early, 0);
	check_ways(w, 8, 0);
	check_eq(bl_snic_mr_destroy(mr), 0);
	remake(w, &w->a, w->a.send.cq, w->a.recv.cq);
	check_eq(bl_snic_cq_destroy(cq), 0);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"loop_short_messages_need_no_packet", short_messages_need_no_packet},
	{"loop_what_is_longer_goes_in_packets", what_is_longer_goes_in_packets},
	{"loop_an_unreliable_connection_has_packets", an_unreliable_connection_has_packets},
	{"loop_faults_are_of_packets", faults_are_of_packets},
	{"loop_a_wire_that_is_to_be_used_has_packets", a_wire_that_is_to_be_used_has_packets},
	{"loop_two_nics_have_packets", two_nics_have_packets},
	{"loop_one_that_is_connected_to_itself_has_packets", one_that_is_connected_to_itself_has_packets},
	{"loop_behind_what_is_under_way_there_are_packets", behind_what_is_under_way_there_are_packets},
	{"loop_none_overtakes", none_overtakes},
	{"loop_a_fence_holds_what_is_short", a_fence_holds_what_is_short},
	{"loop_sequence_numbers_wrap", sequence_numbers_wrap},
	{"loop_a_list_that_comes_late_gets_it_once", a_list_that_comes_late_gets_it_once},
	{"loop_one_that_was_blocked_leaves_no_timer", one_that_was_blocked_leaves_no_timer},
	{"loop_one_completion_queue_has_both", one_completion_queue_has_both},
	{"loop_another_with_the_number_is_another", another_with_the_number_is_another},
	{"loop_what_is_flushed_is_not_written", what_is_flushed_is_not_written},
	{"loop_a_completion_comes_after_the_flush", a_completion_comes_after_the_flush},
};

TAP_MAIN(tests)
