// SPDX-License-Identifier: MIT
/*
 * Queue pairs of a software NIC that receive from one queue and complete in one, both in memory of a GPU: receives posted
 * where a kernel would post them, completions read where it would read them.
 */
#include <endian.h>
#include <stdint.h>
#include <unistd.h>

#include "barlane_net.h"
#include "barlane_net_gpu.h"
#include "net/export.h"
#include "tests/emu/world.h"
#include "tests/tap.h"
#include "util/tsan.h"

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define LEN    64U
#define CQ_OFF 4096UL
#define CQ_NR  16U
#define DB_OFF 8192UL
#define BYTES  16384UL

/**
 * struct bed - two senders, two receivers
 * @cpu, @va: memory of the queue, its completions and their record, as the CPU and the GPU reach it
 * @tx: with rings of the library's; @rx: without any
 */
static struct bed {
	struct doca_gpu *gpu;
	struct ibv_context *nic;
	struct ibv_pd *pd;
	char *cpu;
	void *va;
	struct doca_verbs_umem *umem;
	struct doca_verbs_srq *srq;
	struct doca_verbs_cq *cq;
	struct doca_gpu_verbs_qp_hl *tx[2];
	struct doca_verbs_qp *rx[2];
	struct doca_gpu_verbs_qp *shown[2];
	struct ibv_mr *mr;
	char data[8 * LEN];
} bed;

static void make_memory(enum doca_gpu_mem_type type)
{
	check_eq(doca_gpu_mem_alloc(bed.gpu, BYTES, 65536, type, &bed.va, (void **)&bed.cpu), DOCA_SUCCESS);
	check(bed.cpu);
	memset(bed.cpu, 0, BYTES);
	for (unsigned int i = 0; i < CQ_NR; i++)
		bed.cpu[CQ_OFF + i * 64UL + 63] = (char)0xf1;
	check_eq(doca_verbs_umem_create(bed.nic, bed.va, BYTES, ACCESS, -1, 0, &bed.umem), DOCA_SUCCESS);
}

static void make_queue(enum doca_verbs_srq_type type, struct doca_verbs_srq **srq_p)
{
	struct doca_verbs_srq_init_attr *attr;

	check_eq(doca_verbs_srq_init_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_srq_init_attr_set_pd(attr, bed.pd);
	doca_verbs_srq_init_attr_set_type(attr, type);
	doca_verbs_srq_init_attr_set_srq_wr(attr, 7);
	doca_verbs_srq_init_attr_set_receive_max_sges(attr, 1);
	doca_verbs_srq_init_attr_set_external_umem(attr, bed.umem, 0);
	check_eq(doca_verbs_srq_create(bed.nic, attr, srq_p), DOCA_SUCCESS);
	doca_verbs_srq_init_attr_destroy(attr);
	for (int i = 0; i < 8; i++)
		bed.cpu[i * 32 + 3] = (char)((i + 1) % 8);
}

static void make_cq(void)
{
	struct doca_verbs_cq_attr *attr;

	check_eq(doca_verbs_cq_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_cq_attr_set_cq_size(attr, CQ_NR);
	doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN);
	doca_verbs_cq_attr_set_external_umem(attr, bed.umem, CQ_OFF);
	doca_verbs_cq_attr_set_external_dbr_umem(attr, bed.umem, DB_OFF);
	check_eq(doca_verbs_cq_create(bed.nic, attr, &bed.cq), DOCA_SUCCESS);
	doca_verbs_cq_attr_destroy(attr);
}

/* They send nothing, so that they have no ring at all. */
static void make_receiver(int i)
{
	const struct bl_net_export_attr attr = {
		.sz = sizeof(attr), .nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, .cq_rq = bed.cq };
	struct doca_verbs_qp_init_attr *init;

	check_eq(doca_verbs_qp_init_attr_create(&init), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_set_pd(init, bed.pd);
	doca_verbs_qp_init_attr_set_srq(init, bed.srq);
	doca_verbs_qp_init_attr_set_receive_cq(init, bed.cq);
	check_eq(doca_verbs_qp_create(bed.nic, init, &bed.rx[i]), DOCA_SUCCESS);
	doca_verbs_qp_init_attr_destroy(init);
	if (bl_net_export_qp(bed.gpu, bed.rx[i], &attr, &bed.shown[i]))
		tap_end(TAP_FAILED, "export: %s", bl_last_error(NULL));
}

static void make_pair(int i)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr = {
		.gpu_dev = bed.gpu, .ibpd = bed.pd, .sq_nwqe = 16, .nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY };
	struct bl_net_peer tx, rx;

	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &bed.tx[i]), DOCA_SUCCESS);
	make_receiver(i);
	check_eq(bl_net_qp_local(bed.nic, bed.tx[i]->qp, 1, -1, &tx), 0);
	check_eq(bl_net_qp_local(bed.nic, bed.rx[i], 1, -1, &rx), 0);
	check_eq(bl_net_qp_connect(bed.nic, bed.tx[i]->qp, 0, &tx, &rx), 0);
	check_eq(bl_net_qp_connect(bed.nic, bed.rx[i], 0, &rx, &tx), 0);
}

static void begin(enum doca_gpu_mem_type type)
{
	CUdevice device;
	char id[32];

	world_enter();
	check_eq(world.cuda->cuDeviceGet(&device, 0), CUDA_SUCCESS);
	check_eq(world.cuda->cuDeviceGetPCIBusId(id, sizeof(id), device), CUDA_SUCCESS);
	check_eq(doca_gpu_create(id, &bed.gpu), DOCA_SUCCESS);
	bed.nic = bl_net_open_device("soft0");
	bed.pd = bl_net_alloc_pd(bed.nic);
	check(bed.pd);
	bed.mr = bl_net_reg_mr(bed.pd, bed.data, sizeof(bed.data), ACCESS);
	check(bed.mr);
	make_memory(type);
}

static void end(void)
{
	check_eq(doca_verbs_umem_destroy(bed.umem), DOCA_SUCCESS);
	check_eq(doca_gpu_mem_free(bed.gpu, bed.va), DOCA_SUCCESS);
	check_eq(bl_net_dereg_mr(bed.mr), 0);
	check_eq(bl_net_dealloc_pd(bed.pd), 0);
	check_eq(bl_net_close_device(bed.nic), 0);
	check_eq(doca_gpu_destroy(bed.gpu), DOCA_SUCCESS);
	world_check_rules();
}

/* As bl_dev_srq_post() does, by what it is given. */
static uint16_t post(struct bl_dev_srq *dev, unsigned int slot)
{
	char *wqe = bed.cpu + ((char *)dev->wqe_daddr - (char *)bed.va) + ((size_t)dev->head << dev->wqe_shift);
	uint64_t addr = htobe64((uintptr_t)bed.data + (size_t)slot * LEN);
	uint32_t words[2] = { htobe32(LEN), htobe32(bed.mr->lkey) };
	uint16_t index = dev->head;

	check(dev->head != dev->tail);
	dev->head = (uint16_t)((unsigned char)wqe[2] << 8 | (unsigned char)wqe[3]);
	memcpy(wqe + 16, words, sizeof(words));
	memcpy(wqe + 24, &addr, sizeof(addr));
	dev->posted++;
	__atomic_store_n((uint32_t *)(void *)(bed.cpu + ((char *)dev->dbrec - (char *)bed.va)),
			 htobe32(dev->posted & 0xffff), __ATOMIC_RELEASE);
	return index;
}

static void send_from(int i, uint64_t index, unsigned int slot)
{
	const struct doca_gpu_dev_verbs_qp *dev = bed.tx[i]->qp_gverbs->qp_cpu;
	uint64_t addr = (uintptr_t)bed.data + (size_t)slot * LEN;
	uint32_t words[16] = { htobe32((uint32_t)index << 8 | DOCA_GPUNETIO_IB_MLX5_OPCODE_SEND), htobe32(dev->sq_num << 8 | 2),
			       htobe32(DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE), 0, htobe32(LEN), htobe32(bed.mr->lkey),
			       htobe32((uint32_t)(addr >> 32)), htobe32((uint32_t)addr) };
	char *slots = bl_gpu_block_cpu(bed.gpu, (uintptr_t)dev->sq_wqe_daddr);

	check(slots);
	memcpy(slots + index * 64, words, sizeof(words));
	__atomic_store_n(bed.tx[i]->qp_gverbs->cpu_db, index + 1, __ATOMIC_RELEASE);
}

/* A completion that may be on its way: in host memory the NIC stores its last eight bytes after the rest. */
static void look(uint64_t va, unsigned char cqe[64])
{
	const char *at = bl_gpu_block_cpu(bed.gpu, va);
	uint64_t last;

	if (!at) {
		check_eq(bl_gpu_read(bed.gpu, cqe, va, 64), 0);
		return;
	}
	last = __atomic_load_n((const uint64_t *)(const void *)(at + 56), __ATOMIC_ACQUIRE);
	memcpy(cqe + 56, &last, sizeof(last));
	if (cqe[63] >> 4 != 15)
		memcpy(cqe, at, 56);
}

/* Completion number @index of the shared queue, by the object of either receiver. */
static void expect(int shown, uint64_t index, uint16_t wqe, int sender)
{
	const struct doca_gpu_dev_verbs_cq *cq = &bed.shown[shown]->qp_cpu->cq_rq;
	unsigned char cqe[64] = { 0 };
	uint32_t srqn, qpn;

	for (int i = 0; i < 20000; i++) {
		look((uintptr_t)cq->cqe_daddr + (index & cq->cqe_mask) * 64, cqe);
		if (cqe[63] >> 4 != 15 && (cqe[63] & 1) == !!(index & cq->cqe_num))
			break;
		usleep(500);
	}
	check_eq(cqe[63] >> 4, DOCA_GPUNETIO_IB_MLX5_CQE_RESP_SEND);
	memcpy(&srqn, cqe + 32, sizeof(srqn));
	memcpy(&qpn, cqe + 56, sizeof(qpn));
	check_eq(be32toh(srqn), doca_verbs_srq_get_srqn(bed.srq));
	check_eq(be32toh(qpn) & 0xffffff, doca_verbs_qp_get_qpn(bed.rx[sender]));
	check_eq(cqe[60] << 8 | cqe[61], wqe);
}

static void receives(enum doca_gpu_mem_type type)
{
	struct bl_dev_srq dev;
	uint16_t wqe;

	begin(type);
	make_queue(DOCA_VERBS_SRQ_TYPE_LINKED_LIST, &bed.srq);
	check_eq(bl_net_export_srq(bed.gpu, bed.srq, &dev), DOCA_SUCCESS);
	check(dev.wqe_daddr == bed.va && (char *)dev.dbrec == (char *)bed.va + 256);
	check_eq(dev.wqe_num, 8);
	check_eq(dev.wqe_shift, 5);
	check_eq(dev.sges, 1);
	check_eq(dev.num, doca_verbs_srq_get_srqn(bed.srq));
	check_eq(dev.tail, 7);
	make_cq();
	for (int i = 0; i < 2; i++)
		make_pair(i);
	for (unsigned int i = 0; i < 7; i++) {
		memset(bed.data, (int)i + 1, LEN);
		wqe = post(&dev, 1 + i);
		send_from(i % 2, i / 2, 0);
		expect(i / 2 % 2, i, wqe, i % 2);
		/* that it is there says a completion that is read by another mapping, which ThreadSanitizer cannot see */
		BL_TSAN_READS_UNSEEN(true);
		check(!memcmp(bed.data, bed.data + (1 + i) * LEN, LEN));
		BL_TSAN_READS_SEEN(true);
	}
	for (int i = 0; i < 2; i++) {
		check_eq(doca_gpu_verbs_unexport_qp(bed.gpu, bed.shown[i]), DOCA_SUCCESS);
		check_eq(doca_verbs_qp_destroy(bed.rx[i]), DOCA_SUCCESS);
		check_eq(doca_gpu_verbs_destroy_qp_hl(bed.tx[i]), DOCA_SUCCESS);
	}
	check_eq(doca_verbs_cq_destroy(bed.cq), DOCA_SUCCESS);
	check_eq(doca_verbs_srq_destroy(bed.srq), DOCA_SUCCESS);
	end();
}

static void a_queue_in_host_memory_is_shown_and_served(void)
{
	receives(DOCA_GPU_MEM_TYPE_CPU_GPU);
}

static void a_queue_in_gpu_memory_is_shown_and_served(void)
{
	receives(DOCA_GPU_MEM_TYPE_GPU_CPU);
}

static void what_kernels_cannot_post_to_is_refused(void)
{
	struct doca_verbs_srq_init_attr *attr;
	struct doca_verbs_srq *own = NULL;
	struct bl_dev_srq dev = { .num = 77 };

	begin(DOCA_GPU_MEM_TYPE_CPU_GPU);
	make_queue(DOCA_VERBS_SRQ_TYPE_CONTIGUOUS, &bed.srq);
	check_eq(bl_net_export_srq(bed.gpu, bed.srq, &dev), DOCA_ERROR_NOT_SUPPORTED);
	check_has(bl_last_error(NULL), "contiguous");
	check_eq(doca_verbs_srq_init_attr_create(&attr), DOCA_SUCCESS);
	doca_verbs_srq_init_attr_set_pd(attr, bed.pd);
	doca_verbs_srq_init_attr_set_srq_wr(attr, 7);
	check_eq(doca_verbs_srq_create(bed.nic, attr, &own), DOCA_SUCCESS);
	/* plain memory of the library's, which CUDA does not know */
	check_eq(bl_net_export_srq(bed.gpu, own, &dev), DOCA_ERROR_INVALID_VALUE);
	check_has(bl_last_error(NULL), "the memory of the shared receive queue");
	check_eq(bl_net_export_srq(NULL, own, &dev), DOCA_ERROR_INVALID_VALUE);
	check_eq(bl_net_export_srq(bed.gpu, NULL, &dev), DOCA_ERROR_INVALID_VALUE);
	check_eq(bl_net_export_srq(bed.gpu, (void *)bed.data, &dev), DOCA_ERROR_INVALID_VALUE);
	check_eq(bl_net_export_srq(bed.gpu, own, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(dev.num, 77);
	check_eq(doca_verbs_srq_destroy(own), DOCA_SUCCESS);
	check_eq(bl_net_export_srq(bed.gpu, own, &dev), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_verbs_srq_destroy(bed.srq), DOCA_SUCCESS);
	doca_verbs_srq_init_attr_destroy(attr);
	end();
}

static const struct tap_test tests[] = {
	{ "gpu_shared_a_queue_in_host_memory_is_shown_and_served", a_queue_in_host_memory_is_shown_and_served },
	{ "gpu_shared_a_queue_in_gpu_memory_is_shown_and_served", a_queue_in_gpu_memory_is_shown_and_served },
	{ "gpu_shared_what_kernels_cannot_post_to_is_refused", what_kernels_cannot_post_to_is_refused },
};

TAP_MAIN(tests)
