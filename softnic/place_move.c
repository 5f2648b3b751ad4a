// SPDX-License-Identifier: MIT
/* From the memory of a request to where its message goes. */
#include <errno.h>

#include "mr.h"
#include "place.h"
#include "segs.h"
#include "share.h"

/* A part of the receiver's memory. */
struct part {
	struct bl_snic_mr *mr;
	uint64_t off;
	uint64_t len;
};

static bool fits(const struct bl_wr *wr, const struct bl_packet *packet)
{
	return wr->placed && !wr->done && !wr->syndrome && wr->wqe.len == packet->dma_len &&
	       !((wr->first_psn ^ packet->psn) & BL_PSN_MASK);
}

struct bl_wr *bl_place_source(const struct bl_snic_qp *qp, const struct bl_placement *placement,
			      struct bl_snic_qp **from_p)
{
	const struct bl_packet *packet = &placement->packet;
	struct bl_snic_qp *from = qp->loop ? bl_snic_map_find(&qp->nic->qps, packet->src_qpn) : NULL;
	struct bl_wr *wr;

	if (!from || from->state != BL_SNIC_RTS || from->mod.dest_qpn != qp->num)
		return NULL;
	if (packet->swap_add < from->sq.head || packet->swap_add >= from->sq.launched)
		return NULL;
	wr = bl_qp_wr(from, packet->swap_add);
	*from_p = from;
	return fits(wr, packet) ? wr : NULL;
}

static void refuse(struct bl_placement *placement, enum bl_outcome outcome, uint8_t syndrome, const char *why)
{
	placement->outcome = outcome;
	placement->refusal.syndrome = syndrome;
	placement->refusal.why = why;
}

/* Checked anew for each part: the region may be gone. */
static bool find_write(struct bl_snic_qp *qp, struct bl_placement *placement, struct part *part)
{
	const struct bl_packet *packet = &placement->packet;
	struct bl_mr_span span = {
		.pd = qp->pd,
		.key = packet->rkey,
		.addr = packet->va,
		.len = packet->dma_len,
		.access = BL_SNIC_REMOTE_WRITE,
	};
	const char *why = "the queue pair does not allow it";

	if (qp->mod.access & BL_SNIC_REMOTE_WRITE)
		why = bl_mr_check(qp->nic, &span, &part->mr, &part->off);
	if (why) {
		placement->refusal.addr = packet->va;
		placement->refusal.len = packet->dma_len;
		placement->refusal.key = packet->rkey;
		refuse(placement, BL_OUTCOME_ACCESS, 0, why);
		return false;
	}
	part->off += placement->move.off;
	part->len = packet->dma_len - placement->move.off;
	return true;
}

static bool find_send(struct bl_snic_qp *qp, struct bl_placement *placement, struct part *part)
{
	struct bl_mr_span span = {.pd = bl_qp_list_pd(qp), .access = BL_SNIC_LOCAL_WRITE};
	uint64_t skip = placement->move.off;
	const struct bl_rwqe_sge *sge = placement->list;
	const char *why;

	/* the list has room for all of it */
	for (; skip >= sge->len; sge++)
		skip -= sge->len;
	span.key = sge->lkey;
	span.addr = sge->addr + skip;
	span.len = part->len = sge->len - skip;
	why = bl_mr_check(qp->nic, &span, &part->mr, &part->off);
	if (!why)
		return true;
	placement->refusal.addr = sge->addr;
	placement->refusal.len = sge->len;
	placement->refusal.key = sge->lkey;
	refuse(placement, BL_OUTCOME_OPERATION, BL_SYNDROME_LOCAL_PROTECTION, why);
	return false;
}

static bool find_target(struct bl_snic_qp *qp, struct bl_placement *placement, struct part *part)
{
	uint8_t opcode = placement->packet.opcode & (uint8_t)~BL_PKT_UC;

	if (opcode == BL_PKT_PLACE_WRITE || opcode == BL_PKT_PLACE_WRITE_IMM)
		return find_write(qp, placement, part);
	return find_send(qp, placement, part);
}

bool bl_place_is_able(const struct bl_snic_mem *dst, const struct bl_snic_mem *src)
{
	return dst->mover && dst->mover == src->mover && dst->mover->able(dst->moved, src->moved);
}

static int find_own(struct bl_snic_qp *qp, const struct bl_placement *placement, struct bl_job *job, struct part *part)
{
	struct bl_snic_qp *from = NULL;
	struct bl_wr *wr = bl_place_source(qp, placement, &from);
	struct bl_segs_part source;

	/* a key that is wrong makes the sender fail, and it says so */
	if (!wr || bl_segs_part(from, wr, placement->move.off, 0, &source))
		return -ESTALE;
	*part = (struct part){.mr = source.mr, .off = source.off, .len = source.len};
	job->src = &source.mr->mem;
	job->memories[1] = &source.mr->jobs;
	job->queues[1] = &from->jobs;
	return 0;
}

static int find_shared(struct bl_snic_qp *qp, struct bl_placement *placement, struct bl_job *job, struct part *part)
{
	const struct bl_packet *packet = &placement->packet;
	struct bl_attach *attach = bl_attach_find(qp, packet->compare);
	uint64_t off = packet->swap_add + placement->move.off;

	if (!attach || packet->swap_add > attach->len || packet->dma_len > attach->len - packet->swap_add) {
		refuse(placement, BL_OUTCOME_UNPLACED, 0, NULL);
		return -ENOENT;
	}
	*part = (struct part){.off = off, .len = packet->dma_len - placement->move.off};
	job->src = &attach->mem;
	job->memories[1] = &attach->jobs;
	return 0;
}

static int find_source(struct bl_snic_qp *qp, struct bl_placement *placement, struct bl_job *job, struct part *part)
{
	return placement->packet.compare ? find_shared(qp, placement, job, part) : find_own(qp, placement, job, part);
}

/* One job. Return: as bl_place_move(), 0: there may be more. */
static int move_part(struct bl_snic_qp *qp, struct bl_placement *placement)
{
	struct bl_move *move = &placement->move;
	struct bl_job job = {.move = move, .queues = {&qp->jobs}};
	struct part source, target;
	uint64_t len;
	int ret;

	ret = find_source(qp, placement, &job, &source);
	if (ret)
		return ret;
	if (!find_target(qp, placement, &target))
		return -EINVAL;
	job.dst = &target.mr->mem;
	job.memories[0] = &target.mr->jobs;
	if (!bl_place_is_able(job.dst, job.src)) {
		refuse(placement, BL_OUTCOME_UNPLACED, 0, NULL);
		return -EOPNOTSUPP;
	}
	len = target.len < source.len ? target.len : source.len;
	if (len > BL_JOB_MAX)
		len = BL_JOB_MAX;
	ret = bl_job_start(qp->nic, &job, target.off, source.off, len);
	if (!ret)
		move->off += (uint32_t)len;
	else if (ret != -EAGAIN)
		refuse(placement, BL_OUTCOME_UNPLACED, 0, NULL);
	return ret;
}

int bl_place_move(struct bl_snic_qp *qp, struct bl_placement *placement)
{
	int ret = 0;

	while (!ret && placement->move.off < placement->packet.dma_len)
		ret = move_part(qp, placement);
	return ret;
}
