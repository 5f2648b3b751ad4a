// SPDX-License-Identifier: MIT
#include "soft_bed.h"

struct doca_gpu *gpu;
struct ibv_context *nic;
struct ibv_pd *pd;
int folded;
static struct snapshot before;

void soft_make(void)
{
	CUdevice device;
	char id[32];

	world_enter();
	snapshot_take(&before);
	check_eq(world.cuda->cuDeviceGet(&device, 0), CUDA_SUCCESS);
	check_eq(world.cuda->cuDeviceGetPCIBusId(id, sizeof(id), device), CUDA_SUCCESS);
	check_eq(doca_gpu_create(id, &gpu), DOCA_SUCCESS);
	nic = bl_net_open_device("soft0");
	check(nic);
	pd = bl_net_alloc_pd(nic);
	check(pd);
}

void soft_drop(void)
{
	check_eq(bl_net_dealloc_pd(pd), 0);
	check_eq(bl_net_close_device(nic), 0);
	check_eq(bl_gpu_uar_count(), 0);
	check_eq(doca_gpu_destroy(gpu), DOCA_SUCCESS);
	world_check_rules();
}

struct doca_gpu_verbs_qp_hl *soft_qp(enum doca_gpu_dev_verbs_nic_handler handler, uint32_t rq, int uc)
{
	struct bl_net_qp_hl_attr more = { .sz = sizeof(more), .rq_nwqe = rq, .uc = uc, .cq_folded = folded };
	struct doca_gpu_verbs_qp_init_attr_hl attr = {
		.gpu_dev = gpu, .ibpd = pd, .sq_nwqe = 16, .nic_handler = handler,
	};
	struct doca_gpu_verbs_qp_hl *qp = NULL;

	if (bl_net_create_qp_hl(&attr, &more, &qp))
		tap_end(TAP_FAILED, "queue pair: %s", bl_last_error(NULL));
	return qp;
}
