// SPDX-License-Identifier: MIT
/* Every kind of request between two queue pairs on a wire that loses nothing. */
#include <endian.h>

#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

static const uint32_t sizes[] = {0, 1, 7, 8, 9, 1023, 1024, 1025, 2047, 2048, 2049, 3000, 1 << 20};

#define NR_SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define BYTES	 (2U << 20)

static void a_write_of_any_size_arrives(void)
{
	struct world *w = world_begin(&(struct world_options){.bytes = BYTES});

	for (size_t i = 0; i < NR_SIZES; i++) {
		uint16_t index;

		fill(w->a.mem, sizes[i], (unsigned int)i);
		memset(w->b.mem, 0xee, BYTES);
		index = post_write(&w->a, &w->b, 5, 0, sizes[i]);
		world_run(w);
		check_eq(world_expect(&w->a.send, BL_CQE_REQ, 0, index).send_opcode, BL_WQE_WRITE);
		check(is_filled(w->b.mem + 5, sizes[i], (unsigned int)i));
		check_eq(w->b.mem[4], 0xee);
		check_eq(w->b.mem[5 + sizes[i]], 0xee);
	}
	world_expect_none(&w->b.recv);
	world_end(w);
}

static void a_read_of_any_size_arrives(void)
{
	struct world *w = world_begin(&(struct world_options){.bytes = BYTES});

	for (size_t i = 0; i < NR_SIZES; i++) {
		uint16_t index;

		fill(w->b.mem + 3, sizes[i], (unsigned int)i);
		memset(w->a.mem, 0xee, BYTES);
		index = post_read(&w->a, &w->b, 1, 3, sizes[i]);
		world_run(w);
		check_eq(world_expect(&w->a.send, BL_CQE_REQ, 0, index).len, sizes[i]);
		check(is_filled(w->a.mem + 1, sizes[i], (unsigned int)i));
		check_eq(w->a.mem[0], 0xee);
		check_eq(w->a.mem[1 + sizes[i]], 0xee);
	}
	world_end(w);
}

static void a_send_of_any_size_arrives(void)
{
	struct world *w = world_begin(&(struct world_options){.bytes = BYTES});

	for (size_t i = 0; i < NR_SIZES; i++) {
		struct world_cqe cqe;
		uint16_t index;

		fill(w->a.mem, sizes[i], (unsigned int)i);
		memset(w->b.mem, 0xee, BYTES);
		post_recv(&w->b, 2, 1 << 20);
		index = post_send(&w->a, 0, sizes[i]);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, index);
		cqe = world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, (uint16_t)i);
		check_eq(cqe.len, sizes[i]);
		check_eq(cqe.qpn, bl_snic_qp_num(w->b.qp));
		check(is_filled(w->b.mem + 2, sizes[i], (unsigned int)i));
		check_eq(w->b.mem[2 + sizes[i]], 0xee);
	}
	world_end(w);
}

/* ctrl, address, 61 segments of a byte each: 16 blocks, which wrap at the end of a ring of 16 at any place but one. */
static void a_request_of_sixty_three_segments_wraps(void)
{
	struct world *w = world_begin(&(struct world_options){.sq_nr = 16});

	fill(w->a.mem, 61, 3);
	for (unsigned int turn = 0; turn < 20; turn++) {
		struct world_wqe wqe;
		uint16_t index;

		memset(w->b.mem, 0, 100);
		wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
		wqe_raddr(&wqe, w->b.iova, w->b.key);
		for (unsigned int i = 0; i < 61; i++)
			wqe_data(&wqe, w->a.iova + i, w->a.key, 1);
		index = wqe_post(&wqe, &w->a);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, index);
		check(is_filled(w->b.mem, 61, 3));
		index = post_nop(&w->a, WORLD_SIGNAL);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, index);
	}
	world_end(w);
}

static void inline_data_needs_no_key(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;
	uint8_t bytes[44];
	uint16_t index;

	fill(bytes, sizeof(bytes), 1);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova + 8, w->b.key);
	wqe_inline(&wqe, bytes, 28);
	index = wqe_post(&wqe, &w->a);
	post_recv(&w->b, 1000, 100);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_SEND, WORLD_SIGNAL | 2, 0);
	wqe_inline(&wqe, bytes, 44);
	wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, index);
	world_expect(&w->a.send, BL_CQE_REQ, 0, (uint16_t)(index + 1));
	check(is_filled(w->b.mem + 8, 28, 1));
	check_eq(w->b.mem[36], 0);
	check(world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0).solicited);
	check(is_filled(w->b.mem + 1000, 44, 1));
	world_end(w);
}

static void inline_and_memory_go_in_their_order(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;
	uint8_t bytes[3000];

	fill(bytes, sizeof(bytes), 9);
	memcpy(w->a.mem + 500, bytes + 20, 2500);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova, w->b.key);
	wqe_inline(&wqe, bytes, 20);
	wqe_data(&wqe, w->a.iova + 500, w->a.key, 2500);
	wqe_data(&wqe, 0, 0, 0);
	wqe_inline(&wqe, bytes + 2520, 480);
	wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->b.mem, 3000, 9));
	world_end(w);
}

static void a_receive_list_is_filled_segment_by_segment(void)
{
	struct world *w = world_begin(&(struct world_options){.rq_sges = 4});
	uint8_t *list = w->b.rq;

	fill(w->a.mem, 3000, 5);
	for (unsigned int i = 0; i < 3; i++) {
		uint32_t len = htobe32(1000 + i), key = htobe32(w->b.key);
		uint64_t addr = htobe64(w->b.iova + i * 2000UL);

		memcpy(list + i * 16UL, &len, 4);
		memcpy(list + i * 16UL + 4, &key, 4);
		memcpy(list + i * 16UL + 8, &addr, 8);
	}
	list[3 * 16 + 6] = 1; /* key 0x100: the end */
	w->b.dbrec[0] = htobe32(1);
	post_send(&w->a, 0, 3000);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, 0).len, 3000);
	check(!memcmp(w->b.mem, w->a.mem, 1000));
	check(!memcmp(w->b.mem + 2000, w->a.mem + 1000, 1001));
	check(!memcmp(w->b.mem + 4000, w->a.mem + 2001, 999));
	check_eq(w->b.mem[4999], 0);
	world_end(w);
}

static void immediates_arrive_as_they_are(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;
	struct world_cqe cqe;

	fill(w->a.mem, 4000, 2);
	post_recv(&w->b, 0, 0);
	post_recv(&w->b, 8000, 4000);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE_IMM, WORLD_SIGNAL, 0x11223344);
	wqe_raddr(&wqe, w->b.iova, w->b.key);
	wqe_data(&wqe, w->a.iova, w->a.key, 4000);
	wqe_post(&wqe, &w->a);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_SEND_IMM, WORLD_SIGNAL, 0x55667788);
	wqe_data(&wqe, w->a.iova, w->a.key, 10);
	wqe_post(&wqe, &w->a);
	world_run(w);
	cqe = world_expect(&w->b.recv, BL_CQE_RESP_WRITE_IMM, 0, 0);
	check_eq(cqe.imm, 0x11223344);
	check_eq(cqe.len, 4000);
	check(is_filled(w->b.mem, 4000, 2));
	cqe = world_expect(&w->b.recv, BL_CQE_RESP_SEND_IMM, 0, 1);
	check_eq(cqe.imm, 0x55667788);
	check_eq(cqe.len, 10);
	check(is_filled(w->b.mem + 8000, 10, 2));
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	world_end(w);
}

/* A list with a buffer may be used up by a write with immediate, which leaves the buffer alone. */
static void a_write_of_nothing_with_immediate_is_a_signal(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;

	post_recv(&w->b, 0, 100);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_WRITE_IMM, WORLD_SIGNAL, 7);
	wqe_raddr(&wqe, 0, 0);
	wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(world_expect(&w->b.recv, BL_CQE_RESP_WRITE_IMM, 0, 0).len, 0);
	world_end(w);
}

/* Path MTU 4096 and a transport that takes more: packets are as large as it takes them. */
static void large_packets_are_agreed_upon(void)
{
	struct world *w = world_begin(&(struct world_options){.mtu = 4096, .max_payload = 65536, .bytes = BYTES});
	uint64_t before = world_counter(&w->a, BL_SNIC_TX_PACKETS);

	fill(w->a.mem, 1 << 20, 1);
	post_write(&w->a, &w->b, 0, 0, 1 << 20);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(world_counter(&w->a, BL_SNIC_TX_PACKETS) - before, 16);
	check(is_filled(w->b.mem, 1 << 20, 1));
	before = world_counter(&w->b, BL_SNIC_TX_PACKETS);
	post_read(&w->a, &w->b, 1 << 20, 0, 1 << 20);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check_eq(world_counter(&w->b, BL_SNIC_TX_PACKETS) - before, 16);
	check(is_filled(w->a.mem + (1 << 20), 1 << 20, 1));
	world_end(w);
}

static void the_size_of_a_nic_bounds_its_packets(void)
{
	struct world *w = world_begin(&(struct world_options){.mtu = 2048, .nic_mtu = 512});
	uint64_t before = world_counter(&w->a, BL_SNIC_TX_PACKETS);

	fill(w->b.mem, 4000, 1);
	post_write(&w->a, &w->b, 8000, 0, 2048);
	world_run(w);
	check_eq(world_counter(&w->a, BL_SNIC_TX_PACKETS) - before, 4);
	post_read(&w->a, &w->b, 0, 0, 4000);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check(is_filled(w->a.mem, 4000, 1));
	world_end(w);
}

/* More than a window of packets in one message, with no other to ask for an acknowledgement. */
static void a_message_longer_than_the_window_arrives(void)
{
	struct world *w = world_begin(&(struct world_options){.mtu = 256, .bytes = BYTES});

	fill(w->a.mem, BYTES, 4);
	post_write(&w->a, &w->b, 0, 0, BYTES);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check(is_filled(w->b.mem, BYTES, 4));
	check_eq(world_counter(&w->a, BL_SNIC_TX_RETRIES), 0);
	world_end(w);
}

static void a_path_that_is_full_is_tried_again(void)
{
	struct world *w = world_begin(&(struct world_options){.bytes = BYTES});

	world_room = 3;
	fill(w->a.mem, 100000, 4);
	post_write(&w->a, &w->b, 0, 0, 100000);
	post_read(&w->a, &w->b, 200000, 0, 100000);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	check(is_filled(w->b.mem, 100000, 4));
	check(is_filled(w->a.mem + 200000, 100000, 4));
	world_end(w);
}

/* The transport that a NIC has when nobody says otherwise. */
static void all_of_it_goes_through_shared_memory(void)
{
	struct world *w = world_begin(&(struct world_options){.mtu = 4096, .bytes = BYTES + 64, .shm = true});

	for (unsigned int i = 0; i < NR_SIZES; i++) {
		fill(w->a.mem, sizes[i], i);
		post_recv(&w->b, 1 << 20, 1 << 20);
		post_write(&w->a, &w->b, 0, 0, sizes[i]);
		post_read(&w->a, &w->b, 1 << 20, 0, sizes[i]);
		post_send(&w->a, 0, sizes[i]);
		*(uint64_t *)(w->b.mem + BYTES) = 41;
		post_add(&w->a, &w->b, BYTES, BYTES, 1);
		world_run(w);
		for (unsigned int j = 0; j < 4; j++)
			world_expect(&w->a.send, BL_CQE_REQ, 0, (uint16_t)(i * 4 + j));
		world_expect(&w->b.recv, BL_CQE_RESP_SEND, 0, (uint16_t)i);
		check_eq(*(uint64_t *)(w->a.mem + BYTES), 41);
		check(is_filled(w->b.mem, sizes[i], i));
		check(is_filled(w->a.mem + (1 << 20), sizes[i], i));
		check(is_filled(w->b.mem + (1 << 20), sizes[i], i));
	}
	world_end(w);
}

static const struct tap_test tests[] = {
	{"a_write_of_any_size_arrives", a_write_of_any_size_arrives},
	{"a_read_of_any_size_arrives", a_read_of_any_size_arrives},
	{"a_send_of_any_size_arrives", a_send_of_any_size_arrives},
	{"a_request_of_sixty_three_segments_wraps", a_request_of_sixty_three_segments_wraps},
	{"inline_data_needs_no_key", inline_data_needs_no_key},
	{"inline_and_memory_go_in_their_order", inline_and_memory_go_in_their_order},
	{"a_receive_list_is_filled_segment_by_segment", a_receive_list_is_filled_segment_by_segment},
	{"immediates_arrive_as_they_are", immediates_arrive_as_they_are},
	{"a_write_of_nothing_with_immediate_is_a_signal", a_write_of_nothing_with_immediate_is_a_signal},
	{"large_packets_are_agreed_upon", large_packets_are_agreed_upon},
	{"the_size_of_a_nic_bounds_its_packets", the_size_of_a_nic_bounds_its_packets},
	{"a_message_longer_than_the_window_arrives", a_message_longer_than_the_window_arrives},
	{"a_path_that_is_full_is_tried_again", a_path_that_is_full_is_tried_again},
	{"all_of_it_goes_through_shared_memory", all_of_it_goes_through_shared_memory},
};

TAP_MAIN(tests)
