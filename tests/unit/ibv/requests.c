// SPDX-License-Identifier: MIT
/* Requests of mlx5 through provider "verbs": what the device gets, and what comes back. */
#include <endian.h>

#include "bed.h"
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"

static void a_write_lands_and_completes(void)
{
	struct bed *bed = bed_begin(NULL);

	fill(bed->a.side.mem, 5000, 1);
	check_eq(post_write(&bed->a.side, &bed->b.far, 100, 0, 5000), 0);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
	check(is_filled(bed->b.side.mem + 100, 5000, 1));
	check_eq(fake_get(posts), 1);
	check_eq(fake_get(last.opcode), IBV_WR_RDMA_WRITE);
	check_eq(fake_get(last.wr.rdma.rkey), bed->b.far.key);
	check(bed->a.side.key != bed->a.far.key);
	bed_end(bed);
}

static void a_read_and_atomics_bring_values_back(void)
{
	struct bed *bed = bed_begin(NULL);
	struct world_wqe wqe;
	uint64_t value;

	fill(bed->b.side.mem + 4096, 3000, 2);
	post_read(&bed->a.side, &bed->b.far, 200, 4096, 3000);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
	check(is_filled(bed->a.side.mem + 200, 3000, 2));

	memset(bed->b.side.mem + 8192, 0, 8);
	bed->b.side.mem[8192] = 40;
	post_add(&bed->a.side, &bed->b.far, 8192, 64, 2);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 1);
	memcpy(&value, bed->a.side.mem + 64, 8);
	check_eq(value, 40);
	memcpy(&value, bed->b.side.mem + 8192, 8);
	check_eq(value, 42);

	wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_CMP_SWAP, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, bed->b.far.iova + 8192, bed->b.far.key);
	wqe_seg64(&wqe, 7, 42);
	wqe_data(&wqe, bed->a.side.iova + 72, bed->a.side.key, 8);
	wqe_post(&wqe, &bed->a.side);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 2);
	memcpy(&value, bed->a.side.mem + 72, 8);
	check_eq(value, 42);
	memcpy(&value, bed->b.side.mem + 8192, 8);
	check_eq(value, 7);
	bed_end(bed);
}

static void sends_and_immediates(bool uc)
{
	const struct bed_options options = { .uc = uc };
	struct bed *bed = bed_begin(&options);
	struct world_cqe cqe;
	struct world_wqe wqe;

	for (int i = 0; i < 4; i++)
		post_recv(&bed->b.side, 10000 + (size_t)i * 1000, 1000);
	/* an unreliable connection drops what finds no list: have them posted first */
	bed_wait_count(bed, &fake_ibv.receives, 4);
	fill(bed->a.side.mem, 900, 3);
	post_send(&bed->a.side, 0, 900);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
	cqe = bed_expect(&bed->b.side.recv, BL_CQE_RESP_SEND, 0, 0);
	check_eq(cqe.len, 900);
	check(is_filled(bed->b.side.mem + 10000, 900, 3));

	wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_SEND_IMM, WORLD_SIGNAL, htobe32(0x01020304));
	wqe_data(&wqe, bed->a.side.iova, bed->a.side.key, 10);
	wqe_post(&wqe, &bed->a.side);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 1);
	cqe = bed_expect(&bed->b.side.recv, BL_CQE_RESP_SEND_IMM, 0, 1);
	check_eq(be32toh(cqe.imm), 0x01020304);
	check_eq(cqe.len, 10);

	wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_WRITE_IMM, WORLD_SIGNAL, htobe32(0xa0b0c0d0));
	wqe_raddr(&wqe, bed->b.far.iova + 500, bed->b.far.key);
	wqe_data(&wqe, bed->a.side.iova, bed->a.side.key, 300);
	wqe_post(&wqe, &bed->a.side);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 2);
	cqe = bed_expect(&bed->b.side.recv, BL_CQE_RESP_WRITE_IMM, 0, 2);
	check_eq(be32toh(cqe.imm), 0xa0b0c0d0);
	check_eq(cqe.len, 300);
	check(is_filled(bed->b.side.mem + 500, 300, 3));

	/* no bytes at all */
	wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_SEND, WORLD_SIGNAL, 0);
	wqe_post(&wqe, &bed->a.side);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 3);
	cqe = bed_expect(&bed->b.side.recv, BL_CQE_RESP_SEND, 0, 3);
	check_eq(cqe.len, 0);
	bed_end(bed);
}

static void messages_and_immediates_use_up_receive_lists(void)
{
	sends_and_immediates(false);
}

static void an_unreliable_connection_sends_and_writes(void)
{
	sends_and_immediates(true);
}

static void inline_data_needs_no_key(void)
{
	struct bed *bed = bed_begin(NULL);
	uint8_t bytes[200];
	struct world_wqe wqe;

	fill(bytes, sizeof(bytes), 4);
	wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, bed->b.far.iova, bed->b.far.key);
	wqe_inline(&wqe, bytes, 28);
	wqe_post(&wqe, &bed->a.side);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
	check(is_filled(bed->b.side.mem, 28, 4));
	check_eq(fake_get(inline_posts), 1);

	/* more than the device takes inline, and mixed with memory: from the copy of the request */
	memset(bed->b.side.mem, 0, 300);
	fill(bed->a.side.mem, 50, 5);
	wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, bed->b.far.iova, bed->b.far.key);
	wqe_inline(&wqe, bytes, sizeof(bytes));
	wqe_data(&wqe, bed->a.side.iova, bed->a.side.key, 50);
	wqe_post(&wqe, &bed->a.side);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 1);
	check(is_filled(bed->b.side.mem, 200, 4));
	check(is_filled(bed->b.side.mem + 200, 50, 5));
	check_eq(fake_get(inline_posts), 1);
	check_eq(fake_get(segments), 2);
	bed_end(bed);
}

static void inline_data_that_wraps_at_the_end_of_the_ring_is_in_one_piece(void)
{
	const struct bed_options options = { .sq_nr = 16 };
	struct bed *bed = bed_begin(&options);
	uint8_t bytes[300];
	struct world_wqe wqe;

	/* 5 blocks each do not divide 16 */
	for (unsigned int i = 0; i < 40; i++) {
		uint16_t index;

		fill(bytes, sizeof(bytes), i);
		wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
		wqe_raddr(&wqe, bed->b.far.iova + i * 400, bed->b.far.key);
		wqe_inline(&wqe, bytes, 272);
		index = wqe_post(&wqe, &bed->a.side);
		bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, index);
		check(is_filled(bed->b.side.mem + i * 400, 272, i));
	}
	bed_end(bed);
}

static void only_what_is_signaled_completes(void)
{
	struct bed *bed = bed_begin(NULL);
	struct world_wqe wqe;

	for (unsigned int i = 0; i < 100; i++) {
		uint16_t index;

		wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_WRITE, i % 10 == 9 ? WORLD_SIGNAL : 0, 0);
		wqe_raddr(&wqe, bed->b.far.iova, bed->b.far.key);
		wqe_data(&wqe, bed->a.side.iova, bed->a.side.key, 8);
		index = wqe_post(&wqe, &bed->a.side);
		if (i % 10 == 9)
			bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, index);
	}
	bed_expect_none(&bed->a.side.send);
	check_eq(fake_get(posts), 100);
	bed_end(bed);
}

static void a_ring_may_be_longer_than_the_device_has_room(void)
{
	const struct bed_options options = { .sq_nr = 256, .max_wr = 16 };
	struct bed *bed = bed_begin(&options);

	fake_set(hold, true);
	for (unsigned int i = 0; i < 200; i++)
		post_write(&bed->a.side, &bed->b.far, i * 16, i * 16, 16);
	bed_wait_count(bed, &fake_ibv.posts, 16);
	bed_expect_none(&bed->a.side.send);
	check_eq(fake_get(posts), 16);
	fake_set(hold, false);
	for (unsigned int i = 0; i < 200; i++)
		bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, (uint16_t)i);
	bed_end(bed);
}

static void local_requests_keep_their_place(void)
{
	struct bed *bed = bed_begin(NULL);
	struct world_wqe wqe;

	fake_set(hold, true);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	post_nop(&bed->a.side, WORLD_SIGNAL);
	wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_DUMP, WORLD_SIGNAL, 0);
	wqe_data(&wqe, bed->a.side.iova, bed->a.side.key, 8);
	wqe_post(&wqe, &bed->a.side);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_wait_count(bed, &fake_ibv.posts, 1);
	bed_expect_none(&bed->a.side.send);
	check_eq(fake_get(posts), 1);
	fake_set(hold, false);
	for (uint16_t i = 0; i < 4; i++)
		bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, i);
	bed_end(bed);
}

static void fences_reach_the_device(void)
{
	struct bed *bed = bed_begin(NULL);
	struct world_wqe wqe;

	for (unsigned int fence = 0; fence <= 4; fence++) {
		wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_WRITE, (uint8_t)(fence << 5 | 2 | WORLD_SIGNAL), 0);
		wqe_raddr(&wqe, bed->b.far.iova, bed->b.far.key);
		wqe_data(&wqe, bed->a.side.iova, bed->a.side.key, 8);
		wqe_post(&wqe, &bed->a.side);
		bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, (uint16_t)fence);
		check_eq(!!(fake_get(last.send_flags) & IBV_SEND_FENCE), fence == 2 || fence == 4);
		check(fake_get(last.send_flags) & IBV_SEND_SOLICITED);
		check(fake_get(last.send_flags) & IBV_SEND_SIGNALED);
	}
	bed_end(bed);
}

/* Its own fence waits for ever now and then. */
static void fences_do_not_reach_rdma_rxe(void)
{
	struct bed *bed = bed_begin(&(struct bed_options){ .vendor = 0xffffff });
	struct world_wqe wqe;

	fake_set(hold, true);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	post_read(&bed->a.side, &bed->b.far, 0, 0, 8);
	post_add(&bed->a.side, &bed->b.far, 64, 8, 1);
	wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_WRITE, 2 << 5 | WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, bed->b.far.iova, bed->b.far.key);
	wqe_data(&wqe, bed->a.side.iova, bed->a.side.key, 8);
	wqe_post(&wqe, &bed->a.side);
	bed_wait_count(bed, &fake_ibv.posts, 3);
	bed_expect_none(&bed->a.side.send);
	check_eq(fake_get(posts), 3);
	fake_set(hold, false);
	for (uint16_t i = 0; i < 4; i++)
		bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, i);
	check(!(fake_get(last.send_flags) & IBV_SEND_FENCE));
	bed_end(bed);
}

static void strong_order_waits_for_everything(void)
{
	struct bed *bed = bed_begin(NULL);
	struct world_wqe wqe;

	fake_set(hold, true);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	wqe_begin(&wqe, &bed->a.side, 0, BL_WQE_WRITE, 3 << 5 | WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, bed->b.far.iova, bed->b.far.key);
	wqe_data(&wqe, bed->a.side.iova, bed->a.side.key, 8);
	wqe_post(&wqe, &bed->a.side);
	bed_wait_count(bed, &fake_ibv.posts, 1);
	bed_expect_none(&bed->a.side.send);
	check_eq(fake_get(posts), 1);
	fake_set(hold, false);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 1);
	bed_end(bed);
}

static void a_message_waits_for_a_receive_list(void)
{
	struct bed *bed = bed_begin(NULL);

	fill(bed->a.side.mem, 64, 6);
	post_send(&bed->a.side, 0, 64);
	bed_expect_none(&bed->a.side.send);
	post_recv(&bed->b.side, 0, 64);
	bed_expect(&bed->b.side.recv, BL_CQE_RESP_SEND, 0, 0);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
	check(is_filled(bed->b.side.mem, 64, 6));
	bed_end(bed);
}

static void receive_lists_may_be_posted_before_the_peer_is_known(void)
{
	const struct bed_options options = { .unconnected = true };
	struct bed *bed = bed_begin(&options);

	check_eq(bed_move(bed, &bed->b, &bed->a, DOCA_VERBS_QP_STATE_INIT), 0);
	for (int i = 0; i < 64; i++)
		post_recv(&bed->b.side, (size_t)i * 64, 64);
	bed_wait_count(bed, &fake_ibv.receives, 64);
	check_eq(bed_move(bed, &bed->a, &bed->b, DOCA_VERBS_QP_STATE_RTS), 0);
	bed->b.mod.from = DOCA_VERBS_QP_STATE_INIT;
	bed->b.mod.to = DOCA_VERBS_QP_STATE_RTR;
	check_eq(bl_nic_verbs.qp_modify(bed->b.nic, bed->b.qp, &bed->b.mod), 0);
	for (unsigned int i = 0; i < 64; i++) {
		fill(bed->a.side.mem, 64, i);
		post_send(&bed->a.side, 0, 64);
		bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, (uint16_t)i);
		bed_expect(&bed->b.side.recv, BL_CQE_RESP_SEND, 0, (uint16_t)i);
		check(is_filled(bed->b.side.mem + (size_t)i * 64, 64, i));
	}
	bed_end(bed);
}

static void moves_have_the_attributes_of_the_program(void)
{
	const struct bed_options options = { .unconnected = true };
	struct bed *bed = bed_begin(&options);

	check_eq(bed_move(bed, &bed->a, &bed->b, DOCA_VERBS_QP_STATE_RTR), 0);
	check_eq(fake_get(attr.path_mtu), IBV_MTU_1024);
	check_eq(fake_get(attr.dest_qp_num), bed->b.qpn);
	check_eq(fake_get(attr.rq_psn), 0x123456);
	check_eq(fake_get(attr.max_dest_rd_atomic), 5);
	check_eq(fake_get(attr.min_rnr_timer), 12);
	check_eq(fake_get(attr.ah_attr.is_global), 1);
	check_eq(fake_get(attr.ah_attr.sl), 3);
	check_eq(fake_get(attr.ah_attr.port_num), 1);
	check_eq(fake_get(attr.ah_attr.grh.sgid_index), 2);
	check_eq(fake_get(attr.ah_attr.grh.hop_limit), 77);
	check_eq(fake_get(attr.ah_attr.grh.traffic_class), 0x68);
	check(!memcmp(fake_ibv.attr.ah_attr.grh.dgid.raw, fake_ibv.gids[2].raw, 16));
	bed->a.mod.from = DOCA_VERBS_QP_STATE_RTR;
	bed->a.mod.to = DOCA_VERBS_QP_STATE_RTS;
	check_eq(bl_nic_verbs.qp_modify(bed->a.nic, bed->a.qp, &bed->a.mod), 0);
	check_eq(fake_get(attr.timeout), 14);
	check_eq(fake_get(attr.retry_cnt), 7);
	check_eq(fake_get(attr.rnr_retry), 7);
	check_eq(fake_get(attr.max_rd_atomic), 4);
	check_eq(fake_get(attr.sq_psn), 0x123456);
	bed_end(bed);
}

static void queues_begin_anew_after_a_reset(void)
{
	struct bed *bed = bed_begin(NULL);

	fake_set(hold, true);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	post_recv(&bed->a.side, 0, 8);
	bed_wait_count(bed, &fake_ibv.posts, 1);
	bed_wait_count(bed, &fake_ibv.receives, 1);
	bed->a.mod.from = DOCA_VERBS_QP_STATE_RTS;
	bed->a.mod.to = DOCA_VERBS_QP_STATE_RST;
	check_eq(bl_nic_verbs.qp_modify(bed->a.nic, bed->a.qp, &bed->a.mod), 0);
	memset(bed->a.side.dbrec, 0, sizeof(bed->a.side.dbrec));
	bed->a.side.pi = bed->a.side.rpi = 0;
	/* records are rewound by who owns them, before the queue pair looks again */
	bed_expect_none(&bed->a.side.send);
	check_eq(bed_move(bed, &bed->a, &bed->b, DOCA_VERBS_QP_STATE_RTS), 0);
	fake_set(hold, false);
	/* what was under way before is not told of any more */
	bed_expect_none(&bed->a.side.send);
	post_write(&bed->a.side, &bed->b.far, 0, 0, 8);
	bed_expect(&bed->a.side.send, BL_CQE_REQ, 0, 0);
	bed_end(bed);
}

static const struct tap_test tests[] = {
	{ "verbs_a_write_lands_and_completes", a_write_lands_and_completes },
	{ "verbs_a_read_and_atomics_bring_values_back", a_read_and_atomics_bring_values_back },
	{ "verbs_messages_and_immediates_use_up_receive_lists", messages_and_immediates_use_up_receive_lists },
	{ "verbs_an_unreliable_connection_sends_and_writes", an_unreliable_connection_sends_and_writes },
	{ "verbs_inline_data_needs_no_key", inline_data_needs_no_key },
	{ "verbs_inline_data_that_wraps_at_the_end_of_the_ring_is_in_one_piece",
	  inline_data_that_wraps_at_the_end_of_the_ring_is_in_one_piece },
	{ "verbs_only_what_is_signaled_completes", only_what_is_signaled_completes },
	{ "verbs_a_ring_may_be_longer_than_the_device_has_room", a_ring_may_be_longer_than_the_device_has_room },
	{ "verbs_local_requests_keep_their_place", local_requests_keep_their_place },
	{ "verbs_fences_reach_the_device", fences_reach_the_device },
	{ "verbs_fences_do_not_reach_rdma_rxe", fences_do_not_reach_rdma_rxe },
	{ "verbs_strong_order_waits_for_everything", strong_order_waits_for_everything },
	{ "verbs_a_message_waits_for_a_receive_list", a_message_waits_for_a_receive_list },
	{ "verbs_receive_lists_may_be_posted_before_the_peer_is_known",
	  receive_lists_may_be_posted_before_the_peer_is_known },
	{ "verbs_moves_have_the_attributes_of_the_program", moves_have_the_attributes_of_the_program },
	{ "verbs_queues_begin_anew_after_a_reset", queues_begin_anew_after_a_reset },
};

TAP_MAIN(tests)
