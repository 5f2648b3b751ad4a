// SPDX-License-Identifier: MIT
/* Every kind of request between two queue pairs on a wire that loses nothing. */
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

static const struct tap_test tests[] = {
	{"a_write_of_any_size_arrives", a_write_of_any_size_arrives},
	{"a_read_of_any_size_arrives", a_read_of_any_size_arrives},
	{"a_send_of_any_size_arrives", a_send_of_any_size_arrives},
};

TAP_MAIN(tests)
