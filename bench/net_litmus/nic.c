// SPDX-License-Identifier: MIT
/* nic.c - the NIC's side of each shape: a thread of the CPU, as software NICs and the CPU proxy are */
#include "litmus.h"

#include <endian.h>
#include <string.h>

#include "common/doca_gpunetio_verbs_def.h"
#include "common/doca_gpunetio_verbs_dev.h"
#include "common/doca_gpunetio_verbs_mlx5.h"
#include "copy/fence.h"
#include "copy/line.h"

static void step(const struct litmus_nic *nic)
{
	if (nic->step)
		nic->step();
}

static void store8(const struct litmus_nic *nic, void *to, uint64_t word)
{
	step(nic);
	__atomic_store_n((uint64_t *)to, word, __ATOMIC_RELAXED);
}

static uint64_t load8(const struct litmus_nic *nic, const void *from)
{
	step(nic);
	return __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED);
}

static void dawdle(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		__asm__ volatile("");
}

/* Between two accesses in the wrong order: long enough to be found, and others get the CPU. */
static void gape(const struct litmus_nic *nic, uint64_t nr)
{
	bl_fence_wc_store();
	dawdle(BL_LITMUS_GAPE);
	nic->idle(nic->arg, nr);
}

/* Whether to look once more; others get the CPU now and then. */
static int again(const struct litmus_nic *nic, uint64_t nr, uint32_t *looks)
{
	if (*looks % 64 == 0)
		nic->idle(nic->arg, nr);
	return (*looks)-- != 0;
}

static int is_fenced(const struct litmus_nic *nic)
{
	return nic->test->how == BL_LITMUS_FENCED;
}

/* A load before the next ones. */
static void acquire(const struct litmus_nic *nic)
{
	if (!is_fenced(nic))
		return;
	if (nic->test->message == LITMUS_ON_GPU)
		bl_fence_wc_load();
	else
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* A store before the next ones, also through a mapping that combines them. */
static void release(const struct litmus_nic *nic)
{
	if (!is_fenced(nic))
		return;
	if (nic->test->message == LITMUS_ON_GPU || nic->test->word == LITMUS_ON_GPU)
		bl_fence_wc_store();
	else
		__atomic_thread_fence(__ATOMIC_RELEASE);
}

static int meet(const struct litmus_nic *nic, uint32_t actors, uint64_t nr)
{
	uint64_t *words = (uint64_t *)nic->meet;
	const size_t stride = BL_LITMUS_CELL_SIZE / sizeof(*words);

	/* what may still be in a buffer is of the run before */
	bl_fence_wc_store();
	store8(nic, words + BL_LITMUS_NIC * stride, nr);
	for (uint32_t actor = 0; actor < BL_LITMUS_NIC; actor++) {
		if (!(actors >> actor & 1))
			continue;
		while (load8(nic, words + actor * stride) < nr) {
			int ret = nic->idle(nic->arg, nr);

			if (ret)
				return ret;
		}
	}
	return 0;
}

static uint32_t look(const struct litmus_nic *nic, const void *word, uint64_t nr, uint64_t random)
{
	uint32_t seen = BL_LITMUS_OLD;

	for (uint32_t looks = bl_litmus_looks(random); seen == BL_LITMUS_OLD && again(nic, nr, &looks);)
		seen = bl_litmus_seen(load8(nic, word), nr, 64);
	return seen;
}

/* Of a request that is given whole: old when a word is of another one. @brought: the message that it brings, or NULL. */
static uint32_t whole_seen(const struct litmus_nic *nic, const unsigned char *words, uint64_t nr, uint64_t *brought)
{
	for (uint32_t i = 0; i < BL_GPUNETIO_EXPRESS_WORDS; i++) {
		uint64_t word = load8(nic, words + i * 8UL);
		uint32_t seen = bl_litmus_seen(word >> 32, nr, 32);

		if (seen != BL_LITMUS_NEW)
			return seen;
		if (brought && i / 2 == BL_LITMUS_BROUGHT_AT / 2)
			*brought |= (uint64_t)(uint32_t)word << (i % 2 * 32);
		else if ((uint32_t)word != (uint32_t)nr + i)
			return BL_LITMUS_BROKEN;
	}
	return BL_LITMUS_NEW;
}

/* All words, then the message. */
static uint8_t take(const struct litmus_nic *nic, uint64_t nr, uint64_t random)
{
	size_t off = bl_litmus_off(nr);
	uint32_t told = BL_LITMUS_OLD;

	for (uint32_t looks = bl_litmus_looks(random); told == BL_LITMUS_OLD && again(nic, nr, &looks);)
		told = whole_seen(nic, nic->y + off, nr, NULL);
	/* the words before the message */
	acquire(nic);
	return bl_litmus_bits(0, told) | bl_litmus_bits(1, bl_litmus_seen(load8(nic, nic->x + off), nr, 64));
}

/* All words, of which two are the message. */
static uint8_t take_brought(const struct litmus_nic *nic, uint64_t nr, uint64_t random)
{
	uint32_t told = BL_LITMUS_OLD;
	uint64_t message = 0;

	for (uint32_t looks = bl_litmus_looks(random); told == BL_LITMUS_OLD && again(nic, nr, &looks);) {
		message = 0;
		told = whole_seen(nic, nic->y + bl_litmus_off(nr), nr, &message);
	}
	/* what is not all there says nothing */
	if (told == BL_LITMUS_OLD)
		message = 0;
	return bl_litmus_bits(0, told) | bl_litmus_bits(1, bl_litmus_seen(message, nr, 64));
}

/* The flag, then the message. */
static uint8_t hear(const struct litmus_nic *nic, uint64_t nr, uint64_t random)
{
	size_t off = bl_litmus_off(nr);
	uint32_t told = look(nic, nic->y + off, nr, random);

	/* the flag before the message */
	acquire(nic);
	return bl_litmus_bits(0, told) | bl_litmus_bits(1, bl_litmus_seen(load8(nic, nic->x + off), nr, 64));
}

static void tell(const struct litmus_nic *nic, uint64_t nr)
{
	size_t off = bl_litmus_off(nr);

	if (nic->test->how == BL_LITMUS_SWAPPED) {
		store8(nic, nic->y + off, nr);
		gape(nic, nr);
		store8(nic, nic->x + off, nr);
	} else {
		store8(nic, nic->x + off, nr);
		/* the message before the word */
		release(nic);
		store8(nic, nic->y + off, nr);
	}
	/* the word on its way before the next run */
	bl_fence_wc_store();
}

void litmus_nic_clear_cqes(unsigned char *cqes)
{
	memset(cqes, 0, BL_LITMUS_CELLS * sizeof(struct doca_gpunetio_ib_mlx5_cqe64));
	for (unsigned int i = 0; i < BL_LITMUS_CELLS; i++)
		cqes[i * sizeof(struct doca_gpunetio_ib_mlx5_cqe64) + 63] = DOCA_GPUNETIO_IB_MLX5_CQE_INVALID << 4 | 1;
}

/* The words of a CQE but the last, and the last, which says that it is valid. */
static void store_cqe(const struct litmus_nic *nic, uint64_t *cqe, const uint64_t *words)
{
	for (unsigned int i = 0; i < 7; i++)
		store8(nic, cqe + i, words[i]);
	/* the message and the other words before the last */
	release(nic);
	store8(nic, cqe + 7, words[7]);
}

/* All of them at once, where this CPU can. */
static void store_line(const struct litmus_nic *nic, uint64_t *cqe, const uint64_t *words)
{
	if (!nic->test->line || !bl_can_store_line() || (uintptr_t)cqe % BL_STORE_LINE) {
		store_cqe(nic, cqe, words);
		return;
	}
	step(nic);
	bl_store_line(cqe, words);
}

static void complete(const struct litmus_nic *nic, uint64_t nr)
{
	uint64_t index = nr - 1, slot = index % BL_LITMUS_CELLS, words[8] = { 0 };
	struct doca_gpunetio_ib_mlx5_cqe64 cqe = {
		.byte_cnt = htobe32((uint32_t)nr),
		.wqe_counter = htobe16((uint16_t)index),
		.op_own = (uint8_t)(index / BL_LITMUS_CELLS & 1),
	};
	uint64_t *at = (uint64_t *)(nic->y + slot * sizeof(cqe));

	memcpy(words, &cqe, sizeof(cqe));
	if (nic->test->how == BL_LITMUS_SWAPPED) {
		store_line(nic, at, words);
		gape(nic, nr);
	}
	store8(nic, nic->x + bl_litmus_off(nr), nr);
	/* the message before the completion */
	release(nic);
	if (nic->test->how != BL_LITMUS_SWAPPED)
		store_line(nic, at, words);
	bl_fence_wc_store();
}

static uint8_t store_and_look(const struct litmus_nic *nic, uint64_t nr)
{
	size_t off = bl_litmus_off(nr);
	uint64_t seen;

	if (nic->test->how == BL_LITMUS_SWAPPED) {
		seen = load8(nic, nic->x + off);
		gape(nic, nr);
		store8(nic, nic->y + off, nr);
	} else {
		store8(nic, nic->y + off, nr);
		/* this thread's word before its look at the other's */
		if (is_fenced(nic))
			bl_fence_full();
		seen = load8(nic, nic->x + off);
	}
	return bl_litmus_bits(1, bl_litmus_seen(seen, nr, 64));
}

/* All of a request is new, or something of it is not. */
static uint32_t request_seen(const struct litmus_nic *nic, uint64_t nr)
{
	const unsigned char *request = nic->x + bl_litmus_off(nr);
	uint32_t all = BL_LITMUS_NEW;

	for (unsigned int i = 0; i < 8; i++) {
		uint32_t seen = bl_litmus_seen(load8(nic, request + i * 8), nr, 64);

		if (seen != BL_LITMUS_NEW && all != BL_LITMUS_BROKEN)
			all = seen;
	}
	return all;
}

static uint8_t fetch(const struct litmus_nic *nic, uint64_t nr, uint64_t random)
{
	size_t off = bl_litmus_off(nr);
	uint32_t rung = look(nic, nic->y + off, nr, random), record;

	/* the doorbell before the record */
	acquire(nic);
	record = bl_litmus_seen(load8(nic, nic->z + off), nr, 64);
	/* the record before the request */
	acquire(nic);
	return bl_litmus_bits(0, rung) | bl_litmus_bits(1, record) | bl_litmus_bits(2, request_seen(nic, nr));
}

/* A count of requests, of which the low 16 bits are there, and which only grows. */
static uint32_t count_seen(uint64_t count, uint64_t nr)
{
	return (count & 0xffff) == (nr & 0xffff) ? BL_LITMUS_NEW : BL_LITMUS_OLD;
}

/* Of the word that the handler has. */
static uint32_t word_seen(const struct litmus_nic *nic, uint64_t nr)
{
	uint64_t word = load8(nic, nic->y);

	if (nic->test->handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY)
		return count_seen(word, nr);
	return count_seen(be32toh((uint32_t)word) >> DOCA_GPUNETIO_VERBS_WQE_IDX_SHIFT, nr);
}

/* Its index, and both addresses: one word of each of its parts. */
static uint32_t wqe_seen(const struct litmus_nic *nic, uint64_t nr)
{
	uint64_t index = nr - 1;
	const unsigned char *wqe = nic->x + index % BL_LITMUS_CELLS * 64;
	uint32_t remote = bl_litmus_seen(be64toh(load8(nic, wqe + 16)), nr, 64);
	uint32_t local = bl_litmus_seen(be64toh(load8(nic, wqe + 40)), nr, 64);
	uint32_t at = be32toh((uint32_t)load8(nic, wqe)) >> 8 & 0xffff;

	if (remote == BL_LITMUS_BROKEN || local == BL_LITMUS_BROKEN)
		return BL_LITMUS_BROKEN;
	return remote && local && at == (index & 0xffff) ? BL_LITMUS_NEW : BL_LITMUS_OLD;
}

static uint8_t fetch_submitted(const struct litmus_nic *nic, uint64_t nr, uint64_t random)
{
	uint32_t handler = nic->test->handler, word = BL_LITMUS_OLD, record = BL_LITMUS_OLD;

	for (uint32_t looks = bl_litmus_looks(random); !word && !record && again(nic, nr, &looks);) {
		if (handler)
			word = word_seen(nic, nr);
		/* the word before the record */
		acquire(nic);
		if (!handler || handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB)
			record = count_seen(be32toh((uint32_t)load8(nic, nic->z)), nr);
	}
	/* the record before the request */
	acquire(nic);
	return bl_litmus_bits(0, word) | bl_litmus_bits(1, record) | bl_litmus_bits(2, wqe_seen(nic, nr));
}

static uint8_t play(const struct litmus_nic *nic, uint64_t nr, uint64_t random)
{
	switch (nic->test->shape) {
	case BL_LITMUS_OUT:
	case BL_LITMUS_HANDED:
		return hear(nic, nr, random);
	case BL_LITMUS_IN:
		tell(nic, nr);
		return 0;
	case BL_LITMUS_CQE:
		complete(nic, nr);
		return 0;
	case BL_LITMUS_SB:
		return store_and_look(nic, nr);
	case BL_LITMUS_WQE:
		return fetch(nic, nr, random);
	case BL_LITMUS_WHOLE:
		return take(nic, nr, random);
	case BL_LITMUS_BROUGHT:
		return take_brought(nic, nr, random);
	default:
		return fetch_submitted(nic, nr, random);
	}
}

int litmus_nic_play(const struct litmus_nic *nic)
{
	uint32_t actors = litmus_shape_of(nic->test).actors;

	if (!(actors >> BL_LITMUS_NIC & 1))
		return 0;
	for (uint64_t nr = 1; nr <= nic->runs; nr++) {
		uint64_t random = bl_litmus_random(nic->seed, nr, BL_LITMUS_NIC);
		int ret = meet(nic, actors, nr);

		if (ret)
			return ret;
		dawdle(bl_litmus_turns(random, nic->spread));
		nic->log[nr - 1] = play(nic, nr, random);
	}
	return 0;
}
