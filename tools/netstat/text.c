// SPDX-License-Identifier: MIT
/* One full picture, for people. */
#include <inttypes.h>
#include <string.h>

#include "barlane.h"
#include "netstat/netstat.h"
#include "softnic/snic.h"

#define HINTS 8
/* Of a request's data. */
#define PIECES 8

static void print_hints(const char *indent, char hints[][NETSTAT_HINT], unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		printf("%s! %s\n", indent, hints[i]);
}

static void print_wqe(const char *indent, const char *what, const struct netstat_wqe *wqe)
{
	struct bl_wqe_piece piece;
	struct bl_wqe_walk walk;

	printf("%s%s %" PRIu64 ": %s (opcode 0x%02x), index %u, qp 0x%x, ds %u, fence %u, ce %u, signature 0x%02x", indent,
	       what, wqe->number, netstat_opcode(wqe->wqe.opcode), wqe->wqe.opcode, wqe->wqe.index, wqe->wqe.qpn,
	       wqe->wqe.nr_segs, wqe->wqe.fence, wqe->wqe.ce, wqe->signature);
	if (wqe->wqe.rkey || wqe->wqe.raddr)
		printf(", raddr 0x%" PRIx64 " rkey 0x%x", wqe->wqe.raddr, wqe->wqe.rkey);
	if (wqe->why)
		printf("; bad: %s", wqe->why);
	putchar('\n');
	if (!wqe->whole || wqe->why) {
		if (!wqe->whole)
			printf("%s  the rest of its segments is not shown\n", indent);
		return;
	}
	bl_wqe_walk_start(&walk, &wqe->wqe, wqe->raw, 0);
	for (int i = 0; i < PIECES && bl_wqe_walk_next(&walk, UINT32_MAX, &piece); i++) {
		if (piece.bytes)
			printf("%s  inline, len %u\n", indent, piece.len);
		else
			printf("%s  addr 0x%" PRIx64 " lkey 0x%x len %u\n", indent, piece.addr, piece.lkey, piece.len);
	}
}

static void print_error(const struct bl_shown_qp *qp)
{
	struct netstat_wqe wqe;

	if (qp->state != BL_SNIC_ERR)
		return;
	printf("    error: syndrome 0x%02x (%s), vendor 0x%02x, wqe %u%s: %s\n", qp->error_syndrome,
	       netstat_syndrome(qp->error_syndrome), qp->error_vendor, qp->error_wqe,
	       qp->flags & BL_SHOWN_RESPONDER ? ", by a request of the peer" : "", qp->text);
	if (!(qp->flags & BL_SHOWN_ERROR_BLOCK))
		return;
	netstat_wqe(qp->error_wqe, qp->error_block, sizeof(qp->error_block), &wqe);
	print_wqe("      ", "request at block", &wqe);
}

static void print_gpu(const struct bl_shown_gpu_qp *gpu)
{
	if (!gpu)
		return;
	printf("    GPU: handler %s, rung by %s, time limit %u ms%s%s%s\n", netstat_handler(gpu->handler),
	       netstat_ringer(gpu->ringer), gpu->timeout_ms, *gpu->reason ? " (" : "", gpu->reason, *gpu->reason ? ")" : "");
	if (gpu->flags & BL_SHOWN_GPU_OBJECT)
		printf("    GPU: SQ reserved %" PRIu64 ", ready %" PRIu64 ", submitted %" PRIu64 ", known as completed %" PRIu64
		       "; RQ posted %" PRIu64 "\n",
		       gpu->reserved, gpu->ready, gpu->submitted, gpu->completed, gpu->rq_posted);
	else
		puts("    GPU: reserved and ready are in the GPU's memory, where no CPU looks");
	if (gpu->flags & BL_SHOWN_GPU_WORD)
		printf("    proxy: submitted %" PRIu64 ", told the NIC %" PRIu64 ", rang %" PRIu64 " times\n", gpu->word,
		       gpu->served, gpu->rings);
	if (gpu->flags & BL_SHOWN_GPU_FOLDED)
		printf("    proxy: counted %" PRIu64 " completions%s\n", gpu->folded,
		       gpu->flags & BL_SHOWN_GPU_FOLD_FAILED ? ", and one that failed" : "");
	if (gpu->flags & BL_SHOWN_GPU_RECORD)
		printf("    records: send %u, receive %u\n", gpu->records[1], gpu->records[0]);
}

static void print_sq(const struct bl_shown_qp *qp)
{
	if (!qp->sq_nr)
		return;
	printf("    SQ of %u, cq 0x%x: posted %" PRIu64 ", fetched %" PRIu64 ", taken %" PRIu64 ", done %" PRIu64
	       " blocks; %" PRIu64 " requests taken, %" PRIu64 " begun, %" PRIu64 " done\n",
	       qp->sq_nr, qp->send_cq, qp->sq_posted, qp->sq_fetched, qp->sq_taken, qp->sq_done, qp->wr_taken,
	       qp->wr_launched, qp->wr_done);
	if (qp->flags & BL_SHOWN_WATCHED)
		printf("    doorbell: the NIC looks at the count that kernels write, %" PRIu64 "\n", qp->watched);
	else
		printf("    doorbell: %s, last seen 0x%" PRIx64 "\n",
		       qp->flags & BL_SHOWN_NO_RECORD ? "register" : "record", qp->doorbell);
}

static void print_wire(const struct bl_shown_qp *qp)
{
	if (qp->flags & BL_SHOWN_CARRIED) {
		puts("    sequence numbers, retries and timers are the device's");
		return;
	}
	printf("    PSN next 0x%06x, sent up to 0x%06x, not acknowledged from 0x%06x on, expected 0x%06x; MSN %u\n",
	       qp->psn_next, qp->psn_sent, qp->psn_acked, qp->psn_expected, qp->msn);
	printf("    retries %u of %u, RNR %u of %s%u; reads waiting %u, answers waiting %u, placed %u\n", qp->retries,
	       qp->retry_cnt, qp->rnr_retries, qp->rnr_retry == 7 ? "any, " : "", qp->rnr_retry, qp->nr_fetches,
	       qp->nr_replies, qp->nr_placed);
	if (qp->timer_ns)
		printf("    sent again in %.3f ms\n", (double)qp->timer_ns / 1e6);
	if (qp->rnr_ns)
		printf("    RNR: tried again in %.3f ms\n", (double)qp->rnr_ns / 1e6);
}

static void print_qp(const struct bl_shown_qp *qp, const struct bl_shown_gpu_qp *gpu)
{
	char text[64], hints[HINTS][NETSTAT_HINT];
	struct netstat_wqe wqe;

	printf("  QP 0x%x: %s, %s, pd %u, MTU %u, peer qp 0x%x at ", qp->num, netstat_type(qp->type), netstat_state(qp->state),
	       qp->pd, qp->mtu, qp->dest_qpn);
	printf("%s", netstat_gid(qp->dest_gid, text));
	printf(", which has rights: %s\n", netstat_access(qp->access, text));
	print_hints("    ", hints, netstat_qp_hints(qp, gpu, hints, HINTS));
	print_gpu(gpu);
	print_sq(qp);
	if (qp->rq_nr)
		printf("    RQ of %u lists of %u, cq 0x%x: posted %" PRIu64 ", done %" PRIu64 "\n", qp->rq_nr, qp->rq_sges,
		       qp->recv_cq, qp->rq_posted, qp->rq_done);
	if (qp->srq)
		printf("    receives from SRQ 0x%x, cq 0x%x: taken %" PRIu64 ", done %" PRIu64 "\n", qp->srq, qp->recv_cq,
		       qp->rq_posted, qp->rq_done);
	if (qp->state >= BL_SNIC_RTR)
		print_wire(qp);
	print_error(qp);
	for (uint32_t at = 0; (at = netstat_next_wqe(qp, at, &wqe));)
		print_wqe("    ", wqe.number < qp->sq_done ? "done, block" : "block", &wqe);
}

static void print_cq(const struct bl_shown_cq *cq)
{
	char hints[HINTS][NETSTAT_HINT];
	struct netstat_cqe cqe;

	printf("  CQ 0x%x of %u%s: written %" PRIu64, cq->num, cq->nr, cq->flags & BL_SHOWN_COLLAPSED ? ", collapsed" : "",
	       cq->written);
	if (cq->flags & BL_SHOWN_HAS_CONSUMER)
		printf(", consumer %u", cq->consumer);
	else
		printf(", consumer is not looked at");
	printf(", lost %" PRIu64 "\n", cq->overruns);
	print_hints("    ", hints, netstat_cq_hints(cq, hints, HINTS));
	netstat_cqe(cq->last, &cqe);
	if (!cqe.is_one)
		return;
	printf("    last: %s, qp 0x%x, wqe %u, owner %u", netstat_cqe_opcode(cqe.opcode), cqe.qpn, cqe.wqe_counter, cqe.owner);
	if (cqe.opcode >= 13)
		printf(", syndrome 0x%02x (%s), vendor 0x%02x\n", cqe.syndrome, netstat_syndrome(cqe.syndrome), cqe.vendor);
	else if (cqe.opcode == 0)
		printf(", %s, %u bytes\n", netstat_opcode(cqe.send_opcode), cqe.bytes);
	else
		printf(", %u bytes\n", cqe.bytes);
}

static void print_srq(const struct bl_shown_srq *srq)
{
	char hints[HINTS][NETSTAT_HINT];

	printf("  SRQ 0x%x of %u lists of %u, %s, pd %u, %u queue pairs: posted %" PRIu64 ", taken %" PRIu64 ", done %" PRIu64
	       "\n",
	       srq->num, srq->nr, srq->sges, netstat_srq_type(srq->type), srq->pd, srq->users, srq->posted, srq->taken,
	       srq->done);
	print_hints("    ", hints, netstat_srq_hints(srq, hints, HINTS));
}

static void print_mr(const struct bl_shown_mr *mr)
{
	char text[64];

	printf("  MR key 0x%08x: 0x%" PRIx64 " len %" PRIu64 ", %s, pd %u, %s%s\n", mr->key, mr->iova, mr->len,
	       netstat_mr_kind(mr->kind), mr->pd, netstat_access(mr->access, text),
	       mr->moved ? ", copy engines move it" : "");
}

static void print_counters(const struct netstat_nic *nic)
{
	int column = 0;

	for (uint32_t i = 0; i < nic->port.nr_counters; i++) {
		if (!nic->port.values[i])
			continue;
		if (!column)
			column = printf("  counters:");
		else if (column > 100)
			column = printf("\n           ") - 1;
		column += printf(" %s %" PRIu64, nic->port.names[i], nic->port.values[i]);
	}
	if (column)
		putchar('\n');
}

static void print_more(const char *what, uint32_t nr, uint32_t shown)
{
	if (nr > shown)
		printf("  %u more %s are not shown\n", nr - shown, what);
}

static void print_nic(const struct netstat_process *process, const struct netstat_nic *nic, const struct netstat_gpu *gpu)
{
	const struct bl_shown_port *port = &nic->port;
	double age = netstat_age_ms(port->now_ns);
	char text[64], hints[HINTS][NETSTAT_HINT];

	printf("NIC %s: provider %s, transport %s, address %s, MTU %u, payload %u, window %u, port %s\n", port->name,
	       port->provider, port->transport, netstat_gid(port->gid, text), port->mtu, port->max_payload, port->window,
	       !strcmp(port->provider, "verbs")  ? "not asked here" :
	       port->flags & BL_SHOWN_UP	 ? "active" :
						   "down");
	if (age >= 0)
		printf("  as it was %.0f ms ago; %u queue pairs, %u completion queues, %u regions, %u domains\n", age, port->nr_qps,
		       port->nr_cqs, port->nr_mrs, port->nr_pds);
	print_hints("  ", hints, netstat_nic_hints(process, nic, hints, HINTS));
	print_counters(nic);
	for (uint32_t i = 0; i < nic->nr_qps; i++)
		print_qp(&nic->qps[i], netstat_gpu_of(gpu, port->name, nic->qps[i].num));
	for (uint32_t i = 0; i < nic->nr_cqs; i++)
		print_cq(&nic->cqs[i]);
	for (uint32_t i = 0; i < nic->nr_srqs; i++)
		print_srq(&nic->srqs[i]);
	for (uint32_t i = 0; i < nic->nr_mrs; i++)
		print_mr(&nic->mrs[i]);
	print_more("queue pairs", port->nr_qps, nic->nr_qps);
	print_more("completion queues", port->nr_cqs, nic->nr_cqs);
	print_more("regions", port->nr_mrs, nic->nr_mrs);
	print_more("shared receive queues", port->nr_srqs, nic->nr_srqs);
}

/* NICs that are hardware show nothing themselves. */
static void print_alone(const struct bl_shown_gpu_qp *gpu)
{
	const struct bl_shown_qp none = { .state = BL_SNIC_RTS };
	char hints[HINTS][NETSTAT_HINT];

	printf("QP 0x%x of NIC %s, SQ of %u; the NIC's side is not shown\n", gpu->qpn, gpu->nic, gpu->sq_nr);
	print_hints("    ", hints, netstat_qp_hints(&none, gpu, hints, HINTS));
	print_gpu(gpu);
}

void netstat_text(const struct netstat_process *process, const struct netstat_all *all)
{
	printf("process %d (%s), %s, barlane %s\n", (int)process->pid, process->name, netstat_process_state(process->state),
	       bl_version());
	for (unsigned int i = 0; i < all->nr; i++)
		print_nic(process, &all->nics[i], &all->gpu);
	for (uint32_t i = 0; i < all->gpu.nr; i++) {
		if (netstat_is_alone(all, &all->gpu.qps[i]))
			print_alone(&all->gpu.qps[i]);
	}
	if (all->gpu.more)
		printf("%u more queue pairs of GPUs are not shown\n", all->gpu.more);
	if (all->skipped)
		printf("%u more are of another version of the library\n", all->skipped);
}
