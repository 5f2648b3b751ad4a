// SPDX-License-Identifier: MIT
/* What others see of provider "verbs": queues, completions and memory are the NIC's, what is on the wire is the device's. */
#include <unistd.h>

#include "common/error.h"
#include "netstat/netstat.h"
#include "pair.h"
#include "softnic/snic.h"
#include "tests/unit/ibv/fake/fake_ibv.h"

static struct netstat_all all;

/* The NIC of the first side, as it is when so many requests of it are done. */
static const struct netstat_nic *look(uint64_t done)
{
	struct netstat_process process;

	for (int i = 0; i < 500; i++) {
		netstat_free(&all);
		check_str(netstat_open(getpid(), &process) ? tool_why() : "", "");
		check_str(netstat_load(&process, true, &all) ? tool_why() : "", "");
		netstat_close(&process);
		for (unsigned int nic = 0; nic < all.nr; nic++) {
			if (!strcmp(all.nics[nic].port.name, "fake0") && all.nics[nic].nr_qps == 1 &&
			    all.nics[nic].qps[0].wr_done == done)
				return &all.nics[nic];
		}
		usleep(10000);
	}
	tap_end(TAP_FAILED, "fake0 is not shown with %llu requests done", (unsigned long long)done);
}

static void what_a_device_carries_is_shown(void)
{
	struct side sides[2];
	const struct netstat_nic *nic;
	const struct bl_shown_qp *qp;
	struct netstat_cqe cqe;
	char hints[4][NETSTAT_HINT], text[48];

	fake_ibv_reset();
	fake_ibv.mtu = IBV_MTU_4096;
	pair_make(sides, &(struct pair_options){ .names = { "fake0", "fake1" }, .type = DOCA_VERBS_QP_TYPE_RC });
	for (int i = 0; i < 3; i++) {
		side_post(&sides[0], WRITE, 0, 100, side_addr(&sides[1], 4096), sides[1].mr->rkey);
		check_eq(side_wait(&sides[0], NULL), REQ);
	}
	nic = look(3);
	check_str(nic->port.provider, "verbs");
	check_str(nic->port.transport, "verbs");
	check(strcmp(netstat_gid(nic->port.gid, text), "none") != 0);
	check_eq(nic->nr_mrs, 1);
	check_eq(nic->mrs[0].key, sides[0].mr->lkey);
	check_eq(nic->mrs[0].len, PAIR_BYTES);
	qp = &nic->qps[0];
	check(qp->flags & BL_SHOWN_CARRIED);
	check_str(netstat_state(qp->state), "RTS");
	check_eq(qp->num, doca_verbs_qp_get_qpn(sides[0].qp));
	check_eq(qp->dest_qpn, doca_verbs_qp_get_qpn(sides[1].qp));
	check_eq(qp->sq_posted, 3);
	netstat_cqe(nic->cqs[0].last, &cqe);
	check_str(netstat_cqe_opcode(cqe.opcode), "REQ");
	check_eq(cqe.wqe_counter, 2);
	side_post(&sides[0], WRITE, 0, 100, side_addr(&sides[1], 4096), sides[1].mr->rkey ^ 0x5500);
	check_eq(side_wait(&sides[0], NULL), REQ_ERR);
	nic = look(4);
	check_str(netstat_state(nic->qps[0].state), "ERR");
	check_eq(nic->qps[0].error_wqe, 3);
	check_eq(netstat_qp_hints(&nic->qps[0], NULL, hints, 4), 1);
	check_has(hints[0], "it has failed: opcode 0x08");
	pair_drop(sides);
	check_str(fake_ibv.complaint, "");
}

static const struct tap_test tests[] = {
	{ "what_a_device_carries_is_shown", what_a_device_carries_is_shown },
};

TAP_MAIN(tests)
