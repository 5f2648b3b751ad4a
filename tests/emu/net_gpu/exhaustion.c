// SPDX-License-Identifier: MIT
/* Every allocation of the library fails in turn, and every thread: errors, nothing left, and all works afterwards. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "bed.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
int __real_posix_memalign(void **ptr, size_t align, size_t size);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
int __wrap_posix_memalign(void **ptr, size_t align, size_t size);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);

static _Thread_local int countdown; /* the allocation that fails; 0: none */
static bool no_threads;

static bool fails(void)
{
	return countdown && !--countdown;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __real_calloc(nr, size);
}

int __wrap_posix_memalign(void **ptr, size_t align, size_t size)
{
	return fails() ? ENOMEM : __real_posix_memalign(ptr, align, size);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	return no_threads ? EAGAIN : __real_pthread_create(thread, attr, start, arg);
}

/* Ask for everything once. The first error, with all that was made before it undone. */
static doca_error_t use_all(int handler)
{
	struct bl_net_qp_hl_attr more = { .sz = sizeof(more), .rq_nwqe = 4 };
	struct doca_gpu_verbs_qp_init_attr_hl attr = bed_attr(handler);
	struct doca_gpu_dev_verbs_qp *array, *list;
	doca_gpu_verbs_service_t service = NULL;
	struct doca_gpu_verbs_qp_hl *qp;
	doca_error_t err;

	err = bl_net_create_qp_hl(&attr, &more, &qp);
	if (err)
		return err;
	err = doca_gpu_verbs_qp_flat_list_create_hl(&qp, 1, &list);
	if (!err)
		check_eq(doca_gpu_verbs_qp_flat_list_destroy_hl(list), DOCA_SUCCESS);
	if (!err)
		err = doca_gpu_verbs_export_multi_qps_dev(bed.gpu, &qp->qp_gverbs, 1, &array);
	if (!err)
		check_eq(doca_gpu_verbs_unexport_multi_qps_dev(bed.gpu, &qp->qp_gverbs, 1, array), DOCA_SUCCESS);
	if (!err)
		err = doca_gpu_verbs_get_qp_dev(qp->qp_gverbs, &array);
	test_nic.state = DOCA_VERBS_QP_STATE_RST;
	if (!err)
		err = doca_gpu_verbs_reset_tracking_and_memory(qp->qp_gverbs);
	if (!err)
		err = doca_gpu_verbs_create_service(&service);
	if (!err && qp->qp_gverbs->cpu_proxy)
		err = doca_gpu_verbs_service_monitor_qp(service, qp->qp_gverbs);
	if (service)
		check_eq(doca_gpu_verbs_destroy_service(service), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	return err;
}

static void each_allocation_that_fails_leaves_nothing_behind(void)
{
	static const char *const nics[] = { "cpu0", "dma0" };
	int failures = 0, live, nth;

	for (int i = 0; i < 4; i++) {
		int handler = i & 2 ? DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO : DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;

		bed_make(nics[i & 1]);
		check_eq(use_all(handler), DOCA_SUCCESS);
		live = test_nic.live;
		/* until there are less allocations than that */
		for (nth = 1; nth < 1000; nth++) {
			doca_error_t err;

			countdown = nth;
			err = use_all(handler);
			if (countdown)
				break;
			failures += err != DOCA_SUCCESS;
			check_eq(test_nic.live, live);
			check_eq(bed.gpu->nr_blocks, 0);
			check_eq(bl_gpu_uar_count(), 0);
		}
		countdown = 0;
		check(nth > 30 && nth < 1000);
		check_eq(use_all(handler), DOCA_SUCCESS);
		bed_drop();
	}
	check(failures >= 4 * 30);
}

static void a_gpu_without_memory_for_it_is_none(void)
{
	struct doca_gpu *gpu = NULL;

	world_enter();
	countdown = 1;
	check_eq(doca_gpu_create(bed_bus_id(0), &gpu), DOCA_ERROR_NO_MEMORY);
	check_eq(countdown, 0);
	check(!gpu);
}

/* Nobody would ring: better no queue pair than one whose kernels wait. With the thread switched off it can be. */
static void without_a_thread_there_is_no_proxy_unless_the_program_rings(void)
{
	struct doca_gpu_verbs_qp_init_attr_hl attr;
	doca_gpu_verbs_service_t service = NULL;
	struct doca_gpu_verbs_qp_hl *qp = NULL;

	bed_make("dma0");
	attr = bed_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	no_threads = true;
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &qp), DOCA_ERROR_OPERATING_SYSTEM);
	check_eq(doca_gpu_verbs_create_service(&service), DOCA_ERROR_OPERATING_SYSTEM);
	check(!qp && !service);
	setenv("BARLANE_NET_SERVICE", "0", 1);
	check_eq(doca_gpu_verbs_create_qp_hl(&attr, &qp), DOCA_SUCCESS);
	unsetenv("BARLANE_NET_SERVICE");
	no_threads = false;
	check_eq(bed_path(qp->qp_gverbs).ringer, BL_NET_RINGER_PROGRAM);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

#define T(name) { #name, name }

static const struct tap_test tests[] = {
	T(each_allocation_that_fails_leaves_nothing_behind),
	T(a_gpu_without_memory_for_it_is_none),
	T(without_a_thread_there_is_no_proxy_unless_the_program_rings),
};

TAP_MAIN(tests)
