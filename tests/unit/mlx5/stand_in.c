// SPDX-License-Identifier: MIT
/* The stand-in for libmlx5 notices what it is there to notice: commands that are right but for one thing. */
#include <infiniband/mlx5dv.h>

#include "bed.h"
#include "tap.h"

#define LONG 272

static struct bed bed;
static struct ibv_context *context;

/* Right commands, as the provider made them. */
static struct fake_command create_cq, create_qp, init2rtr, rtr2rts;

/* A connected queue pair, and a context of the same device to talk to the stand-in past the provider. */
static void begin(void)
{
	fake_ibv_reset();
	fake_mlx5_reset();
	check_eq(bed_make(&bed), 0);
	context = bed_context(&bed);
	create_cq = *fake_mlx5_last(0x400);
	create_qp = *fake_mlx5_last(0x500);
	init2rtr = *fake_mlx5_last(0x503);
	rtr2rts = *fake_mlx5_last(0x504);
}

static void end(void)
{
	fake_ibv.complaint[0] = '\0';
	check_eq(bed_drop(&bed), 0);
	check_str(fake_ibv.complaint, "");
	check_eq(fake_ibv.live, 0);
}

/* Carry out a command that makes an object. Return: whether it was refused with a complaint. */
static bool is_refused(const uint8_t *in, size_t in_len, size_t out_len)
{
	struct mlx5dv_devx_obj *obj;
	uint8_t out[LONG] = { 0 };
	bool complained;

	fake_ibv.complaint[0] = '\0';
	obj = mlx5dv_devx_obj_create(context, in, in_len, out, out_len);
	complained = fake_ibv.complaint[0];
	fake_ibv.complaint[0] = '\0';
	if (obj)
		check_eq(mlx5dv_devx_obj_destroy(obj), 0);
	return !obj && out[0] && complained;
}

static bool is_in(const unsigned int *words, size_t nr, unsigned int at)
{
	for (size_t i = 0; i < nr; i++) {
		if (words[i] == at)
			return true;
	}
	return false;
}

/* Each bit of each word that has no field. */
static void check_reserved(const struct fake_command *command, const unsigned int *words, size_t nr)
{
	uint8_t in[LONG];

	memcpy(in, command->in, LONG);
	for (unsigned int bit = 0; bit < LONG * 8; bit++) {
		if (is_in(words, nr, bit / 32 * 4))
			continue;
		in[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		if (!is_refused(in, LONG, 16))
			tap_end(TAP_FAILED, "command 0x%x: bit %u of byte 0x%x goes unnoticed", command->opcode,
				7 - bit % 8, bit / 8);
		in[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
	}
}

static void bits_without_a_meaning_are_noticed(void)
{
	static const unsigned int cq[] = { 0x00, 0x10, 0x14, 0x1c, 0x24, 0x48, 0x4c, 0x50, 0x54, 0x58, 0x5c };
	static const unsigned int qp[] = { 0x00, 0x18, 0x1c, 0x20, 0x24, 0x28, 0x94, 0xa8, 0xb4, 0xb8, 0xbc,
					   0xc4, 0xe8, 0xfc, 0x100, 0x104, 0x108, 0x10c };

	begin();
	check_reserved(&create_cq, cq, sizeof(cq) / sizeof(cq[0]));
	check_reserved(&create_qp, qp, sizeof(qp) / sizeof(qp[0]));
	end();
}

static void put(uint8_t *in, unsigned int at, uint32_t value)
{
	for (int i = 3; i >= 0; i--, value >>= 8)
		in[at + (unsigned int)i] = (uint8_t)value;
}

/* Of another kind, of nobody, or of a place where it may not begin. */
static void objects_that_are_not_there_are_noticed(void)
{
	static const struct {
		const struct fake_command *command;
		unsigned int at;
		uint32_t value;
	} wrongs[] = {
		{ &create_cq, 0x58, 7 },	   /* umem of entries */
		{ &create_cq, 0x58, 0x201 },	   /* which is a page of doorbells */
		{ &create_cq, 0x14, 7 },	   /* umem of the record */
		{ &create_cq, 0x1c, 0x06000007 },  /* page */
		{ &create_cq, 0x54, BED_CQ + 8 },  /* where entries begin */
		{ &create_cq, 0x54, BED_BYTES },
		{ &create_cq, 0x4c, BED_DBR + 4 }, /* where the record is */
		{ &create_qp, 0x1c, 1 },	   /* domain */
		{ &create_qp, 0x24, 0x51003 },	   /* page, which is a umem */
		{ &create_qp, 0x94, 0xfffff },	   /* completion queues */
		{ &create_qp, 0xb4, 0xfffff },
		{ &create_qp, 0xfc, 7 },	   /* umem of the records */
		{ &create_qp, 0x108, 7 },	   /* umem of the queues */
		{ &create_qp, 0x104, 32 },	   /* where they begin */
		{ &create_qp, 0x104, BED_DATA - 64 },
		{ &create_qp, 0xbc, BED_DBR + 4 }, /* where the records are */
	};
	uint8_t in[LONG];

	begin();
	check(!is_refused(create_cq.in, LONG, 16));
	check(!is_refused(create_qp.in, LONG, 16));
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		memcpy(in, wrongs[i].command->in, LONG);
		put(in, wrongs[i].at, wrongs[i].value);
		if (!is_refused(in, LONG, 16))
			tap_end(TAP_FAILED, "command 0x%x: 0x%x at 0x%x goes unnoticed", wrongs[i].command->opcode,
				wrongs[i].value, wrongs[i].at);
	}
	end();
}

static void lengths_and_commands_that_are_none_are_noticed(void)
{
	uint8_t in[LONG + 8] = { 0 };

	begin();
	memcpy(in, create_qp.in, LONG);
	check(is_refused(in, LONG - 4, 16));
	check(is_refused(in, LONG + 4, 16));
	check(is_refused(in, LONG, 12));
	put(in, 0, 0x05990000);
	check(is_refused(in, LONG, 16));
	end();
}

/* Return: whether a move of the queue pair was refused with a complaint. */
static bool is_move_refused(const uint8_t *in)
{
	uint8_t out[16];
	int ret;

	fake_ibv.complaint[0] = '\0';
	ret = mlx5dv_devx_obj_modify(bed_queue_pair(&bed), in, LONG, out, sizeof(out));
	return ret && out[0] && fake_ibv.complaint[0];
}

static void moves_out_of_turn_and_wrong_paths_are_noticed(void)
{
	const struct {
		unsigned int at;
		uint32_t value;
	} wrongs[] = {
		{ 0x08, 1 },	       /* another queue pair */
		{ 0x10, 1U << 12 },    /* an optional parameter that is none of this move */
		{ 0x20, 6U << 29 },    /* no such MTU */
		{ 0x38, 0x00770000 },  /* no such address */
		{ 0x34, 0x00800000 },  /* a GRH bit on Ethernet */
		{ 0x3c, 0x01000000 },  /* a traffic class of RoCE v1 */
		{ 0x50, 0x001a0001 },  /* a source port that is none of RoCE v2 */
		{ 0x58, 0x01020304 },  /* another MAC */
	};
	uint8_t in[LONG];

	begin();
	check(is_move_refused(rtr2rts.in));
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_RTS, DOCA_VERBS_QP_STATE_RST), 0);
	check_eq(bed_move(&bed, DOCA_VERBS_QP_STATE_RST, DOCA_VERBS_QP_STATE_INIT), 0);
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		memcpy(in, init2rtr.in, LONG);
		put(in, wrongs[i].at, wrongs[i].value);
		if (!is_move_refused(in))
			tap_end(TAP_FAILED, "INIT2RTR: 0x%x at 0x%x goes unnoticed", wrongs[i].value, wrongs[i].at);
	}
	check(!is_move_refused(init2rtr.in));
	end();
}

static void what_is_in_use_or_left_is_noticed(void)
{
	begin();
	fake_ibv.complaint[0] = '\0';
	check(bl_nic_mlx5.cq_destroy(bed.nic, bed.cq) < 0);
	check_has(fake_ibv.complaint, "it is in use");
	fake_ibv.complaint[0] = '\0';
	check(bl_nic_mlx5.umem_destroy(bed.nic, bed.umem) < 0);
	check_has(fake_ibv.complaint, "it is in use");
	end();
}

static const struct tap_test tests[] = {
	{ "mlx5_stand_in_notices_bits_without_a_meaning", bits_without_a_meaning_are_noticed },
	{ "mlx5_stand_in_notices_objects_that_are_not_there", objects_that_are_not_there_are_noticed },
	{ "mlx5_stand_in_notices_lengths_and_commands_that_are_none", lengths_and_commands_that_are_none_are_noticed },
	{ "mlx5_stand_in_notices_moves_out_of_turn_and_wrong_paths", moves_out_of_turn_and_wrong_paths_are_noticed },
	{ "mlx5_stand_in_notices_what_is_in_use", what_is_in_use_or_left_is_noticed },
};

TAP_MAIN(tests)
