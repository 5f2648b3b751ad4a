// SPDX-License-Identifier: MIT
/* Receive lists where something else carries the requests. */
#include <errno.h>
#include <string.h>

#include "mr.h"
#include "offload.h"

/* Given in one pass. */
#define BURST 64

static uint32_t *keys_of(const struct bl_snic_qp *qp, uint64_t count)
{
	return &qp->offload->keys[(count & (qp->attr.rq_nr - 1)) * qp->attr.rq_sges];
}

/* What has to be flushed before it is told that the list is used up. */
static void note_keys(struct bl_snic_qp *qp, uint64_t count, const struct bl_rwqe *rwqe)
{
	uint32_t *keys = keys_of(qp, count);

	memset(keys, 0, qp->attr.rq_sges * sizeof(*keys));
	for (unsigned int i = 0; i < rwqe->nr; i++) {
		const struct bl_snic_mr *mr = bl_snic_map_find(&qp->nic->mrs, rwqe->sges[i].lkey);

		if (mr && mr->mem.flush)
			keys[i] = rwqe->sges[i].lkey;
	}
}

static void cannot_give(struct bl_snic_qp *qp, int ret, const char *why)
{
	static const struct bl_cause unread = {.syndrome = BL_SYNDROME_LOCAL_ACCESS},
				     refused = {.syndrome = BL_SYNDROME_LOCAL_OPERATION};

	if (why)
		bl_qp_fail(qp, UINT64_MAX, &refused, "receive list %llu: %s", (unsigned long long)qp->offload->given, why);
	else
		bl_qp_fail(qp, UINT64_MAX, &unread, "receive ring cannot be read: %s", strerror(-ret));
}

/* One list. Return: 0, -EAGAIN, or another error after which the queue pair is in ERR. */
static int give_one(struct bl_snic_qp *qp)
{
	struct bl_offload *offload = qp->offload;
	const char *why = NULL;
	struct bl_rwqe rwqe;
	int ret;

	ret = bl_rq_read(qp, offload->given, &rwqe);
	if (!ret)
		ret = qp->nic->ops->offload->receive(offload->carrier, &rwqe, bl_offload_id(qp, offload->given), &why);
	if (ret && ret != -EAGAIN)
		cannot_give(qp, ret, why);
	if (ret)
		return ret;
	note_keys(qp, offload->given, &rwqe);
	offload->given++;
	return 0;
}

int bl_offload_give_receives(struct bl_snic_qp *qp)
{
	uint64_t end = qp->rq.ci + bl_rq_posted(qp);
	int nr = 0;

	while (nr < BURST && qp->offload->given < end && !give_one(qp))
		nr++;
	return nr;
}

static void flush(const struct bl_snic_mr *mr)
{
	if (mr && mr->mem.flush)
		mr->mem.flush(mr->mem.priv);
}

/* A write with immediate went to memory that only the peer knows. */
static void flush_written(struct bl_snic_qp *qp)
{
	const struct bl_snic_map *map = &qp->nic->mrs;

	for (size_t i = 0; map->nr && i < 1UL << map->bits; i++) {
		const struct bl_snic_mr *mr = map->slots[i].number ? map->slots[i].object : NULL;

		if (mr && mr->pd == qp->pd && mr->access & BL_SNIC_REMOTE_WRITE)
			flush(mr);
	}
}

/* The carrier wrote it behind the CPU's back: whoever owns the memory sees it before the completion. */
static void flush_received(struct bl_snic_qp *qp, const struct bl_carried *carried)
{
	const uint32_t *keys = keys_of(qp, qp->rq.ci);

	if (carried->opcode == BL_CQE_RESP_WRITE_IMM)
		flush_written(qp);
	for (uint32_t i = 0; i < qp->attr.rq_sges; i++) {
		if (keys[i])
			flush(bl_snic_map_find(&qp->nic->mrs, keys[i]));
	}
}

static void fail_for(struct bl_snic_qp *qp, const struct bl_carried *carried)
{
	const struct bl_cause cause = {.syndrome = carried->syndrome, .vendor = carried->vendor, .responder = true};

	if (carried->syndrome == BL_SYNDROME_FLUSHED)
		bl_qp_fail(qp, UINT64_MAX, &cause, "the device has moved it to ERR: %s", carried->why);
	else
		bl_qp_fail(qp, UINT64_MAX, &cause, "receive list %llu: %s (vendor 0x%02x)",
			   (unsigned long long)qp->rq.ci, carried->why, carried->vendor);
}

void bl_offload_received(struct bl_snic_qp *qp, const struct bl_carried *carried)
{
	struct bl_cqe cqe = {
		.opcode = carried->syndrome ? BL_CQE_RESP_ERR : carried->opcode,
		.syndrome = carried->syndrome,
		.vendor = carried->vendor,
		.len = carried->len,
		.imm = carried->imm,
	};

	if (carried->syndrome && qp->state != BL_SNIC_ERR)
		fail_for(qp, carried);
	if (!carried->syndrome)
		flush_received(qp, carried);
	bl_rq_complete(qp, &cqe);
}
