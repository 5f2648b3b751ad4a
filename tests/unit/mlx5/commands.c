// SPDX-License-Identifier: MIT
/* The bytes of each command, whole, against words that are written here from the manual's offsets. */
#include "net/mlx5/cmd_create_cq.h"
#include "net/mlx5/cmd_create_qp.h"
#include "net/mlx5/cmd_qp_moves.h"
#include "net/mlx5/cmd_query_qp.h"
#include "net/mlx5/qpc.h"
#include "tap.h"

#define LONG 272
#define QPN  0xabcde

struct word {
	unsigned int at;
	uint32_t value;
};

/* All other words are zero. */
static void check_words(const struct bl_cmd *cmd, size_t in_len, size_t out_len, const struct word *words, size_t nr)
{
	uint32_t got, want;

	check(!cmd->bad);
	check_eq(cmd->in_len, in_len);
	check_eq(cmd->out_len, out_len);
	for (unsigned int at = 0; at < LONG; at += 4) {
		const uint8_t *in = cmd->in + at;

		want = 0;
		for (size_t i = 0; i < nr; i++)
			want |= words[i].at == at ? words[i].value : 0;
		got = (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3];
		if (got != want)
			tap_end(TAP_FAILED, "command 0x%x: word 0x%x is 0x%08x, not 0x%08x", cmd->opcode, at, got,
				want);
	}
}

#define CHECK_WORDS(cmd, in_len, out_len, ...)                                                                         \
	do {                                                                                                           \
		const struct word words[] = { __VA_ARGS__ };                                                           \
		check_words(cmd, in_len, out_len, words, sizeof(words) / sizeof(words[0]));                            \
	} while (0)

static void a_completion_queue(void)
{
	struct bl_create_cq cq = {
		.log_nr = 10, .overrun = true, .ring_umem = 0x51003, .ring_off = 0x123456789a40, .dbr_umem = 0x51006,
		.dbr_off = 0x40, .uar_page = 0x203, .eqn = 5,
	};
	struct bl_cmd cmd;

	bl_cmd_create_cq(&cmd, "mlx5_0", &cq);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x04000000 }, { 0x10, 0x02020000 }, { 0x14, 0x51006 }, { 0x1c, 0x0a000203 },
		    { 0x24, 5 }, { 0x4c, 0x40 }, { 0x50, 0x1234 }, { 0x54, 0x56789a40 }, { 0x58, 0x51003 },
		    { 0x5c, 0x80000000 });
	cq.overrun = false;
	cq.collapsed = true;
	bl_cmd_create_cq(&cmd, "mlx5_0", &cq);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x04000000 }, { 0x10, 0x02100000 }, { 0x14, 0x51006 }, { 0x1c, 0x0a000203 },
		    { 0x24, 5 }, { 0x4c, 0x40 }, { 0x50, 0x1234 }, { 0x54, 0x56789a40 }, { 0x58, 0x51003 },
		    { 0x5c, 0x80000000 });
}

static const struct bl_create_qp both = {
	.pdn = 0x307, .has_sq = true, .log_sq = 9, .has_rq = true, .log_rq = 7, .log_stride = 2, .uar_page = 0x204,
	.user_index = 0x123456, .cqn_send = 0x11, .cqn_recv = 0x22, .cd_master = true, .ring_umem = 0x51009,
	.ring_off = 0x2000, .dbr_umem = 0x5100c, .dbr_off = 0x48,
};

static void a_queue_pair_of_both_queues(void)
{
	struct bl_cmd cmd;

	bl_cmd_create_qp(&cmd, "mlx5_0", &both);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05000000 }, { 0x18, 0x00001800 }, { 0x1c, 0x307 },
		    { 0x20, 7U << 19 | 2U << 16 | 9U << 11 }, { 0x24, 0x204 }, { 0x28, 0x123456 }, { 0x94, 0x11 },
		    { 0xa8, 1 }, { 0xb4, 0x22 }, { 0xbc, 0x48 }, { 0xe8, 0x10000000 }, { 0xfc, 0x5100c },
		    { 0x104, 0x2000 }, { 0x108, 0x51009 }, { 0x10c, 0x80000000 });
}

static void a_queue_pair_that_only_sends_or_only_receives(void)
{
	struct bl_create_qp qp = both;
	struct bl_cmd cmd;

	qp.uc = true;
	qp.cd_master = false;
	qp.has_rq = false;
	bl_cmd_create_qp(&cmd, "mlx5_0", &qp);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05000000 }, { 0x18, 0x00011800 }, { 0x1c, 0x307 }, { 0x20, 9U << 11 },
		    { 0x24, 0x204 }, { 0x28, 0x123456 }, { 0x94, 0x11 }, { 0xb4, 0x22 }, { 0xbc, 0x48 },
		    { 0xc4, 0x03000000 }, { 0xe8, 0x10000000 }, { 0xfc, 0x5100c }, { 0x104, 0x2000 },
		    { 0x108, 0x51009 }, { 0x10c, 0x80000000 });
	qp.has_rq = true;
	qp.has_sq = false;
	bl_cmd_create_qp(&cmd, "mlx5_0", &qp);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05000000 }, { 0x18, 0x00011800 }, { 0x1c, 0x307 },
		    { 0x20, 7U << 19 | 2U << 16 | 1U << 15 }, { 0x24, 0x204 }, { 0x28, 0x123456 }, { 0x94, 0x11 },
		    { 0xb4, 0x22 }, { 0xbc, 0x48 }, { 0xe8, 0x10000000 }, { 0xfc, 0x5100c }, { 0x104, 0x2000 },
		    { 0x108, 0x51009 }, { 0x10c, 0x80000000 });
}

static const struct bl_nic_qp_mod all = {
	.gid = { 0xfd, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 },
	.dlid = 0x77,
	.sl = 3,
	.sgid_index = 6,
	.static_rate = 2,
	.hop_limit = 0xee,
	.traffic_class = 0x68,
	.port = 2,
	.pkey_index = 0x15,
	.dest_qpn = 0x987654,
	.mtu = 2048,
	.rq_psn = 0x123456,
	.sq_psn = 0xfedcba,
	.ack_timeout = 17,
	.retry_cnt = 5,
	.rnr_retry = 6,
	.min_rnr_timer = 21,
	.max_rd_atomic = 9,
	.max_dest_rd_atomic = 16,
	.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	.atomic_mode = DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC,
};

static void move(struct bl_cmd *cmd, bool uc, enum doca_verbs_qp_state from, enum doca_verbs_qp_state to,
		 const struct bl_qp_way *way)
{
	struct bl_nic_qp_mod mod = all;

	mod.from = from;
	mod.to = to;
	check_eq(bl_cmd_qp_move(cmd, "mlx5_0", QPN, uc, &mod, way), 0);
}

#define S(name) DOCA_VERBS_QP_STATE_##name

static void moves_to_init(void)
{
	struct bl_cmd cmd;

	move(&cmd, false, S(RST), S(INIT), NULL);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05020000 }, { 0x08, QPN }, { 0x18, 0x1800 }, { 0x30, 0x15 },
		    { 0x54, 0x00020000 }, { 0xa8, 1U << 16 | 0xe000 });
	move(&cmd, false, S(INIT), S(INIT), NULL);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x050e0000 }, { 0x08, QPN }, { 0x10, 0x1001e }, { 0x18, 0x1800 },
		    { 0x30, 0x15 }, { 0x54, 0x00020000 }, { 0xa8, 1U << 16 | 0xe000 });
	/* of an unreliable one only the right to write */
	move(&cmd, true, S(RST), S(INIT), NULL);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05020000 }, { 0x08, QPN }, { 0x18, 0x1800 }, { 0x30, 0x15 },
		    { 0x54, 0x00020000 }, { 0xa8, 0x4000 });
	move(&cmd, true, S(INIT), S(INIT), NULL);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x050e0000 }, { 0x08, QPN }, { 0x10, 0x10018 }, { 0x18, 0x1800 },
		    { 0x30, 0x15 }, { 0x54, 0x00020000 }, { 0xa8, 0x4000 });
}

static void a_move_to_rtr_by_roce_v2(void)
{
	const struct bl_qp_way way = { .eth = true, .v2 = true, .rmac = { 2, 3, 4, 5, 6, 7 }, .sport = 0xc123 };
	struct bl_cmd cmd;

	move(&cmd, false, S(INIT), S(RTR), &way);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05030000 }, { 0x08, QPN }, { 0x10, 0x1e }, { 0x20, 4U << 29 | 30U << 24 },
		    { 0x2c, 0x987654 }, { 0x30, 0x15 }, { 0x38, 6U << 16 | 2U << 8 | 0xee }, { 0x40, 0xfd000102 },
		    { 0x44, 0x03040506 }, { 0x48, 0x0708090a }, { 0x4c, 0x0b0c0d0e }, { 0x50, 0x1aU << 16 | 0xc123 },
		    { 0x54, 3U << 24 | 2U << 16 | 0x0203 }, { 0x58, 0x04050607 },
		    { 0xa8, 4U << 21 | 1U << 16 | 0xe000 }, { 0xac, 21U << 24 | 0x123456 });
	move(&cmd, true, S(INIT), S(RTR), &way);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05030000 }, { 0x08, QPN }, { 0x10, 0x18 }, { 0x20, 4U << 29 | 30U << 24 },
		    { 0x2c, 0x987654 }, { 0x30, 0x15 }, { 0x38, 6U << 16 | 2U << 8 | 0xee }, { 0x40, 0xfd000102 },
		    { 0x44, 0x03040506 }, { 0x48, 0x0708090a }, { 0x4c, 0x0b0c0d0e }, { 0x50, 0x1aU << 16 | 0xc123 },
		    { 0x54, 3U << 24 | 2U << 16 | 0x0203 }, { 0x58, 0x04050607 }, { 0xa8, 0x4000 }, { 0xac, 0x123456 });
}

static void a_move_to_rtr_by_roce_v1_and_by_infiniband(void)
{
	struct bl_qp_way way = { .eth = true, .rmac = { 2, 3, 4, 5, 6, 7 } };
	struct bl_nic_qp_mod mod = all;
	struct bl_cmd cmd;

	move(&cmd, false, S(INIT), S(RTR), &way);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05030000 }, { 0x08, QPN }, { 0x10, 0x1e }, { 0x20, 4U << 29 | 30U << 24 },
		    { 0x2c, 0x987654 }, { 0x30, 0x15 }, { 0x38, 6U << 16 | 2U << 8 | 0xee }, { 0x3c, 0x68U << 20 },
		    { 0x40, 0xfd000102 }, { 0x44, 0x03040506 }, { 0x48, 0x0708090a }, { 0x4c, 0x0b0c0d0e },
		    { 0x54, 3U << 24 | 2U << 16 | 0x0203 }, { 0x58, 0x04050607 },
		    { 0xa8, 4U << 21 | 1U << 16 | 0xe000 }, { 0xac, 21U << 24 | 0x123456 });
	way = (struct bl_qp_way){ 0 };
	mod.from = S(INIT);
	mod.to = S(RTR);
	mod.addr_type = DOCA_VERBS_ADDR_TYPE_IB_GRH;
	check_eq(bl_cmd_qp_move(&cmd, "mlx5_0", QPN, false, &mod, &way), 0);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05030000 }, { 0x08, QPN }, { 0x10, 0x1e }, { 0x20, 4U << 29 | 30U << 24 },
		    { 0x2c, 0x987654 }, { 0x30, 0x15 }, { 0x34, 1U << 23 | 0x77 }, { 0x38, 6U << 16 | 2U << 8 | 0xee },
		    { 0x3c, 0x68U << 20 }, { 0x40, 0xfd000102 }, { 0x44, 0x03040506 }, { 0x48, 0x0708090a },
		    { 0x4c, 0x0b0c0d0e }, { 0x54, 3U << 24 | 2U << 16 }, { 0xa8, 4U << 21 | 1U << 16 | 0xe000 },
		    { 0xac, 21U << 24 | 0x123456 });
	mod.addr_type = DOCA_VERBS_ADDR_TYPE_IB_NO_GRH;
	check_eq(bl_cmd_qp_move(&cmd, "mlx5_0", QPN, false, &mod, &way), 0);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05030000 }, { 0x08, QPN }, { 0x10, 0x1e }, { 0x20, 4U << 29 | 30U << 24 },
		    { 0x2c, 0x987654 }, { 0x30, 0x15 }, { 0x34, 0x77 }, { 0x38, 2U << 8 },
		    { 0x54, 3U << 24 | 2U << 16 }, { 0xa8, 4U << 21 | 1U << 16 | 0xe000 },
		    { 0xac, 21U << 24 | 0x123456 });
}

static void moves_to_rts(void)
{
	struct bl_cmd cmd;

	move(&cmd, false, S(RTR), S(RTS), NULL);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05040000 }, { 0x08, QPN }, { 0x10, 0x4e }, { 0x38, 17U << 27 },
		    { 0x88, 3U << 21 | 5U << 16 | 6U << 13 }, { 0x90, 0xfedcba }, { 0xa8, 1U << 16 | 0xe000 },
		    { 0xac, 21U << 24 });
	move(&cmd, false, S(RTS), S(RTS), NULL);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05050000 }, { 0x08, QPN }, { 0x10, 0x4e }, { 0xa8, 1U << 16 | 0xe000 },
		    { 0xac, 21U << 24 });
	move(&cmd, true, S(RTR), S(RTS), NULL);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05040000 }, { 0x08, QPN }, { 0x10, 0x08 }, { 0x90, 0xfedcba },
		    { 0xa8, 0x4000 });
	move(&cmd, true, S(RTS), S(RTS), NULL);
	CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05050000 }, { 0x08, QPN }, { 0x10, 0x08 }, { 0xa8, 0x4000 });
}

static void moves_to_err_and_rst_and_a_query(void)
{
	uint8_t *answer;
	struct bl_cmd cmd;

	move(&cmd, false, S(RTS), S(ERR), NULL);
	CHECK_WORDS(&cmd, 16, 16, { 0x00, 0x05070000 }, { 0x08, QPN });
	move(&cmd, true, S(ERR), S(RST), NULL);
	CHECK_WORDS(&cmd, 16, 16, { 0x00, 0x050a0000 }, { 0x08, QPN });
	bl_cmd_query_qp(&cmd, "mlx5_0", QPN);
	CHECK_WORDS(&cmd, 16, LONG, { 0x00, 0x050b0000 }, { 0x08, QPN });
	answer = cmd.out;
	answer[0x18] = 0x60;
	answer[0xcc] = 0x12;
	answer[0xcd] = 0x34;
	check_eq(bl_cmd_queried_qp(&cmd, BL_QPC_STATE), 6);
	check_eq(bl_cmd_queried_qp(&cmd, BL_QPC_HW_SQ_COUNTER), 0x1234);
}

static void each_path_mtu_and_each_right_has_its_code(void)
{
	static const uint32_t mtus[] = { 256, 512, 1024, 2048, 4096 };
	static const struct {
		unsigned int access;
		uint32_t bits;
	} rights[] = {
		{ 0, 0 },
		{ IBV_ACCESS_REMOTE_READ, 0x8000 },
		{ IBV_ACCESS_REMOTE_WRITE, 0x4000 },
		{ IBV_ACCESS_REMOTE_ATOMIC, 3U << 16 | 0x2000 },
	};
	const struct bl_qp_way way = { .eth = true };
	struct bl_nic_qp_mod mod = all;
	struct bl_cmd cmd;

	mod.from = S(INIT);
	mod.to = S(RTR);
	for (uint32_t i = 0; i < 5; i++) {
		mod.mtu = mtus[i];
		check_eq(bl_cmd_qp_move(&cmd, "mlx5_0", QPN, false, &mod, &way), 0);
		check_eq(cmd.in[0x20], (i + 1) << 5 | 30);
	}
	mod.from = S(RST);
	mod.to = S(INIT);
	mod.atomic_mode = DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES;
	for (size_t i = 0; i < 4; i++) {
		mod.access = rights[i].access;
		check_eq(bl_cmd_qp_move(&cmd, "mlx5_0", QPN, false, &mod, &way), 0);
		CHECK_WORDS(&cmd, LONG, 16, { 0x00, 0x05020000 }, { 0x08, QPN }, { 0x18, 0x1800 }, { 0x30, 0x15 },
			    { 0x54, 0x00020000 }, { 0xa8, rights[i].bits });
	}
	mod.to = (enum doca_verbs_qp_state)9;
	check(bl_cmd_qp_move(&cmd, "mlx5_0", QPN, false, &mod, &way) < 0);
}

static void a_value_that_does_not_fit_is_remembered(void)
{
	struct bl_create_qp qp = both;
	struct bl_cmd cmd;

	/* the first of them */
	qp.user_index = 0x1000000;
	qp.cqn_recv = 0x2000000;
	bl_cmd_create_qp(&cmd, "mlx5_0", &qp);
	check(cmd.bad);
	check_str(cmd.bad->name, "qpc.cqn_rcv");
	check_eq(cmd.bad_value, 0x2000000);
	for (int i = 0; i < 4; i++)
		check_eq(cmd.in[0xb4 + i], 0);
	/* nor is anything written beyond a command */
	bl_cmd_begin(&cmd, "mlx5_0", BL_CMD_2ERR, 16, 16);
	bl_cmd_put(&cmd, 0x18, &bl_qpc[BL_QPC_PD], 1);
	check(cmd.bad);
	check_str(cmd.bad->name, "qpc.pd");
	check_eq(cmd.in[0x1f], 0);
	check_eq(bl_cmd_get(&cmd, 0x18, &bl_qpc[BL_QPC_PD]), 0);
}

static void statuses_have_words(void)
{
	check_str(bl_cmd_status_text(0x03), "bad parameter");
	check_str(bl_cmd_status_text(0x10), "bad state of the queue pair");
	check_str(bl_cmd_status_text(0xee), "unknown status");
	check_str(bl_cmd_name(0x503), "INIT2RTR_QP");
	check_str(bl_cmd_name(0x999), "unknown command");
}

static const struct tap_test tests[] = {
	{ "mlx5_create_cq_has_these_bytes", a_completion_queue },
	{ "mlx5_create_qp_has_these_bytes", a_queue_pair_of_both_queues },
	{ "mlx5_a_queue_pair_may_only_send_or_only_receive", a_queue_pair_that_only_sends_or_only_receives },
	{ "mlx5_moves_to_init_have_these_bytes", moves_to_init },
	{ "mlx5_a_move_to_rtr_by_roce_v2_has_these_bytes", a_move_to_rtr_by_roce_v2 },
	{ "mlx5_a_move_to_rtr_by_roce_v1_and_infiniband_has_these_bytes", a_move_to_rtr_by_roce_v1_and_by_infiniband },
	{ "mlx5_moves_to_rts_have_these_bytes", moves_to_rts },
	{ "mlx5_moves_to_err_and_rst_and_a_query_have_these_bytes", moves_to_err_and_rst_and_a_query },
	{ "mlx5_each_path_mtu_and_each_right_has_its_code", each_path_mtu_and_each_right_has_its_code },
	{ "mlx5_a_value_that_does_not_fit_is_remembered", a_value_that_does_not_fit_is_remembered },
	{ "mlx5_statuses_have_words", statuses_have_words },
};

TAP_MAIN(tests)
