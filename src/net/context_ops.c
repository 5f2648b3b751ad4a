// SPDX-License-Identifier: MIT
/*
 * What a program reaches through the inline functions of libibverbs' header. Nothing of the kind is made here, so
 * nothing can be asked of it; the answer is an error in each function's own way.
 */
#define log_fmt(fmt) "net/context: " fmt
#include "context.h"

#include "net/log.h"

static int refuse(const char *what)
{
	fail(EOPNOTSUPP, "%s: a device of this library has no queues of libibverbs; doca_verbs.h makes those it has", what);
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	refuse("ibv_alloc_mw");
	return NULL;
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	return refuse("ibv_bind_mw");
}

static int dealloc_mw(struct ibv_mw *mw)
{
	return refuse("ibv_dealloc_mw");
}

static int poll_cq(struct ibv_cq *cq, int nr, struct ibv_wc *wc)
{
	return -refuse("ibv_poll_cq");
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return refuse("ibv_req_notify_cq");
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	*bad_wr = wr;
	return refuse("ibv_post_srq_recv");
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	*bad_wr = wr;
	return refuse("ibv_post_send");
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	*bad_wr = wr;
	return refuse("ibv_post_recv");
}

const struct ibv_context_ops bl_context_ops = {
	.alloc_mw = alloc_mw,
	.bind_mw = bind_mw,
	.dealloc_mw = dealloc_mw,
	.poll_cq = poll_cq,
	.req_notify_cq = req_notify_cq,
	.post_srq_recv = post_srq_recv,
	.post_send = post_send,
	.post_recv = post_recv,
};
