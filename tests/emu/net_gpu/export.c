// SPDX-License-Identifier: MIT
/* Queue pairs shown to a GPU: what its objects say, who rings, what is refused. */
#include <endian.h>
#include <stdint.h>
#include <unistd.h>

#include "bed.h"
#include "net/proxy.h"

static void check_numbers(const struct doca_gpu_dev_verbs_qp *dev, uint32_t qpn)
{
	check_eq(dev->sq_num, qpn);
	check_eq(dev->sq_num_shift8, qpn << 8);
	check_eq(dev->sq_num_shift8_be, htobe32(qpn << 8));
	check_eq(dev->sq_num_shift8_be_1ds, htobe32(qpn << 8 | 1));
	check_eq(dev->sq_num_shift8_be_2ds, htobe32(qpn << 8 | 2));
	check_eq(dev->sq_num_shift8_be_3ds, htobe32(qpn << 8 | 3));
	check_eq(dev->sq_num_shift8_be_4ds, htobe32(qpn << 8 | 4));
	check_eq(dev->sq_num_shift8_be_5ds, htobe32(qpn << 8 | 5));
}

static void the_object_says_where_everything_is(void)
{
	struct doca_gpu_verbs_qp_hl *qp;
	struct doca_gpu_dev_verbs_qp dev;

	bed_make("dma0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB);
	dev = bed_dev(qp, NULL);
	check_numbers(&dev, doca_verbs_qp_get_qpn(qp->qp));
	check_eq(dev.sq_rsvd_index | dev.sq_ready_index | dev.sq_wqe_pi, 0);
	check_eq(dev.sq_lock, 0);
	check_eq(dev.sq_wqe_num, 16);
	check_eq(dev.sq_wqe_mask, 15);
	check(dev.sq_wqe_daddr == qp->qp_umem_gpu_ptr);
	check(dev.sq_dbrec == (uint32_t *)qp->qp_umem_dbr_gpu_ptr + 1);
	check(dev.sq_db && (uint64_t *)doca_verbs_qp_get_uar_addr(qp->qp) == qp->qp_gverbs->sq_db);
	check_eq((uintptr_t)dev.sq_db % 4096, NIC_DB);
	check_eq(dev.rq_wqe_num, 0);
	check(dev.stop_flag);
	check_eq(dev.nic_handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB);
	check_eq(dev.mem_type, DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU);
	check(dev.cq_sq.cqe_daddr == qp->cq_sq_umem_gpu_ptr);
	check_eq(dev.cq_sq.cq_num, doca_verbs_cq_get_cqn(qp->cq_sq));
	check_eq(dev.cq_sq.cqe_num, 16);
	check_eq(dev.cq_sq.cqe_mask, 15);
	check_eq(dev.cq_sq.cqe_size, 64);
	check(dev.cq_sq.dbrec == qp->cq_sq_umem_dbr_gpu_ptr);
	check_eq(dev.cq_sq.cqe_ci | dev.cq_sq.cqe_rsvd | dev.cq_sq.error, 0);
	check_eq(dev.cq_sq.timeout_ms, 10000);
	check_eq(dev.cq_sq.qp_distance, 160 / 8);
	check_eq(dev.cq_rq.qp_distance, 224 / 8);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void the_longest_wait_is_the_environments(void)
{
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("cpu0");
	setenv("BARLANE_NET_TIMEOUT_MS", "77", 1);
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	setenv("BARLANE_NET_TIMEOUT_MS", "-1", 1);
	check_eq(bed_dev(qp, NULL).cq_sq.timeout_ms, 77);
	check_eq(bed_path(qp->qp_gverbs).timeout_ms, 77);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	unsetenv("BARLANE_NET_TIMEOUT_MS");
	check_eq(bed_dev(qp, NULL).cq_sq.timeout_ms, 10000);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void the_object_is_made_once(void)
{
	struct doca_gpu_dev_verbs_qp *first, *again;
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("cpu0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	check(!qp->qp_gverbs->qp_gpu);
	bed_dev(qp, &first);
	bed_dev(qp, &again);
	check(first == again && first == qp->qp_gverbs->qp_gpu);
	check_eq(doca_gpu_verbs_get_qp_dev(qp->qp_gverbs, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_get_qp_dev(NULL, &first), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void the_gpu_rings_where_it_can(void)
{
	struct doca_gpu_verbs_qp_hl *qp;
	bool moved;

	bed_make("dma0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	check_eq(qp->nic_handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB);
	check(!qp->qp_gverbs->cpu_proxy && !qp->qp_gverbs->cpu_db);
	check_eq(bed_path(qp->qp_gverbs).ringer, BL_NET_RINGER_GPU);
	check_str(bed_path(qp->qp_gverbs).reason, "");
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, &moved), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static char *spoiled;

/* CUDA maps no page that it has a part of. */
static void spoil(char *page)
{
	unsigned int flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;

	check_eq(world.cuda->cuCtxPushCurrent(world.context), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemHostRegister(page + 2048, 2048, flags), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxPopCurrent(&world.context), CUDA_SUCCESS);
	spoiled = page + 2048;
}

static void unspoil(void)
{
	check_eq(world.cuda->cuCtxPushCurrent(world.context), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemHostUnregister(spoiled), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxPopCurrent(&world.context), CUDA_SUCCESS);
}

/* In the original AUTO comes to the proxy as well, and nobody serves. */
static void auto_that_falls_back_is_served_by_the_library_and_says_why(void)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr;
	struct doca_gpu_verbs_qp_hl *qp, *none = NULL;
	struct bl_net_qp_path path;

	bed_make("dma0");
	test_nic.new_uar = spoil;
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	path = bed_path(qp->qp_gverbs);
	check_eq(path.handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	check_eq(qp->nic_handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	check_eq(path.ringer, BL_NET_RINGER_LIBRARY);
	check_has(path.reason, "the GPU cannot map the doorbell");
	bed_post(qp->qp_gverbs, 3);
	check(bed_record_becomes(qp->qp_gverbs, 3));
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	unspoil();
	/* and who insists is told */
	attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB);
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &none), DOCA_ERROR_DRIVER);
	check(!none);
	unspoil();
	bed_drop();
}

static void the_proxy_that_was_asked_for_is_served_by_the_library(void)
{
	struct doca_gpu_verbs_qp_hl *qp;
	struct bl_net_qp_path path;

	bed_make("dma0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	check_eq(qp->nic_handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	check(qp->qp_gverbs->cpu_proxy && qp->qp_gverbs->cpu_db);
	check(bed_dev(qp, NULL).sq_db == (uint64_t *)qp->qp_gverbs->cpu_db);
	bed_post(qp->qp_gverbs, 0x10005);
	check(bed_record_becomes(qp->qp_gverbs, 5));
	/* who wrote the record may not be done yet */
	bl_proxy_hold(bl_gpu_qp_of(qp->qp_gverbs));
	path = bed_path(qp->qp_gverbs);
	check_eq(path.ringer, BL_NET_RINGER_LIBRARY);
	check_eq(path.rings, 1);
	check_eq(test_nic.kicks, 1);
	bl_proxy_release(bl_gpu_qp_of(qp->qp_gverbs));
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void the_library_serves_nothing_when_told_so(void)
{
	struct bl_net_qp_error error = { .sz = sizeof(error) };
	struct doca_gpu_verbs_qp_hl *qp;
	bool moved = false;

	bed_make("dma0");
	setenv("BARLANE_NET_SERVICE", "0", 1);
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	unsetenv("BARLANE_NET_SERVICE");
	check_eq(bed_path(qp->qp_gverbs).ringer, BL_NET_RINGER_PROGRAM);
	bed_post(qp->qp_gverbs, 2);
	usleep(20000);
	check_eq(*qp->qp_gverbs->sq_dbrec, 0);
	check_eq(bl_net_qp_error(qp->qp_gverbs, &error), 0);
	check_eq(error.has_error, 0);
	check_has(error.text, "no proxy thread: 2 blocks are posted, the NIC was told of 0");
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, &moved), DOCA_SUCCESS);
	check(moved);
	check_eq(be32toh(*qp->qp_gverbs->sq_dbrec), 2);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void a_nic_that_is_a_cpu_watches_the_word_and_nobody_rings(void)
{
	struct doca_gpu_verbs_qp_hl *qp;
	bool moved = false;

	bed_make("cpu0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	check(test_nic.word == qp->qp_gverbs->cpu_db);
	check_eq(bed_path(qp->qp_gverbs).ringer, BL_NET_RINGER_NIC);
	bed_post(qp->qp_gverbs, 4);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, &moved), DOCA_SUCCESS);
	check(moved);
	check_eq(bed_path(qp->qp_gverbs).rings, 0);
	check_eq(*qp->qp_gverbs->sq_dbrec, 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	check(!test_nic.word);
	bed_drop();
}

static void slots_that_are_ready_in_a_row_are_told_at_once(void)
{
	struct doca_gpu_verbs_qp_hl *qp;
	struct bl_gpu_qp *mine;
	bool moved = true;

	bed_make("dma0");
	setenv("BARLANE_NET_SERVICE", "0", 1);
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW);
	unsetenv("BARLANE_NET_SERVICE");
	mine = bl_gpu_qp_of(qp->qp_gverbs);
	check_eq(qp->nic_handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW);
	check(qp->qp_gverbs->cpu_proxy && mine->slots);
	check_eq(bed_dev(qp, NULL).nic_handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW);
	check_eq((uint64_t)(uintptr_t)bed_dev(qp, NULL).sq_db, mine->slots_block->va);
	/* a hole keeps what is behind it */
	__atomic_store_n(&mine->slots[1], 2, __ATOMIC_RELEASE);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, &moved), DOCA_SUCCESS);
	check(!moved);
	check_eq(*qp->qp_gverbs->sq_dbrec, 0);
	__atomic_store_n(&mine->slots[0], 1, __ATOMIC_RELEASE);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, &moved), DOCA_SUCCESS);
	check(moved);
	check_eq(be32toh(*qp->qp_gverbs->sq_dbrec), 2);
	check_eq(bed_path(qp->qp_gverbs).rings, 1);
	/* a round of the ring, and no more: the words of the round before are others */
	for (uint64_t i = 2; i < 18; i++)
		__atomic_store_n(&mine->slots[i % 16], i + 1, __ATOMIC_RELEASE);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, &moved), DOCA_SUCCESS);
	check_eq(be32toh(*qp->qp_gverbs->sq_dbrec), 18);
	check_eq(bed_path(qp->qp_gverbs).rings, 2);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, &moved), DOCA_SUCCESS);
	check(!moved);
	check_eq(doca_gpu_verbs_reset_tracking_and_memory(qp->qp_gverbs), DOCA_SUCCESS);
	for (int i = 0; i < 16; i++)
		check_eq(mine->slots[i], 0);
	__atomic_store_n(&mine->slots[0], 1, __ATOMIC_RELEASE);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, &moved), DOCA_SUCCESS);
	check_eq(be32toh(*qp->qp_gverbs->sq_dbrec), 1);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

/* The NIC looks at the count, which the library's thread makes. */
static void free_flow_has_the_librarys_thread_beside_a_nic_that_watches(void)
{
	struct doca_gpu_verbs_qp_hl *qp;
	struct bl_gpu_qp *mine;

	bed_make("cpu0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY_FREE_FLOW);
	mine = bl_gpu_qp_of(qp->qp_gverbs);
	check_eq(bed_path(qp->qp_gverbs).ringer, BL_NET_RINGER_LIBRARY);
	check(test_nic.word == &mine->control->word);
	for (uint64_t i = 0; i < 3; i++)
		__atomic_store_n(&mine->slots[i], i + 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 5000 && __atomic_load_n(&mine->control->word, __ATOMIC_ACQUIRE) != 3; i++)
		usleep(1000);
	check_eq(__atomic_load_n(&mine->control->word, __ATOMIC_ACQUIRE), 3);
	check_eq(bed_path(qp->qp_gverbs).rings, 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void software_emulated_records_are_written_and_reported(void)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr;
	struct doca_gpu_verbs_qp_hl *qp = NULL;
	struct doca_gpu_dev_verbs_qp *gpu;
	uint64_t pi = 6;
	bool moved = false;

	bed_make("dma0");
	setenv("BARLANE_NET_SERVICE", "0", 1);
	attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB);
	attr.send_dbr_mode_ext = DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED;
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &qp), DOCA_SUCCESS);
	unsetenv("BARLANE_NET_SERVICE");
	check_eq(qp->nic_handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR);
	check(qp->qp_gverbs->cpu_proxy);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, &moved), DOCA_SUCCESS);
	check(!moved);
	check_eq(bed_dev(qp, &gpu).nic_handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR);
	check(qp->qp_gverbs->qp_gpu_h);
	bed_write(&gpu->sq_wqe_pi, &pi, sizeof(pi));
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, &moved), DOCA_SUCCESS);
	check(moved);
	check_eq(be32toh(*qp->qp_gverbs->sq_dbrec), 6);
	check_eq(doca_gpu_verbs_cpu_proxy_progress(qp->qp_gverbs, &moved), DOCA_SUCCESS);
	check(!moved);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void without_record_the_other_register_is_rung(void)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr;
	struct doca_gpu_verbs_qp_hl *qp = NULL;
	struct doca_gpu_dev_verbs_qp dev;

	bed_make("dma0");
	attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	attr.send_dbr_mode_ext = DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW;
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &qp), DOCA_SUCCESS);
	check(test_nic.qp.no_dbrec);
	dev = bed_dev(qp, NULL);
	check_eq(dev.nic_handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR);
	check_eq((uintptr_t)dev.sq_db % 4096, NIC_NO_DBREC);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static doca_error_t export_again(struct doca_gpu_verbs_qp_hl *qp, int handler, int mode)
{
	struct doca_gpu_verbs_qp *exported = NULL;
	doca_error_t err;

	err = doca_gpu_verbs_export_qp(bed.gpu, qp->qp, handler, qp->qp_umem_gpu_ptr, qp->cq_sq, mode, &exported);
	if (!err)
		check_eq(doca_gpu_verbs_unexport_qp(bed.gpu, exported), DOCA_SUCCESS);
	else
		check(!exported);
	return err;
}

static void what_does_not_go_together_is_refused(void)
{
	enum { VALID, HW, SW };
	struct doca_gpu_verbs_qp *exported;
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("dma0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	check_eq(export_again(qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, VALID), DOCA_SUCCESS);
	check_eq(export_again(qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF, VALID), DOCA_SUCCESS);
	check_eq(export_again(qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR, SW), DOCA_SUCCESS);
	check_eq(export_again(qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR, VALID), DOCA_ERROR_INVALID_VALUE);
	check_eq(export_again(qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF, SW), DOCA_ERROR_INVALID_VALUE);
	/* it was made with a record */
	check_eq(export_again(qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, HW), DOCA_ERROR_INVALID_VALUE);
	check_eq(export_again(qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, 3), DOCA_ERROR_INVALID_VALUE);
	check_eq(export_again(qp, 3, VALID), DOCA_ERROR_INVALID_VALUE);
	check_eq(export_again(qp, 18, VALID), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_export_qp(bed.gpu, qp->qp, 0, NULL, NULL, 0, &exported), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_export_qp(bed.gpu, NULL, 0, NULL, qp->cq_sq, 0, &exported), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_export_qp(bed.gpu, qp->qp, 0, NULL, qp->cq_sq, 0, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_export_qp(NULL, qp->qp, 0, NULL, qp->cq_sq, 0, &exported), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void an_explicit_gpu_handler_that_cannot_be_is_an_error(void)
{
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("dma0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	/* the page of control words is registered first */
	check_eq(world.fault("cuda.register:2"), 0);
	check_eq(export_again(qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, 0), DOCA_ERROR_DRIVER);
	check_eq(world.fault("cuda.register:2"), 0);
	check_eq(export_again(qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, 0), DOCA_SUCCESS);
	check_eq(world.fault(""), 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

/* Queues of the library's own memory are nothing that a GPU reaches. */
static void memory_that_the_gpu_does_not_reach_is_named(void)
{
	struct doca_verbs_qp_init_attr *init;
	struct doca_gpu_verbs_qp *exported = NULL;
	struct doca_gpu_verbs_qp_hl *qp;
	struct doca_verbs_qp *verbs;

	bed_make("cpu0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	check_eq(doca_verbs_qp_init_attr_create(&init), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_set_pd(init, bed.pd), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_set_sq_wr(init, 16), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_set_send_max_sges(init, 1), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_set_send_cq(init, qp->cq_sq), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_create(bed.context, init, &verbs), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_destroy(init), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_export_qp(bed.gpu, verbs, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, NULL, qp->cq_sq, 0,
					  &exported), DOCA_ERROR_INVALID_VALUE);
	check_has(bl_last_error(NULL), "the memory of the queues");
	check(!exported);
	check_eq(doca_verbs_qp_destroy(verbs), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

/* Queues in GPU memory beside the parts of another queue pair. */
static uint32_t mem_type_of_gpu_queues(const char *nic)
{
	struct doca_verbs_qp_init_attr *init;
	struct doca_gpu_verbs_qp *exported;
	struct doca_gpu_verbs_qp_hl *qp;
	struct doca_verbs_umem *umem;
	struct doca_verbs_qp *verbs;
	uint32_t mem_type;
	void *ring;

	bed_make(nic);
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	check_eq(doca_gpu_mem_alloc(bed.gpu, 65536, 0, DOCA_GPU_MEM_TYPE_GPU, &ring, NULL), DOCA_SUCCESS);
	check_eq(doca_verbs_umem_create(bed.context, ring, 65536, IBV_ACCESS_LOCAL_WRITE, -1, 0, &umem), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_create(&init), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_set_pd(init, bed.pd), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_set_sq_wr(init, 16), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_set_send_max_sges(init, 1), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_set_send_cq(init, qp->cq_sq), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_set_external_umem(init, umem, 0), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_set_external_dbr_umem(init, qp->qp_umem_dbr, 0), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_create(bed.context, init, &verbs), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_init_attr_destroy(init), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_export_qp(bed.gpu, verbs, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, ring, qp->cq_sq, 0,
					  &exported), DOCA_SUCCESS);
	check(exported->qp_cpu->sq_wqe_daddr == ring);
	mem_type = exported->qp_cpu->mem_type;
	check_eq(doca_gpu_verbs_unexport_qp(bed.gpu, exported), DOCA_SUCCESS);
	check_eq(doca_verbs_qp_destroy(verbs), DOCA_SUCCESS);
	check_eq(doca_verbs_umem_destroy(umem), DOCA_SUCCESS);
	check_eq(doca_gpu_mem_free(bed.gpu, ring), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
	return mem_type;
}

static void a_nic_that_is_a_cpu_is_told_in_order_about_queues_in_gpu_memory(void)
{
	check(mem_type_of_gpu_queues("cpu0") != DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU);
	check_eq(mem_type_of_gpu_queues("dma0"), DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU);
}

static void an_exported_queue_pair_is_in_use_and_unexported_once(void)
{
	struct doca_gpu_verbs_qp *exported;
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("cpu0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	check_eq(doca_verbs_qp_destroy(qp->qp), DOCA_ERROR_IN_USE);
	check_eq(doca_gpu_destroy(bed.gpu), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_export_qp(bed.gpu, qp->qp, 0, NULL, qp->cq_sq, 0, &exported), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_unexport_qp(bed.gpu, exported), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_unexport_qp(bed.gpu, exported), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_unexport_qp(bed.gpu, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

#define T(name) { #name, name }

static const struct tap_test tests[] = {
	T(the_object_says_where_everything_is),
	T(the_longest_wait_is_the_environments),
	T(the_object_is_made_once),
	T(the_gpu_rings_where_it_can),
	T(auto_that_falls_back_is_served_by_the_library_and_says_why),
	T(the_proxy_that_was_asked_for_is_served_by_the_library),
	T(the_library_serves_nothing_when_told_so),
	T(a_nic_that_is_a_cpu_watches_the_word_and_nobody_rings),
	T(slots_that_are_ready_in_a_row_are_told_at_once),
	T(free_flow_has_the_librarys_thread_beside_a_nic_that_watches),
	T(software_emulated_records_are_written_and_reported),
	T(without_record_the_other_register_is_rung),
	T(what_does_not_go_together_is_refused),
	T(an_explicit_gpu_handler_that_cannot_be_is_an_error),
	T(memory_that_the_gpu_does_not_reach_is_named),
	T(a_nic_that_is_a_cpu_is_told_in_order_about_queues_in_gpu_memory),
	T(an_exported_queue_pair_is_in_use_and_unexported_once),
};

TAP_MAIN(tests)
