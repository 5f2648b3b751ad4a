// SPDX-License-Identifier: MIT
/* Work requests, written as device code writes them. */
#include <endian.h>

#include "softnic/wqe.h"
#include "tap.h"
#include "world.h"

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

static uint8_t *seg(struct world_wqe *wqe)
{
	return wqe->raw + wqe->nr_segs++ * 16UL;
}

void wqe_begin(struct world_wqe *wqe, struct world_side *side, uint8_t opmod, uint8_t opcode, uint8_t flags,
	       uint32_t imm)
{
	uint8_t *ctrl;

	memset(wqe, 0, sizeof(*wqe));
	ctrl = seg(wqe);
	ctrl[0] = opmod;
	ctrl[3] = opcode;
	put32(ctrl + 4, bl_snic_qp_num(side->qp) << 8);
	ctrl[11] = flags;
	memcpy(ctrl + 12, &imm, sizeof(imm));
}

void wqe_raddr(struct world_wqe *wqe, uint64_t raddr, uint32_t rkey)
{
	uint8_t *at = seg(wqe);

	put64(at, raddr);
	put32(at + 8, rkey);
}

void wqe_data(struct world_wqe *wqe, uint64_t addr, uint32_t lkey, uint32_t len)
{
	uint8_t *at = seg(wqe);

	put32(at, len);
	put32(at + 4, lkey);
	put64(at + 8, addr);
}

void wqe_inline(struct world_wqe *wqe, const void *bytes, uint32_t len)
{
	uint8_t *at = seg(wqe);

	put32(at, 0x80000000U | len);
	memcpy(at + 4, bytes, len);
	wqe->nr_segs += (4 + len + 15) / 16 - 1;
}

void wqe_seg64(struct world_wqe *wqe, uint64_t first, uint64_t second)
{
	uint8_t *at = seg(wqe);

	put64(at, first);
	put64(at + 8, second);
}

void wqe_seg32(struct world_wqe *wqe, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	uint8_t *at = seg(wqe);

	put32(at, a);
	put32(at + 4, b);
	put32(at + 8, c);
	put32(at + 12, d);
}

uint16_t wqe_put(struct world_wqe *wqe, struct world_side *side)
{
	uint16_t index = (uint16_t)side->pi;
	unsigned int nr_bb = (wqe->nr_segs + 3) / 4;

	wqe->raw[1] = (uint8_t)(index >> 8);
	wqe->raw[2] = (uint8_t)index;
	wqe->raw[7] = (uint8_t)wqe->nr_segs;
	for (unsigned int i = 0; i < nr_bb; i++, side->pi++)
		memcpy(side->sq + (side->pi & (side->sq_nr - 1)) * 64, wqe->raw + i * 64UL, 64);
	return index;
}

void side_ring(struct world_side *side)
{
	uint32_t halves[2] = {htobe32((uint32_t)(side->pi & 0xffff) << 8), htobe32(bl_snic_qp_num(side->qp) << 8)};
	uint64_t word;

	__atomic_store_n(&side->dbrec[1], htobe32(side->pi & 0xffff), __ATOMIC_RELEASE);
	memcpy(&word, halves, sizeof(word));
	__atomic_store_n((uint64_t *)((char *)bl_snic_uar_page(side->uar) + BL_SNIC_UAR_NODBR), word, __ATOMIC_RELEASE);
}

uint16_t wqe_post(struct world_wqe *wqe, struct world_side *side)
{
	uint16_t index = wqe_put(wqe, side);

	side_ring(side);
	return index;
}

void wqe_give_word(const struct world_wqe *wqe, uint64_t *line, unsigned int i, uint64_t count)
{
	uint32_t part;

	memcpy(&part, wqe->raw + i * 4UL, sizeof(part));
	__atomic_store_n(&line[i], (count + i / BL_SNIC_EXPRESS_WORDS) << 32 | part, __ATOMIC_RELEASE);
}

void wqe_give(const struct world_wqe *wqe, uint64_t *line, uint64_t count)
{
	for (unsigned int i = 0; i < BL_SNIC_EXPRESS_WORDS; i++)
		wqe_give_word(wqe, line, i, count);
}

uint16_t post_write(struct world_side *side, struct world_side *peer, size_t to, size_t from, uint32_t len)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, side, 0, BL_WQE_WRITE, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, peer->iova + to, peer->key);
	wqe_data(&wqe, side->iova + from, side->key, len);
	return wqe_post(&wqe, side);
}

uint16_t post_read(struct world_side *side, struct world_side *peer, size_t to, size_t from, uint32_t len)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, side, 0, BL_WQE_READ, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, peer->iova + from, peer->key);
	wqe_data(&wqe, side->iova + to, side->key, len);
	return wqe_post(&wqe, side);
}

uint16_t post_send(struct world_side *side, size_t from, uint32_t len)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, side, 0, BL_WQE_SEND, WORLD_SIGNAL, 0);
	wqe_data(&wqe, side->iova + from, side->key, len);
	return wqe_post(&wqe, side);
}

uint16_t post_add(struct world_side *side, struct world_side *peer, size_t where, size_t result, uint64_t value)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, side, 0, BL_WQE_FETCH_ADD, WORLD_SIGNAL, 0);
	wqe_raddr(&wqe, peer->iova + where, peer->key);
	wqe_seg64(&wqe, value, 0);
	wqe_data(&wqe, side->iova + result, side->key, 8);
	return wqe_post(&wqe, side);
}

uint16_t post_nop(struct world_side *side, uint8_t flags)
{
	struct world_wqe wqe;

	wqe_begin(&wqe, side, 0, BL_WQE_NOP, flags, 0);
	return wqe_post(&wqe, side);
}

void post_recv(struct world_side *side, size_t to, uint32_t len)
{
	uint8_t *at = side->rq + (side->rpi & (side->rq_nr - 1)) * 16UL * side->rq_sges;

	put32(at, len);
	put32(at + 4, len ? side->key : 0x100);
	put64(at + 8, len ? side->iova + to : 0);
	if (side->rq_sges > 1)
		put32(at + 20, 0x100);
	side->rpi++;
	__atomic_store_n(&side->dbrec[0], htobe32(side->rpi & 0xffff), __ATOMIC_RELEASE);
}

void fill(uint8_t *at, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)((i * 131 + (i >> 8) * 17 + seed * 29 + 1) & 0xff);
}

bool is_filled(const uint8_t *at, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i] != (uint8_t)((i * 131 + (i >> 8) * 17 + seed * 29 + 1) & 0xff))
			return false;
	}
	return true;
}
