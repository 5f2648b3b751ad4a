// SPDX-License-Identifier: MIT
/* What programs built for the original rely on: offsets of fields that they read and write, values of enumerators. */
#include <stddef.h>

#include "gpunetio/doca_gpunetio_host.h"
#include "tap.h"

#define AT(type, field, off) check_eq(offsetof(struct type, field), off)

static void attributes_of_a_high_level_queue_pair_are_packed(void)
{
	AT(doca_gpu_verbs_qp_init_attr_hl, gpu_dev, 0);
	AT(doca_gpu_verbs_qp_init_attr_hl, ibpd, 8);
	AT(doca_gpu_verbs_qp_init_attr_hl, sq_nwqe, 16);
	AT(doca_gpu_verbs_qp_init_attr_hl, nic_handler, 20);
	AT(doca_gpu_verbs_qp_init_attr_hl, mreg_type, 24);
	AT(doca_gpu_verbs_qp_init_attr_hl, send_dbr_mode_ext, 28);
	AT(doca_gpu_verbs_qp_init_attr_hl, cq_collapsed, 32);
	check_eq(sizeof(struct doca_gpu_verbs_qp_init_attr_hl), 56);
}

static void the_gpus_objects_have_the_originals_offsets(void)
{
	check_eq(sizeof(struct doca_gpu_dev_verbs_qp), 296);
	check_eq(sizeof(struct doca_gpu_dev_verbs_cq), 64);
	AT(doca_gpu_dev_verbs_qp, sq_wqe_pi, 16);
	AT(doca_gpu_dev_verbs_qp, sq_num, 24);
	AT(doca_gpu_dev_verbs_qp, sq_lock, 56);
	AT(doca_gpu_dev_verbs_qp, sq_wqe_num, 60);
	AT(doca_gpu_dev_verbs_qp, sq_wqe_daddr, 64);
	AT(doca_gpu_dev_verbs_qp, sq_dbrec, 72);
	AT(doca_gpu_dev_verbs_qp, sq_db, 80);
	AT(doca_gpu_dev_verbs_qp, cq_sq, 160);
	AT(doca_gpu_dev_verbs_qp, nic_handler, 288);
	AT(doca_gpu_dev_verbs_qp, mem_type, 292);
	AT(doca_gpu_dev_verbs_cq, cqe_ci, 24);
	AT(doca_gpu_dev_verbs_cq, cqe_rsvd, 40);
	AT(doca_gpu_dev_verbs_cq, mem_type, 48);
}

/* A larger one would be written past the end of the program's. */
static void what_is_told_of_errors_is_as_large_as_the_originals(void)
{
	check_eq(sizeof(struct doca_gpu_verbs_qp_error_info), 24);
	AT(doca_gpu_verbs_qp_error_info, has_error, 0);
	AT(doca_gpu_verbs_qp_error_info, syndrome, 4);
	AT(doca_gpu_verbs_qp_error_info, vendor_err_synd, 8);
	AT(doca_gpu_verbs_qp_error_info, hw_err_synd, 12);
	AT(doca_gpu_verbs_qp_error_info, hw_synd_type, 16);
	AT(doca_gpu_verbs_qp_error_info, wqe_counter, 20);
}

static void a_group_is_two_queue_pairs(void)
{
	AT(doca_gpu_verbs_qp_group_hl, qp_main, 0);
	AT(doca_gpu_verbs_qp_group_hl, qp_companion, sizeof(struct doca_gpu_verbs_qp_hl));
}

static void enumerators_have_the_originals_values(void)
{
	check_eq(DOCA_GPU_MEM_TYPE_GPU, 0);
	check_eq(DOCA_GPU_MEM_TYPE_GPU_CPU, 1);
	check_eq(DOCA_GPU_MEM_TYPE_CPU_GPU, 2);
	check_eq(DOCA_GPU_MEM_TYPE_GPU_CPU_DATA_DIRECT, 3);
	check_eq(DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_DEFAULT, 0);
	check_eq(DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_DMABUF, 1);
	check_eq(DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_PEERMEM, 2);
	check_eq(DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX, 3);
	check_eq(sizeof(doca_gpu_verbs_service_t), sizeof(void *));
}

#define T(name) { #name, name }

static const struct tap_test tests[] = {
	T(attributes_of_a_high_level_queue_pair_are_packed),
	T(the_gpus_objects_have_the_originals_offsets),
	T(what_is_told_of_errors_is_as_large_as_the_originals),
	T(a_group_is_two_queue_pairs),
	T(enumerators_have_the_originals_values),
};

TAP_MAIN(tests)
