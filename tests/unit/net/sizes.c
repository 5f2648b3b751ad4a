// SPDX-License-Identifier: MIT
/* Sizes of queues by the rules of the original, and where they end. */
#include "net/verbs/qp_size.h"

#include <stdint.h>

#include "tap.h"

#define MAX_WR 32768

static int ask(struct bl_qp_want want, struct bl_qp_size *size)
{
	return bl_qp_size(&want, MAX_WR, size);
}

static void send_wqe_takes_the_larger_of_segments_and_inline(void)
{
	/* control and remote address are 32 bytes: two segments fill the first block */
	check_eq(bl_send_wqe_len(0, 0), 64);
	check_eq(bl_send_wqe_len(1, 0), 64);
	check_eq(bl_send_wqe_len(2, 0), 64);
	check_eq(bl_send_wqe_len(3, 0), 128);
	check_eq(bl_send_wqe_len(6, 0), 128);
	check_eq(bl_send_wqe_len(7, 0), 192);
	/* an inline segment has a header of 4 bytes: 28 bytes fill the first block */
	check_eq(bl_send_wqe_len(0, 28), 64);
	check_eq(bl_send_wqe_len(0, 29), 128);
	check_eq(bl_send_wqe_len(1, 92), 128);
	check_eq(bl_send_wqe_len(1, 93), 192);
	check_eq(bl_send_wqe_len(7, 29), 192);
}

static void send_wqe_length_does_not_overflow(void)
{
	check_eq(bl_send_wqe_len(UINT32_MAX, 0), (32 + (uint64_t)UINT32_MAX * 16 + 63) / 64 * 64);
	check(bl_send_wqe_len(0, UINT32_MAX) > UINT32_MAX);
}

static void send_queue_is_a_power_of_two_of_blocks(void)
{
	struct bl_qp_size size;

	check_eq(ask((struct bl_qp_want){ .sq_wr = 1, .send_sges = 1 }, &size), 0);
	check_eq(size.sq_blocks, 1);
	check_eq(size.sq_len, 64);
	check_eq(ask((struct bl_qp_want){ .sq_wr = 3, .send_sges = 1 }, &size), 0);
	check_eq(size.sq_blocks, 4);
	check_eq(ask((struct bl_qp_want){ .sq_wr = 5, .send_sges = 3 }, &size), 0);
	check_eq(size.sq_blocks, 16);
	check_eq(size.sq_len, 1024);
	check_eq(size.rq_nr, 0);
	check_eq(size.rq_len, 0);
	check_eq(ask((struct bl_qp_want){ .sq_wr = 2048, .send_sges = 1 }, &size), 0);
	check_eq(size.sq_blocks, 2048);
}

static void send_queue_ends_at_what_the_device_has(void)
{
	struct bl_qp_size size;

	check_eq(ask((struct bl_qp_want){ .sq_wr = MAX_WR, .send_sges = 2 }, &size), 0);
	check_eq(size.sq_blocks, MAX_WR);
	check_eq(ask((struct bl_qp_want){ .sq_wr = MAX_WR, .send_sges = 3 }, &size), -EINVAL);
	check_eq(ask((struct bl_qp_want){ .sq_wr = MAX_WR + 1, .send_sges = 1 }, &size), -EINVAL);
	check_eq(ask((struct bl_qp_want){ .sq_wr = UINT32_MAX, .send_sges = UINT32_MAX }, &size), -EINVAL);
	check_eq(ask((struct bl_qp_want){ .sq_wr = 1, .inline_len = UINT32_MAX }, &size), -EINVAL);
	/* 12288 blocks are rounded up to 16384, 24576 to 32768, and 36864 are too many already */
	check_eq(ask((struct bl_qp_want){ .sq_wr = 12288, .send_sges = 6 }, &size), 0);
	check_eq(size.sq_blocks, 32768);
	check_eq(ask((struct bl_qp_want){ .sq_wr = 12288, .send_sges = 7 }, &size), -EINVAL);
}

static void receive_queue_is_a_power_of_two_of_segments(void)
{
	struct bl_qp_size size;

	check_eq(ask((struct bl_qp_want){ .rq_wr = 64, .recv_sges = 1 }, &size), 0);
	check_eq(size.rq_nr, 64);
	check_eq(size.rq_sges, 1);
	check_eq(size.rq_len, 1024);
	check_eq(size.sq_blocks, 0);
	check_eq(size.sq_len, 0);
	check_eq(ask((struct bl_qp_want){ .rq_wr = 64, .recv_sges = 0 }, &size), 0);
	check_eq(size.rq_sges, 1);
	check_eq(ask((struct bl_qp_want){ .rq_wr = 5, .recv_sges = 3 }, &size), 0);
	check_eq(size.rq_sges, 4);
	check_eq(size.rq_nr, 8);
	check_eq(size.rq_len, 512);
}

static void receive_queue_has_at_least_one_block(void)
{
	struct bl_qp_size size;

	check_eq(ask((struct bl_qp_want){ .rq_wr = 1, .recv_sges = 1 }, &size), 0);
	check_eq(size.rq_len, 64);
	check_eq(size.rq_nr, 4);
	check_eq(ask((struct bl_qp_want){ .rq_wr = 1, .recv_sges = 4 }, &size), 0);
	check_eq(size.rq_len, 64);
	check_eq(size.rq_nr, 1);
}

static void receive_queue_ends_at_what_the_device_has(void)
{
	struct bl_qp_size size;

	check_eq(ask((struct bl_qp_want){ .rq_wr = MAX_WR, .recv_sges = 1 }, &size), 0);
	check_eq(size.rq_nr, MAX_WR);
	check_eq(ask((struct bl_qp_want){ .rq_wr = MAX_WR + 1, .recv_sges = 1 }, &size), -EINVAL);
	check_eq(ask((struct bl_qp_want){ .rq_wr = UINT32_MAX, .recv_sges = 1 }, &size), -EINVAL);
	check_eq(ask((struct bl_qp_want){ .rq_wr = UINT32_MAX, .recv_sges = UINT32_MAX }, &size), -EINVAL);
	check_eq(ask((struct bl_qp_want){ .rq_wr = 1, .recv_sges = UINT32_MAX }, &size), -EINVAL);
}

static const struct tap_test tests[] = {
	{ "send_wqe_takes_the_larger_of_segments_and_inline", send_wqe_takes_the_larger_of_segments_and_inline },
	{ "send_wqe_length_does_not_overflow", send_wqe_length_does_not_overflow },
	{ "send_queue_is_a_power_of_two_of_blocks", send_queue_is_a_power_of_two_of_blocks },
	{ "send_queue_ends_at_what_the_device_has", send_queue_ends_at_what_the_device_has },
	{ "receive_queue_is_a_power_of_two_of_segments", receive_queue_is_a_power_of_two_of_segments },
	{ "receive_queue_has_at_least_one_block", receive_queue_has_at_least_one_block },
	{ "receive_queue_ends_at_what_the_device_has", receive_queue_ends_at_what_the_device_has },
};

TAP_MAIN(tests)
