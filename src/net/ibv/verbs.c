// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/verbs: " fmt
#include "verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/log.h"

static int pd_create(struct bl_nic *nic, struct bl_nic_pd **pd_p, uint32_t *num_p)
{
	struct bl_snic_link *link = bl_ibv_link(nic);
	struct bl_nic_pd *pd = calloc(1, sizeof(*pd));
	int ret;

	if (!pd)
		return fail(ENOMEM, "device %s: out of memory", nic->name);
	ret = bl_snic_pd_create(nic->snic, &pd->snic);
	if (ret)
		goto free_pd;
	errno = 0;
	pd->ibv = link->ibv->alloc_pd(link->context);
	if (!pd->ibv) {
		ret = fail(errno ? errno : EIO, "device %s: ibv_alloc_pd: %s", nic->name, strerror(errno ? errno : EIO));
		goto destroy_pd;
	}
	*num_p = bl_snic_pd_num(pd->snic);
	*pd_p = pd;
	return 0;
destroy_pd:
	bl_snic_pd_destroy(pd->snic);
free_pd:
	free(pd);
	return ret;
}

static int pd_destroy(struct bl_nic *nic, struct bl_nic_pd *pd)
{
	int ret = bl_snic_pd_destroy(pd->snic);

	if (ret)
		return ret;
	ret = bl_ibv_link(nic)->ibv->dealloc_pd(pd->ibv);
	if (ret)
		log_warn("device %s: ibv_dealloc_pd: %s", nic->name, strerror(ret > 0 ? ret : EIO));
	free(pd);
	return 0;
}

static int qp_create(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_qp_attr *attr,
		     struct bl_nic_qp **qp_p, uint32_t *num_p)
{
	return bl_soft_qp_make(nic, pd->snic, pd->ibv, attr, qp_p, num_p);
}

const struct bl_nic_ops bl_nic_verbs = {
	.name = "verbs",
	.about = "a thread of this process hands the device what kernels post",
	.probe = bl_ibv_probe,
	.devices = bl_ibv_devices,
	.open = bl_ibv_open,
	.close = bl_ibv_close,
	.forget = bl_ibv_close,
	.caps = bl_ibv_caps,
	.port = bl_ibv_port_info,
	.gid = bl_ibv_gid,
	.pd_create = pd_create,
	.pd_destroy = pd_destroy,
	.mr_create = bl_ibv_mr_create,
	.mr_destroy = bl_ibv_mr_destroy,
	.umem_create = bl_soft_umem_create,
	.umem_destroy = bl_soft_umem_destroy,
	.umem_cpu = bl_soft_umem_cpu,
	.uar_create = bl_soft_uar_create,
	.uar_destroy = bl_soft_uar_destroy,
	.cq_create = bl_soft_cq_create,
	.cq_destroy = bl_soft_cq_destroy,
	.qp_create = qp_create,
	.qp_destroy = bl_soft_qp_destroy,
	.qp_modify = bl_soft_qp_modify,
	.qp_query = bl_soft_qp_query,
	.qp_watch = bl_soft_qp_watch,
	.kick = bl_soft_kick,
};
