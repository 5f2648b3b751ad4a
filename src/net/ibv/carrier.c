// SPDX-License-Identifier: MIT
/* Queue pairs of the device, as large as it has them. */
#define log_fmt(fmt) "net/verbs: " fmt
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "link.h"
#include "net/log.h"

/**
 * struct size - what to ask a device for
 *
 * The ring of the program may be longer: requests wait there until the device has room.
 */
struct size {
	uint32_t depth;
	uint32_t sges;
	uint32_t inline_len;
};

#define WHY 160

/* The first that the device takes; some count segments and inline bytes against their depth. */
static const struct size sizes[] = { { 1024, 16, 64 }, { 256, 8, 32 }, { 64, 4, 0 }, { 16, 1, 0 } };

static uint32_t least(uint32_t a, int b)
{
	return b > 0 && (uint32_t)b < a ? (uint32_t)b : a;
}

/* What memory that cannot be locked looks like, and what helps. */
static const char *hint(int err)
{
	struct rlimit limit;

	if (err == ENOMEM && !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY)
		return "; memory that may be locked is limited: ulimit -l";
	return "";
}

static int create_cq(struct bl_carrier *carrier, char why[WHY])
{
	struct bl_snic_link *link = carrier->link;
	uint32_t nr = carrier->max_sends + carrier->max_receives;
	int ret;

	carrier->cq = link->ibv->create_cq(link->context, (int)(nr ? nr : 1), carrier, NULL, 0);
	if (carrier->cq)
		return 0;
	ret = errno;
	snprintf(why, WHY, "completion queue of %u: %s%s", nr, strerror(ret), hint(ret));
	return -ret;
}

static int create_qp(struct bl_carrier *carrier, const struct bl_snic_qp_attr *attr, const struct size *size,
		     char why[WHY])
{
	struct bl_snic_link *link = carrier->link;
	struct ibv_qp_init_attr init = {
		.qp_context = carrier,
		.send_cq = carrier->cq,
		.recv_cq = carrier->cq,
		.qp_type = carrier->uc ? IBV_QPT_UC : IBV_QPT_RC,
		.sq_sig_all = 0,
		.cap = {
			.max_send_wr = carrier->max_sends,
			.max_recv_wr = carrier->max_receives,
			.max_send_sge = least(size->sges, link->attr.max_sge),
			.max_recv_sge = least(attr->rq_sges, link->attr.max_sge),
			.max_inline_data = size->inline_len,
		},
	};
	int ret;

	/* rdma-core's providers want some even of a queue that is not used */
	if (!init.cap.max_send_wr)
		init.cap.max_send_wr = 1;
	if (!init.cap.max_recv_wr)
		init.cap.max_recv_wr = init.cap.max_recv_sge = 1;
	carrier->qp = link->ibv->create_qp(attr->domain, &init);
	if (!carrier->qp) {
		ret = errno;
		snprintf(why, WHY, "queue pair of %u requests and %u receive lists: %s%s", init.cap.max_send_wr,
			 init.cap.max_recv_wr, strerror(ret), hint(ret));
		return -ret;
	}
	carrier->max_sges = init.cap.max_send_sge;
	carrier->max_receive_sges = init.cap.max_recv_sge;
	carrier->max_inline = init.cap.max_inline_data;
	return 0;
}

static int create(struct bl_carrier *carrier, const struct bl_snic_qp_attr *attr, const struct size *size, char why[WHY])
{
	const struct ibv_device_attr *device = &carrier->link->attr;
	int ret;

	carrier->max_sends = least(least(attr->sq_nr, (int)size->depth), device->max_qp_wr);
	carrier->max_receives = least(least(attr->rq_nr, (int)size->depth), device->max_qp_wr);
	ret = create_cq(carrier, why);
	if (ret)
		return ret;
	ret = create_qp(carrier, attr, size, why);
	if (ret)
		carrier->link->ibv->destroy_cq(carrier->cq);
	return ret;
}

static int create_any(struct bl_carrier *carrier, const struct bl_snic_qp_attr *attr)
{
	char why[WHY] = "";
	int ret = -EINVAL;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ret = create(carrier, attr, &sizes[i], why);
		if (!ret || (ret != -EINVAL && ret != -ENOMEM && ret != -EOPNOTSUPP))
			break;
	}
	if (ret)
		return fail(-ret, "device %s: %s", carrier->link->name, why);
	log_debug("device %s: qp 0x%x: %u requests of %u segments or %u inline bytes, %u receive lists of %u",
		  carrier->link->name, carrier->qp->qp_num, carrier->max_sends, carrier->max_sges, carrier->max_inline,
		  carrier->max_receives, carrier->max_receive_sges);
	return 0;
}

static int register_blocks(struct bl_carrier *carrier, struct ibv_pd *pd, void *blocks, size_t nr_blocks)
{
	if (!nr_blocks)
		return 0;
	carrier->blocks = carrier->link->ibv->reg_mr_plain(pd, blocks, nr_blocks * BL_SNIC_WQEBB, 0);
	if (carrier->blocks)
		return 0;
	return fail(errno, "device %s: register %zu blocks of requests: %s%s", carrier->link->name, nr_blocks,
		    strerror(errno), hint(errno));
}

int bl_ibv_carrier_open(struct bl_snic_link *link, const struct bl_snic_qp_attr *attr, void *blocks, size_t nr_blocks,
			struct bl_carrier **carrier_p, uint32_t *num_p)
{
	struct bl_carrier *carrier = calloc(1, sizeof(*carrier));
	int ret;

	if (!carrier)
		return fail(ENOMEM, "device %s: out of memory", link->name);
	carrier->link = link;
	carrier->uc = attr->type == BL_SNIC_UC;
	ret = create_any(carrier, attr);
	if (ret)
		goto free_carrier;
	ret = register_blocks(carrier, attr->domain, blocks, nr_blocks);
	if (ret)
		goto destroy_qp;
	carrier->next = link->carriers;
	link->carriers = carrier;
	*num_p = carrier->qp->qp_num;
	*carrier_p = carrier;
	return 0;
destroy_qp:
	link->ibv->destroy_qp(carrier->qp);
	link->ibv->destroy_cq(carrier->cq);
free_carrier:
	free(carrier);
	return ret;
}

static void check(const struct bl_carrier *carrier, const char *call, int ret)
{
	if (ret)
		log_warn("device %s: %s: %s", carrier->link->name, call, strerror(ret > 0 ? ret : errno));
}

void bl_ibv_carrier_close(struct bl_carrier *carrier)
{
	const struct bl_ibv *ibv = carrier->link->ibv;
	struct bl_carrier **place = &carrier->link->carriers;

	while (*place != carrier)
		place = &(*place)->next;
	*place = carrier->next;
	check(carrier, "ibv_destroy_qp", ibv->destroy_qp(carrier->qp));
	check(carrier, "ibv_destroy_cq", ibv->destroy_cq(carrier->cq));
	if (carrier->blocks)
		check(carrier, "ibv_dereg_mr", ibv->dereg_mr(carrier->blocks));
	free(carrier);
}
