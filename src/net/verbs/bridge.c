// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/bridge: " fmt
#include "gpunetio/host/doca_verbs_bridge.h"

#include <errno.h>

#include "../context.h"
#include "barlane_net.h"
#include "error.h"
#include "gpunetio/host/doca_umem.h"
#include "net/log.h"

doca_error_t doca_verbs_bridge_verbs_context_create(struct ibv_device *device, uint32_t flags,
						    struct ibv_context **context_p)
{
	struct ibv_context *context;

	if (!device || !context_p)
		return bl_doca_null(__func__, !device ? "device" : "place for the context");
	if (flags != DOCA_VERBS_CONTEXT_CREATE_FLAGS_NONE)
		return bl_doca_error(fail(EINVAL, "flags 0x%x: there are none", flags));
	if (!bl_device_is(device))
		return bl_doca_error(fail(EOPNOTSUPP,
					  "device %p: not of bl_net_device_list(); devices of other libraries are not served",
					  (void *)device));
	context = bl_net_open_device(device->name);
	if (!context)
		return bl_doca_error(-errno);
	*context_p = context;
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_context_destroy(struct ibv_context *context)
{
	return bl_doca_error(-bl_net_close_device(context));
}

doca_error_t doca_verbs_pd_create(struct ibv_context *context, struct ibv_pd **pd_p)
{
	struct ibv_pd *pd;

	if (!pd_p)
		return bl_doca_null(__func__, "place for the domain");
	pd = bl_net_alloc_pd(context);
	if (!pd)
		return bl_doca_error(-errno);
	*pd_p = pd;
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_pd_destroy(struct ibv_pd *pd)
{
	return bl_doca_error(-bl_net_dealloc_pd(pd));
}

doca_error_t doca_verbs_bridge_verbs_pd_get_ibv_pd(const struct ibv_pd *key, struct ibv_pd **ibv_p)
{
	struct bl_pd *pd;
	int ret;

	if (!ibv_p)
		return bl_doca_null(__func__, "place for the domain");
	ret = bl_pd_get((struct ibv_pd *)(uintptr_t)key, &pd);
	if (ret)
		return bl_doca_error(ret);
	*ibv_p = &pd->ibv;
	bl_pd_put(pd);
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_dev_open(struct ibv_pd *key, struct ibv_context **dev_p)
{
	struct bl_pd *pd;
	int ret;

	if (!dev_p)
		return bl_doca_null(__func__, "place for the device");
	ret = bl_pd_get(key, &pd);
	if (ret)
		return bl_doca_error(ret);
	*dev_p = &pd->context->ibv;
	bl_pd_put(pd);
	return DOCA_SUCCESS;
}

doca_error_t doca_verbs_dev_close(struct ibv_context *dev)
{
	struct bl_context *context;
	int ret;

	ret = bl_context_get(dev, &context);
	if (!ret)
		bl_context_put(context);
	return bl_doca_error(ret);
}

static int access_of(uint32_t flags, uint32_t *access_p)
{
	const uint32_t known = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
			       DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC;

	if (flags & ~known)
		return fail(EINVAL, "access 0x%x: bits 0x%x are unknown", flags, flags & ~known);
	*access_p = (flags & DOCA_ACCESS_FLAG_LOCAL_READ_WRITE ? IBV_ACCESS_LOCAL_WRITE : 0) |
		    (flags & DOCA_ACCESS_FLAG_RDMA_READ ? IBV_ACCESS_REMOTE_READ : 0) |
		    (flags & DOCA_ACCESS_FLAG_RDMA_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
		    (flags & DOCA_ACCESS_FLAG_RDMA_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
	return 0;
}

doca_error_t doca_umem_create(struct ibv_context *dev, void *address, size_t size, uint32_t access_flags,
			      struct doca_verbs_umem **umem)
{
	uint32_t access = 0;
	int ret;

	ret = access_of(access_flags, &access);
	if (ret)
		return bl_doca_error(ret);
	return doca_verbs_umem_create(dev, address, size, access, -1, 0, umem);
}

/* Whose memory it is, its address says. */
doca_error_t doca_umem_gpu_create(struct doca_gpu *gpu_dev, struct ibv_context *dev, void *address, size_t size,
				  uint32_t access_flags, struct doca_verbs_umem **umem)
{
	if (!gpu_dev)
		return bl_doca_null(__func__, "gpu_dev");
	return doca_umem_create(dev, address, size, access_flags, umem);
}

doca_error_t doca_umem_destroy(struct doca_verbs_umem *umem)
{
	return doca_verbs_umem_destroy(umem);
}
