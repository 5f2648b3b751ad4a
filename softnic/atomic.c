// SPDX-License-Identifier: MIT
#include "atomic.h"

#include "mem.h"
#include "util/guard.h"

/* A carry goes into a bit of the boundary, the highest of its field, and no further. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t boundary)
{
	return ((a & ~boundary) + (b & ~boundary)) ^ ((a ^ b) & boundary);
}

uint64_t bl_atomic_result(const struct bl_packet *packet, uint64_t old)
{
	uint64_t differ;

	switch (packet->opcode) {
	case BL_PKT_FETCH_ADD:
		return old + packet->swap_add;
	case BL_PKT_MASKED_FETCH_ADD:
		return add_fields(old, packet->swap_add, packet->compare_mask);
	case BL_PKT_CMP_SWAP:
		return old == packet->compare ? packet->swap_add : old;
	default:
		differ = (old ^ packet->compare) & packet->compare_mask;
		if (packet->operand_len == 4)
			differ = (uint32_t)differ;
		return differ ? old : (old & ~packet->swap_mask) | (packet->swap_add & packet->swap_mask);
	}
}

static uint64_t do_8(uint64_t *word, const struct bl_packet *packet)
{
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), new;

	/* release: what the peer wrote before is seen by who sees the new value; acquire: the reverse for who hears of
	 * @old */
	do {
		new = bl_atomic_result(packet, old);
	} while (!__atomic_compare_exchange_n(word, &old, new, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return old;
}

static uint32_t do_4(uint32_t *word, const struct bl_packet *packet)
{
	uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED), new;

	/* as above */
	do {
		new = (uint32_t)bl_atomic_result(packet, old);
	} while (!__atomic_compare_exchange_n(word, &old, new, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return old;
}

struct op {
	void *word;
	const struct bl_packet *packet;
	uint64_t old;
};

static int do_op(void *arg)
{
	struct op *op = arg;

	op->old = op->packet->operand_len == 8 ? do_8(op->word, op->packet) : do_4(op->word, op->packet);
	return 0;
}

/* Where there are no atomic instructions: nobody else of this NIC comes between, but the memory's owner may. */
static int do_apart(struct bl_snic *nic, const struct bl_snic_mem *mem, uint64_t off, const struct bl_packet *packet,
		    uint64_t *old_p)
{
	uint32_t old4, new4;
	uint64_t new8;
	int ret;

	if (packet->operand_len == 8) {
		ret = bl_snic_mem_read(mem, off, old_p, sizeof(*old_p));
		new8 = ret ? 0 : bl_atomic_result(packet, *old_p);
		return ret ? ret : bl_snic_mem_write(nic, mem, off, &new8, sizeof(new8));
	}
	ret = bl_snic_mem_read(mem, off, &old4, sizeof(old4));
	if (ret)
		return ret;
	*old_p = old4;
	new4 = (uint32_t)bl_atomic_result(packet, old4);
	return bl_snic_mem_write(nic, mem, off, &new4, sizeof(new4));
}

int bl_atomic_do(struct bl_snic *nic, const struct bl_snic_mem *mem, uint64_t off, const struct bl_packet *packet,
		 uint64_t *old_p)
{
	struct op op = {.word = bl_snic_mem_at(mem, off), .packet = packet};
	int ret;

	if (!bl_snic_mem_is_ordinary(mem) || (uintptr_t)op.word % packet->operand_len)
		return do_apart(nic, mem, off, packet, old_p);
	if (nic->dirty)
		bl_snic_mem_settle(nic);
	nic->placed = true;
	ret = bl_guard_call(op.word, packet->operand_len, do_op, &op);
	*old_p = op.old;
	if (mem->flush)
		nic->dirty = mem;
	return ret;
}
