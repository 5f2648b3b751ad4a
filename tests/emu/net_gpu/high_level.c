// SPDX-License-Identifier: MIT
/* Queue pairs in one call: where their memory lies, groups, lists, receive queues; and every step failing in turn. */
#include <stdint.h>

#include "bed.h"

static void for_a_nic_that_is_a_cpu_it_reads_host_memory_and_writes_gpu_memory(void)
{
	struct doca_gpu_verbs_qp_hl *qp;
	struct bl_net_qp_path path;

	bed_make("cpu0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	path = bed_path(qp->qp_gverbs);
	check_eq(path.sq_on_host, 1);
	check_eq(path.cq_on_host, 0);
	check(!bed_is_device(qp->qp_umem_gpu_ptr));
	check(!bed_is_device(qp->qp_umem_dbr_gpu_ptr));
	check(bed_is_device(qp->cq_sq_umem_gpu_ptr));
	check_eq(qp->qp_gverbs->qp_cpu->mem_type, DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST);
	check_eq(qp->qp_gverbs->qp_cpu->cq_sq.mem_type, DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU);
	check_eq(test_nic.dmabufs, 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void without_the_cpu_lane_completions_are_host_memory(void)
{
	struct doca_gpu_verbs_qp_hl *qp;

	setenv("DOCA_GPUNETIO_DISABLE_GDRCOPY", "1", 1);
	bed_make("cpu0");
	unsetenv("DOCA_GPUNETIO_DISABLE_GDRCOPY");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	check_eq(bed_path(qp->qp_gverbs).cq_on_host, 1);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void for_other_nics_queues_are_gpu_memory_by_dma_buf(void)
{
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("dma0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB);
	check(bed_is_device(qp->qp_umem_gpu_ptr));
	check(bed_is_device(qp->qp_umem_dbr_gpu_ptr));
	check(bed_is_device(qp->cq_sq_umem_gpu_ptr));
	check(bed_is_device(qp->cq_sq_umem_dbr_gpu_ptr));
	check_eq(test_nic.dmabufs, 4);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	test_nic.dmabufs = 0;
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	check(!bed_is_device(qp->qp_umem_dbr_gpu_ptr));
	check_eq(test_nic.dmabufs, 3);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void the_way_in_which_the_nic_is_told_of_memory_is_as_asked(void)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr;
	struct doca_gpu_verbs_qp_hl *qp = NULL;

	bed_make("dma0");
	attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB);
	attr.mreg_type = DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_PEERMEM;
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &qp), DOCA_SUCCESS);
	check_eq(test_nic.dmabufs, 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	/* the default takes the address where there is no dma-buf, and who insists on one is told */
	check_eq(world.fault("cuda.export:*"), 0);
	attr.mreg_type = DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_DEFAULT;
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &qp), DOCA_SUCCESS);
	check_eq(test_nic.dmabufs, 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	attr.mreg_type = DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_DMABUF;
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &qp), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(world.fault(""), 0);
	bed_drop();
}

static void the_nic_is_told_what_was_asked_for(void)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr;
	struct doca_gpu_verbs_qp_hl *qp = NULL;

	bed_make("dma0");
	attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF);
	attr.sq_nwqe = 100;
	attr.cq_collapsed = true;
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &qp), DOCA_SUCCESS);
	check_eq(attr.sq_nwqe, 128);
	check_eq(test_nic.qp.sq_nr, 128);
	check_eq(test_nic.qp.rq_nr, 0);
	check_eq(test_nic.qp.type, DOCA_VERBS_QP_TYPE_RC);
	check(!test_nic.qp.no_dbrec && !test_nic.qp.core_direct && !test_nic.qp.sq_sig_all);
	check_eq(test_nic.cq.nr, 128);
	check(test_nic.cq.overrun && test_nic.cq.collapsed);
	check_eq(test_nic.uar_types, 1U << DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME);
	check_eq(qp->qp_gverbs->qp_cpu->cq_sq.cq_type, 1);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void a_dedicated_page_is_preferred_and_a_shared_one_will_do(void)
{
	bed_make("dma0");
	check_eq(doca_gpu_verbs_destroy_qp_hl(bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO)), DOCA_SUCCESS);
	check_eq(test_nic.uar_types, 1U << DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED);
	test_nic.uar_types = 0;
	test_nic.no_dedicated = true;
	check_eq(doca_gpu_verbs_destroy_qp_hl(bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO)), DOCA_SUCCESS);
	check_eq(test_nic.uar_types, 1U << DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE);
	bed_drop();
}

static void the_completion_ring_begins_empty(void)
{
	struct doca_gpu_verbs_qp_hl *qp;
	unsigned char ring[16 * 64];

	bed_make("cpu0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	bed_read(ring, qp->cq_sq_umem_gpu_ptr, sizeof(ring));
	for (size_t i = 0; i < sizeof(ring); i++)
		check_eq(ring[i], i % 64 == 63 ? 0xf1 : 0);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void what_cannot_be_is_refused(void)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr;
	struct doca_gpu_verbs_qp_group_hl *group = NULL;
	struct doca_gpu_verbs_qp_hl *qp = NULL;

	bed_make("cpu0");
#define REFUSED(field, value)                                                                                          \
	do {                                                                                                           \
		attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);                                                 \
		attr.field = value;                                                                                    \
		check_eq(doca_gpu_verbs_create_qp_hl(&attr, &qp), DOCA_ERROR_INVALID_VALUE);                           \
	} while (0)
	REFUSED(sq_nwqe, 0);
	REFUSED(sq_nwqe, 32769);
	REFUSED(sq_nwqe, 65535);
	REFUSED(nic_handler, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR);
	REFUSED(nic_handler, 18);
	REFUSED(mreg_type, DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX);
	REFUSED(send_dbr_mode_ext, 3);
	REFUSED(gpu_dev, NULL);
	REFUSED(ibpd, NULL);
#undef REFUSED
	attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF);
	check_eq(doca_gpu_verbs_create_qp_group_hl(&attr, &group), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_create_qp_hl(NULL, &qp), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_destroy_qp_hl(NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_destroy_qp_group_hl(NULL), DOCA_ERROR_INVALID_VALUE);
	check(!qp && !group);
	bed_drop();
}

static void the_largest_queue_can_be(void)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr;
	struct doca_gpu_verbs_qp_hl *qp = NULL;

	bed_make("cpu0");
	attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	attr.sq_nwqe = 32768;
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &qp), DOCA_SUCCESS);
	check_eq(qp->qp_gverbs->qp_cpu->sq_wqe_num, 32768);
	check_eq(qp->qp_gverbs->qp_cpu->sq_wqe_mask, 32767);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void a_receive_queue_comes_first_in_memory(void)
{
	struct bl_net_qp_hl_attr more = { .sz = sizeof(more), .rq_nwqe = 5, .rq_sges = 3, .uc = 1 };
	struct doca_gpu_verbs_qp_init_attr_hl attr;
	struct doca_gpu_verbs_qp_hl *qp = NULL;
	const struct doca_gpu_dev_verbs_qp *dev;

	bed_make("cpu0");
	attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	check_eq(bl_net_create_qp_hl(&attr, &more, &qp), DOCA_SUCCESS);
	dev = qp->qp_gverbs->qp_cpu;
	check_eq(test_nic.qp.rq_nr, 8);
	check_eq(test_nic.qp.rq_sges, 4);
	check_eq(test_nic.qp.type, DOCA_VERBS_QP_TYPE_UC);
	check_eq(dev->rq_wqe_num, 8);
	check_eq(dev->rq_wqe_mask, 7);
	check_eq(dev->rq_wqe_shift, 6);
	check(dev->rq_wqe_daddr == qp->qp_umem_gpu_ptr);
	check(dev->sq_wqe_daddr == (uint8_t *)qp->qp_umem_gpu_ptr + 8 * 64);
	check(dev->rq_dbrec == qp->qp_umem_dbr_gpu_ptr);
	check_eq(dev->cq_rq.cqe_num, 8);
	check(dev->cq_rq.cqe_daddr && dev->cq_rq.cq_num != dev->cq_sq.cq_num);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	more.rq_nwqe = 32769;
	check_eq(bl_net_create_qp_hl(&attr, &more, &qp), DOCA_ERROR_INVALID_VALUE);
	more = (struct bl_net_qp_hl_attr){ .sz = 4 };
	check_eq(bl_net_create_qp_hl(&attr, &more, &qp), DOCA_ERROR_INVALID_VALUE);
	bed_drop();
}

static void a_group_shares_a_page_and_the_companion_can_wait(void)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr;
	struct doca_gpu_verbs_qp_group_hl *group = NULL;

	bed_make("dma0");
	attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	check_eq(doca_gpu_verbs_create_qp_group_hl(&attr, &group), DOCA_SUCCESS);
	check(group->qp_main.external_uar == group->qp_companion.external_uar);
	check(test_nic.qp.core_direct);
	check(group->qp_main.qp_gverbs->qp_cpu->sq_db == group->qp_companion.qp_gverbs->qp_cpu->sq_db);
	check(group->qp_main.qp_gverbs->qp_cpu->sq_num != group->qp_companion.qp_gverbs->qp_cpu->sq_num);
	check_eq(doca_gpu_verbs_destroy_qp_hl(&group->qp_main), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_destroy_qp_group_hl(group), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_group_hl(group), DOCA_ERROR_INVALID_VALUE);
	bed_drop();
}

static void a_flat_list_has_copies(void)
{
	struct doca_gpu_dev_verbs_qp dev[2], *list = NULL;
	struct doca_gpu_verbs_qp_hl *qps[2], *holes[2];

	bed_make("cpu0");
	for (int i = 0; i < 2; i++)
		qps[i] = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	check_eq(doca_gpu_verbs_qp_flat_list_create_hl(qps, 2, &list), DOCA_SUCCESS);
	bed_read(dev, list, sizeof(dev));
	for (int i = 0; i < 2; i++)
		check(!memcmp(&dev[i], qps[i]->qp_gverbs->qp_cpu, sizeof(dev[i])));
	check_eq(doca_gpu_verbs_qp_flat_list_destroy_hl(list), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_qp_flat_list_destroy_hl(list), DOCA_ERROR_INVALID_VALUE);
	holes[0] = qps[0];
	holes[1] = NULL;
	check_eq(doca_gpu_verbs_qp_flat_list_create_hl(holes, 2, &list), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_qp_flat_list_create_hl(qps, 0, &list), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_qp_flat_list_create_hl(NULL, 2, &list), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_qp_flat_list_create_hl(qps, 2, NULL), DOCA_ERROR_INVALID_VALUE);
	for (int i = 0; i < 2; i++)
		check_eq(doca_gpu_verbs_destroy_qp_hl(qps[i]), DOCA_SUCCESS);
	bed_drop();
}

/* What the program still uses is not taken from under it, and the call may be made again. */
static void what_is_still_in_use_is_not_destroyed(void)
{
	struct doca_gpu_verbs_qp *again;
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("cpu0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	check_eq(doca_gpu_verbs_export_qp(bed.gpu, qp->qp, 0, NULL, qp->cq_sq, 0, &again), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_ERROR_IN_USE);
	check(bl_gpu_block_cpu(bed.gpu, (uintptr_t)again->qp_cpu->sq_wqe_daddr));
	check_eq(doca_gpu_verbs_unexport_qp(bed.gpu, again), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_ERROR_INVALID_VALUE);
	bed_drop();
}

static void a_queue_pair_of_another_gpu_is_refused(void)
{
	struct doca_gpu_verbs_qp_hl *qp;
	struct doca_gpu *other;

	bed_make("cpu0");
	check_eq(doca_gpu_create(bed_bus_id(1), &other), DOCA_SUCCESS);
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	check_eq(doca_gpu_verbs_unexport_qp(other, qp->qp_gverbs), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	check_eq(doca_gpu_destroy(other), DOCA_SUCCESS);
	bed_drop();
}

/* The record that the CPU is to write, if there is one for it, can be read by it. */
static void check_record(const struct doca_gpu_verbs_qp_hl *qp)
{
	const uint32_t *record = qp->qp_gverbs->sq_dbrec;

	check(!record || !__atomic_load_n(record, __ATOMIC_RELAXED));
}

/* Make and destroy with the receive queue, or as a group. 0: it was made. */
static doca_error_t try_once(bool as_group, int handler)
{
	struct bl_net_qp_hl_attr more = { .sz = sizeof(more), .rq_nwqe = 8 };
	struct doca_gpu_verbs_qp_init_attr_hl attr = bed_attr(handler);
	struct doca_gpu_verbs_qp_group_hl *group = NULL;
	struct doca_gpu_verbs_qp_hl *qp = NULL;
	doca_error_t err;

	if (as_group) {
		err = doca_gpu_verbs_create_qp_group_hl(&attr, &group);
		check(!err == !!group);
		return err ? err : doca_gpu_verbs_destroy_qp_group_hl(group);
	}
	err = bl_net_create_qp_hl(&attr, &more, &qp);
	check(!err == !!qp);
	if (err)
		return err;
	check_record(qp);
	return doca_gpu_verbs_destroy_qp_hl(qp);
}

static void check_nothing_left(const struct snapshot *before, int live)
{
	check_eq(test_nic.live, live);
	check_eq(bed.gpu->nr_blocks, 0);
	check_eq(bl_gpu_uar_count(), 0);
	snapshot_check(before);
}

/* Each call of the NIC fails in turn. Those whose failure has a way around it still make a queue pair. */
static void each_call_of_the_nic_that_fails_leaves_nothing_behind(void)
{
	static const char *const nics[] = { "cpu0", "dma0" };
	struct snapshot before;
	int live, failures = 0;

	for (int i = 0; i < 8; i++) {
		int handler = i & 2 ? DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO : DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;
		unsigned int needed;

		bed_make(nics[i & 1]);
		check_eq(try_once(i & 4, handler), DOCA_SUCCESS);
		snapshot_take(&before);
		live = test_nic.live;
		test_nic.calls = 0;
		check_eq(try_once(i & 4, handler), DOCA_SUCCESS);
		needed = test_nic.calls;
		check(needed >= 6);
		for (unsigned int nth = 1; nth <= needed; nth++) {
			test_nic.calls = 0;
			test_nic.fail_at = nth;
			failures += try_once(i & 4, handler) != DOCA_SUCCESS;
			test_nic.fail_at = 0;
			check_nothing_left(&before, live);
		}
		bed_drop();
	}
	check(failures >= 8 * 6);
}

/* Each call of CUDA that can fail does so in turn, until none is left. */
static void each_call_of_cuda_that_fails_leaves_nothing_behind(void)
{
	static const char *const points[] = { "cuda.alloc", "cuda.register", "cuda.memcpy", "cuda.attr", "cuda.export",
					      "cuda.stream" };
	static const char *const nics[] = { "cpu0", "dma0" };
	struct snapshot before;
	int failures = 0, live;
	char spec[64];

	for (int i = 0; i < 12; i++) {
		bed_make(nics[i & 1]);
		check_eq(try_once(false, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO), DOCA_SUCCESS);
		snapshot_take(&before);
		live = test_nic.live;
		for (int nth = 1; nth <= 40; nth++) {
			snprintf(spec, sizeof(spec), "%s:%d", points[i / 2], nth);
			check_eq(world.fault(spec), 0);
			failures += try_once(false, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO) != DOCA_SUCCESS;
			check_eq(world.fault(""), 0);
			check_nothing_left(&before, live);
		}
		bed_drop();
	}
	check(failures >= 20);
}

#define T(name) { #name, name }

static const struct tap_test tests[] = {
	T(for_a_nic_that_is_a_cpu_it_reads_host_memory_and_writes_gpu_memory),
	T(without_the_cpu_lane_completions_are_host_memory),
	T(for_other_nics_queues_are_gpu_memory_by_dma_buf),
	T(the_way_in_which_the_nic_is_told_of_memory_is_as_asked),
	T(the_nic_is_told_what_was_asked_for),
	T(a_dedicated_page_is_preferred_and_a_shared_one_will_do),
	T(the_completion_ring_begins_empty),
	T(what_cannot_be_is_refused),
	T(the_largest_queue_can_be),
	T(a_receive_queue_comes_first_in_memory),
	T(a_group_shares_a_page_and_the_companion_can_wait),
	T(a_flat_list_has_copies),
	T(what_is_still_in_use_is_not_destroyed),
	T(a_queue_pair_of_another_gpu_is_refused),
	T(each_call_of_the_nic_that_fails_leaves_nothing_behind),
	T(each_call_of_cuda_that_fails_leaves_nothing_behind),
};

TAP_MAIN(tests)
