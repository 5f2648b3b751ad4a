// SPDX-License-Identifier: MIT
/* Exported queue pairs later on: arrays of objects, resets, errors, ends of waits. */
#include <endian.h>
#include <stdint.h>

#include "bed.h"

static void arrays_have_the_objects_side_by_side_with_holes(void)
{
	struct doca_gpu_dev_verbs_qp dev[3], zero = { 0 }, *array = NULL, *single;
	struct doca_gpu_verbs_qp_hl *first, *second;
	struct doca_gpu_verbs_qp *qps[3];

	bed_make("cpu0");
	first = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	second = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	qps[0] = first->qp_gverbs;
	qps[1] = NULL;
	qps[2] = second->qp_gverbs;
	check_eq(doca_gpu_verbs_export_multi_qps_dev(bed.gpu, qps, 0, &array), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_export_multi_qps_dev(bed.gpu, NULL, 3, &array), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_export_multi_qps_dev(bed.gpu, qps, 3, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_export_multi_qps_dev(bed.gpu, qps, 3, &array), DOCA_SUCCESS);
	check_eq((uintptr_t)array % 65536, 0);
	bed_read(dev, array, sizeof(dev));
	check_eq(dev[0].sq_num, doca_verbs_qp_get_qpn(first->qp));
	check(!memcmp(&dev[1], &zero, sizeof(zero)));
	check_eq(dev[2].sq_num, doca_verbs_qp_get_qpn(second->qp));
	check_eq(doca_gpu_verbs_get_qp_dev(qps[2], &single), DOCA_SUCCESS);
	check(single == &array[2]);
	/* they have objects now */
	check_eq(doca_gpu_verbs_export_multi_qps_dev(bed.gpu, qps, 3, &single), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_unexport_multi_qps_dev(bed.gpu, qps, 3, array + 1), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_unexport_multi_qps_dev(bed.gpu, qps, 3, array), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_unexport_multi_qps_dev(bed.gpu, qps, 3, array), DOCA_ERROR_INVALID_VALUE);
	check(!qps[0]->qp_gpu);
	check_eq(doca_gpu_verbs_get_qp_dev(qps[0], &single), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(first), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(second), DOCA_SUCCESS);
	bed_drop();
}

/* Their objects lie in it, and a CPU may be at them. */
static void an_array_stays_while_queue_pairs_have_their_objects_in_it(void)
{
	struct doca_gpu_verbs_qp_hl *first, *second;
	struct doca_gpu_verbs_qp *qps[2];
	struct doca_gpu_dev_verbs_qp *array;

	bed_make("dma0");
	first = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	second = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	qps[0] = first->qp_gverbs;
	qps[1] = second->qp_gverbs;
	check_eq(doca_gpu_verbs_export_multi_qps_dev(bed.gpu, qps, 2, &array), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_unexport_multi_qps_dev(bed.gpu, NULL, 0, array), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_unexport_multi_qps_dev(bed.gpu, qps, 1, array), DOCA_ERROR_INVALID_VALUE);
	check(!qps[0]->qp_gpu && qps[1]->qp_gpu == array + 1);
	test_nic.state = DOCA_VERBS_QP_STATE_RST;
	check_eq(doca_gpu_verbs_reset_tracking_and_memory(qps[1]), DOCA_SUCCESS);
	/* one that is gone needs no place in the list */
	check_eq(doca_gpu_verbs_destroy_qp_hl(second), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_unexport_multi_qps_dev(bed.gpu, qps, 1, array), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(first), DOCA_SUCCESS);
	bed_drop();
}

/* As the NIC writes completions into GPU memory. */
static void complete(struct doca_gpu_verbs_qp_hl *qp, uint32_t nr, uint64_t position)
{
	unsigned char cqe[64] = { 0 };

	cqe[63] = position & nr ? 1 : 0;
	bed_write((char *)qp->cq_sq_umem_gpu_ptr + (position & (nr - 1)) * 64, cqe, sizeof(cqe));
}

/* Twice, with numbers of completions that are not those of requests. */
static void a_reset_begins_anew_but_for_the_completion_queue(void)
{
	struct doca_gpu_dev_verbs_qp dev, *gpu;
	struct doca_gpu_verbs_qp_hl *qp;
	uint64_t position = 0;
	unsigned char bytes[16 * 64];
	uint32_t record;

	bed_make("dma0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	check_eq(doca_gpu_verbs_reset_tracking_and_memory(qp->qp_gverbs), DOCA_ERROR_INVALID_VALUE);
	dev = bed_dev(qp, &gpu);
	for (int round = 0; round < 3; round++) {
		bed_post(qp->qp_gverbs, 40);
		check(bed_record_becomes(qp->qp_gverbs, 40));
		for (int i = 0; i < 11 + 7 * round; i++)
			complete(qp, 16, position++);
		dev.sq_rsvd_index = dev.sq_ready_index = dev.sq_wqe_pi = 40;
		dev.cq_sq.cqe_ci = 39;
		dev.cq_sq.error = DOCA_GPUNETIO_VERBS_ERROR_SET | 0x15;
		bed_write(gpu, &dev, sizeof(dev));
		test_nic.state = DOCA_VERBS_QP_STATE_RTS;
		check_eq(doca_gpu_verbs_reset_tracking_and_memory(qp->qp_gverbs), DOCA_ERROR_BAD_STATE);
		test_nic.state = DOCA_VERBS_QP_STATE_RST;
		check_eq(doca_gpu_verbs_reset_tracking_and_memory(qp->qp_gverbs), DOCA_SUCCESS);
		bed_read(&dev, gpu, sizeof(dev));
		check_eq(dev.sq_rsvd_index | dev.sq_ready_index | dev.sq_wqe_pi | dev.cq_sq.cqe_ci | dev.cq_sq.error, 0);
		check_eq(dev.cq_sq.cqe_rsvd % 32, position % 32);
		/* what was in the ring is done with */
		bed_read(&record, qp->cq_sq_umem_dbr_gpu_ptr, sizeof(record));
		check_eq(be32toh(record), dev.cq_sq.cqe_rsvd);
		check_eq(*qp->qp_gverbs->sq_dbrec, 0);
		check_eq(*qp->qp_gverbs->cpu_db, 0);
		check_eq(qp->qp_gverbs->sq_wqe_pi_last, 0);
		bed_read(bytes, qp->cq_sq_umem_gpu_ptr, sizeof(bytes));
		for (size_t i = 0; i < sizeof(bytes); i++)
			check_eq(bytes[i], 0xff);
	}
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void errors_have_all_that_the_nic_tells(void)
{
	struct bl_net_qp_error error = { .sz = sizeof(error) }, small = { .sz = 8 };
	struct doca_gpu_verbs_qp_error_info info;
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("dma0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	test_nic.syndrome = 0x13;
	test_nic.vendor = 0x81;
	test_nic.wqe_counter = 0xfffe;
	test_nic.state = DOCA_VERBS_QP_STATE_RTS;
	memset(&info, 0xff, sizeof(info));
	check_eq(doca_gpu_verbs_query_last_error(qp->qp_gverbs, &info), DOCA_SUCCESS);
	check(!info.has_error);
	check_eq(info.syndrome | info.vendor_err_synd | info.wqe_counter, 0);
	test_nic.state = DOCA_VERBS_QP_STATE_ERR;
	check_eq(doca_gpu_verbs_query_last_error(qp->qp_gverbs, &info), DOCA_SUCCESS);
	check(info.has_error);
	check_eq(info.syndrome, 0x13);
	check_eq(info.vendor_err_synd, 0x81);
	check_eq(info.wqe_counter, 0xfffe);
	check_eq(bl_net_qp_error(qp->qp_gverbs, &error), 0);
	check_eq(error.has_error, 1);
	check_eq(error.qpn, doca_verbs_qp_get_qpn(qp->qp));
	check_eq(error.opcode, 8);
	check_str(error.text, "remote access error");
	test_nic.text = "write of 8 bytes: key 0x5 of the peer is none";
	test_nic.responder = true;
	check_eq(bl_net_qp_error(qp->qp_gverbs, &error), 0);
	check_eq(error.responder, 1);
	check_str(error.text, test_nic.text);
	check_eq(bl_net_qp_error(qp->qp_gverbs, &small), -EINVAL);
	check_eq(doca_gpu_verbs_query_last_error(qp->qp_gverbs, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_query_last_error(NULL, &info), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

static void the_stop_word_is_one_that_the_gpu_sees(void)
{
	struct doca_gpu_verbs_qp_hl *qp;
	struct doca_gpu_dev_verbs_qp dev;
	uint32_t stop = 0;

	bed_make("cpu0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO);
	dev = bed_dev(qp, NULL);
	bed_read(&stop, dev.stop_flag, sizeof(stop));
	check_eq(stop, 0);
	check_eq(bl_net_qp_stop(qp->qp_gverbs, 5), 0);
	bed_read(&stop, dev.stop_flag, sizeof(stop));
	check_eq(stop, 5);
	check_eq(bl_net_qp_stop(NULL, 5), -EINVAL);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

#define T(name) { #name, name }

static const struct tap_test tests[] = {
	T(arrays_have_the_objects_side_by_side_with_holes),
	T(an_array_stays_while_queue_pairs_have_their_objects_in_it),
	T(a_reset_begins_anew_but_for_the_completion_queue),
	T(errors_have_all_that_the_nic_tells),
	T(the_stop_word_is_one_that_the_gpu_sees),
};

TAP_MAIN(tests)
