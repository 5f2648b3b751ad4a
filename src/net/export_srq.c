// SPDX-License-Identifier: MIT
/* Shared receive queues for kernels to post to. */
#define log_fmt(fmt) "export: " fmt
#include <errno.h>

#include "barlane_net_gpu.h"
#include "net/export.h"
#include "net/log.h"
#include "net/verbs/objects.h"
#include "net/verbs/qp_size.h"

static int fill(struct doca_gpu *gpu, const struct doca_verbs_srq *srq, struct bl_dev_srq *dev)
{
	uint64_t wqes, record;
	int ret;

	if (!srq->linked)
		return fail(EOPNOTSUPP, "srq 0x%x is contiguous: kernels post to linked lists", srq->num);
	ret = bl_gpu_address(gpu, srq->mem.ring_addr, "the memory of the shared receive queue", &wqes);
	if (!ret)
		ret = bl_gpu_address(gpu, srq->mem.dbr_addr, "its doorbell record", &record);
	if (ret)
		return ret;
	*dev = (struct bl_dev_srq){
		.wqe_daddr = (uint8_t *)(uintptr_t)wqes,
		.dbrec = (uint32_t *)(uintptr_t)record,
		.num = srq->num,
		.wqe_num = srq->entries,
		.wqe_shift = (uint32_t)__builtin_ctz(srq->wqe_len),
		.sges = srq->wqe_len / BL_WQE_SEG - 1,
		.tail = (uint16_t)(srq->entries - 1),
	};
	return 0;
}

doca_error_t bl_net_export_srq(struct doca_gpu *gpu, struct doca_verbs_srq *key, struct bl_dev_srq *dev)
{
	struct doca_verbs_srq *srq;
	int ret;

	if (!dev)
		return bl_net_doca(fail(EINVAL, "no place for the answer"));
	ret = bl_gpu_get(gpu);
	if (ret)
		return bl_net_doca(ret);
	ret = bl_srq_get(key, NULL, &srq);
	if (!ret) {
		ret = fill(gpu, srq, dev);
		bl_object_put(&srq->object);
	}
	bl_gpu_put(gpu);
	return bl_net_doca(ret);
}
