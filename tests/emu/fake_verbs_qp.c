// SPDX-License-Identifier: MIT
/* Queue pairs that reach each other, and completion queues. */
#include "fake_verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

/**
 * struct queue - a completion queue
 * @cq:   what the program sees; first
 * @room: completions that fit
 * @nr:   those that wait
 * @wc:   they
 */
struct queue {
	struct ibv_cq cq;
	int room;
	int nr;
	struct ibv_wc wc[];
};

/**
 * struct pair - a queue pair
 * @qp:     what the program sees; first
 * @next:   list of all
 * @peer:   number of the other one
 * @access: what remote requests may do
 */
struct pair {
	struct ibv_qp qp;
	struct pair *next;
	uint32_t peer;
	int access;
};

static struct pair *pairs;
static uint32_t next_number = 100;

API struct ibv_cq *ibv_create_cq(struct ibv_context *context, int room, void *cq_context,
				 struct ibv_comp_channel *channel, int vector)
{
	struct queue *queue = calloc(1, sizeof(*queue) + (size_t)room * sizeof(struct ibv_wc));

	if (!queue)
		return NULL;
	queue->cq.context = context;
	queue->cq.cqe = room;
	queue->room = room;
	fake_count(1);
	return &queue->cq;
}

API int ibv_destroy_cq(struct ibv_cq *cq)
{
	for (struct pair *pair = pairs; pair; pair = pair->next) {
		if (pair->qp.send_cq == cq || pair->qp.recv_cq == cq)
			return EBUSY;
	}
	free(cq);
	fake_count(-1);
	return 0;
}

int fake_poll_cq(struct ibv_cq *cq, int nr, struct ibv_wc *wc)
{
	struct queue *queue = (struct queue *)cq;

	if (nr > queue->nr)
		nr = queue->nr;
	memcpy(wc, queue->wc, (size_t)nr * sizeof(*wc));
	queue->nr -= nr;
	memmove(queue->wc, queue->wc + nr, (size_t)queue->nr * sizeof(*wc));
	return nr;
}

API struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct pair *pair;

	errno = EINVAL;
	if (init->qp_type != IBV_QPT_RC || !init->send_cq || !init->recv_cq || !init->cap.max_send_wr)
		return NULL;
	pair = calloc(1, sizeof(*pair));
	if (!pair)
		return NULL;
	pair->qp.context = pd->context;
	pair->qp.pd = pd;
	pair->qp.send_cq = init->send_cq;
	pair->qp.recv_cq = init->recv_cq;
	pair->qp.qp_type = init->qp_type;
	pair->qp.qp_num = next_number;
	pair->qp.state = IBV_QPS_RESET;
	next_number += 3;
	pair->next = pairs;
	pairs = pair;
	fake_count(1);
	return &pair->qp;
}

/* What each step of an RC queue pair must come with. */
static int wanted(enum ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_INIT:
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	case IBV_QPS_RTR:
		return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	case IBV_QPS_RTS:
		return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	default:
		return -1;
	}
}

/* Ethernet needs a global address, InfiniBand a local one. */
static bool address_ok(const struct ibv_ah_attr *attr)
{
	if (fake_mode("ib"))
		return attr->dlid == 7 && attr->port_num == 1;
	return attr->is_global && attr->grh.dgid.raw[0] == 0xfe && attr->port_num == 1 &&
	       attr->grh.dgid.raw[15] == attr->grh.sgid_index + 1;
}

API int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct pair *pair = (struct pair *)qp;

	if (attr->qp_state != qp->state + 1 || mask != wanted(attr->qp_state))
		return EINVAL;
	if (attr->qp_state == IBV_QPS_INIT) {
		if (attr->port_num != 1)
			return EINVAL;
		pair->access = (int)attr->qp_access_flags;
	}
	if (attr->qp_state == IBV_QPS_RTR) {
		if (!address_ok(&attr->ah_attr) || attr->path_mtu != IBV_MTU_1024 || !attr->max_dest_rd_atomic)
			return EINVAL;
		pair->peer = attr->dest_qp_num;
	}
	qp->state = attr->qp_state;
	return 0;
}

API int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct pair **link = &pairs;

	while (*link && &(*link)->qp != qp)
		link = &(*link)->next;
	if (!*link)
		return EINVAL;
	*link = (*link)->next;
	free(qp);
	fake_count(-1);
	return 0;
}

/* The other end, when it can take requests and is connected to this one. */
static const struct pair *peer_of(const struct pair *pair)
{
	for (const struct pair *peer = pairs; peer; peer = peer->next) {
		if (peer->qp.qp_num == pair->peer && peer->peer == pair->qp.qp_num && peer->qp.state >= IBV_QPS_RTR)
			return peer;
	}
	return NULL;
}

static void move(unsigned char *dst, const unsigned char *src, size_t len)
{
	if (fake_mode("shifted"))
		memmove(dst, src + 1, len - 1);
	else
		memmove(dst, src, len);
	if (fake_mode("corrupt"))
		dst[len / 2] ^= 0x10;
}

static enum ibv_wc_status carry_out(const struct pair *pair, const struct ibv_send_wr *wr)
{
	bool write = wr->opcode == IBV_WR_RDMA_WRITE;
	const struct ibv_sge *sge = wr->sg_list;
	const struct pair *peer = peer_of(pair);
	int right = write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
	unsigned char *local, *remote;

	if (!peer)
		return IBV_WC_RETRY_EXC_ERR;
	local = fake_mr_reach(pair->qp.pd, sge->lkey, sge->addr, sge->length, write ? 0 : IBV_ACCESS_LOCAL_WRITE);
	if (!local)
		return IBV_WC_LOC_PROT_ERR;
	remote = fake_mr_reach(peer->qp.pd, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, sge->length, right);
	if (!remote || !(peer->access & right) || fake_mode("refused"))
		return IBV_WC_REM_ACCESS_ERR;
	move(write ? remote : local, write ? local : remote, sge->length);
	return IBV_WC_SUCCESS;
}

int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_p)
{
	struct pair *pair = (struct pair *)qp;
	struct queue *queue = (struct queue *)qp->send_cq;
	enum ibv_wc_status status;

	*bad_p = wr;
	if (qp->state != IBV_QPS_RTS || wr->num_sge != 1 || wr->next ||
	    (wr->opcode != IBV_WR_RDMA_WRITE && wr->opcode != IBV_WR_RDMA_READ))
		return EINVAL;
	if (queue->nr == queue->room)
		return ENOMEM;
	if (fake_mode("lost"))
		return 0;
	status = carry_out(pair, wr);
	if (status != IBV_WC_SUCCESS)
		qp->state = IBV_QPS_ERR;
	/* one that fails completes even when nobody asked */
	if (wr->send_flags & IBV_SEND_SIGNALED || status != IBV_WC_SUCCESS)
		queue->wc[queue->nr++] = (struct ibv_wc){ .wr_id = wr->wr_id, .status = status, .qp_num = qp->qp_num };
	return 0;
}
