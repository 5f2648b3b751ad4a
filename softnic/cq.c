// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/cq: " fmt
#include "cq.h"

#include <errno.h>
#include <stdlib.h>

#include "bytes.h"
#include "mem.h"
#include "util/log.h"

#define NUMBER_BITS 24
#define MAX_NR	    (1U << 22)
#define CI_MASK	    0xffffffU

/* Where fields lie. */
enum {
	RQPN = 24,
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

/* Acquire: the CQE is written after its reader is done with the one that it replaces. */
static bool is_full(const struct bl_snic_cq *cq)
{
	uint32_t ci;

	if (cq->attr.overrun || !cq->attr.dbrec)
		return false;
	ci = be32toh(__atomic_load_n(cq->attr.dbrec, __ATOMIC_ACQUIRE));
	return (((uint32_t)cq->pi - ci) & CI_MASK) >= cq->attr.nr;
}

static void fill(uint8_t *raw, const struct bl_snic_cq *cq, const struct bl_cqe *cqe)
{
	bool owner = cq->pi & cq->attr.nr;

	memset(raw, 0, BL_SNIC_CQE_SIZE);
	bl_be32_put(raw + RQPN, cqe->remote_qpn);
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

int bl_cq_put(struct bl_snic_cq *cq, const struct bl_cqe *cqe)
{
	uint64_t slot = cq->attr.collapsed ? 0 : cq->pi & (cq->attr.nr - 1);
	uint64_t off = cq->attr.ring_off + slot * BL_SNIC_CQE_SIZE;
	struct bl_snic *nic = cq->nic;
	uint8_t raw[BL_SNIC_CQE_SIZE];
	int ret;

	if (is_full(cq)) {
		bl_snic_count(nic, BL_SNIC_CQ_OVERRUN, 1);
		return -ENOSPC;
	}
	fill(raw, cq, cqe);
	/* the reader polls the owner bit in the last word: the rest first, then that word, in one piece */
	ret = bl_snic_mem_write(nic, &cq->attr.ring, off, raw, TAIL);
	if (!ret)
		ret = bl_snic_mem_write(nic, &cq->attr.ring, off + TAIL, raw + TAIL, BL_SNIC_CQE_SIZE - TAIL);
	if (ret)
		return ret;
	cq->pi++;
	bl_snic_count(nic, BL_SNIC_CQE, 1);
	if (cqe->opcode >= BL_CQE_REQ_ERR)
		bl_snic_count(nic, BL_SNIC_CQE_ERROR, 1);
	return 0;
}
