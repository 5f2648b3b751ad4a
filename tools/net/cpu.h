/* SPDX-License-Identifier: MIT */
/* cpu.h - a queue pair that a CPU posts to and polls, by the rings that kernels use */
#ifndef TOOLS_NET_CPU_H
#define TOOLS_NET_CPU_H

#include "net/bed.h"

/* Bytes of a page; one for each slot on either side. */
#define NET_PAGE 16384UL

/**
 * struct net_cpu - queue pair and its memory
 * @send_cq, @recv_cq: completions
 * @qp:	   queue pair
 * @sq, @rq, @send_cqe, @recv_cqe: rings
 * @dbr:   records: received, sent
 * @db:	   doorbell
 * @sent, @posted: requests so far
 * @send_ci, @recv_ci: completions that were seen
 * @pages: 2 * NET_SLOTS pages: of the sends, then of the receives
 * @mr:	   their registration
 */
struct net_cpu {
	struct doca_verbs_cq *send_cq, *recv_cq;
	struct doca_verbs_qp *qp;
	char *sq, *rq, *send_cqe, *recv_cqe;
	uint32_t *dbr;
	uint64_t *db;
	uint32_t sent, posted, send_ci, recv_ci;
	unsigned char *pages;
	struct ibv_mr *mr;
};

/* Make it on the NIC of @bed. Return: 0, or -errno with tool_why(). */
int net_cpu_open(struct net_bed *bed);
void net_cpu_close(struct net_bed *bed);

/* Page of a send, and of a receive. */
static inline unsigned char *net_cpu_send_page(const struct net_cpu *cpu, uint64_t slot)
{
	return cpu->pages + slot % NET_SLOTS * NET_PAGE;
}

static inline unsigned char *net_cpu_recv_page(const struct net_cpu *cpu, uint64_t slot)
{
	return cpu->pages + (NET_SLOTS + slot % NET_SLOTS) * NET_PAGE;
}

/**
 * net_cpu_post() - Post a message
 * @cpu:  queue pair; its ring must have room
 * @from: within @pages
 * @len:  bytes
 * @to:	  NULL: SEND; else where to write, with immediate @imm
 * @imm:  host order
 */
void net_cpu_post(struct net_cpu *cpu, const void *from, uint32_t len, const struct net_region *to, uint32_t imm);

/* Post the next receive, into the page of its slot, or without memory. */
void net_cpu_post_recv(struct net_cpu *cpu, bool empty);

/**
 * net_cpu_sent() - Look for the next completion of a send
 *
 * Return: 1, 0: not yet, or -errno with tool_why().
 */
int net_cpu_sent(struct net_cpu *cpu);

/* The same of a receive; its bytes and immediate. */
int net_cpu_received(struct net_cpu *cpu, uint32_t *len_p, uint32_t *imm_p);

#endif
