// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "snic/qp: " fmt
#include "qp.h"

#include <errno.h>
#include <stdlib.h>

#include "active.h"
#include "mem.h"
#include "offload.h"
#include "place.h"
#include "share.h"
#include "util/log.h"

#define MAX_NR	    32768
/* A request has at most 16 blocks: one that begins in the last block of the ring needs 15 behind it. */
#define EXTRA_BLOCKS 15

size_t bl_qp_nr_blocks(const struct bl_snic_qp *qp)
{
	return qp->attr.sq_nr ? qp->attr.sq_nr + EXTRA_BLOCKS : 0;
}

static bool is_size(uint32_t nr)
{
	return nr <= MAX_NR && !(nr & (nr - 1));
}

static int check_send(const struct bl_snic *nic, const struct bl_snic_qp_attr *attr)
{
	if (!is_size(attr->sq_nr))
		return fail(EINVAL, "%s: %u send blocks: not a power of two up to %u", nic->name, attr->sq_nr, MAX_NR);
	if (!attr->sq_nr)
		return 0;
	if (!bl_snic_mem_is_valid(&attr->sq))
		return fail(EINVAL, "%s: the send ring has neither an address nor functions", nic->name);
	if (!attr->send_cq)
		return fail(EINVAL, "%s: a send ring without completion queue", nic->name);
	if (attr->no_dbrec ? !attr->uar : !attr->dbrec)
		return fail(EINVAL, "%s: a send ring without %s", nic->name,
			    attr->no_dbrec ? "doorbell page" : "doorbell record");
	return 0;
}

static int check_receive(const struct bl_snic *nic, const struct bl_snic_qp_attr *attr)
{
	if (!is_size(attr->rq_nr))
		return fail(EINVAL, "%s: %u receive lists: not a power of two up to %u", nic->name, attr->rq_nr,
			    MAX_NR);
	if (attr->srq && (attr->rq_nr || !attr->recv_cq))
		return fail(EINVAL, "%s: a shared receive queue and %s", nic->name,
			    attr->rq_nr ? "a receive ring as well" : "no completion queue");
	if (!attr->rq_nr)
		return 0;
	if (!attr->rq_sges || attr->rq_sges > BL_RWQE_MAX_SGES || attr->rq_sges & (attr->rq_sges - 1))
		return fail(EINVAL, "%s: %u segments per receive list: not a power of two up to %u", nic->name,
			    attr->rq_sges, BL_RWQE_MAX_SGES);
	if (!bl_snic_mem_is_valid(&attr->rq))
		return fail(EINVAL, "%s: the receive ring has neither an address nor functions", nic->name);
	if (!attr->recv_cq || !attr->dbrec)
		return fail(EINVAL, "%s: a receive ring without %s", nic->name,
			    attr->recv_cq ? "doorbell record" : "completion queue");
	return 0;
}

static int check_attr(const struct bl_snic *nic, const struct bl_snic_qp_attr *attr)
{
	int ret;

	if (attr->type != BL_SNIC_RC && attr->type != BL_SNIC_UC)
		return fail(EINVAL, "%s: unknown type %d", nic->name, (int)attr->type);
	if ((uintptr_t)attr->dbrec % sizeof(*attr->dbrec))
		return fail(EINVAL, "%s: the doorbell record is not aligned", nic->name);
	ret = check_send(nic, attr);
	if (!ret)
		ret = check_receive(nic, attr);
	if (ret)
		return ret;
	if ((attr->send_cq && attr->send_cq->nic != nic) || (attr->recv_cq && attr->recv_cq->nic != nic) ||
	    (attr->uar && attr->uar->nic != nic) || (attr->srq && attr->srq->nic != nic))
		return fail(EINVAL, "%s: an object of another NIC", nic->name);
	if (attr->no_dbrec && attr->uar && attr->uar->owner)
		return fail(EINVAL, "%s: uar %u serves another queue pair without record", nic->name, attr->uar->id);
	return 0;
}

/* Memory of the queues and the words that are watched stay. */
static void set_queues(struct bl_snic_qp *qp)
{
	qp->sq = (struct bl_sq){
		.blocks = qp->sq.blocks,
		.wrs = qp->sq.wrs,
		.watched = qp->sq.watched,
		.express = qp->sq.express,
	};
	bl_rq_drop(qp);
	qp->rq.pi = qp->rq.ci = 0;
	qp->rq.lost = false;
}

void bl_qp_reset(struct bl_snic_qp *qp)
{
	if (qp->path)
		qp->nic->ops->path_close(qp->path);
	bl_place_drop(qp);
	if (qp->path)
		bl_share_part(qp);
	qp->path = NULL;
	bl_resp_drop_replies(qp);
	set_queues(qp);
	free(qp->resp.replies);
	free(qp->resp.history);
	free(qp->resp.placing);
	qp->req = (struct bl_requester){.una = 0};
	qp->resp = (struct bl_responder){.epsn = 0};
	qp->error = (struct bl_snic_error){.syndrome = 0};
	qp->error_cqe = false;
	qp->culprit = UINT64_MAX;
	qp->loop = false;
	qp->mod = (struct bl_snic_qp_mod){.state = BL_SNIC_RST};
	qp->state = BL_SNIC_RST;
	/* what rang in the life before must not be taken for a doorbell of the next */
	if (qp->uar_word)
		__atomic_store_n((uint64_t *)qp->uar_word, 0, __ATOMIC_RELAXED);
}

void bl_qp_free(struct bl_snic_qp *qp)
{
	free(qp->sq.blocks);
	free(qp->sq.wrs);
	for (unsigned int i = 0; i < qp->resp.nr_replies; i++)
		free(qp->resp.replies[i].move);
	free(qp->resp.replies);
	free(qp->resp.history);
	free(qp->resp.placing);
	free(qp->offload);
	free(qp);
}

static struct bl_snic_qp *alloc(const struct bl_snic_qp_attr *attr)
{
	struct bl_snic_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->attr = *attr;
	if (!attr->sq_nr)
		return qp;
	qp->sq.blocks = calloc(attr->sq_nr + EXTRA_BLOCKS, BL_SNIC_WQEBB);
	qp->sq.wrs = calloc(attr->sq_nr, sizeof(*qp->sq.wrs));
	if (qp->sq.blocks && qp->sq.wrs)
		return qp;
	bl_qp_free(qp);
	return NULL;
}

/* It uses what it was made with; +1 or -1. */
static void use(struct bl_snic_qp *qp, unsigned int change)
{
	qp->pd->users += change;
	if (qp->attr.send_cq)
		qp->attr.send_cq->users += change;
	if (qp->attr.recv_cq)
		qp->attr.recv_cq->users += change;
	if (qp->attr.srq)
		qp->attr.srq->users += change;
	if (qp->attr.uar)
		qp->attr.uar->users += change;
}

static void publish(struct bl_snic_qp *qp)
{
	struct bl_snic *nic = qp->nic;
	struct bl_snic_qp **last = &nic->first_qp;

	if (qp->attr.no_dbrec && qp->attr.uar) {
		qp->attr.uar->owner = qp;
		qp->uar_word = (const uint64_t *)((char *)qp->attr.uar->page + BL_SNIC_UAR_NODBR);
	}
	use(qp, 1);
	while (*last)
		last = &(*last)->next;
	*last = qp;
}

int bl_snic_qp_create(struct bl_snic_pd *pd, const struct bl_snic_qp_attr *attr, struct bl_snic_qp **qp_p)
{
	struct bl_snic *nic = pd->nic;
	struct bl_snic_qp *qp;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	ret = check_attr(nic, attr);
	if (ret)
		goto unlock;
	qp = alloc(attr);
	if (!qp) {
		ret = fail(ENOMEM, "%s: out of memory for %u send blocks", nic->name, attr->sq_nr);
		goto unlock;
	}
	qp->nic = nic;
	qp->pd = pd;
	if (nic->ops->offload)
		ret = bl_offload_open(qp);
	else if (bl_snic_number(&nic->qps, &nic->next_qp, nic->qpn_bits, qp, &qp->num))
		ret = fail(ENOMEM, "%s: no number for a queue pair", nic->name);
	if (ret) {
		bl_qp_free(qp);
		goto unlock;
	}
	publish(qp);
	bl_qp_reset(qp);
	*qp_p = qp;
unlock:
	bl_snic_unlock(nic);
	return ret;
}

int bl_snic_qp_destroy(struct bl_snic_qp *qp)
{
	struct bl_snic *nic = qp->nic;
	struct bl_snic_qp **place = &nic->first_qp;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	ret = bl_jobs_wait(nic, &qp->jobs, "qp", qp->num);
	if (ret)
		goto unlock;
	if (qp->offload)
		bl_offload_close(qp);
	bl_qp_reset(qp);
	use(qp, -1U);
	if (qp->uar_word)
		qp->attr.uar->owner = NULL;
	while (*place != qp)
		place = &(*place)->next;
	*place = qp->next;
	bl_active_forget(qp);
	if (nic->show.next_qp == qp)
		nic->show.next_qp = qp->next;
	bl_snic_map_remove(&nic->qps, qp->num);
	bl_qp_free(qp);
unlock:
	bl_snic_unlock(nic);
	return ret;
}

uint32_t bl_snic_qp_num(const struct bl_snic_qp *qp)
{
	return qp->num;
}

/* Where @place_p is of a queue pair, under the lock. */
static int watch(struct bl_snic_qp *qp, const uint64_t **place_p, const uint64_t *word)
{
	struct bl_snic *nic = qp->nic;
	int ret = bl_snic_lock(nic);

	if (ret)
		return ret;
	if ((uintptr_t)word % sizeof(*word))
		ret = fail(EINVAL, "%s: qp 0x%x: the word is not aligned", nic->name, qp->num);
	else
		*place_p = word;
	bl_active_wake(qp);
	bl_snic_unlock(nic);
	return ret;
}

int bl_snic_qp_watch(struct bl_snic_qp *qp, const uint64_t *word)
{
	return watch(qp, &qp->sq.watched, word);
}

int bl_snic_qp_express(struct bl_snic_qp *qp, const uint64_t *line)
{
	return watch(qp, &qp->sq.express, line);
}
