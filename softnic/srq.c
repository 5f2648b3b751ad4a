// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/srq: " fmt
#include "srq.h"

#include <errno.h>
#include <stdlib.h>

#include "bytes.h"
#include "mem.h"
#include "util/guard.h"
#include "util/log.h"
#include "wqe.h"

#define NUMBER_BITS 24
#define MAX_NR	    32768
#define MAX_STRIDE  (BL_RWQE_MAX_SGES * BL_WQE_SEG)

/* Of the segment that a WQE of a linked list begins with. */
#define NEXT_INDEX 2

static bool is_linked(const struct bl_snic_srq *srq)
{
	return srq->attr.type == BL_SNIC_SRQ_LINKED;
}

static uint32_t stride_of(const struct bl_snic_srq_attr *attr)
{
	uint32_t segs = attr->sges + (attr->type == BL_SNIC_SRQ_LINKED);

	return segs * BL_WQE_SEG;
}

static int check_attr(const struct bl_snic *nic, const struct bl_snic_srq_attr *attr)
{
	uint32_t stride = attr->sges > BL_RWQE_MAX_SGES ? 0 : stride_of(attr);

	if (nic->ops->offload)
		return fail(EOPNOTSUPP, "%s: its device carries the requests, and has receive queues of its own", nic->name);
	if (attr->type != BL_SNIC_SRQ_LINKED && attr->type != BL_SNIC_SRQ_CYCLIC)
		return fail(EINVAL, "%s: unknown type %d", nic->name, (int)attr->type);
	if (attr->nr < 2 || attr->nr > MAX_NR || attr->nr & (attr->nr - 1))
		return fail(EINVAL, "%s: %u receive lists: not a power of two from 2 to %u", nic->name, attr->nr, MAX_NR);
	if (!attr->sges || !stride || stride > MAX_STRIDE || stride & (stride - 1))
		return fail(EINVAL, "%s: %u segments make no WQE of a power of two bytes up to %u", nic->name, attr->sges,
			    MAX_STRIDE);
	if (!bl_snic_mem_is_valid(&attr->ring))
		return fail(EINVAL, "%s: the ring has neither an address nor functions", nic->name);
	if (!attr->dbrec || (uintptr_t)attr->dbrec % sizeof(*attr->dbrec))
		return fail(EINVAL, "%s: %s", nic->name,
			    attr->dbrec ? "the doorbell record is not aligned" : "there is no doorbell record");
	return 0;
}

static struct bl_snic_srq *alloc(struct bl_snic_pd *pd, const struct bl_snic_srq_attr *attr)
{
	struct bl_snic_srq *srq = calloc(1, sizeof(*srq));

	if (!srq)
		return NULL;
	srq->back = calloc(attr->nr, sizeof(*srq->back));
	if (!srq->back) {
		free(srq);
		return NULL;
	}
	srq->nic = pd->nic;
	srq->pd = pd;
	srq->attr = *attr;
	srq->stride = stride_of(attr);
	return srq;
}

static void free_srq(struct bl_snic_srq *srq)
{
	free(srq->back);
	free(srq);
}

int bl_snic_srq_create(struct bl_snic_pd *pd, const struct bl_snic_srq_attr *attr, struct bl_snic_srq **srq_p)
{
	struct bl_snic *nic = pd->nic;
	struct bl_snic_srq *srq;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	ret = check_attr(nic, attr);
	if (ret)
		goto unlock;
	srq = alloc(pd, attr);
	if (!srq) {
		ret = fail(ENOMEM, "%s: out of memory for %u receive lists", nic->name, attr->nr);
		goto unlock;
	}
	ret = bl_snic_number(&nic->srqs, &nic->next_srq, NUMBER_BITS, srq, &srq->num);
	if (ret) {
		free_srq(srq);
		fail(ENOMEM, "%s: no number for a shared receive queue", nic->name);
		goto unlock;
	}
	pd->users++;
	*srq_p = srq;
unlock:
	bl_snic_unlock(nic);
	return ret;
}

int bl_snic_srq_destroy(struct bl_snic_srq *srq)
{
	struct bl_snic *nic = srq->nic;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	if (srq->users) {
		ret = fail(EBUSY, "%s: srq 0x%x: %u queue pairs receive from it", nic->name, srq->num, srq->users);
	} else {
		srq->pd->users--;
		bl_snic_map_remove(&nic->srqs, srq->num);
		free_srq(srq);
	}
	bl_snic_unlock(nic);
	return ret;
}

void bl_srqs_free(struct bl_snic *nic)
{
	struct bl_snic_srq *srq;

	while ((srq = bl_snic_map_any(&nic->srqs))) {
		bl_snic_map_remove(&nic->srqs, srq->num);
		free_srq(srq);
	}
	bl_snic_map_free(&nic->srqs);
}

uint32_t bl_snic_srq_num(const struct bl_snic_srq *srq)
{
	return srq->num;
}

int bl_snic_srq_query(struct bl_snic_srq *srq, struct bl_snic_srq_info *info)
{
	struct bl_snic *nic = srq->nic;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	*info = (struct bl_snic_srq_info){
		.posted = srq->ci - srq->nr_back + bl_srq_waiting(srq),
		.taken = srq->ci - srq->nr_back,
		.done = srq->done,
		.users = srq->users,
		.broken = srq->broken,
	};
	bl_snic_unlock(nic);
	return 0;
}

/*
 * What the record tells of that was not known. Acquire: the WQEs are read after the count that covers them. One that is
 * ahead by more than the ring is none. Return: 0, or -EFAULT: the record is there no more.
 */
static int look(const struct bl_snic_srq *srq, uint16_t *nr_p)
{
	uint32_t record;

	*nr_p = 0;
	if (srq->lost || bl_guard_load32(srq->attr.dbrec, &record))
		return -EFAULT;
	*nr_p = (uint16_t)(be32toh(record) - (uint32_t)srq->pi);
	if (*nr_p > srq->attr.nr)
		*nr_p = 0;
	return 0;
}

uint64_t bl_srq_waiting(const struct bl_snic_srq *srq)
{
	uint16_t ahead;

	look(srq, &ahead);
	return srq->pi - srq->ci + ahead + srq->nr_back;
}

/* The WQE's list; *@next_p receives its successor, which need not be one. */
static int read_wqe(const struct bl_snic_srq *srq, uint16_t index, struct bl_rwqe *rwqe, uint16_t *next_p)
{
	uint64_t slot = index & (srq->attr.nr - 1);
	uint8_t raw[MAX_STRIDE];
	int ret;

	ret = bl_snic_mem_read(&srq->attr.ring, srq->attr.ring_off + slot * srq->stride, raw, srq->stride);
	if (ret)
		return ret;
	*next_p = is_linked(srq) ? (uint16_t)(raw[NEXT_INDEX] << 8 | raw[NEXT_INDEX + 1]) : (uint16_t)(index + 1);
	bl_rwqe_parse(raw + (is_linked(srq) ? BL_WQE_SEG : 0), srq->attr.sges, rwqe);
	return 0;
}

static int take_back(struct bl_snic_srq *srq, struct bl_rwqe *rwqe, uint16_t *index_p)
{
	uint16_t unused;
	int ret;

	ret = read_wqe(srq, srq->back[srq->nr_back - 1], rwqe, &unused);
	if (!ret)
		*index_p = srq->back[--srq->nr_back];
	return ret;
}

static int take_next(struct bl_snic_srq *srq, struct bl_rwqe *rwqe, uint16_t *index_p)
{
	uint16_t next, ahead = 0;
	int ret;

	if (srq->broken)
		return -EPIPE;
	if (srq->ci == srq->pi && look(srq, &ahead)) {
		srq->lost = true;
		return -EFAULT;
	}
	srq->pi += ahead;
	if (srq->ci == srq->pi)
		return -EAGAIN;
	ret = read_wqe(srq, srq->next, rwqe, &next);
	if (ret)
		return ret;
	*index_p = srq->next;
	srq->next = next;
	srq->ci++;
	if (!is_linked(srq) || next < srq->attr.nr)
		return 0;
	srq->broken = true;
	return fail(EBADMSG, "%s: srq 0x%x: wqe %u names %u as the next, of %u: nothing is received after it",
		    srq->nic->name, srq->num, *index_p, next, srq->attr.nr);
}

int bl_srq_take(struct bl_snic_srq *srq, struct bl_rwqe *rwqe, uint16_t *index_p, const char **why_p)
{
	int ret = srq->nr_back ? take_back(srq, rwqe, index_p) : take_next(srq, rwqe, index_p);

	if (ret == -EAGAIN)
		bl_snic_count(srq->nic, BL_SNIC_SRQ_EMPTY, 1);
	else if (!ret || ret == -EBADMSG)
		bl_snic_count(srq->nic, BL_SNIC_SRQ_TAKEN, 1);
	if (ret == -EBADMSG)
		*why_p = "the receive list names a next one that the shared receive queue does not have";
	else if (ret == -EPIPE)
		*why_p = "the shared receive queue ended with a list that names no next one";
	else
		*why_p = "the shared receive queue cannot be read";
	return ret;
}

void bl_srq_give_back(struct bl_snic_srq *srq, uint16_t index)
{
	/* more are under way only when a program posts what has not come back */
	if (srq->nr_back < srq->attr.nr)
		srq->back[srq->nr_back++] = index;
}
