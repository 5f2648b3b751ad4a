// SPDX-License-Identifier: MIT
/*
 * A program for libibverbs and the original host library, with no word of this project in it: it finds its device,
 * registers memory and makes a queue pair. Prints one line for each step that a test looks for.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doca_gpunetio_host.h"

#define STEP(what, ok)                                                                                                 \
	do {                                                                                                           \
		int step_ok = !!(ok);                                                                                  \
		printf("%s: %s\n", what, step_ok ? "ok" : "failed");                                                   \
		if (!step_ok)                                                                                          \
			exit(1);                                                                                       \
	} while (0)

static struct ibv_context *open_by_name(const char *name)
{
	int nr = 0;
	struct ibv_device **list = ibv_get_device_list(&nr);
	struct ibv_context *context = NULL;

	for (int i = 0; list && i < nr; i++) {
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	}
	ibv_free_device_list(list);
	return context;
}

static void use_memory(struct ibv_pd *pd, int access)
{
	char *mem = aligned_alloc(4096, 8192);
	struct ibv_mr *mr = ibv_reg_mr(pd, mem, 8192, access);
	struct ibv_mr *other = ibv_reg_mr_iova(pd, mem, 4096, 0, access);
	struct ibv_mr *plain = ibv_reg_mr(pd, mem, 4096, IBV_ACCESS_LOCAL_WRITE);

	STEP("memory", mr && mr->lkey && mr->rkey && mr->addr == mem && other && plain);
	STEP("no dma-buf", !ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, access));
	STEP("memory again", !ibv_dereg_mr(mr) && !ibv_dereg_mr(other) && !ibv_dereg_mr(plain));
	free(mem);
}

static void use_queues(struct ibv_context *context, struct ibv_pd *pd)
{
	struct doca_verbs_qp_init_attr *init = NULL;
	struct doca_verbs_cq_attr *cq_attr = NULL;
	struct doca_verbs_cq *cq = NULL;
	struct doca_verbs_qp *qp = NULL;

	doca_verbs_cq_attr_create(&cq_attr);
	doca_verbs_cq_attr_set_cq_size(cq_attr, 64);
	STEP("completion queue", doca_verbs_cq_create(context, cq_attr, &cq) == DOCA_SUCCESS);
	doca_verbs_qp_init_attr_create(&init);
	doca_verbs_qp_init_attr_set_pd(init, pd);
	doca_verbs_qp_init_attr_set_sq_wr(init, 64);
	doca_verbs_qp_init_attr_set_send_cq(init, cq);
	STEP("queue pair", doca_verbs_qp_create(context, init, &qp) == DOCA_SUCCESS && doca_verbs_qp_get_qpn(qp));
	STEP("in use", ibv_dealloc_pd(pd));
	doca_verbs_qp_destroy(qp);
	doca_verbs_cq_destroy(cq);
	doca_verbs_qp_init_attr_destroy(init);
	doca_verbs_cq_attr_destroy(cq_attr);
}

int main(int argc, char **argv)
{
	/* more than the compiler knows: the other function of the header's two */
	int access = argc > 5 ? 0 : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING;
	struct ibv_context *context = open_by_name(argc > 1 ? argv[1] : "soft0");
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	struct ibv_gid_entry entry;
	union ibv_gid gid, zero = { { 0 } };
	struct ibv_pd *pd;

	STEP("device", context);
	STEP("query device", !ibv_query_device(context, &device) && device.phys_port_cnt == 1 && device.max_qp > 0);
	STEP("query port", !ibv_query_port(context, 1, &port) && port.state == IBV_PORT_ACTIVE &&
				   port.active_mtu == IBV_MTU_4096 && port.link_layer == IBV_LINK_LAYER_ETHERNET);
	STEP("no port 2", ibv_query_port(context, 2, &port));
	STEP("query gid", !ibv_query_gid(context, 1, 0, &gid) && memcmp(&gid, &zero, sizeof(gid)));
	STEP("query gid entry", !ibv_query_gid_ex(context, 1, 0, &entry, 0) && !memcmp(&gid, &entry.gid, sizeof(gid)) &&
					entry.gid_type == IBV_GID_TYPE_ROCE_V2);
	STEP("no gid 1", ibv_query_gid(context, 1, 1, &gid));
	pd = ibv_alloc_pd(context);
	STEP("domain", pd);
	use_memory(pd, access);
	use_queues(context, pd);
	STEP("domain again", !ibv_dealloc_pd(pd));
	STEP("close", !ibv_close_device(context));
	return 0;
}
