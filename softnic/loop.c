// SPDX-License-Identifier: MIT
#include "loop.h"

#include "active.h"
#include "mem.h"
#include "mr.h"
#include "place.h"
#include "responder.h"

/* Nothing is under way, nor waited for: what comes next is the next that the peer expects. */
static bool is_settled(const struct bl_requester *req)
{
	return req->psn == req->nxt && req->una == req->nxt && !req->nr_fetches && !req->refused;
}

static bool is_short(const struct bl_snic_qp *qp, uint32_t len)
{
	return len <= BL_SNIC_PEEK_MAX && len <= qp->packet;
}

static bool is_connected(const struct bl_snic_qp *peer, const struct bl_snic_qp *qp)
{
	return (peer->state == BL_SNIC_RTR || peer->state == BL_SNIC_RTS) && peer->loop && bl_qp_is_rc(peer) &&
	       peer->mod.dest_qpn == qp->num;
}

/* It owes no answer, and expects the sequence number that comes. */
static bool is_free(const struct bl_snic_qp *peer, uint64_t psn)
{
	const struct bl_responder *resp = &peer->resp;

	return resp->ack == BL_ACK_NONE && !resp->nr_replies && !resp->nak_sent && !bl_place_nr(peer) &&
	       ((resp->epsn ^ psn) & BL_PSN_MASK) == 0;
}

struct bl_snic_qp *bl_loop_peer(const struct bl_snic_qp *qp, uint32_t len)
{
	struct bl_snic_qp *peer;

	if (!qp->loop || !qp->nic->ops->loops_back || !bl_qp_is_rc(qp) || !is_short(qp, len) || !is_settled(&qp->req))
		return NULL;
	peer = bl_snic_map_find(&qp->nic->qps, qp->mod.dest_qpn);
	/* one that is connected to itself may fail in the middle of what it does */
	return peer && peer != qp && is_connected(peer, qp) && is_free(peer, qp->req.psn) ? peer : NULL;
}

/* Nothing that the responder would say but that it is done. */
static bool write_ahead(struct bl_snic_qp *peer, const struct bl_wqe *wqe, const uint8_t *bytes)
{
	struct bl_mr_span span = {
		.pd = peer->pd, .key = wqe->rkey, .addr = wqe->raddr, .len = wqe->len, .access = BL_SNIC_REMOTE_WRITE};
	struct bl_snic *nic = peer->nic;
	struct bl_snic_mr *mr = NULL;
	uint64_t at = 0;

	if (!(peer->mod.access & BL_SNIC_REMOTE_WRITE) || bl_mr_check(nic, &span, &mr, &at) ||
	    bl_snic_mem_write(nic, &mr->mem, at, bytes, wqe->len))
		return false;
	bl_snic_mem_push(nic);
	return true;
}

/* The only one, so that it is next, and nothing holds it up. In ERR, requests are taken as well, to be flushed. */
static bool is_alone(const struct bl_snic_qp *qp, const struct bl_wr *wr)
{
	const struct bl_sq *sq = &qp->sq;

	return qp->state == BL_SNIC_RTS && wr == bl_qp_wr(qp, sq->head) && sq->head + 1 == sq->tail &&
	       sq->launched == sq->head && !qp->req.rnr_until && bl_place_is_over(qp);
}

void bl_loop_ahead(struct bl_snic_qp *qp, struct bl_wr *wr)
{
	const uint8_t *bytes = bl_wqe_inline(&wr->wqe, wr->raw);
	struct bl_snic_qp *peer;

	if (wr->syndrome || wr->wqe.opcode != BL_WQE_WRITE || wr->wqe.fence || !bytes || !is_alone(qp, wr))
		return;
	peer = bl_loop_peer(qp, wr->wqe.len);
	wr->ahead = peer && peer->resp.message.kind == BL_MESSAGE_NONE && write_ahead(peer, &wr->wqe, bytes);
}

bool bl_loop_give(struct bl_snic_qp *qp, struct bl_snic_qp *peer, struct bl_packet *packet, const uint8_t *payload)
{
	packet->dest_qpn = peer->num;
	packet->src_qpn = qp->num;
	packet->psn = (uint32_t)qp->req.psn & BL_PSN_MASK;
	bl_active_wake(peer);
	bl_resp_request(peer, packet, payload);
	/* one that fails while it completes it, since its completion is lost, says nothing more */
	if (peer->resp.ack != BL_ACK_POSITIVE || peer->state == BL_SNIC_ERR)
		return false;
	peer->resp.ack = BL_ACK_NONE;
	bl_snic_count(qp->nic, BL_SNIC_LOOPED, 1);
	return true;
}

void bl_loop_note(struct bl_snic_qp *qp, struct bl_snic_qp *peer, uint32_t len)
{
	struct bl_responder *resp = &peer->resp;

	bl_active_wake(peer);
	resp->epsn++;
	resp->acked = resp->epsn;
	resp->msn++;
	bl_snic_count_served(qp->nic, len);
	bl_snic_count(qp->nic, BL_SNIC_LOOPED, 1);
}
