// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/cq: " fmt
#include "cq.h"

#include <errno.h>
#include <stdlib.h>

#include "bytes.h"
#include "mem.h"
#include "util/guard.h"
#include "util/log.h"

#define NUMBER_BITS 24
#define MAX_NR	    (1U << 22)
#define CI_MASK	    0xffffffU

/* Where fields lie. */
enum {
	RQPN = 24,
	SRQN = 32,
	IMM = 36,
	BYTE_COUNT = 44,
	TIME = 48,
	VENDOR = 54,
	SYNDROME = 55,
	TAIL = 56,
	COUNTER = 60,
	OP_OWN = 63
};

static int check_attr(const struct bl_snic *nic, const struct bl_snic_cq_attr *attr)
{
	if (!bl_snic_mem_is_valid(&attr->ring))
		return fail(EINVAL, "%s: the ring has neither an address nor functions", nic->name);
	if (!attr->nr || attr->nr & (attr->nr - 1) || attr->nr > MAX_NR)
		return fail(EINVAL, "%s: %u CQEs: not a power of two from 1 to %u", nic->name, attr->nr, MAX_NR);
	if (((uintptr_t)attr->ring.addr + attr->ring_off) % sizeof(uint64_t))
		return fail(EINVAL, "%s: the ring is not aligned to 8 bytes", nic->name);
	return 0;
}

int bl_snic_cq_create(struct bl_snic *nic, const struct bl_snic_cq_attr *attr, struct bl_snic_cq **cq_p)
{
	struct bl_snic_cq *cq;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	ret = check_attr(nic, attr);
	if (ret)
		goto unlock;
	cq = calloc(1, sizeof(*cq));
	if (!cq) {
		ret = fail(ENOMEM, "%s: out of memory", nic->name);
		goto unlock;
	}
	cq->nic = nic;
	cq->attr = *attr;
	ret = bl_snic_number(&nic->cqs, &nic->next_cq, NUMBER_BITS, cq, &cq->num);
	if (ret) {
		free(cq);
		fail(ENOMEM, "%s: out of memory", nic->name);
	} else {
		*cq_p = cq;
	}
unlock:
	bl_snic_unlock(nic);
	return ret;
}

int bl_snic_cq_destroy(struct bl_snic_cq *cq)
{
	struct bl_snic *nic = cq->nic;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	if (cq->users) {
		ret = fail(EBUSY, "%s: cq 0x%x: %u queues write to it", nic->name, cq->num, cq->users);
	} else {
		bl_cq_show(nic);
		bl_snic_mem_forget(nic, &cq->attr.ring);
		bl_snic_map_remove(&nic->cqs, cq->num);
		free(cq);
	}
	bl_snic_unlock(nic);
	return ret;
}

uint32_t bl_snic_cq_num(const struct bl_snic_cq *cq)
{
	return cq->num;
}

/* Its memory was taken away: that is told once, and it is not touched again. */
static int lose(struct bl_snic_cq *cq, const void *addr, int ret)
{
	if (cq->lost)
		return ret;
	/* memory behind functions alone has no address */
	cq->lost = addr ? addr : cq;
	bl_snic_tell(cq->nic, BL_SNIC_CQ_ERR, cq->num);
	return fail(-ret, "%s: cq 0x%x: its memory at %p cannot be reached any more: %s", cq->nic->name, cq->num, addr,
		    strerror(-ret));
}

/* Acquire: the CQE is written after its reader is done with the one that it replaces. */
static int look_for_room(struct bl_snic_cq *cq)
{
	uint32_t ci;

	if (cq->attr.overrun || !cq->attr.dbrec)
		return 0;
	if (bl_guard_load32(cq->attr.dbrec, &ci))
		return lose(cq, cq->attr.dbrec, -EFAULT);
	return (((uint32_t)cq->pi - be32toh(ci)) & CI_MASK) >= cq->attr.nr ? -ENOSPC : 0;
}

static void fill(uint8_t *raw, const struct bl_snic_cq *cq, const struct bl_cqe *cqe)
{
	bool owner = cq->pi & cq->attr.nr;

	memset(raw, 0, BL_SNIC_CQE_SIZE);
	bl_be32_put(raw + RQPN, cqe->remote_qpn);
	bl_be32_put(raw + SRQN, cqe->srqn);
	memcpy(raw + IMM, &cqe->imm, sizeof(cqe->imm));
	bl_be32_put(raw + BYTE_COUNT, cqe->len);
	if (cqe->opcode >= BL_CQE_REQ_ERR) {
		raw[VENDOR] = cqe->vendor;
		raw[SYNDROME] = cqe->syndrome;
	} else {
		bl_be64_put(raw + TIME, cq->nic->now);
	}
	bl_be32_put(raw + TAIL, (uint32_t)cqe->send_opcode << 24 | cqe->qpn);
	bl_be16_put(raw + COUNTER, cqe->wqe_counter);
	raw[OP_OWN] = (uint8_t)(cqe->opcode << 4 | cqe->solicited << 1 | owner);
}

static int write_end(struct bl_snic *nic, const struct bl_cq_late *late)
{
	const struct bl_snic_mem *ring = &late->cq->attr.ring;

	if (late->whole)
		return bl_snic_mem_put_line(nic, ring, late->off, late->raw);
	return bl_snic_mem_put(nic, ring, late->off + TAIL, late->raw + TAIL, BL_SNIC_CQE_SIZE - TAIL);
}

void bl_cq_show(struct bl_snic *nic)
{
	if (!nic->nr_late)
		return;
	/* all but the last words, and what was moved, before these and those that are written whole */
	bl_snic_mem_order(nic);
	for (unsigned int i = 0; i < nic->nr_late; i++) {
		const struct bl_cq_late *late = &nic->late[i];
		struct bl_snic_cq *cq = late->cq;
		int ret = write_end(nic, late);

		if (!ret)
			continue;
		/* whose completion it is has been forgotten: its queue pair learns it with the next one */
		lose(cq, bl_snic_mem_at(&cq->attr.ring, late->off), ret);
		bl_snic_count(nic, BL_SNIC_CQE, -1ULL);
		bl_snic_count(nic, BL_SNIC_CQE_LOST, 1);
	}
	nic->nr_late = 0;
	bl_snic_mem_order(nic);
}

/* Whether one store writes all of an entry. */
static bool is_line(const struct bl_snic_mem *ring, uint64_t off)
{
	return ring->put_line && !(((uintptr_t)ring->addr + off) % BL_SNIC_CQE_SIZE);
}

/* Several fences are saved when several completions come at once. */
static int write_late(struct bl_snic_cq *cq, uint64_t off, const uint8_t *raw)
{
	struct bl_snic *nic = cq->nic;
	struct bl_cq_late *late;
	bool whole;
	int ret;

	/* the entry that this one takes the place of was one for its reader first */
	if (cq->attr.collapsed || nic->nr_late == BL_CQ_MAX_LATE)
		bl_cq_show(nic);
	whole = is_line(&cq->attr.ring, off);
	ret = whole ? 0 : bl_snic_mem_put(nic, &cq->attr.ring, off, raw, TAIL);
	if (ret)
		return ret;
	late = &nic->late[nic->nr_late++];
	late->cq = cq;
	late->off = off;
	late->whole = whole;
	memcpy(late->raw, raw, sizeof(late->raw));
	return 0;
}

/* The reader polls the owner bit in the last word: the rest first, then that word, in one piece. */
static int write_raw(struct bl_snic_cq *cq, uint64_t off, const uint8_t *raw)
{
	int ret;

	if (cq->attr.ring.put)
		return write_late(cq, off, raw);
	ret = bl_snic_mem_write(cq->nic, &cq->attr.ring, off, raw, TAIL);
	return ret ? ret : bl_snic_mem_write(cq->nic, &cq->attr.ring, off + TAIL, raw + TAIL, BL_SNIC_CQE_SIZE - TAIL);
}

int bl_cq_put(struct bl_snic_cq *cq, const struct bl_cqe *cqe)
{
	uint64_t slot = cq->attr.collapsed ? 0 : cq->pi & (cq->attr.nr - 1);
	uint64_t off = cq->attr.ring_off + slot * BL_SNIC_CQE_SIZE;
	struct bl_snic *nic = cq->nic;
	uint8_t raw[BL_SNIC_CQE_SIZE];
	int ret = cq->lost ? -EFAULT : look_for_room(cq);

	if (ret == -ENOSPC) {
		bl_snic_count(nic, BL_SNIC_CQ_OVERRUN, 1);
		cq->overruns++;
		if (!cq->full)
			bl_snic_tell(nic, BL_SNIC_CQ_ERR, cq->num);
		cq->full = true;
	}
	if (!ret) {
		cq->full = false;
		fill(raw, cq, cqe);
		ret = write_raw(cq, off, raw);
		if (ret)
			lose(cq, bl_snic_mem_at(&cq->attr.ring, off), ret);
	}
	if (ret) {
		bl_snic_count(nic, BL_SNIC_CQE_LOST, ret != -ENOSPC);
		return ret;
	}
	cq->pi++;
	memcpy(cq->last, raw, sizeof(cq->last));
	bl_snic_count(nic, BL_SNIC_CQE, 1);
	if (cqe->opcode >= BL_CQE_REQ_ERR)
		bl_snic_count(nic, BL_SNIC_CQE_ERROR, 1);
	return 0;
}
