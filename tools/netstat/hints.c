// SPDX-License-Identifier: MIT
/* What keeps a process from going on, as far as it shows. Each line names what it was seen by. */
#include <inttypes.h>
#include <stdarg.h>

#include "barlane_net_gpu.h"
#include "netstat/netstat.h"
#include "softnic/snic.h"

/* A NIC that can run writes many times a second. */
#define LATE_MS 1000

struct list {
	char (*hints)[NETSTAT_HINT];
	unsigned int nr, room;
};

__attribute__((format(printf, 2, 3))) static void say(struct list *list, const char *fmt, ...)
{
	va_list args;

	if (list->nr == list->room)
		return;
	va_start(args, fmt);
	vsnprintf(list->hints[list->nr++], NETSTAT_HINT, fmt, args);
	va_end(args);
}

static void say_gpu(struct list *list, const struct bl_shown_gpu_qp *gpu)
{
	bool object = gpu->flags & BL_SHOWN_GPU_OBJECT, word = gpu->flags & BL_SHOWN_GPU_WORD;

	if (object && gpu->reserved > gpu->ready)
		say(list, "threads have reserved %" PRIu64 " slots that are not marked ready: who reserves must write a "
		    "request and mark it", gpu->reserved - gpu->ready);
	else if (object && gpu->ready > gpu->submitted)
		say(list, "%" PRIu64 " requests are ready and not submitted", gpu->ready - gpu->submitted);
	if (word && !(gpu->flags & BL_SHOWN_GPU_WATCHED) && gpu->word != gpu->served)
		say(list, "the GPU has submitted %" PRIu64 " and the NIC was told of %" PRIu64 ": no proxy thread; %s",
		    gpu->word, gpu->served,
		    gpu->ringer == BL_NET_RINGER_PROGRAM ?
			    "the program has to call doca_gpu_verbs_cpu_proxy_progress(), or unset BARLANE_NET_SERVICE" :
			    "who serves does not run");
	if (gpu->flags & BL_SHOWN_GPU_FOLDED && !(gpu->flags & BL_SHOWN_GPU_FOLD_FAILED) && gpu->flags & BL_SHOWN_GPU_ALONE)
		say(list, "completions are counted by a CPU, and no thread does: no proxy thread; the program has to call "
		    "doca_gpu_verbs_cpu_proxy_progress(), or unset BARLANE_NET_SERVICE");
	if (gpu->stop)
		say(list, "its stop flag is set: waits of threads end");
}

static void say_requests(struct list *list, const struct bl_shown_qp *qp)
{
	if (qp->rnr_retries && qp->rnr_retry == 7)
		say(list, "the peer, qp 0x%x, has no receive posted: asked %u times, and for ever (rnr_retry 7)",
		    qp->dest_qpn, qp->rnr_retries);
	else if (qp->rnr_retries)
		say(list, "the peer, qp 0x%x, has no receive posted: asked %u times, at most %u", qp->dest_qpn,
		    qp->rnr_retries, qp->rnr_retry + 1U);
	if (qp->retries)
		say(list, "the peer, qp 0x%x, does not answer: sent again %u times of %u", qp->dest_qpn, qp->retries,
		    qp->retry_cnt);
	if (!qp->ack_timeout && qp->type == BL_SNIC_RC && qp->psn_acked != qp->psn_next)
		say(list, "no answer yet, and ack_timeout 0 waits for ever");
	if (qp->sq_posted > qp->sq_taken)
		say(list, "%" PRIu64 " blocks are posted that are no requests yet: the index in the control segment at block "
		    "%" PRIu64 " is not its own, or blocks are missing", qp->sq_posted - qp->sq_taken, qp->sq_taken);
}

static void say_receives(struct list *list, const struct bl_shown_qp *qp)
{
	if (qp->rq_nr && qp->rq_posted == qp->rq_done)
		say(list, "no receive is posted: a SEND of the peer has to wait");
}

unsigned int netstat_qp_hints(const struct bl_shown_qp *qp, const struct bl_shown_gpu_qp *gpu,
			      char hints[][NETSTAT_HINT], unsigned int nr)
{
	struct list list = { .hints = hints, .room = nr };

	if (qp->state == BL_SNIC_ERR) {
		say(&list, "it has failed: %s", *qp->text ? qp->text : netstat_syndrome(qp->error_syndrome));
		return list.nr;
	}
	if (qp->state < BL_SNIC_RTS)
		say(&list, "state %s: it sends nothing", netstat_state(qp->state));
	if (gpu)
		say_gpu(&list, gpu);
	if (qp->state == BL_SNIC_RTS)
		say_requests(&list, qp);
	if (qp->state == BL_SNIC_RTS || qp->state == BL_SNIC_RTR)
		say_receives(&list, qp);
	return list.nr;
}

unsigned int netstat_cq_hints(const struct bl_shown_cq *cq, char hints[][NETSTAT_HINT], unsigned int nr)
{
	struct list list = { .hints = hints, .room = nr };
	uint32_t used = ((uint32_t)cq->written - cq->consumer) & 0xffffff;

	if (cq->overruns)
		say(&list, "%" PRIu64 " completions found no room and are lost", cq->overruns);
	else if (cq->flags & BL_SHOWN_HAS_CONSUMER && used >= cq->nr)
		say(&list, "it is full: the next completion will be lost; nobody takes them, or the consumer index is not "
		    "written");
	return list.nr;
}

unsigned int netstat_srq_hints(const struct bl_shown_srq *srq, char hints[][NETSTAT_HINT], unsigned int nr)
{
	struct list list = { .hints = hints, .room = nr };

	if (srq->broken)
		say(&list, "it has ended with a list that names no next one: queue pairs that ask it for another fail");
	else if (srq->users && srq->posted == srq->taken)
		say(&list, "no receive is posted: a SEND to any of its queue pairs has to wait");
	return list.nr;
}

unsigned int netstat_nic_hints(const struct netstat_process *process, const struct netstat_nic *nic,
			       char hints[][NETSTAT_HINT], unsigned int nr)
{
	struct list list = { .hints = hints, .room = nr };
	double age = netstat_age_ms(nic->port.now_ns);
	bool stopped = process->state == 'T' || process->state == 't';

	if (!(nic->port.flags & BL_SHOWN_UP))
		say(&list, "the port is not active: cable, switch, or interface");
	if (nic->port.flags & BL_SHOWN_FAULTS)
		say(&list, "faults are injected (BARLANE_SNIC_FAULT)");
	if (stopped)
		say(&list, "the process is %s, and its NIC with it: peers get no answer", netstat_process_state(process->state));
	else if (age > LATE_MS && nic->port.flags & BL_SHOWN_MANUAL)
		say(&list, "the program has not called for progress for %.1f s", age / 1000);
	else if (age > LATE_MS)
		say(&list, "the NIC's thread has not run for %.1f s: it gets no CPU, or waits for memory or a driver", age / 1000);
	if (nic->torn)
		say(&list, "%u records were being written: parts of them are older", nic->torn);
	return list.nr;
}
