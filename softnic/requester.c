// SPDX-License-Identifier: MIT
#include "requester.h"

#include "loop.h"
#include "mem.h"
#include "place.h"
#include "segs.h"
#include "share.h"

/* Packets in one go; others should have their turn. */
#define BURST 32

static uint64_t end_of(const struct bl_wr *wr)
{
	return wr->first_psn + wr->nr_psn;
}

/* A packet, or several sequence numbers of a read, is on its way, or was lost on purpose. */
static void sent(struct bl_snic_qp *qp, const struct bl_wr *wr, uint64_t end)
{
	struct bl_requester *req = &qp->req;

	if (end > req->nxt) {
		if (bl_wqe_is_fetch(&wr->wqe))
			req->fetch_psns += end - req->nxt;
		req->nxt = end;
	}
	req->psn = end;
	if (bl_qp_is_rc(qp) && !req->timer)
		bl_req_arm(qp);
}

static void *reserve(struct bl_snic_qp *qp, uint32_t len)
{
	void *room = qp->nic->ops->reserve(qp->path, len);

	/* a peer that never makes room is as gone as one that never answers */
	if (!room && !qp->req.timer)
		bl_req_arm(qp);
	return room;
}

static void commit(struct bl_snic_qp *qp, struct bl_packet *packet)
{
	packet->dest_qpn = qp->mod.dest_qpn;
	packet->src_qpn = qp->num;
	packet->psn = (uint32_t)qp->req.psn & BL_PSN_MASK;
	if (!bl_qp_is_rc(qp))
		packet->opcode |= BL_PKT_UC;
	qp->nic->ops->commit(qp->path, packet);
	bl_snic_count(qp->nic, BL_SNIC_TX_PACKETS, 1);
	bl_snic_count(qp->nic, BL_SNIC_TX_BYTES, packet->len);
	if (qp->req.psn < qp->req.nxt)
		bl_snic_count(qp->nic, BL_SNIC_TX_RETRIES, 1);
}

/* First, middle, last or only packet of a message, with an immediate or without. */
static uint8_t opcode_of(const struct bl_wr *wr, bool first, bool last)
{
	bool is_send = wr->wqe.opcode == BL_WQE_SEND || wr->wqe.opcode == BL_WQE_SEND_IMM;
	bool imm = wr->wqe.opcode == BL_WQE_SEND_IMM || wr->wqe.opcode == BL_WQE_WRITE_IMM;
	uint8_t base = is_send ? BL_PKT_SEND_FIRST : BL_PKT_WRITE_FIRST;

	if (first && last)
		return (uint8_t)(base + BL_PKT_SEND_ONLY + imm);
	if (last)
		return (uint8_t)(base + BL_PKT_SEND_LAST + imm);
	return first ? base : (uint8_t)(base + BL_PKT_SEND_MIDDLE);
}

/* The packet of the part of a message that begins at @off. */
static struct bl_packet message_packet(const struct bl_snic_qp *qp, const struct bl_wr *wr, uint64_t off)
{
	uint32_t left = wr->wqe.len - (uint32_t)off, len = left < qp->packet ? left : qp->packet;
	bool first = !off, last = len == left;
	struct bl_packet packet = {
		.opcode = opcode_of(wr, first, last),
		.flags = (uint8_t)((last ? BL_PKT_ACK_REQ : 0) | (last && wr->wqe.solicited ? BL_PKT_SOLICITED : 0)),
		.len = len,
	};

	if (last && (wr->wqe.opcode == BL_WQE_SEND_IMM || wr->wqe.opcode == BL_WQE_WRITE_IMM))
		packet.imm = wr->wqe.imm;
	if (first && packet.opcode >= BL_PKT_WRITE_FIRST) {
		packet.va = wr->wqe.raddr;
		packet.rkey = wr->wqe.rkey;
		packet.dma_len = wr->wqe.len;
	}
	/* a window that fills up with a long message is opened again before it is full */
	if (!(qp->req.psn & (qp->nic->window / 8 - 1)))
		packet.flags |= BL_PKT_ACK_REQ;
	return packet;
}

/* Return: whether a packet was sent, or lost on purpose. */
static bool send_message(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	struct bl_requester *req = &qp->req;
	uint64_t off = (req->psn - wr->first_psn) * qp->packet;
	struct bl_packet packet = message_packet(qp, wr, off);
	uint8_t *payload;

	if (bl_qp_is_rc(qp) && req->psn == req->nxt && req->nxt - req->una - req->fetch_psns >= qp->nic->window)
		return false;
	payload = reserve(qp, packet.len);
	if (!payload && !req->dropping)
		return false;
	if (payload) {
		req->dropping = false;
		/* not blocked any more; on a reliable connection the timer waits for an answer */
		if (!bl_qp_is_rc(qp))
			req->timer = 0;
		if (bl_segs_gather(qp, wr, off, payload, packet.len))
			return false;
		commit(qp, &packet);
	}
	sent(qp, wr, req->psn + 1);
	return true;
}

/* Return: whether it went; *@done_p: whether it was carried out. */
static bool give(struct bl_snic_qp *qp, struct bl_wr *wr, struct bl_snic_qp *peer, bool *done_p)
{
	struct bl_packet packet = message_packet(qp, wr, 0);
	uint8_t payload[BL_SNIC_PEEK_MAX];

	if (bl_segs_gather(qp, wr, 0, payload, packet.len))
		return false;
	*done_p = bl_loop_give(qp, peer, &packet, payload);
	return true;
}

/* A short message to @peer, which is there and has nothing else to do. Return: whether it went. */
static bool hand_over(struct bl_snic_qp *qp, struct bl_wr *wr, struct bl_snic_qp *peer)
{
	struct bl_requester *req = &qp->req;
	bool done = wr->ahead;

	if (done)
		bl_loop_note(qp, peer, wr->wqe.len);
	else if (!give(qp, wr, peer, &done))
		return false;
	if (!done) {
		/* what is wrong comes in a packet */
		sent(qp, wr, req->psn + 1);
		return true;
	}
	req->psn++;
	req->nxt = req->una = req->psn;
	req->retries = req->rnr_retries = 0;
	/* it may have been blocked before, as a packet, and nobody answers now */
	req->timer = 0;
	return true;
}

/* The rest of a read that is not here yet; all of it the first time. */
static bool send_read(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	uint64_t off = (qp->req.psn - wr->first_psn) * qp->packet;
	struct bl_packet packet = {
		.opcode = BL_PKT_READ_REQUEST,
		.flags = BL_PKT_ACK_REQ,
		.va = wr->wqe.raddr + off,
		.rkey = wr->wqe.rkey,
		.dma_len = wr->wqe.len - (uint32_t)off,
		.imm = qp->packet != qp->mod.mtu ? qp->packet : 0,
	};

	if (wr->fetched && !off) {
		packet.flags |= BL_PKT_PLACE;
		packet.swap_add = qp->req.wr;
	}
	if (!reserve(qp, 0))
		return false;
	commit(qp, &packet);
	sent(qp, wr, end_of(wr));
	return true;
}

static uint8_t atomic_opcode(const struct bl_wqe *wqe)
{
	switch (wqe->opcode) {
	case BL_WQE_CMP_SWAP:
		return BL_PKT_CMP_SWAP;
	case BL_WQE_FETCH_ADD:
		return BL_PKT_FETCH_ADD;
	case BL_WQE_MASKED_CMP_SWAP:
		return BL_PKT_MASKED_CMP_SWAP;
	default:
		return BL_PKT_MASKED_FETCH_ADD;
	}
}

static bool send_atomic(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	const struct bl_wqe *wqe = &wr->wqe;
	struct bl_packet packet = {
		.opcode = atomic_opcode(wqe),
		.flags = BL_PKT_ACK_REQ,
		.operand_len = wqe->operand_len,
		.va = wqe->raddr,
		.rkey = wqe->rkey,
		.swap_add = wqe->swap_add,
		.compare = wqe->compare,
		.swap_mask = wqe->swap_mask,
		.compare_mask = wqe->compare_mask,
	};

	if (!reserve(qp, 0))
		return false;
	commit(qp, &packet);
	sent(qp, wr, end_of(wr));
	return true;
}

/* All of a message in one packet without its bytes. */
static bool send_placed(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	struct bl_requester *req = &qp->req;
	struct bl_packet packet;

	if (end_of(wr) > req->nxt && req->nr_placed >= BL_PLACE_DEPTH)
		return false;
	if (!reserve(qp, 0)) {
		if (!req->dropping)
			return false;
		/* lost on purpose */
		wr->placed = false;
	} else {
		req->dropping = false;
		if (!bl_qp_is_rc(qp))
			req->timer = 0;
		packet = bl_place_packet(qp, wr, req->wr);
		if (wr->share)
			bl_share_settle(qp, wr);
		commit(qp, &packet);
		bl_place_sent(qp, wr);
	}
	sent(qp, wr, end_of(wr));
	return true;
}

static bool send_packet(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	struct bl_snic_qp *peer;

	if (wr->placed && qp->req.psn == wr->first_psn)
		return send_placed(qp, wr);
	if (!bl_place_is_over(qp))
		return false;
	if (wr->wqe.opcode == BL_WQE_READ)
		return send_read(qp, wr);
	if (bl_wqe_is_atomic(&wr->wqe))
		return send_atomic(qp, wr);
	peer = bl_loop_peer(qp, wr->wqe.len);
	return peer ? hand_over(qp, wr, peer) : send_message(qp, wr);
}

/* One step: launch a request, pass over one that needs nothing, or send a packet. Whether there was one. */
static bool step(struct bl_snic_qp *qp)
{
	struct bl_requester *req = &qp->req;
	struct bl_wr *wr;

	if (req->wr == qp->sq.launched && !bl_req_launch(qp))
		return false;
	wr = bl_qp_wr(qp, req->wr);
	if (wr->syndrome)
		return false;
	if (!wr->done && !send_packet(qp, wr))
		return false;
	if (req->psn < end_of(wr))
		return true;
	/* nobody acknowledges on an unreliable connection */
	if (!bl_qp_is_rc(qp)) {
		wr->done = !wr->placed;
		req->una = req->psn;
	}
	req->wr++;
	return true;
}

int bl_req_send(struct bl_snic_qp *qp)
{
	struct bl_requester *req = &qp->req;
	uint64_t looped;
	int nr = 0;

	if (req->refused)
		return 0;
	if (req->rnr_until) {
		if (qp->nic->now < req->rnr_until)
			return 0;
		req->rnr_until = 0;
	}
	looped = qp->nic->counters[BL_SNIC_LOOPED];
	while (nr < BURST && step(qp))
		nr++;
	/* what is told to be done is so, or on its way to the memory before anything that is written later */
	if (qp->nic->counters[BL_SNIC_LOOPED] != looped)
		bl_snic_mem_push(qp->nic);
	bl_req_complete(qp);
	return nr;
}

static bool is_complete(const struct bl_snic_qp *qp, const struct bl_wr *wr)
{
	return wr->done || (bl_qp_is_rc(qp) && qp->req.una >= end_of(wr));
}

void bl_req_complete(struct bl_snic_qp *qp)
{
	struct bl_sq *sq = &qp->sq;
	struct bl_wr *wr;

	while (qp->state == BL_SNIC_RTS && sq->head < sq->tail) {
		wr = bl_qp_wr(qp, sq->head);
		if (wr->syndrome) {
			bl_qp_fail_bad(qp, sq->head);
			return;
		}
		if (sq->head == sq->launched || !is_complete(qp, wr))
			return;
		sq->head++;
		sq->ci += wr->nr_bb;
		bl_place_done(qp, wr);
		bl_qp_cqe_send(qp, wr, BL_SYNDROME_NONE, 0);
	}
}
