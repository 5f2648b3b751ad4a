// SPDX-License-Identifier: MIT
/* Atomics: what they compute, where their results land, and what is refused. */
#include "softnic/atomic.h"
#include "softnic/cq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

static uint64_t *word(struct world_side *side, size_t off)
{
	return (uint64_t *)(side->mem + off);
}

static void fetch_and_add_returns_the_old_value(void)
{
	struct world *w = world_begin(NULL);
	uint16_t index;

	*word(&w->b, 64) = 40;
	index = post_add(&w->a, &w->b, 64, 8, 2);
	world_run(w);
	check_eq(world_expect(&w->a.send, BL_CQE_REQ, 0, index).len, 8);
	check_eq(*word(&w->b, 64), 42);
	check_eq(*word(&w->a, 8), 40);
	*word(&w->b, 64) = UINT64_MAX;
	post_add(&w->a, &w->b, 64, 8, 3);
	world_run(w);
	check_eq(*word(&w->b, 64), 2);
	check_eq(*word(&w->a, 8), UINT64_MAX);
	world_end(w);
}

static uint16_t post_swap(struct world *w, uint64_t compare, uint64_t swap)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_CMP_SWAP, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova + 64, w->b.key);
	wqe_seg64(&wqe, swap, compare);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	return wqe_post(&wqe, &w->a);
}

static void compare_and_swap_swaps_only_what_is_equal(void)
{
	struct world *w = world_begin(NULL);

	*word(&w->b, 64) = 5;
	post_swap(w, 4, 9);
	world_run(w);
	check_eq(*word(&w->b, 64), 5);
	check_eq(*word(&w->a, 0), 5);
	post_swap(w, 5, 9);
	world_run(w);
	check_eq(*word(&w->b, 64), 9);
	check_eq(*word(&w->a, 0), 5);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 1);
	world_end(w);
}

/* Two blocks: the fifth segment lies in the next one, and at the end of the ring in the first. */
static void a_masked_swap_of_8_bytes_spills_into_the_next_block(void)
{
	struct world *w = world_begin(&(struct world_options){.sq_nr = 4});

	for (unsigned int i = 0; i < 9; i++) {
		struct world_wqe wqe;
		uint16_t index;

		*word(&w->b, 64) = 0x1111222233334444ULL;
		wqe_begin(&wqe, &w->a, 9, BL_WQE_MASKED_CMP_SWAP, WORLD_SIGNAL, 0);
		wqe_raddr(&wqe, w->b.iova + 64, w->b.key);
		wqe_seg64(&wqe, 0xaaaabbbbccccddddULL, 0x9999222299999999ULL);
		wqe_seg64(&wqe, 0x00000000ffff0000ULL, 0x0000ffff00000000ULL);
		wqe_data(&wqe, w->a.iova, w->a.key, 8);
		check_eq(wqe.nr_segs, 5);
		index = wqe_post(&wqe, &w->a);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, index);
		check_eq(*word(&w->b, 64), 0x11112222cccc4444ULL);
		check_eq(*word(&w->a, 0), 0x1111222233334444ULL);
		index = post_nop(&w->a, WORLD_SIGNAL);
		world_run(w);
		world_expect(&w->a.send, BL_CQE_REQ, 0, index);
	}
	world_end(w);
}

static void masked_atomics_of_4_bytes_leave_the_neighbour_alone(void)
{
	struct world *w = world_begin(NULL);
	uint32_t *half = (uint32_t *)(w->b.mem + 64);
	struct world_wqe wqe;

	half[0] = 0x00ff00ff;
	half[1] = 0x12345678;
	wqe_begin(&wqe, &w->a, 8, BL_WQE_MASKED_FETCH_ADD, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova + 64, w->b.key);
	wqe_seg32(&wqe, 0x00010001, 0x00800080, 0, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 4);
	wqe_post(&wqe, &w->a);
	world_run(w);
	/* both carries end at the boundaries */
	check_eq(half[0], 0);
	check_eq(half[1], 0x12345678);
	check_eq(*(uint32_t *)w->a.mem, 0x00ff00ff);
	check_eq(*(uint32_t *)(w->a.mem + 4), 0);
	wqe_begin(&wqe, &w->a, 8, BL_WQE_MASKED_CMP_SWAP, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova + 68, w->b.key);
	wqe_seg32(&wqe, 0xffffffff, 0x00000078, 0xff000000, 0x000000ff);
	wqe_data(&wqe, w->a.iova, w->a.key, 4);
	wqe_post(&wqe, &w->a);
	world_run(w);
	check_eq(half[0], 0);
	check_eq(half[1], 0xff345678);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	check_eq(world_expect(&w->a.send, BL_CQE_REQ, 0, 1).len, 4);
	world_end(w);
}

/* Bit by bit, as an adder does it whose carries some bits swallow. */
static uint64_t slow_add(uint64_t a, uint64_t b, uint64_t boundary)
{
	uint64_t sum = 0, carry = 0;

	for (unsigned int i = 0; i < 64; i++) {
		uint64_t bits = (a >> i & 1) + (b >> i & 1) + carry;

		sum |= (bits & 1) << i;
		carry = boundary >> i & 1 ? 0 : bits >> 1;
	}
	return sum;
}

static void a_masked_add_is_an_adder_without_some_carries(void)
{
	struct bl_packet packet = {.opcode = BL_PKT_MASKED_FETCH_ADD, .operand_len = 8};
	uint64_t x = 0x243f6a8885a308d3ULL;

	for (unsigned int i = 0; i < 20000; i++) {
		uint64_t old;

		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		packet.swap_add = x ^ x >> 29;
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		packet.compare_mask = i % 4 ? (x ^ x >> 31) & (x << 7 ^ x >> 11) : 0;
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		old = i % 8 ? x ^ x >> 27 : UINT64_MAX;
		check_eq(bl_atomic_result(&packet, old), slow_add(old, packet.swap_add, packet.compare_mask));
	}
}

static void refused_with(struct world *w, struct world_wqe *wqe, uint8_t syndrome, const char *text)
{
	uint16_t index = wqe_post(wqe, &w->a);

	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, syndrome, index);
	check_has(world_query(&w->a).error.text, text);
	world_end(w);
}

static void an_atomic_on_an_odd_address_is_refused(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_FETCH_ADD, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova + 68, w->b.key);
	wqe_seg64(&wqe, 1, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	refused_with(w, &wqe, 0x12, "invalid request");
}

static void an_atomic_needs_its_right(void)
{
	struct world *w = world_begin(&(struct world_options){.access = BL_SNIC_REMOTE_WRITE | BL_SNIC_REMOTE_READ});
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 0, BL_WQE_FETCH_ADD, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova + 64, w->b.key);
	wqe_seg64(&wqe, 1, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	refused_with(w, &wqe, 0x13, "no access");
}

static void an_atomic_without_a_place_for_its_result_is_not_done(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;
	uint16_t index;

	*word(&w->b, 64) = 5;
	wqe_begin(&wqe, &w->a, 0, BL_WQE_FETCH_ADD, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova + 64, w->b.key);
	wqe_seg64(&wqe, 1, 0);
	wqe_data(&wqe, w->a.iova, w->a.key + 1, 8);
	index = wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ_ERR, 0x04, index);
	check_eq(*word(&w->b, 64), 5);
	world_end(w);
}

static void an_atomic_of_an_unknown_kind_is_refused(void)
{
	struct world *w = world_begin(NULL);
	struct world_wqe wqe;

	wqe_begin(&wqe, &w->a, 7, BL_WQE_MASKED_FETCH_ADD, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, w->b.iova + 64, w->b.key);
	wqe_seg64(&wqe, 1, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	refused_with(w, &wqe, 0x02, "opcode modifier");
}

/* As on a bus: memory that only functions reach. */
static uint8_t far_memory[256];

static int far_read(void *priv, uint64_t off, void *dst, size_t len)
{
	memcpy(dst, far_memory + off, len);
	return 0;
}

static int far_write(void *priv, uint64_t off, const void *src, size_t len)
{
	memcpy(far_memory + off, src, len);
	return 0;
}

static void an_atomic_reaches_memory_behind_functions(void)
{
	struct world *w = world_begin(NULL);
	struct bl_snic_mem mem = {.read = far_read, .write = far_write};
	struct bl_snic_mr *mr;
	struct world_wqe wqe;
	uint64_t value = 70;

	memcpy(far_memory + 16, &value, 8);
	check_eq(bl_snic_mr_create(w->b.pd, &mem, 0, sizeof(far_memory), BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_ATOMIC,
				   &mr),
		 0);
	wqe_begin(&wqe, &w->a, 0, BL_WQE_FETCH_ADD, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, 16, bl_snic_mr_rkey(mr));
	wqe_seg64(&wqe, 7, 0);
	wqe_data(&wqe, w->a.iova, w->a.key, 8);
	wqe_post(&wqe, &w->a);
	world_run(w);
	world_expect(&w->a.send, BL_CQE_REQ, 0, 0);
	memcpy(&value, far_memory + 16, 8);
	check_eq(value, 77);
	check_eq(*word(&w->a, 0), 70);
	check_eq(bl_snic_mr_destroy(mr), 0);
	world_end(w);
}

static const struct tap_test tests[] = {
	{"fetch_and_add_returns_the_old_value", fetch_and_add_returns_the_old_value},
	{"compare_and_swap_swaps_only_what_is_equal", compare_and_swap_swaps_only_what_is_equal},
	{"a_masked_swap_of_8_bytes_spills_into_the_next_block", a_masked_swap_of_8_bytes_spills_into_the_next_block},
	{"masked_atomics_of_4_bytes_leave_the_neighbour_alone", masked_atomics_of_4_bytes_leave_the_neighbour_alone},
	{"a_masked_add_is_an_adder_without_some_carries", a_masked_add_is_an_adder_without_some_carries},
	{"an_atomic_on_an_odd_address_is_refused", an_atomic_on_an_odd_address_is_refused},
	{"an_atomic_needs_its_right", an_atomic_needs_its_right},
	{"an_atomic_without_a_place_for_its_result_is_not_done", an_atomic_without_a_place_for_its_result_is_not_done},
	{"an_atomic_of_an_unknown_kind_is_refused", an_atomic_of_an_unknown_kind_is_refused},
	{"an_atomic_reaches_memory_behind_functions", an_atomic_reaches_memory_behind_functions},
};

TAP_MAIN(tests)
