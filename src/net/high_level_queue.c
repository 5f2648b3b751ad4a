// SPDX-License-Identifier: MIT
/* Memory of queues, shown to the NIC; completion queues. */
#define log_fmt(fmt) "high level: " fmt
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/cqe.h"
#include "net/high_level.h"
#include "net/log.h"

#define CQ_DBR_LEN 8

static doca_error_t by_dmabuf(const struct bl_hl_want *want, const struct bl_gpu_block *block, size_t len,
			      struct doca_verbs_umem **umem_p)
{
	doca_error_t err;
	int fd, ret;

	ret = bl_gpu_dmabuf(want->gpu, block->va, len, &fd);
	if (ret)
		return bl_net_doca(ret);
	err = doca_verbs_umem_create(&want->pd->context->ibv, (void *)(uintptr_t)block->va, len, IBV_ACCESS_LOCAL_WRITE,
				     fd, 0, umem_p);
	/* the NIC has its own reference */
	close(fd);
	return err;
}

static doca_error_t by_address(const struct bl_hl_want *want, const struct bl_gpu_block *block, size_t len,
			       struct doca_verbs_umem **umem_p)
{
	void *addr = block->made == BL_GPU_MADE_HOST ? block->cpu : (void *)(uintptr_t)block->va;

	return doca_verbs_umem_create(&want->pd->context->ibv, addr, len, IBV_ACCESS_LOCAL_WRITE, -1, 0, umem_p);
}

/* A CPU reaches GPU memory by the CPU lane, and does no DMA: by address, unless something else is asked for. */
static doca_error_t show(const struct bl_hl_want *want, const struct bl_gpu_block *block, size_t len,
			 struct doca_verbs_umem **umem_p)
{
	doca_error_t err;

	if (block->made == BL_GPU_MADE_HOST || want->reg_type == DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_PEERMEM)
		return by_address(want, block, len, umem_p);
	if (want->reg_type == DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_DMABUF)
		return by_dmabuf(want, block, len, umem_p);
	if (want->cpu)
		return by_address(want, block, len, umem_p);
	bl_fail_hush(1);
	err = by_dmabuf(want, block, len, umem_p);
	bl_fail_hush(-1);
	return err ? by_address(want, block, len, umem_p) : err;
}

doca_error_t bl_hl_queue_make(const struct bl_hl_want *want, size_t len, enum doca_gpu_mem_type type,
			      struct bl_hl_queue *queue)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (len + page - 1) & ~(page - 1);
	int ret;

	ret = bl_gpu_alloc(want->gpu, whole, page, type, &queue->block);
	return ret ? bl_net_doca(ret) : show(want, queue->block, whole, &queue->umem);
}

doca_error_t bl_hl_queue_drop(struct doca_gpu *gpu, struct bl_hl_queue *queue)
{
	doca_error_t err = queue->umem ? doca_verbs_umem_destroy(queue->umem) : DOCA_SUCCESS;

	/* the NIC may still use the memory */
	if (err)
		return err;
	/* that CUDA does not take all of it back was logged, and nobody could do anything about it */
	bl_gpu_free(gpu, queue->block);
	*queue = (struct bl_hl_queue){ 0 };
	return DOCA_SUCCESS;
}

static doca_error_t init_ring(const struct bl_hl_want *want, const struct bl_gpu_block *block, uint32_t nr)
{
	uint8_t *ring;
	int ret;

	if (block->made == BL_GPU_MADE_HOST) {
		bl_cqe_ring_init(block->cpu, nr);
		return DOCA_SUCCESS;
	}
	ring = malloc((size_t)nr * BL_CQE_SIZE);
	if (!ring)
		return bl_net_doca(fail(ENOMEM, "out of memory"));
	bl_cqe_ring_init(ring, nr);
	ret = bl_gpu_write(want->gpu, block->va, ring, (size_t)nr * BL_CQE_SIZE);
	free(ring);
	return bl_net_doca(ret);
}

static doca_error_t fill_attr(struct doca_verbs_cq_attr *attr, uint32_t nr, bool collapsed,
			      const struct bl_hl_queue *ring, const struct bl_hl_queue *dbr, struct doca_verbs_uar *uar)
{
	doca_error_t err = doca_verbs_cq_attr_set_cq_size(attr, nr);

	if (!err)
		err = doca_verbs_cq_attr_set_external_umem(attr, ring->umem, 0);
	if (!err)
		err = doca_verbs_cq_attr_set_external_dbr_umem(attr, dbr->umem, 0);
	if (!err)
		err = doca_verbs_cq_attr_set_external_uar(attr, uar);
	/* so that nobody has to write the consumer index */
	if (!err)
		err = doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN);
	if (!err)
		err = doca_verbs_cq_attr_set_cq_collapsed(attr, collapsed);
	return err;
}

static doca_error_t create(const struct bl_hl_want *want, uint32_t nr, bool collapsed, const struct bl_hl_queue *ring,
			   const struct bl_hl_queue *dbr, struct doca_verbs_cq **cq_p)
{
	struct doca_verbs_cq_attr *attr;
	doca_error_t err;

	err = doca_verbs_cq_attr_create(&attr);
	if (err)
		return err;
	err = fill_attr(attr, nr, collapsed, ring, dbr, want->uar);
	if (!err)
		err = doca_verbs_cq_create(&want->pd->context->ibv, attr, cq_p);
	doca_verbs_cq_attr_destroy(attr);
	return err;
}

doca_error_t bl_hl_cq_make(const struct bl_hl_want *want, uint32_t nr, bool collapsed, enum doca_gpu_mem_type type,
			   struct bl_hl_queue *ring, struct bl_hl_queue *dbr, struct doca_verbs_cq **cq_p)
{
	doca_error_t err;

	err = bl_hl_queue_make(want, (size_t)nr * BL_CQE_SIZE, type, ring);
	if (!err)
		err = init_ring(want, ring->block, nr);
	if (!err)
		err = bl_hl_queue_make(want, CQ_DBR_LEN,
				       want->cpu ? DOCA_GPU_MEM_TYPE_CPU_GPU : DOCA_GPU_MEM_TYPE_GPU, dbr);
	return err ? err : create(want, nr, collapsed, ring, dbr, cq_p);
}
