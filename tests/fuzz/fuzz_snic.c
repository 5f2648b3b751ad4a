// SPDX-License-Identifier: MIT
/*
 * The software NIC: any bytes as send requests, receive lists, doorbells and packets
 *
 * Its user's memory lies behind functions that know what each region allows: nothing else is ever reached, whatever a
 * request or a packet says. A request makes at most one completion, and everything ends.
 */
#include "fuzz.h"

#include <errno.h>
#include <setjmp.h>
#include <string.h>

#include "softnic/nic.h"
#include "softnic/snic_srq.h"
#include "softnic/wqe.h"
#include "tap.h"
#include "unit/snic/world.h"
#include "util/log.h"

#define AREA  4096
#define STEPS 40

/* Of side b: what is reached is checked against these rights. */
struct area {
	uint8_t mem[AREA];
	bool readable, writable;
};

static struct area areas[] = {
	{.readable = true, .writable = true},
	{.readable = true},
	{.readable = true, .writable = true},
	{.readable = true, .writable = true},
};

static const unsigned int rights[] = {
	BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_WRITE | BL_SNIC_REMOTE_READ | BL_SNIC_REMOTE_ATOMIC,
	BL_SNIC_REMOTE_READ,
	BL_SNIC_LOCAL_WRITE,
	BL_SNIC_LOCAL_WRITE | BL_SNIC_REMOTE_WRITE,
};

#define NR_AREAS (sizeof(areas) / sizeof(areas[0]))

static struct bl_snic_mr *mrs[2][NR_AREAS];
static uint32_t keys[2][NR_AREAS];

static int area_read(void *priv, uint64_t off, void *dst, size_t len)
{
	struct area *area = priv;

	must(area->readable);
	must(off <= AREA && len <= AREA - off);
	memcpy(dst, area->mem + off, len);
	return 0;
}

static int area_write(void *priv, uint64_t off, const void *src, size_t len)
{
	struct area *area = priv;

	must(area->writable);
	must(off <= AREA && len <= AREA - off);
	memcpy(area->mem + off, src, len);
	return 0;
}

/* A mover that is done at once, within one NIC and between two. */
static bool area_able(const void *dst, const void *src)
{
	return true;
}

static int area_start(void *dst, uint64_t dst_off, void *src, uint64_t src_off, size_t len, struct bl_snic_job *job)
{
	struct area *to = dst, *from = src;

	must(to->writable && from->readable);
	must(dst_off <= AREA && len <= AREA - dst_off && src_off <= AREA && len <= AREA - src_off);
	memmove(to->mem + dst_off, from->mem + src_off, len);
	return 0;
}

static int area_poll(const struct bl_snic_job *job)
{
	return 0;
}

static int area_share(void *src, uint8_t bytes[BL_SNIC_SHARE_LEN])
{
	bytes[0] = (uint8_t)((struct area *)src - areas);
	return 0;
}

static int area_attach(const uint8_t bytes[BL_SNIC_SHARE_LEN], void **moved_p, size_t *len_p)
{
	if (bytes[0] >= NR_AREAS)
		return -EPROTO;
	*moved_p = &areas[bytes[0]];
	*len_p = AREA;
	return 0;
}

static int area_detach(void *moved)
{
	return 0;
}

static const struct bl_snic_mover area_mover = {
	.least = 256,
	.able = area_able,
	.start = area_start,
	.poll = area_poll,
	.share = area_share,
	.attach = area_attach,
	.detach = area_detach,
};

static void make_areas(struct world_side *side, int who)
{
	for (size_t i = 0; i < NR_AREAS; i++) {
		struct bl_snic_mem mem = {.read = area_read, .write = area_write, .priv = &areas[i],
					  .mover = &area_mover, .moved = &areas[i]};

		must(!bl_snic_mr_create(side->pd, &mem, 0x1000 * (i + 1), AREA, rights[i], &mrs[who][i]));
		keys[who][i] = bl_snic_mr_lkey(mrs[who][i]);
	}
}

static void drop_area(int who, size_t i)
{
	if (mrs[who][i])
		must(!bl_snic_mr_destroy(mrs[who][i]));
	mrs[who][i] = NULL;
}

/* A key that may be one of either side, and an address near a region: most of what is random is refused at once. */
static uint32_t some_key(void)
{
	uint8_t choice = fuzz_byte();

	return choice & 0x80 ? (uint32_t)fuzz_number() : keys[choice & 1][choice >> 1 & 3];
}

static uint64_t some_addr(void)
{
	uint8_t choice = fuzz_byte();

	if (choice & 0x80)
		return fuzz_number();
	return 0x1000 * (1 + (choice & 3U)) + (choice & 4 ? fuzz_byte() : (uint64_t)(fuzz_byte() & 15) * 8) +
	       (choice & 8 ? AREA - 16 : 0);
}

static void put32(uint8_t *at, uint32_t value)
{
	value = __builtin_bswap32(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	value = __builtin_bswap64(value);
	memcpy(at, &value, sizeof(value));
}

/* A segment of any kind: data, an address, inline, operands, or anything. */
static void some_seg(uint8_t *seg)
{
	uint8_t kind = fuzz_byte();

	if (kind & 1) {
		put32(seg, kind & 2 ? (uint32_t)fuzz_number() : fuzz_byte());
		put32(seg + 4, some_key());
		put64(seg + 8, some_addr());
	} else if (kind & 2) {
		put64(seg, some_addr());
		put32(seg + 8, some_key());
	} else {
		fuzz_bytes(seg, 16);
	}
}

static void post_some(struct world_side *side)
{
	static const uint8_t opcodes[] = {0x00, 0x08, 0x09, 0x0a, 0x0b, 0x0f, 0x10, 0x11, 0x12, 0x14, 0x15, 0x23};
	uint8_t choice = fuzz_byte(), flags = fuzz_byte(), opmod = fuzz_byte() & 1 ? 8 : 9;
	struct world_wqe wqe;
	unsigned int nr;

	wqe_begin(&wqe, side, opmod, choice & 0x80 ? choice : opcodes[choice % sizeof(opcodes)], flags, choice);
	nr = fuzz_byte() % 63;
	for (unsigned int i = 0; i < nr; i++)
		some_seg(wqe.raw + (1UL + i) * 16);
	wqe.nr_segs += nr;
	wqe_put(&wqe, side);
	/* what the control segment says of itself may be wrong as well */
	if (fuzz_byte() == 1)
		side->sq[(side->pi - 1) % side->sq_nr * 64 + fuzz_byte() % 8] = fuzz_byte();
	side_ring(side);
}

/* A request that is mostly right, and long enough to be placed. */
static void post_good(struct world_side *side, int who)
{
	static const uint8_t opcodes[] = {BL_WQE_WRITE, BL_WQE_SEND, BL_WQE_READ, BL_WQE_WRITE_IMM};
	uint8_t opcode = opcodes[fuzz_byte() % sizeof(opcodes)], areas_of = fuzz_byte();
	uint32_t len = 256 + 8U * fuzz_byte();
	struct world_wqe wqe;

	wqe_begin(&wqe, side, 0, opcode, WORLD_SIGNAL, len);
	if (opcode != BL_WQE_SEND)
		wqe_raddr(&wqe, 0x1000 * (1 + (areas_of & 3U)) + fuzz_byte(), keys[!who][areas_of & 3]);
	wqe_data(&wqe, 0x1000 * (1 + (areas_of >> 2 & 3U)) + fuzz_byte(), keys[who][areas_of >> 2 & 3], len);
	wqe_post(&wqe, side);
}

/*
 * Where the next list goes. Those of a shared receive queue that are linked follow each other in the order of the ring, if
 * nothing else is said.
 */
static uint8_t *list_at(struct world_side *side, bool linked)
{
	uint8_t *list = side->rq + (side->rpi & (side->rq_nr - 1)) * 16UL * (side->rq_sges + linked);

	if (!linked)
		return list;
	list[2] = fuzz_byte() == 1 ? fuzz_byte() : 0;
	list[3] = fuzz_byte() == 1 ? fuzz_byte() : (uint8_t)((side->rpi + 1) & (side->rq_nr - 1));
	return list + 16;
}

static void receive_some(struct world_side *side, bool linked)
{
	uint8_t *list = list_at(side, linked);

	for (uint32_t i = 0; i < side->rq_sges; i++)
		some_seg(list + i * 16UL);
	side->rpi++;
	put32((uint8_t *)&side->dbrec[0], (uint32_t)side->rpi & 0xffff);
}

static void inject_some(struct world_side *from, struct world_side *to)
{
	struct bl_packet packet = {.opcode = fuzz_byte() & 0x3f, .flags = fuzz_byte() & 15, .syndrome = fuzz_byte()};
	uint8_t choice = fuzz_byte();
	struct bl_snic_path *path;
	void *room;

	packet.dest_qpn = bl_snic_qp_num(to->qp);
	packet.psn = choice & 1 ? world_query(to).expected_psn : (uint32_t)fuzz_number();
	if (choice & 2)
		packet.psn = world_query(to).next_psn - 1;
	packet.imm = choice & 4 ? (uint32_t)fuzz_number() : 0;
	packet.operand_len = choice & 8 ? 8 : fuzz_byte();
	packet.va = some_addr();
	packet.rkey = some_key();
	packet.dma_len = choice & 16 ? (uint32_t)fuzz_number() : fuzz_byte();
	packet.swap_add = fuzz_number();
	packet.compare = choice & 64 ? fuzz_byte() & 3 : 0;
	packet.compare_mask = fuzz_byte();
	packet.src_qpn = choice & 128 ? bl_snic_qp_num(from->qp) : 0;
	packet.len = choice & 32 ? packet.dma_len % 4096 : fuzz_byte();
	must(!world_transport.path_open(from->nic->link, bl_snic_gid(to->nic), &path));
	room = world_transport.reserve(path, packet.len);
	if (room) {
		memset(room, choice, packet.len);
		world_transport.commit(path, &packet);
	}
	world_transport.path_close(path);
}

static void step(struct world *w)
{
	uint8_t what = fuzz_byte();
	struct world_side *side = what & 0x80 ? &w->a : &w->b, *other = what & 0x80 ? &w->b : &w->a;

	switch (what % 8) {
	case 0 ... 2:
		/* a request overwritten before it is complete is a fault of the user, not of the NIC */
		if (side->pi - world_query(side).sq_ci + 16 > side->sq_nr)
			break;
		if (what & 0x40)
			post_good(side, side == &w->b);
		else
			post_some(side);
		break;
	case 3:
		if (side->rpi - world_query(side).rq_ci < side->rq_nr)
			receive_some(side, w->options.srq_linked);
		break;
	case 4:
		inject_some(other, side);
		break;
	case 5:
		world_run(w);
		break;
	case 6:
		world_leap(w, 10 * fuzz_byte() * WORLD_MS);
		break;
	default:
		drop_area(side == &w->b, fuzz_byte() % NR_AREAS);
	}
}

/* So have receives; of a shared queue, those that were taken. */
static void check_receives(struct world_side *side)
{
	struct bl_snic_srq_info info;

	if (!side->srq) {
		must(world_query(side).rq_ci == side->rpi);
		return;
	}
	must(world_query(side).rq_ci == world_query(side).rq_pi);
	must(!bl_snic_srq_query(side->srq, &info));
	must(info.done == info.taken && info.taken <= info.posted && info.posted <= side->rpi);
}

/* In ERR, everything that was posted has been completed. */
static void check_end(struct world *w, struct world_side *side)
{
	must(!bl_snic_qp_modify(side->qp, &(struct bl_snic_qp_mod){.state = BL_SNIC_ERR}));
	/* what never came is given up after a second, each time */
	for (int i = 0; i < 100 && world_query(side).sq_pi < side->pi; i++)
		world_leap(w, 1001 * WORLD_MS);
	must(world_query(side).sq_ci == side->pi);
	check_receives(side);
	must(side->nic->counters[BL_SNIC_WQE] <= (w->options.one_nic ? w->a.pi + w->b.pi : side->pi));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world_options options = {.sq_nr = 64, .rq_nr = 8, .rq_sges = 4, .cq_nr = 8, .mtu = 256, .bytes = 64};
	struct world *w;
	uint8_t choice;

	bl_log_set_level(BL_LOG_OFF);
	/* the fixture's own checks end here */
	if (setjmp(tap_env)) {
		fprintf(stderr, "%s\n", tap_text);
		abort();
	}
	fuzz_begin(data, size);
	choice = fuzz_byte();
	options.uc = choice & 1;
	options.one_nic = choice & 2;
	options.srq = choice & 4;
	options.srq_linked = options.srq && choice & 8;
	if (options.srq_linked)
		options.rq_sges = 3;
	options.mover = &area_mover;
	options.no_moved = true;
	w = world_begin(&options);
	make_areas(&w->a, 0);
	make_areas(&w->b, 1);
	for (unsigned int i = 0; i < STEPS; i++)
		step(w);
	world_run(w);
	check_end(w, &w->a);
	check_end(w, &w->b);
	for (size_t i = 0; i < NR_AREAS; i++) {
		drop_area(0, i);
		drop_area(1, i);
	}
	world_end(w);
	return 0;
}
