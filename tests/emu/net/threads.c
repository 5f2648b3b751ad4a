// SPDX-License-Identifier: MIT
/* Threads that open, make, look and destroy at the same time, on the same devices and on the same queue pair. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "barlane_net.h"
#include "gpunetio/host/doca_verbs.h"
#include "tests/tap.h"
#include "util/clock.h"

#define THREADS 4
#define ROUNDS	60

static struct doca_verbs_cq *make_cq(struct ibv_context *context)
{
	struct doca_verbs_cq_attr *attr = NULL;
	struct doca_verbs_cq *cq = NULL;

	if (doca_verbs_cq_attr_create(&attr))
		return NULL;
	doca_verbs_cq_attr_set_cq_size(attr, 64);
	doca_verbs_cq_create(context, attr, &cq);
	doca_verbs_cq_attr_destroy(attr);
	return cq;
}

static struct doca_verbs_qp *make_qp(struct ibv_context *context, struct ibv_pd *pd, struct doca_verbs_cq *cq)
{
	struct doca_verbs_qp_init_attr *init = NULL;
	struct doca_verbs_qp *qp = NULL;

	if (doca_verbs_qp_init_attr_create(&init))
		return NULL;
	doca_verbs_qp_init_attr_set_pd(init, pd);
	doca_verbs_qp_init_attr_set_sq_wr(init, 16);
	doca_verbs_qp_init_attr_set_send_cq(init, cq);
	doca_verbs_qp_create(context, init, &qp);
	doca_verbs_qp_init_attr_destroy(init);
	return qp;
}

/* One life of everything. The number of the step that failed. */
static int live_once(const char *name)
{
	struct ibv_context *context = bl_net_open_device(name);
	struct ibv_pd *pd = context ? bl_net_alloc_pd(context) : NULL;
	struct doca_verbs_cq *cq = pd ? make_cq(context) : NULL;
	struct doca_verbs_qp *qp = cq ? make_qp(context, pd, cq) : NULL;
	char *memory = aligned_alloc(4096, 4096);
	struct ibv_mr *mr = pd ? bl_net_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE) : NULL;
	int ret = !context ? 1 : !pd ? 2 : !cq ? 3 : !qp ? 4 : !mr ? 5 : 0;

	if (ret)
		return ret;
	if (!doca_verbs_qp_get_qpn(qp) || !doca_verbs_cq_get_cqn(cq))
		return 6;
	if (bl_net_dereg_mr(mr) || doca_verbs_qp_destroy(qp) || doca_verbs_cq_destroy(cq) || bl_net_dealloc_pd(pd) ||
	    bl_net_close_device(context))
		return 7;
	free(memory);
	return 0;
}

static void *live(void *arg)
{
	long number = (long)arg, ret = 0;

	for (int i = 0; i < ROUNDS && !ret; i++)
		ret = live_once((number + i) & 1 ? "soft1" : "soft0");
	return (void *)ret;
}

static void devices_are_opened_and_closed_by_all_at_once(void)
{
	pthread_t threads[THREADS];
	void *ret[THREADS];

	for (long i = 0; i < THREADS; i++)
		check_eq(pthread_create(&threads[i], NULL, live, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], &ret[i]);
	for (int i = 0; i < THREADS; i++)
		check_eq((long)ret[i], 0);
}

/* What threads look at, until they are told to stop. */
static struct doca_verbs_qp *shared_qp;
static atomic_int stop;

static void *look(void *arg)
{
	struct doca_verbs_qp_init_attr *init = NULL;
	struct doca_verbs_qp_attr *attr = NULL;
	const struct timespec nap = { 0, 100000 };

	doca_verbs_qp_init_attr_create(&init);
	doca_verbs_qp_attr_create(&attr);
	doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RST);
	while (!atomic_load(&stop)) {
		doca_verbs_qp_get_qpn(shared_qp);
		doca_verbs_qp_query(shared_qp, attr, init);
		doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RST);
		doca_verbs_qp_modify(shared_qp, attr, DOCA_VERBS_QP_ATTR_NEXT_STATE);
		/* or it would be in use all the time */
		nanosleep(&nap, NULL);
	}
	doca_verbs_qp_attr_destroy(attr);
	doca_verbs_qp_init_attr_destroy(init);
	return NULL;
}

/* A call under way keeps the queue pair: destroying it is refused, and later it is gone for all. */
static void a_queue_pair_goes_while_others_look_at_it(void)
{
	struct ibv_context *context = bl_net_open_device("soft0");
	struct ibv_pd *pd = bl_net_alloc_pd(context);
	struct doca_verbs_cq *cq = make_cq(context);
	uint64_t deadline = bl_now_ns() + 20000000000ULL;
	pthread_t threads[THREADS];
	doca_error_t err;

	shared_qp = make_qp(context, pd, cq);
	check(shared_qp);
	for (int i = 0; i < THREADS; i++)
		check_eq(pthread_create(&threads[i], NULL, look, NULL), 0);
	do {
		err = doca_verbs_qp_destroy(shared_qp);
	} while (err == DOCA_ERROR_IN_USE && bl_now_ns() < deadline);
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	check_eq(err, DOCA_SUCCESS);
	check_eq(doca_verbs_qp_get_qpn(shared_qp), 0);
	check_eq(doca_verbs_cq_destroy(cq), DOCA_SUCCESS);
	check_eq(bl_net_dealloc_pd(pd), 0);
	check_eq(bl_net_close_device(context), 0);
}

static const struct tap_test tests[] = {
	{ "devices_are_opened_and_closed_by_all_at_once", devices_are_opened_and_closed_by_all_at_once },
	{ "a_queue_pair_goes_while_others_look_at_it", a_queue_pair_goes_while_others_look_at_it },
};

TAP_MAIN(tests)
