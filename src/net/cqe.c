// SPDX-License-Identifier: MIT
#include "net/cqe.h"

#include <stdbool.h>
#include <string.h>

#define OP_OWN	   63
#define OP_SHIFT   4
#define OP_INVALID 15
#define OWNER	   1

void bl_cqe_ring_init(uint8_t *ring, uint32_t nr)
{
	memset(ring, 0, (size_t)nr * BL_CQE_SIZE);
	for (uint32_t i = 0; i < nr; i++)
		ring[(size_t)i * BL_CQE_SIZE + OP_OWN] = OP_INVALID << OP_SHIFT | OWNER;
}

static uint8_t op_own(const uint8_t *ring, uint32_t slot)
{
	return ring[(size_t)slot * BL_CQE_SIZE + OP_OWN];
}

static bool written(const uint8_t *ring, uint32_t slot)
{
	return op_own(ring, slot) >> OP_SHIFT != OP_INVALID;
}

static uint32_t owner(const uint8_t *ring, uint32_t slot)
{
	return op_own(ring, slot) & OWNER;
}

uint64_t bl_cqe_ring_position(const uint8_t *ring, uint32_t nr, uint64_t begin)
{
	uint32_t first = owner(ring, 0), slot, count = 0;

	while (count < nr && written(ring, (uint32_t)(begin + count) & (nr - 1)))
		count++;
	if (count < nr)
		return begin + count;
	/* all were written: those in front of the position belong to its round, those behind to the one before */
	for (slot = 1; slot < nr && owner(ring, slot) == first; slot++)
		;
	if (slot < nr)
		return (uint64_t)first * nr + slot;
	return (uint64_t)(first ^ OWNER) * nr;
}
