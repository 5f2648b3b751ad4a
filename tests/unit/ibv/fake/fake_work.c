// SPDX-License-Identifier: MIT
/* Requests: posted, carried out in order, completed. The lock is held but in the functions of the device's table. */
#include "fake_ibv.h"

#include <errno.h>
#include <string.h>

static struct fake_send *send_at(struct fake_qp *qp, unsigned int at)
{
	return &qp->sends[at % FAKE_WORK];
}

static void complete(struct fake_qp *qp, bool receive, const struct ibv_wc *wc)
{
	struct fake_cq *cq = (struct fake_cq *)(receive ? qp->ibv.recv_cq : qp->ibv.send_cq);

	if (cq->tail - cq->head == cq->size) {
		fake_complain("a completion queue of %u overruns", cq->size);
		return;
	}
	cq->wc[cq->tail % cq->size] = *wc;
	cq->wc[cq->tail++ % cq->size].qp_num = qp->ibv.qp_num;
}

static enum ibv_wc_opcode done_opcode(const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	default:
		return IBV_WC_SEND;
	}
}

static void complete_send(struct fake_qp *qp, enum ibv_wc_status status)
{
	const struct ibv_send_wr *wr = &send_at(qp, qp->send_head)->wr;
	const struct ibv_wc wc = {
		.wr_id = wr->wr_id,
		.status = status,
		.vendor_err = status == IBV_WC_SUCCESS ? 0 : 0x42,
		/* of a request that failed nothing else means anything */
		.opcode = status == IBV_WC_SUCCESS ? done_opcode(wr) : (enum ibv_wc_opcode)0x7777,
	};

	qp->send_head++;
	complete(qp, false, &wc);
}

static void complete_recv(struct fake_qp *qp, enum ibv_wc_status status, const struct fake_send *send, uint32_t len)
{
	struct ibv_wc wc = { .wr_id = qp->recvs[qp->recv_head++ % FAKE_WORK].wr.wr_id, .status = status };

	if (status != IBV_WC_SUCCESS) {
		wc.vendor_err = 0x43;
	} else {
		wc.byte_len = len;
		wc.opcode = send->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
		if (send->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM || send->wr.opcode == IBV_WR_SEND_WITH_IMM) {
			wc.wc_flags = IBV_WC_WITH_IMM;
			wc.imm_data = send->wr.imm_data;
		}
	}
	complete(qp, true, &wc);
}

void fake_flush(struct fake_qp *qp)
{
	while (qp->send_head != qp->send_tail)
		complete_send(qp, IBV_WC_WR_FLUSH_ERR);
	while (qp->recv_head != qp->recv_tail)
		complete_recv(qp, IBV_WC_WR_FLUSH_ERR, NULL, 0);
}

void fake_drop(struct fake_qp *qp)
{
	qp->send_head = qp->send_tail = qp->recv_head = qp->recv_tail = 0;
}

static void go_to_err(struct fake_qp *qp)
{
	qp->ibv.state = IBV_QPS_ERR;
	fake_flush(qp);
}

static struct fake_qp *peer_of(const struct fake_qp *qp)
{
	for (struct fake_qp *peer = fake_qps; peer; peer = peer->next) {
		if (peer->ibv.qp_num == qp->attr.dest_qp_num && peer->attr.dest_qp_num == qp->ibv.qp_num &&
		    peer->ibv.qp_type == qp->ibv.qp_type &&
		    (peer->ibv.state == IBV_QPS_RTR || peer->ibv.state == IBV_QPS_RTS))
			return peer;
	}
	return NULL;
}

static uint32_t length_of(const struct fake_send *send)
{
	uint32_t len = 0;

	for (int i = 0; i < send->wr.num_sge; i++)
		len += send->sges[i].length;
	return len;
}

/* Bytes between the segments of a request and one piece of memory. Return: whether all segments can be reached. */
static bool move(struct fake_qp *qp, const struct fake_send *send, unsigned char *other, bool out)
{
	for (int i = 0; i < send->wr.num_sge; i++) {
		const struct ibv_sge *sge = &send->sges[i];
		unsigned char *at = send->wr.send_flags & IBV_SEND_INLINE ?
					    (unsigned char *)(uintptr_t)sge->addr :
					    fake_reach(qp->ibv.pd, sge->lkey, false, sge->addr, sge->length,
						       out ? 0 : IBV_ACCESS_LOCAL_WRITE);

		if (!at)
			return false;
		if (out)
			memcpy(other, at, sge->length);
		else
			memcpy(at, other, sge->length);
		other += sge->length;
	}
	return true;
}

/* Into the oldest receive list of the peer. */
static enum ibv_wc_status deliver(struct fake_qp *peer, const struct fake_send *send, const unsigned char *bytes,
				  uint32_t len)
{
	const struct fake_recv *recv = &peer->recvs[peer->recv_head % FAKE_WORK];
	uint32_t left = len;

	for (int i = 0; i < recv->wr.num_sge && left; i++) {
		uint32_t part = recv->sges[i].length < left ? recv->sges[i].length : left;
		unsigned char *at = fake_reach(peer->ibv.pd, recv->sges[i].lkey, false, recv->sges[i].addr, part,
					       IBV_ACCESS_LOCAL_WRITE);

		if (!at) {
			complete_recv(peer, IBV_WC_LOC_PROT_ERR, send, 0);
			return IBV_WC_REM_OP_ERR;
		}
		memcpy(at, bytes, part);
		bytes += part;
		left -= part;
	}
	complete_recv(peer, left ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS, send, len);
	return left ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_SUCCESS;
}

static enum ibv_wc_status atomic(struct fake_qp *qp, const struct fake_send *send, unsigned char *at)
{
	uint64_t old, value;

	if ((uintptr_t)at % 8 || length_of(send) != 8)
		return IBV_WC_REM_INV_REQ_ERR;
	memcpy(&old, at, sizeof(old));
	if (send->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		value = old + send->wr.wr.atomic.compare_add;
	else
		value = old == send->wr.wr.atomic.compare_add ? send->wr.wr.atomic.swap : old;
	memcpy(at, &value, sizeof(value));
	return move(qp, send, (unsigned char *)&old, false) ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

static enum ibv_wc_status reach_remote(struct fake_qp *qp, struct fake_qp *peer, const struct fake_send *send)
{
	bool is_atomic = send->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || send->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	bool is_read = send->wr.opcode == IBV_WR_RDMA_READ;
	unsigned int access = is_atomic ? IBV_ACCESS_REMOTE_ATOMIC : is_read ? IBV_ACCESS_REMOTE_READ :
										 IBV_ACCESS_REMOTE_WRITE;
	uint64_t addr = is_atomic ? send->wr.wr.atomic.remote_addr : send->wr.wr.rdma.remote_addr;
	uint32_t key = is_atomic ? send->wr.wr.atomic.rkey : send->wr.wr.rdma.rkey;
	unsigned char *at;

	if (!length_of(send))
		return IBV_WC_SUCCESS;
	at = fake_reach(peer->ibv.pd, key, true, addr, length_of(send), (int)access);
	if (!at || access & ~peer->attr.qp_access_flags)
		return IBV_WC_REM_ACCESS_ERR;
	if (is_atomic)
		return atomic(qp, send, at);
	return move(qp, send, at, !is_read) ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

static bool takes_list(const struct fake_send *send)
{
	return send->wr.opcode == IBV_WR_SEND || send->wr.opcode == IBV_WR_SEND_WITH_IMM ||
	       send->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static enum ibv_wc_status carry_out(struct fake_qp *qp, struct fake_qp *peer, const struct fake_send *send)
{
	static unsigned char bytes[1 << 20];
	enum ibv_wc_status status = IBV_WC_SUCCESS;

	if (send->wr.opcode != IBV_WR_SEND && send->wr.opcode != IBV_WR_SEND_WITH_IMM) {
		status = reach_remote(qp, peer, send);
		if (!status && send->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
			complete_recv(peer, IBV_WC_SUCCESS, send, length_of(send));
		return status;
	}
	if (length_of(send) > sizeof(bytes) || !move(qp, send, bytes, true))
		return IBV_WC_LOC_PROT_ERR;
	return deliver(peer, send, bytes, length_of(send));
}

/* Whether the peer is to blame, and fails as well. */
static bool peer_fails(enum ibv_wc_status status)
{
	return status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_OP_ERR;
}

static void fail_peer(struct fake_qp *peer, enum ibv_wc_status status)
{
	struct ibv_async_event event = { .element.qp = &peer->ibv, .event_type = IBV_EVENT_QP_ACCESS_ERR };

	go_to_err(peer);
	if (status == IBV_WC_REM_ACCESS_ERR)
		fake_push_event(peer->ibv.context, &event);
}

/* Return: whether the oldest request is over. */
static bool step(struct fake_qp *qp)
{
	const struct fake_send *send = send_at(qp, qp->send_head);
	struct fake_qp *peer = peer_of(qp);
	bool rc = qp->ibv.qp_type == IBV_QPT_RC;
	enum ibv_wc_status status;

	if (fake_ibv.status_in >= 0 && !fake_ibv.status_in--) {
		status = fake_ibv.status;
	} else if (!peer) {
		status = rc ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS;
	} else if (takes_list(send) && peer->recv_head == peer->recv_tail) {
		if (rc && qp->attr.rnr_retry == 7)
			return false;
		status = rc ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_SUCCESS;
	} else {
		status = carry_out(qp, peer, send);
		if (peer_fails(status) && rc)
			fail_peer(peer, status);
		if (peer_fails(status) && !rc)
			status = IBV_WC_SUCCESS;
	}
	complete_send(qp, status);
	if (status != IBV_WC_SUCCESS)
		go_to_err(qp);
	return true;
}

void fake_progress(void)
{
	bool any = true;

	while (any) {
		any = false;
		for (struct fake_qp *qp = fake_qps; qp; qp = qp->next) {
			while (qp->ibv.state == IBV_QPS_RTS && qp->send_head != qp->send_tail && step(qp))
				any = true;
		}
	}
}

static int check_send(const struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	bool uc = qp->ibv.qp_type == IBV_QPT_UC;
	uint32_t len = 0;

	for (int i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	if (qp->ibv.state != IBV_QPS_RTS && qp->ibv.state != IBV_QPS_ERR)
		fake_complain("ibv_post_send in state %d", (int)qp->ibv.state);
	else if (wr->next || wr->num_sge > (int)qp->cap.max_send_sge)
		fake_complain("ibv_post_send: %d segments of %u", wr->num_sge, qp->cap.max_send_sge);
	else if (wr->send_flags & IBV_SEND_INLINE && len > qp->cap.max_inline_data)
		fake_complain("ibv_post_send: %u inline bytes of %u", len, qp->cap.max_inline_data);
	else if (uc && wr->opcode >= IBV_WR_RDMA_READ)
		fake_complain("ibv_post_send: opcode %d on an unreliable connection", (int)wr->opcode);
	else if (qp->send_tail - qp->send_head >= qp->cap.max_send_wr)
		return ENOMEM;
	else
		return 0;
	return EINVAL;
}

static void note(const struct ibv_send_wr *wr)
{
	fake_ibv.posts++;
	fake_ibv.inline_posts += (wr->send_flags & IBV_SEND_INLINE) != 0;
	fake_ibv.segments = wr->num_sge;
	fake_ibv.last = *wr;
}

int fake_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *qp = (struct fake_qp *)ibv;
	struct fake_send *send;
	size_t used = 0;
	int ret;

	*bad = wr;
	if (fake_fails("post_send"))
		return errno;
	fake_lock();
	ret = check_send(qp, wr);
	if (ret)
		goto unlock;
	send = send_at(qp, qp->send_tail++);
	send->wr = *wr;
	for (int i = 0; i < wr->num_sge; i++) {
		send->sges[i] = wr->sg_list[i];
		if (!(wr->send_flags & IBV_SEND_INLINE))
			continue;
		/* it may change as soon as the call returns */
		memcpy(send->data + used, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		send->sges[i].addr = (uintptr_t)send->data + used;
		used += wr->sg_list[i].length;
	}
	note(wr);
	if (qp->ibv.state == IBV_QPS_ERR)
		fake_flush(qp);
	fake_progress();
unlock:
	fake_unlock();
	return ret;
}

int fake_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *qp = (struct fake_qp *)ibv;
	struct fake_recv *recv;
	int ret = 0;

	*bad = wr;
	if (fake_fails("post_recv"))
		return errno;
	fake_lock();
	if (qp->ibv.state == IBV_QPS_RESET || wr->next || wr->num_sge > (int)qp->cap.max_recv_sge) {
		fake_complain("ibv_post_recv in state %d: %d segments", (int)qp->ibv.state, wr->num_sge);
		ret = EINVAL;
	} else if (qp->recv_tail - qp->recv_head >= qp->cap.max_recv_wr) {
		ret = ENOMEM;
	} else {
		fake_ibv.receives++;
		recv = &qp->recvs[qp->recv_tail++ % FAKE_WORK];
		recv->wr = *wr;
		memcpy(recv->sges, wr->sg_list, (size_t)wr->num_sge * sizeof(recv->sges[0]));
		if (qp->ibv.state == IBV_QPS_ERR)
			fake_flush(qp);
		fake_progress();
	}
	fake_unlock();
	return ret;
}

int fake_poll_cq(struct ibv_cq *ibv, int nr, struct ibv_wc *wc)
{
	struct fake_cq *cq = (struct fake_cq *)ibv;
	int got = 0;

	if (fake_fails("poll_cq"))
		return -1;
	fake_lock();
	while (!fake_ibv.hold && got < nr && cq->head != cq->tail)
		wc[got++] = cq->wc[cq->head++ % cq->size];
	fake_unlock();
	return got;
}
