// SPDX-License-Identifier: MIT
/* Requests for the device, from those of mlx5: the same pieces of memory, the same keys. */
#include <errno.h>

#include "link.h"

#define MAX_SGES 64

static enum ibv_wr_opcode opcode_of(const struct bl_wqe *wqe)
{
	switch (wqe->opcode) {
	case BL_WQE_WRITE:
		return IBV_WR_RDMA_WRITE;
	case BL_WQE_WRITE_IMM:
		return IBV_WR_RDMA_WRITE_WITH_IMM;
	case BL_WQE_SEND:
		return IBV_WR_SEND;
	case BL_WQE_SEND_IMM:
		return IBV_WR_SEND_WITH_IMM;
	case BL_WQE_READ:
		return IBV_WR_RDMA_READ;
	case BL_WQE_CMP_SWAP:
		return IBV_WR_ATOMIC_CMP_AND_SWP;
	default:
		return IBV_WR_ATOMIC_FETCH_AND_ADD;
	}
}

/*
 * The data. Inline data is sent from where the NIC has its copy of the request, which is registered.
 * @inline_p: receives whether there is nothing else
 * Return: how many pieces, -1: more than the device takes.
 */
static int fill_sges(const struct bl_carrier *carrier, const struct bl_wqe *wqe, const uint8_t *raw,
		     struct ibv_sge *sges, bool *inline_p)
{
	uint64_t left = wqe->len;
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;
	int nr = 0;

	*inline_p = left > 0;
	bl_wqe_walk_start(&walk, wqe, raw, 0);
	while (left && bl_wqe_walk_next(&walk, left, &piece)) {
		if (nr == MAX_SGES || nr == (int)carrier->max_sges)
			return -1;
		if (!piece.bytes)
			*inline_p = false;
		sges[nr++] = (struct ibv_sge){
			.addr = piece.bytes ? (uintptr_t)piece.bytes : piece.addr,
			.length = piece.len,
			.lkey = piece.bytes ? carrier->blocks->lkey : piece.lkey,
		};
		left -= piece.len;
	}
	return nr;
}

static void fill_remote(const struct bl_wqe *wqe, struct ibv_send_wr *wr)
{
	if (bl_wqe_is_atomic(wqe)) {
		wr->wr.atomic.remote_addr = wqe->raddr;
		wr->wr.atomic.rkey = wqe->rkey;
		wr->wr.atomic.compare_add = wqe->opcode == BL_WQE_CMP_SWAP ? wqe->compare : wqe->swap_add;
		wr->wr.atomic.swap = wqe->opcode == BL_WQE_CMP_SWAP ? wqe->swap_add : 0;
	} else {
		wr->wr.rdma.remote_addr = wqe->raddr;
		wr->wr.rdma.rkey = wqe->rkey;
	}
}

static bool has_fence(const struct bl_wqe *wqe)
{
	return wqe->fence == BL_WQE_READ_FENCE || wqe->fence == BL_WQE_READ_AND_SMALL_FENCE;
}

/* Each is signaled: the NIC has to know when its blocks are free, whether its user wants a completion or not. */
static unsigned int flags_of(const struct bl_carrier *carrier, const struct bl_wqe *wqe, bool all_inline)
{
	unsigned int flags = IBV_SEND_SIGNALED;

	if (wqe->solicited)
		flags |= IBV_SEND_SOLICITED;
	if (has_fence(wqe) && !carrier->link->holds_fences)
		flags |= IBV_SEND_FENCE;
	if (all_inline && wqe->len <= carrier->max_inline)
		flags |= IBV_SEND_INLINE;
	return flags;
}

int bl_ibv_send(struct bl_carrier *carrier, const struct bl_wqe *wqe, const uint8_t *raw, uint64_t id,
		const char **why_p)
{
	struct ibv_sge sges[MAX_SGES];
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = sges, .opcode = opcode_of(wqe), .imm_data = wqe->imm }, *bad;
	bool all_inline;
	int ret;

	if (carrier->sends == carrier->max_sends ||
	    (carrier->link->holds_fences && has_fence(wqe) && carrier->fetches))
		return -EAGAIN;
	if (bl_wqe_is_atomic(wqe) && carrier->link->attr.atomic_cap == IBV_ATOMIC_NONE) {
		*why_p = "the device has no atomics";
		return -EOPNOTSUPP;
	}
	wr.num_sge = fill_sges(carrier, wqe, raw, sges, &all_inline);
	if (wr.num_sge < 0) {
		*why_p = "more segments than the device takes";
		return -E2BIG;
	}
	fill_remote(wqe, &wr);
	wr.send_flags = flags_of(carrier, wqe, all_inline);
	ret = ibv_post_send(carrier->qp, &wr, &bad);
	if (ret) {
		*why_p = "the device does not take the request";
		return ret == ENOMEM && carrier->sends ? -EAGAIN : -EIO;
	}
	carrier->sends++;
	carrier->fetches += bl_wqe_is_fetch(wqe);
	return 0;
}

int bl_ibv_receive(struct bl_carrier *carrier, const struct bl_rwqe *rwqe, uint64_t id, const char **why_p)
{
	struct ibv_sge sges[BL_RWQE_MAX_SGES];
	struct ibv_recv_wr wr = { .wr_id = id | BL_IBV_RECEIVE, .sg_list = sges }, *bad;
	int ret;

	if (carrier->receives == carrier->max_receives)
		return -EAGAIN;
	for (unsigned int i = 0; i < rwqe->nr; i++) {
		/* such a piece takes no byte, and devices differ in what they think of it */
		if (!rwqe->sges[i].len)
			continue;
		sges[wr.num_sge++] = (struct ibv_sge){
			.addr = rwqe->sges[i].addr,
			.length = rwqe->sges[i].len,
			.lkey = rwqe->sges[i].lkey,
		};
	}
	if (wr.num_sge > (int)carrier->max_receive_sges) {
		*why_p = "more segments than the device takes";
		return -E2BIG;
	}
	ret = ibv_post_recv(carrier->qp, &wr, &bad);
	if (ret) {
		*why_p = "the device does not take the receive list";
		return ret == ENOMEM && carrier->receives ? -EAGAIN : -EIO;
	}
	carrier->receives++;
	return 0;
}
