// SPDX-License-Identifier: MIT
/*
 * waits: a program that sends to a queue pair that has no receive posted, with rnr_retry 7, and sleeps until it is killed
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softnic/bytes.h"
#include "softnic/snic.h"
#include "softnic/wqe.h"

#define must(cond)                                                                                                     \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "waits: not true: %s\n", #cond);                                               \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

/* A queue pair with its rings and records. */
struct end {
	struct bl_snic_qp *qp;
	uint8_t sq[16 * BL_SNIC_WQEBB];
	uint8_t rq[16 * BL_WQE_SEG];
	_Alignas(8) uint32_t dbrec[2];
};

static struct end a, b;
static uint8_t cqes[64 * BL_SNIC_CQE_SIZE];

static void make(struct end *end, struct bl_snic_pd *pd, struct bl_snic_cq *cq)
{
	struct bl_snic_qp_attr attr = {
		.sq.addr = end->sq,
		.sq_nr = 16,
		.rq.addr = end->rq,
		.rq_nr = 16,
		.rq_sges = 1,
		.dbrec = end->dbrec,
		.send_cq = cq,
		.recv_cq = cq,
	};

	must(!bl_snic_qp_create(pd, &attr, &end->qp));
}

static void join(struct bl_snic *nic, struct end *end, const struct end *peer)
{
	struct bl_snic_qp_mod mod = {.state = BL_SNIC_INIT, .dest_qpn = bl_snic_qp_num(peer->qp), .mtu = 1024,
				     .ack_timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12};

	memcpy(mod.dest_gid, bl_snic_gid(nic), sizeof(mod.dest_gid));
	must(!bl_snic_qp_modify(end->qp, &mod));
	mod.state = BL_SNIC_RTR;
	must(!bl_snic_qp_modify(end->qp, &mod));
	mod.state = BL_SNIC_RTS;
	must(!bl_snic_qp_modify(end->qp, &mod));
}

static void send_nothing(void)
{
	a.sq[3] = BL_WQE_SEND;
	bl_be32_put(a.sq + 4, bl_snic_qp_num(a.qp) << 8 | 1);
	a.sq[11] = 0x08;
	/* the request before the record that covers it */
	__atomic_store_n(&a.dbrec[1], htobe32(1), __ATOMIC_RELEASE);
}

int main(void)
{
	struct bl_snic_cq_attr cq_attr = {.ring.addr = cqes, .nr = 64};
	struct bl_snic_attr attr = {.name = "soft0"};
	struct bl_snic *nic;
	struct bl_snic_pd *pd;
	struct bl_snic_cq *cq;

	must(!bl_snic_open(&attr, &nic) && !bl_snic_pd_create(nic, &pd) && !bl_snic_cq_create(nic, &cq_attr, &cq));
	make(&a, pd, cq);
	make(&b, pd, cq);
	join(nic, &a, &b);
	join(nic, &b, &a);
	send_nothing();
	puts("waits");
	fflush(stdout);
	for (;;)
		pause();
}
