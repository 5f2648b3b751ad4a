// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/mlx5: " fmt
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5.h"
#include "net/ibv/ask.h"
#include "net/log.h"

static bool is_mlx5(struct ibv_device *device)
{
	const struct bl_mlx5dv *dv = bl_mlx5dv(NULL, 0);

	return dv && dv->is_supported(device);
}

int bl_mlx5_probe(char *reason, size_t size)
{
	size_t nr;

	if (!bl_mlx5dv(reason, size))
		return -EOPNOTSUPP;
	nr = bl_ibv_names(is_mlx5, NULL, 0);
	if (!nr) {
		snprintf(reason, size, "no mlx5 device: libibverbs finds none");
		return -ENODEV;
	}
	snprintf(reason, size, "%zu mlx5 device%s; GPUs or a CPU ring the doorbells; never run on hardware", nr,
		 nr == 1 ? "" : "s");
	return 0;
}

size_t bl_mlx5_devices(const char **names, size_t nr)
{
	return bl_ibv_names(is_mlx5, names, nr);
}

static int open_context(struct bl_nic *nic)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = nic->ibv->get_device_list(NULL), *device;
	int ret = 0;

	device = bl_ibv_find(nic->ibv, list, nic->name);
	errno = 0;
	if (device)
		nic->context = nic->dv->open_device(device, &attr);
	if (!device)
		ret = fail(ENODEV, "device %s: libibverbs has it no more", nic->name);
	else if (!nic->context)
		ret = fail(bl_mlx5_error(0),
			   "device %s: mlx5dv_open_device with DevX: %s; it takes /dev/infiniband and CAP_NET_RAW",
			   nic->name, strerror(bl_mlx5_error(0)));
	if (list)
		nic->ibv->free_device_list(list);
	return ret;
}

static int ask(struct bl_nic *nic)
{
	struct ibv_port_attr port;
	int ret;

	ret = nic->ibv->query_device(nic->context, &nic->attr);
	if (ret)
		return fail(ret > 0 ? ret : EIO, "device %s: ibv_query_device: %s", nic->name,
			    strerror(ret > 0 ? ret : EIO));
	ret = bl_ibv_ask_port(nic->ibv, nic->context, 1, &port);
	if (ret)
		return fail(-ret, "device %s: ibv_query_port 1: %s", nic->name, strerror(-ret));
	nic->eth = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	ret = bl_hca_cap_query(nic->name, nic->dv, nic->context, &nic->cap);
	if (ret)
		return ret;
	errno = 0;
	ret = nic->dv->query_eqn(nic->context, 0, &nic->eqn);
	if (ret)
		return fail(bl_mlx5_error(ret), "device %s: mlx5dv_devx_query_eqn: %s", nic->name,
			    strerror(bl_mlx5_error(ret)));
	return 0;
}

/* What belongs to the device itself. That there is a page of doorbells shows that others can be had. */
static int make_own(struct bl_nic *nic)
{
	int ret;

	errno = 0;
	nic->way_pd = nic->ibv->alloc_pd(nic->context);
	if (!nic->way_pd)
		return fail(bl_mlx5_error(0), "device %s: ibv_alloc_pd: %s", nic->name, strerror(bl_mlx5_error(0)));
	nic->uar = nic->dv->alloc_uar(nic->context, MLX5DV_UAR_ALLOC_TYPE_NC);
	if (!nic->uar)
		nic->uar = nic->dv->alloc_uar(nic->context, MLX5DV_UAR_ALLOC_TYPE_BF);
	if (nic->uar)
		return 0;
	ret = bl_mlx5_error(0);
	ret = fail(ret, "device %s: mlx5dv_devx_alloc_uar: %s", nic->name, strerror(ret));
	nic->ibv->dealloc_pd(nic->way_pd);
	return ret;
}

int bl_mlx5_open(const char *device, struct bl_nic **nic_p)
{
	struct bl_nic *nic = calloc(1, sizeof(*nic));
	char reason[200];
	int ret;

	if (!nic)
		return fail(ENOMEM, "device %s: out of memory", device);
	nic->name = device;
	nic->dv = bl_mlx5dv(reason, sizeof(reason));
	nic->ibv = bl_ibv(NULL, 0);
	if (!nic->dv) {
		ret = fail(EOPNOTSUPP, "device %s: %s", device, reason);
		goto free_nic;
	}
	ret = open_context(nic);
	if (ret)
		goto free_nic;
	ret = ask(nic);
	if (ret)
		goto close_context;
	ret = make_own(nic);
	if (ret)
		goto close_context;
	*nic_p = nic;
	return 0;
close_context:
	nic->ibv->close_device(nic->context);
free_nic:
	free(nic);
	return ret;
}

void bl_mlx5_close(struct bl_nic *nic)
{
	int ret;

	nic->dv->free_uar(nic->uar);
	ret = nic->ibv->dealloc_pd(nic->way_pd);
	if (ret)
		log_warn("device %s: ibv_dealloc_pd: %s", nic->name, strerror(ret > 0 ? ret : EIO));
	if (nic->ibv->close_device(nic->context))
		log_warn("device %s: ibv_close_device: %s", nic->name, strerror(errno));
	free(nic);
}

/* What libibverbs has is the parent's, and it cannot be called for it here: it stays until this process ends. */
void bl_mlx5_forget(struct bl_nic *nic)
{
	free(nic);
}

const struct bl_nic_ops bl_nic_mlx5 = {
	.name = "mlx5",
	.about = "the device reads what kernels post, and GPUs ring its doorbells where they can map them, else a CPU "
		 "does; never run on hardware",
	.probe = bl_mlx5_probe,
	.devices = bl_mlx5_devices,
	.open = bl_mlx5_open,
	.close = bl_mlx5_close,
	.forget = bl_mlx5_forget,
	.caps = bl_mlx5_caps,
	.port = bl_mlx5_port,
	.gid = bl_mlx5_gid,
	.pd_create = bl_mlx5_pd_create,
	.pd_destroy = bl_mlx5_pd_destroy,
	.mr_create = bl_mlx5_mr_create,
	.mr_destroy = bl_mlx5_mr_destroy,
	.umem_create = bl_mlx5_umem_create,
	.umem_destroy = bl_mlx5_umem_destroy,
	.umem_cpu = bl_mlx5_umem_cpu,
	.uar_create = bl_mlx5_uar_create,
	.uar_destroy = bl_mlx5_uar_destroy,
	.cq_create = bl_mlx5_cq_create,
	.cq_destroy = bl_mlx5_cq_destroy,
	.qp_create = bl_mlx5_qp_create,
	.qp_destroy = bl_mlx5_qp_destroy,
	.qp_modify = bl_mlx5_qp_modify,
	.qp_query = bl_mlx5_qp_query,
};
