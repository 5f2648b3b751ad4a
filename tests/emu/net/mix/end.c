// SPDX-License-Identifier: MIT
#include "end.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "net/context.h"
#include "net/soft.h"
#include "net/verbs/qp.h"

#define DATA_LEN (MIX_TARGET + 2 * MIX_SLOTS * MIX_SLOT)
#define ACCESS                                                                                                         \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define FENCED	   0x40 /* waits for reads */
#define COMPLETION 0x08
#define NOT_YET	   15
#define REQ_ERR	   13
#define RESP_ERR   14

int mix_end_open(struct mix_end *end, const char *nic)
{
	end->context = bl_net_open_device(nic);
	if (!end->context)
		return tool_fail(errno, "device %s: %s", nic, bl_last_error(NULL));
	end->pd = bl_net_alloc_pd(end->context);
	end->data = aligned_alloc(4096, DATA_LEN);
	if (!end->pd || !end->data)
		return tool_fail(ENOMEM, "device %s: no memory", nic);
	memset(end->data, 0, DATA_LEN);
	end->mr = bl_net_reg_mr(end->pd, end->data, DATA_LEN, ACCESS);
	return end->mr ? 0 : tool_fail(errno, "device %s: memory: %s", nic, bl_last_error(NULL));
}

void mix_end_close(struct mix_end *end)
{
	mix_end_drop(end);
	if (end->mr)
		bl_net_dereg_mr(end->mr);
	free(end->data);
	if (end->pd)
		bl_net_dealloc_pd(end->pd);
	if (end->context)
		bl_net_close_device(end->context);
	*end = (struct mix_end){ .context = NULL };
}

static int make_cq(struct mix_end *end, struct doca_verbs_cq **cq_p, char **ring_p)
{
	struct doca_verbs_cq_attr *attr;

	if (doca_verbs_cq_attr_create(&attr))
		return tool_fail(ENOMEM, "completion queue: no memory");
	doca_verbs_cq_attr_set_cq_size(attr, MIX_DEPTH);
	/* nobody posts more than fits */
	doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN);
	doca_verbs_cq_create(end->context, attr, cq_p);
	doca_verbs_cq_attr_destroy(attr);
	if (!*cq_p)
		return tool_fail(EIO, "completion queue: %s", bl_last_error(NULL));
	doca_verbs_cq_get_wq(*cq_p, (void **)ring_p, NULL, NULL);
	return 0;
}

static int make_qp(struct mix_end *end, bool uc)
{
	struct doca_verbs_qp_init_attr *init;

	if (doca_verbs_qp_init_attr_create(&init))
		return tool_fail(ENOMEM, "queue pair: no memory");
	doca_verbs_qp_init_attr_set_pd(init, end->pd);
	doca_verbs_qp_init_attr_set_qp_type(init, uc ? DOCA_VERBS_QP_TYPE_UC : DOCA_VERBS_QP_TYPE_RC);
	doca_verbs_qp_init_attr_set_sq_wr(init, MIX_DEPTH);
	doca_verbs_qp_init_attr_set_rq_wr(init, MIX_DEPTH);
	doca_verbs_qp_init_attr_set_send_max_sges(init, 2);
	doca_verbs_qp_init_attr_set_receive_max_sges(init, 1);
	doca_verbs_qp_init_attr_set_send_cq(init, end->send_cq);
	doca_verbs_qp_init_attr_set_receive_cq(init, end->recv_cq);
	doca_verbs_qp_create(end->context, init, &end->qp);
	doca_verbs_qp_init_attr_destroy(init);
	if (!end->qp)
		return tool_fail(EIO, "queue pair: %s", bl_last_error(NULL));
	doca_verbs_qp_get_wq(end->qp, (void **)&end->sq, NULL, (void **)&end->rq, NULL, NULL);
	end->dbr = doca_verbs_qp_get_dbr_addr(end->qp);
	end->db = doca_verbs_qp_get_uar_addr(end->qp);
	return 0;
}

int mix_end_make(struct mix_end *end, bool uc)
{
	int ret;

	mix_end_drop(end);
	ret = make_cq(end, &end->send_cq, &end->send_cqe);
	if (!ret)
		ret = make_cq(end, &end->recv_cq, &end->recv_cqe);
	return ret ? ret : make_qp(end, uc);
}

void mix_end_drop(struct mix_end *end)
{
	if (end->qp)
		doca_verbs_qp_destroy(end->qp);
	if (end->recv_cq)
		doca_verbs_cq_destroy(end->recv_cq);
	if (end->send_cq)
		doca_verbs_cq_destroy(end->send_cq);
	end->qp = NULL;
	end->send_cq = end->recv_cq = NULL;
	end->pi = end->send_ci = end->rq_pi = end->recv_ci = 0;
}

static uint32_t *set64(uint32_t *words, uint64_t value)
{
	words[0] = htobe32((uint32_t)(value >> 32));
	words[1] = htobe32((uint32_t)value);
	return words + 2;
}

static uint32_t *set_data(uint32_t *words, const uint8_t *at, uint32_t lkey, uint32_t len)
{
	words[0] = htobe32(len);
	words[1] = htobe32(lkey);
	return set64(words + 2, (uintptr_t)at);
}

/* Return: behind the data, in whole segments of 16 bytes. */
static uint32_t *set_bytes(struct mix_end *end, uint32_t *at, const struct mix_request *request)
{
	const uint8_t *bytes = mix_send_slot(end, request->index);

	if (request->in_line) {
		*at = htobe32(0x80000000U | request->len);
		memcpy(at + 1, bytes, request->len);
		return at + (4 + request->len + 15) / 16 * 4;
	}
	if (request->cut)
		at = set_data(at, bytes, end->mr->lkey, request->cut);
	if (request->len)
		at = set_data(at, bytes + request->cut, end->mr->lkey, request->len - request->cut);
	return at;
}

static void ring(struct mix_end *end)
{
	const uint32_t words[2] = { htobe32(end->pi << 8), htobe32(doca_verbs_qp_get_qpn(end->qp) << 8) };
	uint64_t db;

	memcpy(&db, words, sizeof(db));
	/* the NIC may fetch the WQE as soon as it sees the record: WQE first */
	__atomic_store_n(&end->dbr[1], htobe32(end->pi & 0xffff), __ATOMIC_RELEASE);
	/* it may read the record as soon as it sees the doorbell: record first */
	__atomic_store_n(end->db, db, __ATOMIC_RELEASE);
	bl_qp_kick(end->qp);
}

void mix_end_post(struct mix_end *end, const struct mix_request *request)
{
	uint32_t words[16] = { 0 }, *at = words + 4;

	if (request->opcode != MIX_SEND && request->opcode != MIX_SEND_IMM) {
		set64(at, end->peer.addr + request->off);
		at[2] = htobe32(end->peer.rkey);
		at += 4;
	}
	if (mix_is_atomic(request)) {
		at = set64(at, request->add);
		at = set64(at, request->opcode == MIX_CAS ? request->compare : 0);
	}
	at = set_bytes(end, at, request);
	words[0] = htobe32((end->pi & 0xffff) << 8 | request->opcode);
	words[1] = htobe32(doca_verbs_qp_get_qpn(end->qp) << 8 | (uint32_t)(at - words) / 4);
	words[2] = htobe32(COMPLETION | (request->fence ? FENCED : 0));
	words[3] = htobe32(request->imm);
	memcpy(end->sq + end->pi % MIX_DEPTH * 64UL, words, sizeof(words));
	end->pi++;
	ring(end);
}

void mix_end_post_recv(struct mix_end *end)
{
	uint32_t seg[4];

	set_data(seg, mix_recv_slot(end, end->rq_pi), end->mr->lkey, MIX_SLOT);
	memcpy(end->rq + end->rq_pi % MIX_DEPTH * 16UL, seg, sizeof(seg));
	end->rq_pi++;
	/* the NIC may fetch the segment as soon as it sees the counter: segment first */
	__atomic_store_n(&end->dbr[0], htobe32(end->rq_pi & 0xffff), __ATOMIC_RELEASE);
	bl_qp_kick(end->qp);
}

static int failed(struct mix_end *end, const uint8_t *cqe)
{
	struct bl_nic_qp_info info = { .text = "" };

	bl_qp_info(end->qp, &info);
	return tool_fail(EIO, "%s fails with syndrome 0x%02x: %s", cqe[63] >> 4 == REQ_ERR ? "a request" : "a receive list",
			 cqe[55], info.text);
}

static int look(struct mix_end *end, const char *ring_at, uint32_t *index, struct mix_cqe *said)
{
	const char *at = ring_at + *index % MIX_DEPTH * 64UL;
	/* the NIC stores these eight last: the rest after them */
	uint64_t last = __atomic_load_n((const uint64_t *)(const void *)(at + 56), __ATOMIC_ACQUIRE);
	uint8_t cqe[64];
	uint32_t words[2];
	uint16_t counter;

	memcpy(cqe + 56, &last, sizeof(last));
	said->opcode = cqe[63] >> 4;
	if (said->opcode == NOT_YET || (cqe[63] & 1) != !!(*index & MIX_DEPTH))
		return 0;
	memcpy(cqe, at, 56);
	if (said->opcode == REQ_ERR || said->opcode == RESP_ERR)
		return failed(end, cqe);
	memcpy(&words[0], cqe + 44, 4);
	memcpy(&words[1], cqe + 36, 4);
	memcpy(&counter, cqe + 60, 2);
	said->len = be32toh(words[0]);
	said->imm = be32toh(words[1]);
	said->counter = be16toh(counter);
	++*index;
	return 1;
}

int mix_end_sent(struct mix_end *end, struct mix_cqe *cqe)
{
	return look(end, end->send_cqe, &end->send_ci, cqe);
}

int mix_end_received(struct mix_end *end, struct mix_cqe *cqe)
{
	return look(end, end->recv_cqe, &end->recv_ci, cqe);
}

void mix_end_counters(const struct mix_end *end, uint64_t values[BL_SNIC_NR_COUNTERS])
{
	struct bl_context *context;

	memset(values, 0, BL_SNIC_NR_COUNTERS * sizeof(*values));
	if (bl_context_get(end->context, &context))
		return;
	if (context->ops == &bl_nic_soft)
		bl_snic_counters(context->nic->snic, values);
	bl_context_put(context);
}
