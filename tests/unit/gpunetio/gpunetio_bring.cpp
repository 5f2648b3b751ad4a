// SPDX-License-Identifier: MIT
/* WQEs that bring the bytes of their data segment along: which ones do, and with what bytes. */
#include "queue.h"

/* Three keys with places of their own, one of which has no region. */
#define KEY    0x12345678U
#define OTHER  0x92345678U
#define NO_KEY 0x52345678U
#define BE(x)  __builtin_bswap32(x)

static struct test_queue q;
static struct bl_gpu_dev_region regions[BL_GPUNETIO_REGIONS];
alignas(64) static uint8_t memory[256];

static uint64_t addr_of(size_t off)
{
	return (uint64_t)(uintptr_t)memory + off;
}

static void show(uint32_t key, size_t off, size_t len)
{
	struct bl_gpu_dev_region *region = &regions[key >> (32 - BL_GPUNETIO_REGIONS_SHIFT)];

	region->addr = addr_of(off);
	region->len = len;
	region->key = BE(key);
}

/* A region of 128 bytes from 64 on; slots hold 0xee. */
static void begin(void)
{
	queue_init(&q, 256, PROXY, 0);
	memset(q.sq, 0xee, sizeof(q.sq));
	memset(regions, 0, sizeof(regions));
	for (unsigned int i = 0; i < sizeof(memory); i++)
		memory[i] = (uint8_t)(i + 1);
	show(KEY, 64, 128);
	q.qp.regions = regions;
}

/* How many bytes the WQE at an index says that it has brought; they are those at @off, and zeros behind them. */
static uint32_t brought_of(uint64_t index, unsigned int nr_segs, size_t off)
{
	const uint8_t *slot = q.sq + index * 64;
	uint32_t nr = slot[10];

	check_eq(slot[7] & 0x3f, nr_segs);
	if (slot[9] != BL_GPUNETIO_BROUGHT) {
		check_eq(slot[9], 0);
		check_eq(nr, 0);
		check_eq(slot[nr_segs * 16], 0xee);
		return 0;
	}
	check(!memcmp(slot + nr_segs * 16, memory + off, nr));
	for (uint32_t i = nr; i % 16; i++)
		check_eq(slot[nr_segs * 16 + i], 0);
	return nr;
}

static uint32_t put(uint64_t laddr, uint32_t key, size_t size, uint32_t code_opt = 0)
{
	uint64_t ticket;

	check_eq((doca_gpu_dev_verbs_put<EXCLUSIVE>(&q.qp, {0x1000, 1}, {laddr, BE(key)}, size, &ticket, code_opt)), 0);
	return brought_of(ticket, 3, laddr - addr_of(0));
}

static uint32_t send(uint64_t laddr, size_t size, uint32_t code_opt = 0)
{
	uint64_t ticket;

	check_eq((doca_gpu_dev_verbs_send<EXCLUSIVE>(&q.qp, {laddr, BE(KEY)}, size, &ticket, code_opt)), 0);
	return brought_of(ticket, 2, laddr - addr_of(0));
}

static void short_messages_bring_their_bytes_wherever_they_lie(void)
{
	begin();
	/* all alignments and lengths that fit */
	for (size_t off = 64; off < 72; off++) {
		for (uint32_t size = 1; size <= 16; size++)
			check_eq(put(addr_of(off), KEY, size), size);
		begin();
		for (uint32_t size = 1; size <= 32; size++)
			check_eq(send(addr_of(off), size), size);
		begin();
	}
}

static void what_does_not_fit_is_left_to_the_nic(void)
{
	begin();
	check_eq(put(addr_of(64), KEY, 17), 0);
	check_eq(send(addr_of(64), 33), 0);
	/* the doorbell is somebody else's, and the bytes may come before it */
	check_eq(put(addr_of(64), KEY, 8, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING), 0);
	check_eq(send(addr_of(64), 8, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING), 0);
	q.qp.regions = nullptr;
	check_eq(put(addr_of(64), KEY, 8), 0);
}

/* None of these addresses is read: the first would end the test. */
static void what_no_region_has_is_not_read(void)
{
	begin();
	check_eq(put(8, KEY, 8), 0);
	check_eq(put(8, NO_KEY, 8), 0);
	check_eq(put(8, 0, 8), 0);
	check_eq(put(UINT64_MAX - 3, KEY, 8), 0);
	check_eq(put(addr_of(63), KEY, 8), 0);
	check_eq(put(addr_of(185), KEY, 8), 0);
	check_eq(put(addr_of(192), KEY, 1), 0);
	check_eq(put(addr_of(184), KEY, 8), 8);
	check_eq(put(addr_of(191), KEY, 1), 1);
	/* another one's place */
	show(OTHER, 0, 16);
	check_eq(put(addr_of(64), OTHER, 8), 0);
	check_eq(put(addr_of(8), OTHER, 8), 8);
	/* deregistered */
	regions[KEY >> (32 - BL_GPUNETIO_REGIONS_SHIFT)].key = 0;
	check_eq(put(addr_of(64), KEY, 8), 0);
}

static void results_bring_nothing(void)
{
	uint64_t ticket;

	begin();
	check_eq((doca_gpu_dev_verbs_get<EXCLUSIVE>(&q.qp, {0x1000, 1}, {addr_of(64), BE(KEY)}, 8, {0, 0}, &ticket)), 0);
	check_eq(brought_of(ticket, 3, 64), 0);
}

static void other_operations_that_write_or_send_bring_theirs(void)
{
	uint64_t ticket;

	begin();
	check_eq((doca_gpu_dev_verbs_put_signal<ADD, EXCLUSIVE>(&q.qp, {0x1000, 1}, {addr_of(72), BE(KEY)}, 8, {0x2000, 1},
								{addr_of(128), BE(KEY)}, 1, &ticket)), 0);
	check_eq(brought_of(ticket - 1, 3, 72), 8);
	check_eq((doca_gpu_dev_verbs_put_imm<EXCLUSIVE>(&q.qp, {0x1000, 1}, {addr_of(80), BE(KEY)}, 8, 7, &ticket)), 0);
	check_eq(brought_of(ticket, 3, 80), 8);
	check_eq((doca_gpu_dev_verbs_send_imm<EXCLUSIVE>(&q.qp, {addr_of(88), BE(KEY)}, 24, 7, &ticket)), 0);
	check_eq(brought_of(ticket, 2, 88), 24);
}

/* But for the mark and the bytes it is the WQE that it was. */
static void a_wqe_is_the_same_but_for_what_it_brings(void)
{
	uint8_t without[64];
	uint8_t *slot = q.sq;

	begin();
	q.qp.regions = nullptr;
	check_eq(put(addr_of(64), KEY, 8), 0);
	memcpy(without, slot, sizeof(without));
	begin();
	check_eq(put(addr_of(64), KEY, 8), 8);
	without[9] = BL_GPUNETIO_BROUGHT;
	without[10] = 8;
	check(!memcmp(slot, without, 48));
}

static void a_copy_for_the_line_brings_its_bytes(void)
{
	alignas(16) static uint64_t line[BL_GPUNETIO_EXPRESS_WORDS];
	constexpr auto alone = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD;
	struct doca_gpu_dev_verbs_wqe wqe;
	uint8_t given[64];

	begin();
	q.qp.sq_express = line;
	check(bl_gpu_dev_verbs_can_bring(&q.qp, addr_of(64), BE(KEY), 16));
	check(!bl_gpu_dev_verbs_can_bring(&q.qp, addr_of(64), BE(KEY), 17));
	check(!bl_gpu_dev_verbs_can_bring(&q.qp, addr_of(64), BE(KEY), 0));
	check(bl_gpu_dev_verbs_can_bring<2>(&q.qp, addr_of(64), BE(KEY), 32));
	memset((void *)&wqe, 0, sizeof(wqe));
	doca_gpu_dev_verbs_wqe_prepare_write(&q.qp, &wqe, 0, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, CQ_UPDATE, 0, 0x1000, 1,
					     addr_of(64), BE(KEY), 8);
	bl_gpu_dev_verbs_wqe_bring(&wqe, addr_of(64), 8);
	check_eq((bl_gpu_dev_verbs_submit_express<EXCLUSIVE, alone>(&q.qp, 1, &wqe)), 0);
	for (unsigned int i = 0; i < BL_GPUNETIO_EXPRESS_WORDS; i++)
		memcpy(given + i * 4, &line[i], 4);
	memcpy(q.sq, given, sizeof(given));
	check_eq(brought_of(0, 3, 64), 8);
	check_eq(given[11], CQ_UPDATE);
	/* again, of other bytes: what was brought before is gone */
	bl_gpu_dev_verbs_wqe_bring(&wqe, addr_of(65), 2);
	memcpy(q.sq, &wqe, sizeof(wqe));
	check_eq(brought_of(0, 3, 65), 2);
}

static const struct tap_test tests[] = {
	{"short messages bring their bytes wherever they lie", short_messages_bring_their_bytes_wherever_they_lie},
	{"what does not fit is left to the NIC", what_does_not_fit_is_left_to_the_nic},
	{"what no region has is not read", what_no_region_has_is_not_read},
	{"results bring nothing", results_bring_nothing},
	{"other operations that write or send bring theirs", other_operations_that_write_or_send_bring_theirs},
	{"a WQE is the same but for what it brings", a_wqe_is_the_same_but_for_what_it_brings},
	{"a copy for the line brings its bytes", a_copy_for_the_line_brings_its_bytes},
};

TAP_MAIN(tests)
