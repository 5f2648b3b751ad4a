// SPDX-License-Identifier: MIT
/* Services: who serves what, adding and removing beside everything else, threads that are there while needed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "bed.h"

static int threads(void)
{
	char line[128];
	FILE *file = fopen("/proc/self/status", "r");
	int nr = -1;

	check(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Threads: %d", &nr) == 1)
			break;
	}
	fclose(file);
	return nr;
}

/* A thread that was joined may be counted for another moment. */
static bool threads_become(int nr)
{
	for (int i = 0; i < 2000 && threads() != nr; i++)
		usleep(1000);
	return threads() == nr;
}

/* One serves, and one shows others what is exported. */
#define THREADS 2

static void the_librarys_thread_is_there_while_it_serves_something(void)
{
	struct doca_gpu_verbs_qp_hl *first, *second;
	int before;

	bed_make("dma0");
	/* copies give the emulated GPU a thread */
	check_eq(doca_gpu_verbs_destroy_qp_hl(bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB)), DOCA_SUCCESS);
	before = threads();
	first = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	check_eq(threads(), before + THREADS);
	second = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	check_eq(threads(), before + THREADS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(first), DOCA_SUCCESS);
	bed_post(second->qp_gverbs, 9);
	check(bed_record_becomes(second->qp_gverbs, 9));
	check_eq(doca_gpu_verbs_destroy_qp_hl(second), DOCA_SUCCESS);
	check(threads_become(before));
	bed_drop();
}

static void a_service_takes_over_and_gives_back(void)
{
	doca_gpu_verbs_service_t service, other;
	struct doca_gpu_verbs_qp_hl *qp;
	struct doca_gpu_verbs_qp *exported;

	bed_make("dma0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	exported = qp->qp_gverbs;
	check_eq(doca_gpu_verbs_create_service(&service), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_create_service(&other), DOCA_SUCCESS);
	check_eq(bl_net_service_remove_qp(service, exported), -ENOENT);
	check_eq(doca_gpu_verbs_service_monitor_qp(service, exported), DOCA_SUCCESS);
	check_eq(bed_path(exported).ringer, BL_NET_RINGER_SERVICE);
	check_eq(doca_gpu_verbs_service_monitor_qp(service, exported), DOCA_ERROR_ALREADY_EXIST);
	check_eq(doca_gpu_verbs_service_monitor_qp(other, exported), DOCA_ERROR_ALREADY_EXIST);
	bed_post(exported, 1);
	check(bed_record_becomes(exported, 1));
	check_eq(bl_net_service_remove_qp(other, exported), -ENOENT);
	check_eq(bl_net_service_remove_qp(service, exported), 0);
	check_eq(bed_path(exported).ringer, BL_NET_RINGER_LIBRARY);
	bed_post(exported, 2);
	check(bed_record_becomes(exported, 2));
	check_eq(doca_gpu_verbs_service_monitor_qp(other, exported), DOCA_SUCCESS);
	/* a service that ends leaves its queue pairs to the library */
	check_eq(doca_gpu_verbs_destroy_service(other), DOCA_SUCCESS);
	bed_post(exported, 3);
	check(bed_record_becomes(exported, 3));
	check_eq(doca_gpu_verbs_service_monitor_qp(service, exported), DOCA_SUCCESS);
	/* and one that is destroyed leaves the service */
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_service(service), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_service(service), DOCA_ERROR_INVALID_VALUE);
	bed_drop();
}

static void wrong_arguments_are_refused(void)
{
	doca_gpu_verbs_service_t service = NULL;
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("dma0");
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB);
	check_eq(doca_gpu_verbs_create_service(NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_create_service(&service), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_service_monitor_qp(service, qp->qp_gverbs), DOCA_ERROR_NOT_SUPPORTED);
	check_eq(doca_gpu_verbs_service_monitor_qp(service, NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_service_monitor_qp(NULL, qp->qp_gverbs), DOCA_ERROR_INVALID_VALUE);
	check_eq(bl_net_service_remove_qp(NULL, qp->qp_gverbs), -EINVAL);
	check_eq(doca_gpu_verbs_destroy_service(NULL), DOCA_ERROR_INVALID_VALUE);
	check_eq(doca_gpu_verbs_destroy_service(service), DOCA_SUCCESS);
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

#define QPS    12 /* more than a set has room for at first */
#define ROUNDS 30

struct poster {
	struct doca_gpu_verbs_qp *qps[QPS];
	_Atomic(bool) done;
	uint64_t counts[QPS];
};

static void *post(void *arg)
{
	struct poster *poster = arg;

	while (!atomic_load(&poster->done)) {
		for (int i = 0; i < QPS; i++)
			bed_post(poster->qps[i], ++poster->counts[i]);
		usleep(100);
	}
	return NULL;
}

static void *progress(void *arg)
{
	struct poster *poster = arg;

	while (!atomic_load(&poster->done)) {
		for (int i = 0; i < QPS; i++)
			doca_gpu_verbs_cpu_proxy_progress(poster->qps[i], NULL);
		usleep(50);
	}
	return NULL;
}

/* Kernels post, a thread of the program progresses, and queue pairs go from service to service: nothing is lost. */
static void serving_goes_on_while_services_come_and_go(void)
{
	struct doca_gpu_verbs_qp_hl *qps[QPS];
	static struct poster poster;
	pthread_t posting, progressing;

	bed_make("dma0");
	for (int i = 0; i < QPS; i++) {
		qps[i] = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
		poster.qps[i] = qps[i]->qp_gverbs;
	}
	check_eq(pthread_create(&posting, NULL, post, &poster), 0);
	check_eq(pthread_create(&progressing, NULL, progress, &poster), 0);
	for (int round = 0; round < ROUNDS; round++) {
		doca_gpu_verbs_service_t service;

		check_eq(doca_gpu_verbs_create_service(&service), DOCA_SUCCESS);
		for (int i = 0; i < QPS; i++)
			check_eq(doca_gpu_verbs_service_monitor_qp(service, poster.qps[i]), DOCA_SUCCESS);
		for (int i = round % 2; i < QPS; i += 2)
			check_eq(bl_net_service_remove_qp(service, poster.qps[i]), 0);
		check_eq(doca_gpu_verbs_destroy_service(service), DOCA_SUCCESS);
	}
	atomic_store(&poster.done, true);
	pthread_join(posting, NULL);
	pthread_join(progressing, NULL);
	for (int i = 0; i < QPS; i++) {
		check(bed_record_becomes(poster.qps[i], poster.counts[i]));
		check_eq(doca_gpu_verbs_destroy_qp_hl(qps[i]), DOCA_SUCCESS);
	}
	bed_drop();
}

static void the_thread_runs_where_it_was_told_to(void)
{
	struct doca_gpu_verbs_qp_hl *qp;

	bed_make("dma0");
	setenv("BARLANE_NET_SERVICE_CPUS", "0", 1);
	setenv("BARLANE_NET_SERVICE_SLEEP_US", "1000", 1);
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	bed_post(qp->qp_gverbs, 1);
	check(bed_record_becomes(qp->qp_gverbs, 1));
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	/* what makes no sense is not looked at */
	setenv("BARLANE_NET_SERVICE_CPUS", "all", 1);
	setenv("BARLANE_NET_SERVICE_SLEEP_US", "0", 1);
	qp = bed_qp(DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY);
	unsetenv("BARLANE_NET_SERVICE_CPUS");
	unsetenv("BARLANE_NET_SERVICE_SLEEP_US");
	bed_post(qp->qp_gverbs, 1);
	check(bed_record_becomes(qp->qp_gverbs, 1));
	check_eq(doca_gpu_verbs_destroy_qp_hl(qp), DOCA_SUCCESS);
	bed_drop();
}

#define T(name) { #name, name }

static const struct tap_test tests[] = {
	T(the_librarys_thread_is_there_while_it_serves_something),
	T(a_service_takes_over_and_gives_back),
	T(wrong_arguments_are_refused),
	T(serving_goes_on_while_services_come_and_go),
	T(the_thread_runs_where_it_was_told_to),
};

TAP_MAIN(tests)
