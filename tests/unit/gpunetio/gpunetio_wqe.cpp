// SPDX-License-Identifier: MIT
/* Bytes of work requests, against bytes written by hand. */
#include "queue.h"

#define RADDR 0x1122334455667788ULL
#define RKEY  __builtin_bswap32(0xa1a2a3a4U)
#define LADDR 0x0102030405060708ULL
#define LKEY  __builtin_bswap32(0xb1b2b3b4U)

static struct test_queue q;
static struct doca_gpu_dev_verbs_wqe *wqe;

/* Index 0x10203 in a ring of 256: slot 3, and 0x0203 in the WQE. Slots hold 0xee, so that what is not written shows. */
static void begin(void)
{
	queue_init(&q, 256, SM_DB, 0);
	memset(q.sq, 0xee, sizeof(q.sq));
	wqe = doca_gpu_dev_verbs_get_wqe_ptr(&q.qp, (uint16_t)0x10203);
}

/* Bytes as text: "000203 08" and so on, blanks do not count. */
static void check_bytes(const void *at, const char *text)
{
	const uint8_t *bytes = (const uint8_t *)at;
	size_t nr = 0;
	unsigned int value;

	for (const char *p = text; *p;) {
		if (*p == ' ') {
			p++;
			continue;
		}
		check_eq(sscanf(p, "%2x", &value), 1);
		if (bytes[nr] != value)
			tap_end(TAP_FAILED, "byte %zu is %02x, not %02x of %s", nr, bytes[nr], value, text);
		nr++;
		p += 2;
	}
}

#define RADDR_SEG "1122334455667788 a1a2a3a4 00000000"
#define DATA_SEG  "00000040 b1b2b3b4 0102030405060708"
#define UNTOUCHED "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"

static void a_nop_is_one_segment(void)
{
	begin();
	check(wqe == (void *)(q.sq + 3 * 64));
	doca_gpu_dev_verbs_wqe_prepare_nop(&q.qp, wqe, 0x0203, CQ_UPDATE);
	check_bytes(wqe, "00020300 00123401 00000008 00000000 " UNTOUCHED);
	doca_gpu_dev_verbs_wqe_prepare_nop(&q.qp, wqe, 0xffff, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE_FENCE);
	check_bytes(wqe, "00ffff00 00123401 00000048 00000000 " UNTOUCHED);
}

static void a_write_is_three_segments(void)
{
	begin();
	doca_gpu_dev_verbs_wqe_prepare_write(&q.qp, wqe, 0x0203, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, CQ_UPDATE, 0, RADDR, RKEY,
					     LADDR, LKEY, 0x40);
	check_bytes(wqe, "00020308 00123403 00000008 00000000" RADDR_SEG DATA_SEG UNTOUCHED);
}

static void a_write_of_two_pieces_is_four_segments(void)
{
	begin();
	doca_gpu_dev_verbs_wqe_prepare_write(&q.qp, wqe, 0x0203, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE_IMM, QUIET,
					     __builtin_bswap32(0xc1c2c3c4), RADDR, RKEY, LADDR, LKEY, 0x40, 0x99, LKEY, 0x80000005);
	check_bytes(wqe, "00020309 00123404 00000000 c1c2c3c4" RADDR_SEG DATA_SEG "00000005 b1b2b3b4 0000000000000099");
}

static void a_read_is_a_write_of_another_kind(void)
{
	begin();
	doca_gpu_dev_verbs_wqe_prepare_read(&q.qp, wqe, 0x0203, CQ_UPDATE, RADDR, RKEY, LADDR, LKEY, 0x40);
	check_bytes(wqe, "00020310 00123403 00000008 00000000" RADDR_SEG DATA_SEG UNTOUCHED);
	doca_gpu_dev_verbs_wqe_prepare_read(&q.qp, wqe, 0x0203, CQ_UPDATE, RADDR, RKEY, LADDR, LKEY, 0x40, 1, LKEY, 2);
	check_bytes(wqe, "00020310 00123404 00000008 00000000" RADDR_SEG DATA_SEG "00000002 b1b2b3b4 0000000000000001");
}

static void inline_values_lie_after_their_length(void)
{
	begin();
	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header(&q.qp, wqe, 0x0203, CQ_UPDATE, RADDR, RKEY, 8);
	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data<uint64_t>(&q.qp, wqe, 0x8877665544332211ULL);
	check_bytes(wqe, "00020308 00123403 00000008 00000000" RADDR_SEG "80000008 1122334455667788 00000000" UNTOUCHED);
	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header(&q.qp, wqe, 0x0203, CQ_UPDATE, RADDR, RKEY, 2);
	doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data<uint16_t>(&q.qp, wqe, 0x2211);
	check_bytes(wqe, "00020308 00123403 00000008 00000000" RADDR_SEG "80000002 1122 000000000000 00000000" UNTOUCHED);
}

static void inline_bytes_up_to_28(void)
{
	uint8_t bytes[32];

	begin();
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i + 1);
	check_eq(doca_gpu_dev_verbs_wqe_prepare_write_inl(&q.qp, wqe, 0x0203, CQ_UPDATE, RADDR, RKEY, (uint64_t)bytes, 12), 0);
	check_bytes(wqe, "00020308 00123403 00000008 00000000" RADDR_SEG "8000000c 0102030405060708090a0b0c" UNTOUCHED);
	/* from an odd address */
	check_eq(doca_gpu_dev_verbs_wqe_prepare_write_inl(&q.qp, wqe, 0x0203, CQ_UPDATE, RADDR, RKEY, (uint64_t)(bytes + 1), 28), 0);
	check_bytes(wqe, "00020308 00123404 00000008 00000000" RADDR_SEG
			 "8000001c 02030405060708090a0b0c0d 0e0f101112131415161718191a1b1c1d");
	check_eq(doca_gpu_dev_verbs_wqe_prepare_write_inl(&q.qp, wqe, 0x0203, CQ_UPDATE, RADDR, RKEY, (uint64_t)bytes, 29), -EINVAL);
	check_bytes(wqe, "00020300 00123401 00000008 00000000");
}

static void atomics_put_their_operands_where_the_nic_looks(void)
{
	begin();
	doca_gpu_dev_verbs_wqe_prepare_atomic(&q.qp, wqe, 0x0203, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA, CQ_UPDATE, RADDR, RKEY, LADDR,
					      LKEY, 8, 0x11, 0x22);
	check_bytes(wqe, "00020312 00123404 00000008 00000000" RADDR_SEG "0000000000000011 0000000000000000"
			 "00000008 b1b2b3b4 0102030405060708");
	doca_gpu_dev_verbs_wqe_prepare_atomic(&q.qp, wqe, 0x0203, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_CS, CQ_UPDATE, RADDR, RKEY, LADDR,
					      LKEY, 8, 0x11, 0x22);
	check_bytes(wqe, "00020311 00123404 00000008 00000000" RADDR_SEG "0000000000000022 0000000000000011"
			 "00000008 b1b2b3b4 0102030405060708");
}

static void masked_atomics_of_four_bytes(void)
{
	begin();
	doca_gpu_dev_verbs_wqe_prepare_atomic_ext(&q.qp, wqe, wqe + 1, 0x0203, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_FA, CQ_UPDATE,
						  RADDR, RKEY, LADDR, LKEY, 0x11, 0x80000000, 0x22, 0x33, 0x44, 0x55);
	check_bytes(wqe, "08020315 00123404 00000008 00000000" RADDR_SEG "00000011 80000000 0000000000000000"
			 "00000004 b1b2b3b4 0102030405060708" UNTOUCHED);
	doca_gpu_dev_verbs_wqe_prepare_atomic_ext(&q.qp, wqe, wqe + 1, 0x0203, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS, CQ_UPDATE,
						  RADDR, RKEY, LADDR, LKEY, 0x11, 0x80000000, 0x22, 0x33, 0x44, 0x55);
	check_bytes(wqe, "08020314 00123404 00000008 00000000" RADDR_SEG "00000022 00000033 00000044 00000055"
			 "00000004 b1b2b3b4 0102030405060708" UNTOUCHED);
}

static void masked_atomics_of_eight_bytes(void)
{
	constexpr auto wide = DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8;

	begin();
	doca_gpu_dev_verbs_wqe_prepare_atomic_ext<wide>(&q.qp, wqe, wqe + 1, 0x0203, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_FA,
							CQ_UPDATE, RADDR, RKEY, LADDR, LKEY, 0x11, 1ULL << 63, 0x22, 0x33, 0x44, 0x55);
	check_bytes(wqe, "09020315 00123404 00000008 00000000" RADDR_SEG "0000000000000011 8000000000000000"
			 "00000008 b1b2b3b4 0102030405060708" UNTOUCHED);
	/* the last segment is in the next slot */
	doca_gpu_dev_verbs_wqe_prepare_atomic_ext<wide>(&q.qp, wqe, wqe + 1, 0x0203, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS,
							CQ_UPDATE, RADDR, RKEY, LADDR, LKEY, 0x11, 0, 0x22, 0x33, 0x44, 0x55);
	check_bytes(wqe, "09020314 00123405 00000008 00000000" RADDR_SEG "0000000000000022 0000000000000033"
			 "0000000000000044 0000000000000055" "00000008 b1b2b3b4 0102030405060708" UNTOUCHED);
}

static void wait_and_dump_are_two_segments(void)
{
	begin();
	doca_gpu_dev_verbs_wqe_prepare_wait(&q.qp, wqe, 0x0203, CQ_UPDATE, 0x00abcdef, 0x77);
	check_bytes(wqe, "0002030f 00123402 00000008 00000000" "0000000000000000 00abcdef 00000077" UNTOUCHED);
	doca_gpu_dev_verbs_wqe_prepare_dump(&q.qp, wqe, 0x0203, CQ_UPDATE, LADDR, LKEY, 1);
	check_bytes(wqe, "00020323 00123402 00000008 00000000" "00000001 b1b2b3b4 0102030405060708" UNTOUCHED);
}

static void sends_of_none_to_three_pieces(void)
{
	begin();
	doca_gpu_dev_verbs_wqe_prepare_send(&q.qp, wqe, 0x0203, CQ_UPDATE, LADDR, LKEY, 0x40);
	check_bytes(wqe, "0002030a 00123402 00000008 00000000" DATA_SEG UNTOUCHED);
	doca_gpu_dev_verbs_wqe_prepare_send(&q.qp, wqe, 0x0203, CQ_UPDATE, LADDR, LKEY, 0x40, 2, LKEY, 3);
	check_bytes(wqe, "0002030a 00123403 00000008 00000000" DATA_SEG "00000003 b1b2b3b4 0000000000000002" UNTOUCHED);
	doca_gpu_dev_verbs_wqe_prepare_send(&q.qp, wqe, 0x0203, CQ_UPDATE, LADDR, LKEY, 0x40, 2, LKEY, 3, 4, LKEY, 5);
	check_bytes(wqe, "0002030a 00123404 00000008 00000000" DATA_SEG "00000003 b1b2b3b4 0000000000000002"
			 "00000005 b1b2b3b4 0000000000000004");
	doca_gpu_dev_verbs_wqe_prepare_send_imm(&q.qp, wqe, 0x0203, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_SOLICITED, 0x01020304, LADDR, LKEY,
						0x40);
	check_bytes(wqe, "0002030b 00123402 00000002 04030201" DATA_SEG);
	doca_gpu_dev_verbs_wqe_prepare_send_empty(&q.qp, wqe, 0x0203, DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND, CQ_UPDATE, 0);
	check_bytes(wqe, "0002030a 00123401 00000008 00000000");
}

static void inline_sends_up_to_44(void)
{
	static const struct {
		uint32_t bytes;
		unsigned int segments;
	} cases[] = {{0, 2}, {12, 2}, {13, 3}, {28, 3}, {29, 4}, {44, 4}};
	uint8_t bytes[64];

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(0x80 + i);
	for (const auto &c : cases) {
		begin();
		check_eq(doca_gpu_dev_verbs_wqe_prepare_send_inl(&q.qp, wqe, 0x0203, CQ_UPDATE, (uint64_t)bytes, c.bytes), 0);
		check_eq(queue_word(&q, 3, 0), 0x0002030a);
		check_eq(queue_word(&q, 3, 4), TEST_QPN << 8 | c.segments);
		check_eq(queue_word(&q, 3, 16), 0x80000000U | c.bytes);
		check(!memcmp(q.sq + 3 * 64 + 20, bytes, c.bytes));
		check_eq(q.sq[4 * 64], 0xee);
	}
	check_eq(doca_gpu_dev_verbs_wqe_prepare_send_inl(&q.qp, wqe, 0x0203, CQ_UPDATE, (uint64_t)bytes, 45), -EINVAL);
	check_eq(queue_word(&q, 3, 0), 0x00020300);
}

static void receives_are_lists_of_segments(void)
{
	begin();
	memset(q.rq, 0xee, sizeof(q.rq));
	doca_gpu_dev_verbs_wqe_prepare_recv(&q.qp, doca_gpu_dev_verbs_get_rwqe_ptr(&q.qp, 258), LADDR, LKEY, 0x40);
	check_bytes(q.rq + 2 * 16, DATA_SEG UNTOUCHED);
	/* two segments: the second one ends the list */
	q.qp.rq_wqe_shift = 5;
	doca_gpu_dev_verbs_wqe_prepare_recv(&q.qp, doca_gpu_dev_verbs_get_rwqe_ptr(&q.qp, 4), LADDR, LKEY, 0x40);
	check_bytes(q.rq + 4 * 32, DATA_SEG "00000000 00000100 0000000000000000" UNTOUCHED);
}

static void primitives_do_what_their_names_say(void)
{
	uint64_t word = 7, pair[2] = {1, 2};
	alignas(16) uint64_t seg[2];
	int lock = 0;

	check_eq(doca_gpu_dev_verbs_bswap64(0x0102030405060708ULL), 0x0807060504030201ULL);
	check_eq(doca_gpu_dev_verbs_bswap32(0x01020304), 0x04030201);
	check_eq(doca_gpu_dev_verbs_bswap16(0x0102), 0x0201);
	check_eq((doca_gpu_dev_verbs_atomic_max<uint64_t, GPU>(&word, 5)), 7);
	check_eq((doca_gpu_dev_verbs_atomic_max<uint64_t, EXCLUSIVE, true>(&word, 9)), 7);
	check_eq((doca_gpu_dev_verbs_atomic_add<uint64_t, CTA>(&word, 2)), 9);
	check_eq((doca_gpu_dev_verbs_atomic_read<uint64_t, GPU>(&word)), 11);
	check_eq(doca_gpu_dev_verbs_div_ceil_aligned_pow2((3ULL << 30) + 1, 30), 4);
	check_eq(doca_gpu_dev_verbs_div_ceil_aligned_pow2_32bits(UINT64_MAX, 60), 16);
	check(doca_gpu_dev_verbs_isaligned(seg, 16));
	check(!doca_gpu_dev_verbs_isaligned((char *)seg + 8, 16));
	doca_gpu_dev_verbs_store_wqe_seg(seg, pair);
	check(seg[0] == 1 && seg[1] == 2);
	doca_gpu_dev_verbs_lock<GPU>(&lock);
	check_eq(doca_gpu_dev_verbs_lock_until<GPU>(&lock, ms_from_now(1), nullptr), TIMEOUT);
	doca_gpu_dev_verbs_unlock<GPU>(&lock);
	check_eq(lock, 0);
	check_eq(doca_gpu_dev_verbs_cqe_idx_inc_mask(0xffffff, 2), 1);
}

static const struct tap_test tests[] = {
	{"a nop is one segment", a_nop_is_one_segment},
	{"a write is three segments", a_write_is_three_segments},
	{"a write of two pieces is four segments", a_write_of_two_pieces_is_four_segments},
	{"a read is a write of another kind", a_read_is_a_write_of_another_kind},
	{"inline values lie after their length", inline_values_lie_after_their_length},
	{"inline bytes up to 28, and not one more", inline_bytes_up_to_28},
	{"atomics put their operands where the NIC looks", atomics_put_their_operands_where_the_nic_looks},
	{"masked atomics of four bytes", masked_atomics_of_four_bytes},
	{"masked atomics of eight bytes, compare and swap in two slots", masked_atomics_of_eight_bytes},
	{"wait and dump are two segments", wait_and_dump_are_two_segments},
	{"sends of none to three pieces", sends_of_none_to_three_pieces},
	{"inline sends up to 44 bytes, and not one more", inline_sends_up_to_44},
	{"receives are lists of segments with an end", receives_are_lists_of_segments},
	{"primitives do what their names say", primitives_do_what_their_names_say},
};

TAP_MAIN(tests)
