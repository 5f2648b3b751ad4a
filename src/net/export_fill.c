// SPDX-License-Identifier: MIT
/* What the GPU's object says: where queues, records and doorbells are, and who rings. */
#define log_fmt(fmt) "export: " fmt
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/export.h"
#include "net/log.h"

#define MAX_WQES   32768U /* what the object's 16 bits take, and the NIC's 16-bit counters can tell apart */
#define TIMEOUT_MS 10000U

static uint32_t *at32(uint64_t va)
{
	return (uint32_t *)(uintptr_t)va;
}

static void fill_numbers(struct bl_gpu_qp *qp, uint32_t qpn)
{
	struct doca_gpu_dev_verbs_qp *dev = &qp->begin;

	dev->sq_num = qpn;
	dev->sq_num_shift8 = qpn << 8;
	dev->sq_num_shift8_be = htobe32(qpn << 8);
	dev->sq_num_shift8_be_1ds = htobe32(qpn << 8 | 1);
	dev->sq_num_shift8_be_2ds = htobe32(qpn << 8 | 2);
	dev->sq_num_shift8_be_3ds = htobe32(qpn << 8 | 3);
	dev->sq_num_shift8_be_4ds = htobe32(qpn << 8 | 4);
	dev->sq_num_shift8_be_5ds = htobe32(qpn << 8 | 5);
	qp->pub.sq_num_shift8_be = dev->sq_num_shift8_be;
}

static int check_sizes(uint32_t sq_nr, uint32_t rq_nr, uint32_t rq_bytes)
{
	if (sq_nr > MAX_WQES || sq_nr & (sq_nr - 1))
		return fail(EINVAL, "send queue of %u blocks: not a power of two up to %u", sq_nr, MAX_WQES);
	if (rq_nr > MAX_WQES || rq_nr & (rq_nr - 1))
		return fail(EINVAL, "receive queue of %u requests: not a power of two up to %u", rq_nr, MAX_WQES);
	if (rq_nr && (!rq_bytes || rq_bytes & (rq_bytes - 1)))
		return fail(EINVAL, "receive requests of %u bytes: not a power of two", rq_bytes);
	return 0;
}

/*
 * Kernels take a queue in GPU memory for one that hardware reads after each store to its doorbell: they order for less,
 * and let a register go back to an older count. A NIC that is a CPU looks when it likes, wherever the queue is.
 */
static uint32_t memory_of_queues(const struct bl_gpu_qp *qp)
{
	if (qp->sq_on_host)
		return DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST;
	return qp->verbs->context->caps.cpu ? DOCA_GPUNETIO_VERBS_MEM_TYPE_AUTO : DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU;
}

int bl_export_queues(struct bl_gpu_qp *qp, const struct bl_net_export_attr *attr)
{
	struct doca_gpu_dev_verbs_qp *dev = &qp->begin;
	uint32_t sq_nr = 0, rq_nr = 0, rq_bytes = 0;
	void *sq = NULL, *rq = NULL;
	bool device = false;
	uint64_t va;
	char *first;
	int ret;

	doca_verbs_qp_get_wq(qp->pub.qp, &sq, &sq_nr, &rq, &rq_nr, &rq_bytes);
	ret = check_sizes(sq_nr, rq_nr, rq_bytes);
	if (ret)
		return ret;
	if ((sq_nr && !attr->cq_sq) || (rq_nr && !attr->cq_rq && !sq_nr))
		return fail(EINVAL, "no completion queue for a queue that there is");
	first = rq_nr ? rq : sq;
	if (!first)
		va = 0; /* one that only receives, from a shared queue */
	else if (attr->umem_gpu_ptr)
		va = (uintptr_t)attr->umem_gpu_ptr + qp->verbs->mem.ring_off;
	else
		ret = bl_gpu_address(qp->gpu, first, "the memory of the queues", &va);
	if (ret)
		return ret;
	fill_numbers(qp, doca_verbs_qp_get_qpn(qp->pub.qp));
	dev->sq_wqe_num = (uint16_t)sq_nr;
	dev->sq_wqe_mask = (uint16_t)(sq_nr - 1);
	dev->sq_wqe_daddr = (uint8_t *)(uintptr_t)(sq_nr ? va + (uint64_t)((char *)sq - first) : 0);
	if (rq_nr) {
		dev->rq_wqe_daddr = (uint8_t *)(uintptr_t)va;
		dev->rq_wqe_num = (uint16_t)rq_nr;
		dev->rq_wqe_mask = (uint16_t)(rq_nr - 1);
		dev->rq_wqe_shift = (uint8_t)__builtin_ctz(rq_bytes);
	}
	ret = first ? bl_gpu_is_device(qp->gpu, first, &device) : 0;
	if (ret)
		return ret;
	qp->sq_on_host = !device;
	dev->mem_type = memory_of_queues(qp);
	return 0;
}

int bl_export_records(struct bl_gpu_qp *qp, const struct bl_net_export_attr *attr)
{
	struct doca_gpu_dev_verbs_qp *dev = &qp->begin;
	uint32_t *records = doca_verbs_qp_get_dbr_addr(qp->pub.qp);
	bool gpu_writes = dev->rq_wqe_num || (attr->nic_handler && !bl_is_proxy(attr->nic_handler) &&
					      attr->send_dbr_mode_ext ==
						      DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR);
	void *view;
	int ret;

	if (!records)
		return fail(EINVAL, "the queue pair has no doorbell records");
	ret = bl_gpu_address(qp->gpu, records, gpu_writes ? "the doorbell record" : NULL, &qp->dbrec_va);
	if (ret && gpu_writes)
		return ret;
	if (!ret) {
		dev->sq_dbrec = at32(qp->dbrec_va) + DOCA_GPUNETIO_IB_MLX5_SND_DBR;
		dev->rq_dbrec = at32(qp->dbrec_va) + DOCA_GPUNETIO_IB_MLX5_RCV_DBR;
	}
	dev->polled = qp->verbs->context->caps.cpu &&
		      attr->send_dbr_mode_ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR;
	ret = bl_gpu_cpu_view(qp->gpu, records, &view);
	if (ret)
		return ret;
	qp->dbrec = view;
	if (qp->dbrec)
		qp->pub.sq_dbrec = qp->dbrec + DOCA_GPUNETIO_IB_MLX5_SND_DBR;
	return 0;
}

/* A CPU rings: it must reach the record, where there is one to be written. */
static int choose_proxy(struct bl_gpu_qp *qp)
{
	if (!qp->dbrec && qp->pub.send_dbr_mode_ext != DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW)
		return fail(EINVAL, "CPU proxy: the doorbell record is GPU memory, which the CPU does not reach");
	qp->begin.nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;
	qp->begin.sq_db = (uint64_t *)(uintptr_t)(qp->control_block->va + offsetof(struct bl_control, word));
	qp->pub.cpu_db = &qp->control->word;
	qp->pub.cpu_proxy = true;
	return 0;
}

/* As the proxy, but that a CPU finds the count by itself. */
static int choose_free_flow(struct bl_gpu_qp *qp)
{
	size_t len = qp->begin.sq_wqe_num * sizeof(uint64_t);
	int ret = choose_proxy(qp);

	if (!ret && !len)
		ret = fail(EINVAL, "handler CPU_PROXY_FREE_FLOW: the queue pair has no send queue");
	if (!ret)
		ret = bl_gpu_alloc(qp->gpu, len, 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &qp->slots_block);
	if (ret)
		return ret;
	qp->slots = qp->slots_block->cpu;
	memset(qp->slots, 0, len);
	qp->begin.nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW;
	qp->begin.sq_db = (uint64_t *)(uintptr_t)qp->slots_block->va;
	return 0;
}

static int choose_gpu(struct bl_gpu_qp *qp, enum doca_gpu_dev_verbs_nic_handler wanted)
{
	enum doca_gpu_verbs_send_dbr_mode_ext mode = qp->pub.send_dbr_mode_ext;

	qp->begin.sq_db = bl_gpu_uar_address(qp->uar);
	if (mode == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR)
		qp->begin.nic_handler = wanted == DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO ?
						DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB :
						wanted;
	else
		qp->begin.nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR;
	if (mode != DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED)
		return 0;
	/* the GPU rings, and a CPU writes the record */
	if (!qp->dbrec)
		return fail(EINVAL, "software-emulated record: it is GPU memory, which the CPU does not reach");
	qp->pub.cpu_proxy = true;
	return 0;
}

static int fall_back(struct bl_gpu_qp *qp, const char *why)
{
	snprintf(qp->reason, sizeof(qp->reason), "%s", why);
	log_warn("Enabling CPU proxy mode for qp 0x%x: %s", qp->begin.sq_num, qp->reason);
	return choose_proxy(qp);
}

int bl_export_handler(struct bl_gpu_qp *qp, const struct bl_net_export_attr *attr)
{
	bool automatic = attr->nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
	void *reg = doca_verbs_qp_get_uar_addr(qp->pub.qp);
	int ret;

	if (!reg)
		return fail(EINVAL, "the queue pair has no doorbell register");
	qp->pub.sq_db = reg;
	if (bl_is_proxy(attr->nic_handler)) {
		log_info("Enabling CPU proxy mode for qp 0x%x, as asked", qp->begin.sq_num);
		return attr->nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY ? choose_proxy(qp) :
											  choose_free_flow(qp);
	}
	ret = bl_gpu_uar_get(qp->gpu, reg, automatic, &qp->uar);
	if (ret && automatic)
		return fall_back(qp, bl_last_error(NULL));
	if (ret)
		return ret;
	if (automatic && !qp->dbrec_va && attr->send_dbr_mode_ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR) {
		bl_gpu_uar_put(qp->uar);
		qp->uar = NULL;
		return fall_back(qp, "the GPU does not reach the doorbell record");
	}
	return choose_gpu(qp, attr->nic_handler);
}

/* A CPU counts the completions: it must reach the entry, as it is and not through a mapping that is slow to read. */
static int fold(struct bl_gpu_qp *qp, const void *ring)
{
	if (!qp->cq_on_host)
		return fail(EINVAL, "completions that a CPU counts must go to host memory");
	qp->fold_cqe = ring;
	qp->pub.cpu_proxy = true;
	return 0;
}

int bl_export_cq(struct bl_gpu_qp *qp, struct doca_verbs_cq *cq, uint8_t type, struct doca_gpu_dev_verbs_cq *dev)
{
	uint32_t *ci = NULL, *arm = NULL, nr = 0;
	uint64_t *uar = NULL, va, ci_va = 0;
	uint8_t size = 0;
	void *ring = NULL;
	bool device;
	int ret;

	doca_verbs_cq_get_wq(cq, &ring, &nr, &size);
	if (!ring || !nr || nr & (nr - 1) || size != DOCA_GPUNETIO_IB_MLX5_CQE_SIZE)
		return fail(EINVAL, "completion queue of %u entries of %u bytes: a power of two of %d bytes is wanted", nr,
			    size, DOCA_GPUNETIO_IB_MLX5_CQE_SIZE);
	ret = bl_gpu_address(qp->gpu, ring, "the completion queue", &va);
	if (ret)
		return ret;
	doca_verbs_cq_get_dbr_addr(cq, &uar, &ci, &arm);
	/* with overrun ignored, as it should be, nobody writes it */
	if (ci)
		bl_gpu_address(qp->gpu, ci, NULL, &ci_va);
	ret = bl_gpu_is_device(qp->gpu, ring, &device);
	if (ret)
		return ret;
	qp->cq_on_host = !device;
	*dev = (struct doca_gpu_dev_verbs_cq){
		.cqe_daddr = (uint8_t *)(uintptr_t)va,
		.cq_num = doca_verbs_cq_get_cqn(cq),
		.cqe_num = nr,
		.dbrec = at32(ci_va),
		.cqe_mask = nr - 1,
		.cqe_size = size,
		.cq_type = type,
		.mem_type = qp->cq_on_host ? DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST : DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU,
		.timeout_ms = (uint32_t)bl_net_env_number("BARLANE_NET_TIMEOUT_MS", 0, UINT32_MAX, TIMEOUT_MS),
	};
	return type == DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED_HOST ? fold(qp, ring) : 0;
}
