// SPDX-License-Identifier: MIT
/* Memory of a GPU besides that of a pair of sides, for tests of long messages. */
#include "other.h"

#include <stdlib.h>
#include <string.h>

struct pair_options place_options(bool gpu_0, bool gpu_1, uint32_t type)
{
	return (struct pair_options){
		.names = { "soft0", "soft0" },
		.type = type,
		.gpu_data = true,
		.host_data = { !gpu_0, !gpu_1 },
	};
}

/* The first use of a GPU leaves what the core knows of it. */
static void use_gpu(CUdevice device)
{
	struct ibv_context *nic = bl_net_open_device("soft0");
	struct ibv_pd *pd = bl_net_alloc_pd(nic);
	CUcontext context;
	struct ibv_mr *mr;
	CUdeviceptr va;

	check_eq(world.cuda->cuCtxCreate(&context, 0, device), CUDA_SUCCESS);
	va = world_alloc(2 * MIB);
	mr = bl_net_reg_mr(pd, (void *)(uintptr_t)va, 2 * MIB, IBV_ACCESS_LOCAL_WRITE);
	check(mr);
	check_eq(bl_net_dereg_mr(mr), 0);
	world_free(va);
	check_eq(world.cuda->cuCtxDestroy(context), CUDA_SUCCESS);
	check_eq(bl_net_dealloc_pd(pd), 0);
	check_eq(bl_net_close_device(nic), 0);
}

bool has_peers(void)
{
	const char *text = getenv("BARLANE_EMU_PEERS");

	return text && *text == '1';
}

bool goes_directly(void)
{
	const char *text = getenv("BARLANE_SNIC_PLACE_BETWEEN");

	return has_peers() && !(text && !strcmp(text, "host"));
}

void other_make(struct other *other, struct side *side, int ordinal)
{
	CUcontext popped;
	CUdevice device;

	check_eq(world.cuda->cuDeviceGet(&device, ordinal), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxCreate(&other->context, 0, device), CUDA_SUCCESS);
	other->va = world_alloc(2 * MIB);
	other->mr = bl_net_reg_mr(side->pd, (void *)(uintptr_t)other->va, 2 * MIB,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	check(other->mr);
	check_eq(world.cuda->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
}

void other_drop(struct other *other)
{
	check_eq(bl_net_dereg_mr(other->mr), 0);
	check_eq(world.cuda->cuCtxPushCurrent(other->context), CUDA_SUCCESS);
	world_free(other->va);
	check_eq(world.cuda->cuCtxDestroy(other->context), CUDA_SUCCESS);
}

void pair_make_with_other(struct side sides[2], struct other *other)
{
	struct pair_options options = place_options(true, false, DOCA_VERBS_QP_TYPE_RC);
	CUdevice device;

	world_enter();
	check_eq(world.cuda->cuDeviceGet(&device, 1), CUDA_SUCCESS);
	use_gpu(device);
	pair_make(sides, &options);
	other_make(other, &sides[1], 1);
}

bool other_has(const struct other *other, size_t off, const unsigned char bytes[LONG])
{
	unsigned char seen[LONG];
	CUcontext popped;

	check_eq(world.cuda->cuCtxPushCurrent(other->context), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemcpyDtoH(seen, other->va + off, LONG), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
	return !memcmp(seen, bytes, LONG);
}
