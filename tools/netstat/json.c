// SPDX-License-Identifier: MIT
/* One full picture, for programs. */
#include <string.h>

#include "barlane.h"
#include "common/json.h"
#include "netstat/netstat.h"
#include "softnic/snic.h"

#define HINTS 8

static void add_u64(struct json_object *object, const char *key, uint64_t value)
{
	struct json_object *number = json_object_new_uint64(value);

	tool_json_add(object, key, number);
}

static void add_hints(struct json_object *object, char hints[][NETSTAT_HINT], unsigned int nr)
{
	struct json_object *array = tool_json_array();

	for (unsigned int i = 0; i < nr; i++)
		tool_json_append(array, json_object_new_string(hints[i]));
	tool_json_add(object, "hints", array);
}

static void add_hex(struct json_object *object, const char *key, const uint8_t *raw, size_t len)
{
	char text[2 * BL_SHOWN_BLOCKS * BL_SHOWN_BLOCK + 1];

	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", raw[i]);
	text[2 * len] = '\0';
	tool_json_string(object, key, text);
}

static struct json_object *wqe_json(const struct netstat_wqe *wqe)
{
	struct json_object *object = tool_json_object(), *segments = tool_json_array(), *segment;
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;

	add_u64(object, "block", wqe->number);
	tool_json_string(object, "name", netstat_opcode(wqe->wqe.opcode));
	tool_json_int(object, "opcode", wqe->wqe.opcode);
	tool_json_int(object, "index", wqe->wqe.index);
	tool_json_int(object, "qpn", wqe->wqe.qpn);
	tool_json_int(object, "ds", wqe->wqe.nr_segs);
	tool_json_int(object, "fence", wqe->wqe.fence);
	tool_json_int(object, "ce", wqe->wqe.ce);
	tool_json_int(object, "signature", wqe->signature);
	add_u64(object, "raddr", wqe->wqe.raddr);
	tool_json_int(object, "rkey", wqe->wqe.rkey);
	tool_json_int(object, "len", wqe->wqe.len);
	tool_json_bool(object, "whole", wqe->whole);
	tool_json_string(object, "bad", wqe->why ? wqe->why : "");
	if (wqe->whole && !wqe->why) {
		bl_wqe_walk_start(&walk, &wqe->wqe, wqe->raw, 0);
		while (bl_wqe_walk_next(&walk, UINT32_MAX, &piece)) {
			segment = tool_json_object();
			tool_json_bool(segment, "inline", piece.bytes != NULL);
			add_u64(segment, "addr", piece.addr);
			tool_json_int(segment, "lkey", piece.lkey);
			tool_json_int(segment, "len", piece.len);
			tool_json_append(segments, segment);
		}
	}
	tool_json_add(object, "segments", segments);
	add_hex(object, "raw", wqe->raw, wqe->nr_shown);
	return object;
}

static struct json_object *error_json(const struct bl_shown_qp *qp)
{
	struct json_object *object = tool_json_object();
	struct netstat_wqe wqe;

	tool_json_int(object, "syndrome", qp->error_syndrome);
	tool_json_string(object, "name", netstat_syndrome(qp->error_syndrome));
	tool_json_int(object, "vendor", qp->error_vendor);
	tool_json_int(object, "opcode", qp->error_opcode);
	tool_json_int(object, "wqe", qp->error_wqe);
	tool_json_bool(object, "responder", qp->flags & BL_SHOWN_RESPONDER);
	tool_json_string(object, "text", qp->text);
	if (qp->flags & BL_SHOWN_ERROR_BLOCK) {
		netstat_wqe(qp->error_wqe, qp->error_block, sizeof(qp->error_block), &wqe);
		tool_json_add(object, "request", wqe_json(&wqe));
	}
	return object;
}

static struct json_object *gpu_json(const struct bl_shown_gpu_qp *gpu)
{
	struct json_object *object = tool_json_object();

	tool_json_string(object, "handler", netstat_handler(gpu->handler));
	tool_json_string(object, "ringer", netstat_ringer(gpu->ringer));
	tool_json_string(object, "reason", gpu->reason);
	tool_json_int(object, "timeout_ms", gpu->timeout_ms);
	tool_json_int(object, "stop", gpu->stop);
	if (gpu->flags & BL_SHOWN_GPU_OBJECT) {
		add_u64(object, "reserved", gpu->reserved);
		add_u64(object, "ready", gpu->ready);
		add_u64(object, "submitted", gpu->submitted);
		add_u64(object, "completed", gpu->completed);
		add_u64(object, "rq_posted", gpu->rq_posted);
	}
	if (gpu->flags & BL_SHOWN_GPU_WORD) {
		add_u64(object, "word", gpu->word);
		add_u64(object, "served", gpu->served);
		add_u64(object, "rings", gpu->rings);
	}
	if (gpu->flags & BL_SHOWN_GPU_FOLDED) {
		add_u64(object, "folded", gpu->folded);
		tool_json_bool(object, "fold_failed", gpu->flags & BL_SHOWN_GPU_FOLD_FAILED);
	}
	if (gpu->flags & BL_SHOWN_GPU_RECORD) {
		tool_json_int(object, "record_send", gpu->records[1]);
		tool_json_int(object, "record_receive", gpu->records[0]);
	}
	return object;
}

static struct json_object *sq_json(const struct bl_shown_qp *qp)
{
	struct json_object *object = tool_json_object();

	tool_json_int(object, "blocks", qp->sq_nr);
	tool_json_int(object, "cq", qp->send_cq);
	add_u64(object, "posted", qp->sq_posted);
	add_u64(object, "fetched", qp->sq_fetched);
	add_u64(object, "taken", qp->sq_taken);
	add_u64(object, "done", qp->sq_done);
	add_u64(object, "requests_taken", qp->wr_taken);
	add_u64(object, "requests_begun", qp->wr_launched);
	add_u64(object, "requests_done", qp->wr_done);
	tool_json_string(object, "doorbell", qp->flags & BL_SHOWN_WATCHED   ? "watched" :
					     qp->flags & BL_SHOWN_NO_RECORD ? "register" :
									      "record");
	add_u64(object, "doorbell_value", qp->flags & BL_SHOWN_WATCHED ? qp->watched : qp->doorbell);
	return object;
}

static struct json_object *rq_json(const struct bl_shown_qp *qp)
{
	struct json_object *object = tool_json_object();

	tool_json_int(object, "lists", qp->rq_nr);
	tool_json_int(object, "segments", qp->rq_sges);
	tool_json_int(object, "cq", qp->recv_cq);
	add_u64(object, "posted", qp->rq_posted);
	add_u64(object, "done", qp->rq_done);
	if (qp->srq)
		tool_json_int(object, "srq", qp->srq);
	return object;
}

static void add_wire(struct json_object *object, const struct bl_shown_qp *qp)
{
	struct json_object *psn = tool_json_object();

	tool_json_int(psn, "next", qp->psn_next);
	tool_json_int(psn, "sent", qp->psn_sent);
	tool_json_int(psn, "acked", qp->psn_acked);
	tool_json_int(psn, "expected", qp->psn_expected);
	tool_json_add(object, "psn", psn);
	tool_json_int(object, "msn", qp->msn);
	tool_json_int(object, "retries", qp->retries);
	tool_json_int(object, "retry_cnt", qp->retry_cnt);
	tool_json_int(object, "rnr_retries", qp->rnr_retries);
	tool_json_int(object, "rnr_retry", qp->rnr_retry);
	tool_json_int(object, "ack_timeout", qp->ack_timeout);
	tool_json_int(object, "min_rnr_timer", qp->min_rnr_timer);
	tool_json_double(object, "timer_ms", (double)qp->timer_ns / 1e6);
	tool_json_double(object, "rnr_ms", (double)qp->rnr_ns / 1e6);
	tool_json_int(object, "reads_waiting", qp->nr_fetches);
	tool_json_int(object, "answers_waiting", qp->nr_replies);
	tool_json_int(object, "placed_waiting", qp->nr_placed);
}

static struct json_object *qp_json(const struct bl_shown_qp *qp, const struct bl_shown_gpu_qp *gpu)
{
	struct json_object *object = tool_json_object(), *peer = tool_json_object(), *wqes = tool_json_array();
	char text[64], hints[HINTS][NETSTAT_HINT];
	struct netstat_wqe wqe;

	tool_json_int(object, "qpn", qp->num);
	tool_json_string(object, "type", netstat_type(qp->type));
	tool_json_string(object, "state", netstat_state(qp->state));
	tool_json_int(object, "pd", qp->pd);
	tool_json_int(object, "mtu", qp->mtu);
	tool_json_string(object, "peer_rights", netstat_access(qp->access, text));
	tool_json_bool(object, "carried", qp->flags & BL_SHOWN_CARRIED);
	tool_json_int(peer, "qpn", qp->dest_qpn);
	tool_json_string(peer, "gid", netstat_gid(qp->dest_gid, text));
	tool_json_add(object, "peer", peer);
	tool_json_add(object, "sq", sq_json(qp));
	tool_json_add(object, "rq", rq_json(qp));
	if (!(qp->flags & BL_SHOWN_CARRIED))
		add_wire(object, qp);
	if (qp->state == BL_SNIC_ERR)
		tool_json_add(object, "error", error_json(qp));
	if (gpu)
		tool_json_add(object, "gpu", gpu_json(gpu));
	for (uint32_t at = 0; (at = netstat_next_wqe(qp, at, &wqe));)
		tool_json_append(wqes, wqe_json(&wqe));
	tool_json_add(object, "wqes", wqes);
	add_hints(object, hints, netstat_qp_hints(qp, gpu, hints, HINTS));
	return object;
}

static struct json_object *cqe_json(const struct netstat_cqe *cqe, const uint8_t *raw)
{
	struct json_object *object = tool_json_object();

	tool_json_int(object, "opcode", cqe->opcode);
	tool_json_string(object, "name", netstat_cqe_opcode(cqe->opcode));
	tool_json_int(object, "owner", cqe->owner);
	tool_json_int(object, "qpn", cqe->qpn);
	tool_json_int(object, "wqe_counter", cqe->wqe_counter);
	tool_json_int(object, "syndrome", cqe->syndrome);
	tool_json_int(object, "vendor", cqe->vendor);
	tool_json_int(object, "bytes", cqe->bytes);
	add_hex(object, "raw", raw, BL_SHOWN_BLOCK);
	return object;
}

static struct json_object *cq_json(const struct bl_shown_cq *cq)
{
	struct json_object *object = tool_json_object();
	char hints[HINTS][NETSTAT_HINT];
	struct netstat_cqe cqe;

	tool_json_int(object, "cqn", cq->num);
	tool_json_int(object, "entries", cq->nr);
	add_u64(object, "written", cq->written);
	if (cq->flags & BL_SHOWN_HAS_CONSUMER)
		tool_json_int(object, "consumer", cq->consumer);
	tool_json_bool(object, "overrun_ignored", cq->flags & BL_SHOWN_OVERRUN_IGNORED);
	tool_json_bool(object, "collapsed", cq->flags & BL_SHOWN_COLLAPSED);
	add_u64(object, "lost", cq->overruns);
	netstat_cqe(cq->last, &cqe);
	if (cqe.is_one)
		tool_json_add(object, "last", cqe_json(&cqe, cq->last));
	add_hints(object, hints, netstat_cq_hints(cq, hints, HINTS));
	return object;
}

static struct json_object *mr_json(const struct bl_shown_mr *mr)
{
	struct json_object *object = tool_json_object();
	char text[64];

	tool_json_int(object, "key", mr->key);
	add_u64(object, "address", mr->iova);
	add_u64(object, "len", mr->len);
	tool_json_int(object, "pd", mr->pd);
	tool_json_string(object, "rights", netstat_access(mr->access, text));
	tool_json_string(object, "kind", netstat_mr_kind(mr->kind));
	tool_json_bool(object, "moved", mr->moved != 0);
	return object;
}

static struct json_object *srq_json(const struct bl_shown_srq *srq)
{
	struct json_object *object = tool_json_object();
	char hints[HINTS][NETSTAT_HINT];

	tool_json_int(object, "srqn", srq->num);
	tool_json_string(object, "type", netstat_srq_type(srq->type));
	tool_json_int(object, "pd", srq->pd);
	tool_json_int(object, "lists", srq->nr);
	tool_json_int(object, "segments", srq->sges);
	tool_json_int(object, "queue_pairs", srq->users);
	tool_json_bool(object, "broken", srq->broken != 0);
	add_u64(object, "posted", srq->posted);
	add_u64(object, "taken", srq->taken);
	add_u64(object, "done", srq->done);
	add_hints(object, hints, netstat_srq_hints(srq, hints, HINTS));
	return object;
}

static void add_tables(struct json_object *object, const struct netstat_nic *nic, const struct netstat_gpu *gpu)
{
	struct json_object *qps = tool_json_array(), *cqs = tool_json_array(), *mrs = tool_json_array();
	struct json_object *srqs = tool_json_array();

	for (uint32_t i = 0; i < nic->nr_qps; i++)
		tool_json_append(qps, qp_json(&nic->qps[i], netstat_gpu_of(gpu, nic->port.name, nic->qps[i].num)));
	for (uint32_t i = 0; i < nic->nr_cqs; i++)
		tool_json_append(cqs, cq_json(&nic->cqs[i]));
	for (uint32_t i = 0; i < nic->nr_mrs; i++)
		tool_json_append(mrs, mr_json(&nic->mrs[i]));
	for (uint32_t i = 0; i < nic->nr_srqs; i++)
		tool_json_append(srqs, srq_json(&nic->srqs[i]));
	tool_json_add(object, "queue_pairs", qps);
	tool_json_add(object, "completion_queues", cqs);
	tool_json_add(object, "regions", mrs);
	tool_json_add(object, "shared_receive_queues", srqs);
}

static struct json_object *nic_json(const struct netstat_process *process, const struct netstat_nic *nic,
				    const struct netstat_gpu *gpu)
{
	struct json_object *object = tool_json_object(), *counters = tool_json_object();
	char text[64], hints[HINTS][NETSTAT_HINT];

	tool_json_string(object, "name", nic->port.name);
	tool_json_string(object, "provider", nic->port.provider);
	tool_json_string(object, "transport", nic->port.transport);
	tool_json_string(object, "gid", netstat_gid(nic->port.gid, text));
	tool_json_int(object, "mtu", nic->port.mtu);
	tool_json_int(object, "payload", nic->port.max_payload);
	tool_json_int(object, "window", nic->port.window);
	if (strcmp(nic->port.provider, "verbs") != 0)
		tool_json_bool(object, "active", nic->port.flags & BL_SHOWN_UP);
	tool_json_double(object, "age_ms", netstat_age_ms(nic->port.now_ns));
	tool_json_int(object, "nr_queue_pairs", nic->port.nr_qps);
	tool_json_int(object, "nr_completion_queues", nic->port.nr_cqs);
	tool_json_int(object, "nr_regions", nic->port.nr_mrs);
	tool_json_int(object, "nr_shared_receive_queues", nic->port.nr_srqs);
	tool_json_int(object, "torn", nic->torn);
	for (uint32_t i = 0; i < nic->port.nr_counters; i++)
		add_u64(counters, nic->port.names[i], nic->port.values[i]);
	tool_json_add(object, "counters", counters);
	/* of one that only lists, there are none */
	if (nic->qps)
		add_tables(object, nic, gpu);
	add_hints(object, hints, netstat_nic_hints(process, nic, hints, HINTS));
	return object;
}

static struct json_object *alone_json(const struct netstat_all *all)
{
	const struct bl_shown_qp none = { .state = BL_SNIC_RTS };
	struct json_object *array = tool_json_array(), *object;
	char hints[HINTS][NETSTAT_HINT];

	for (uint32_t i = 0; i < all->gpu.nr; i++) {
		const struct bl_shown_gpu_qp *gpu = &all->gpu.qps[i];

		if (!netstat_is_alone(all, gpu))
			continue;
		object = gpu_json(gpu);
		tool_json_string(object, "nic", gpu->nic);
		tool_json_int(object, "qpn", gpu->qpn);
		tool_json_int(object, "blocks", gpu->sq_nr);
		add_hints(object, hints, netstat_qp_hints(&none, gpu, hints, HINTS));
		tool_json_append(array, object);
	}
	return array;
}

struct json_object *netstat_json(const struct netstat_all *all, const struct netstat_process *process)
{
	struct json_object *object = tool_json_object(), *nics = tool_json_array();

	tool_json_string(object, "version", bl_version());
	tool_json_int(object, "pid", process->pid);
	tool_json_string(object, "name", process->name);
	tool_json_string(object, "state", netstat_process_state(process->state));
	for (unsigned int i = 0; i < all->nr; i++)
		tool_json_append(nics, nic_json(process, &all->nics[i], &all->gpu));
	tool_json_add(object, "nics", nics);
	tool_json_add(object, "gpu_only", alone_json(all));
	tool_json_int(object, "skipped", all->skipped);
	return object;
}
