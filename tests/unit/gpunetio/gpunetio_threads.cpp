// SPDX-License-Identifier: MIT
/*
 * Many threads on one queue pair, in all ways of sharing it, against a NIC that checks what it gets. Once as the system
 * lets them run, once in orders that a seed draws: BL_TEST_SEED sets it.
 */
#include "nic.h"

#include "emu/grid/grid.h"

#define NEAR_WRAP (0x10000 - 70)
#define SEEDS	  100

/* What threads do, and how it went. */
struct job {
	struct test_queue *q;
	int nr;	      /* operations of each thread */
	int failures; /* results that were not 0 */
	int last;     /* the last of them */
	int counts[4]; /* results FAILED, TIMEOUT, STOPPED, others */
	uint64_t first; /* receive */
};

static struct test_queue q;
static struct test_nic nic;
static struct bl_grid_result result;

static uint32_t linear(void)
{
	const struct bl_thread *self = bl_thread_self();

	return self->block.x * self->block_dim.x + self->thread.x;
}

static void count(struct job *job, int ret)
{
	int which = ret == FAILED ? 0 : ret == TIMEOUT ? 1 : ret == STOPPED ? 2 : 3;

	if (!ret)
		return;
	__atomic_fetch_add(&job->failures, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&job->counts[which], 1, __ATOMIC_RELAXED);
	__atomic_store_n(&job->last, ret, __ATOMIC_RELAXED);
}

static struct doca_gpu_dev_verbs_addr numbered(int i)
{
	return {(uint64_t)linear() << 32 | (uint32_t)i, 0};
}

/* Puts, a wait after every third, and one for the last. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_nic_handler NH, enum doca_gpu_dev_verbs_exec_scope ES>
static void puts_kernel(void *arg)
{
	struct job *job = (struct job *)arg;
	uint64_t ticket = 0;

	for (int i = 0; i < job->nr; i++) {
		count(job, (doca_gpu_dev_verbs_put<RS, NH, ES>(&job->q->qp, {0x1000, 0}, numbered(i), 8, &ticket)));
		if (i % 3 == 2)
			count(job, doca_gpu_dev_verbs_wait<RS>(&job->q->qp, ticket));
	}
	count(job, doca_gpu_dev_verbs_wait<RS>(&job->q->qp, ticket));
}

/* Puts with signals and fences between. */
static void signals_kernel(void *arg)
{
	struct job *job = (struct job *)arg;
	uint64_t ticket = 0;

	for (int i = 0; i < job->nr; i++) {
		count(job, (doca_gpu_dev_verbs_put_signal<ADD, GPU, AUTO, WARP>(&job->q->qp, {0x1000, 0}, numbered(i), 8, {8, 0}, {16, 0},
										1, &ticket)));
		if (!bl_thread_self()->lane)
			count(job, doca_gpu_dev_verbs_fence(&job->q->qp));
	}
	count(job, doca_gpu_dev_verbs_wait(&job->q->qp));
}

/* By the steps: four slots at once, of which only the last makes a CQE. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS> static void quiet_kernel(void *arg)
{
	struct job *job = (struct job *)arg;
	struct doca_gpu_dev_verbs_qp *qp = &job->q->qp;
	uint64_t first = 0;

	for (int i = 0; i < job->nr; i += 4) {
		first = doca_gpu_dev_verbs_reserve_wq_slots<RS>(qp, 4);
		if (first > INT64_MAX) {
			count(job, (int)(int64_t)first);
			return;
		}
		for (int k = 0; k < 4; k++) {
			struct doca_gpu_dev_verbs_addr from = numbered(i + k);

			doca_gpu_dev_verbs_wqe_prepare_write(qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)(first + k)),
							     (uint16_t)(first + k), DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
							     k == 3 ? CQ_UPDATE : QUIET, 0, 0x1000, 0, from.addr, 0, 8);
		}
		count(job, doca_gpu_dev_verbs_mark_wqes_ready<RS>(qp, first, first + 3));
		count(job, doca_gpu_dev_verbs_submit<RS>(qp, first + 4));
	}
	/* one that made none */
	count(job, doca_gpu_dev_verbs_wait<RS>(qp, first + 1));
}

/* Each thread fills one slot; only the one that has the last tells the NIC, about all. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode RS, enum doca_gpu_dev_verbs_qp_ready_mode RM> static void spokesman_kernel(void *arg)
{
	struct job *job = (struct job *)arg;
	struct doca_gpu_dev_verbs_qp *qp = &job->q->qp;
	uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots<RS>(qp, 1), last = NEAR_WRAP + bl_thread_self()->block_dim.x - 1;

	doca_gpu_dev_verbs_wqe_prepare_write(qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index), (uint16_t)index,
					     DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, CQ_UPDATE, 0, 0x1000, 0, numbered(0).addr, 0, 8);
	count(job, doca_gpu_dev_verbs_mark_wqes_ready<RS, SQ, RM>(qp, index, index));
	if (index == last) {
		count(job, doca_gpu_dev_verbs_submit<RS>(qp, last + 1));
		count(job, doca_gpu_dev_verbs_wait<RS>(qp, last));
	}
}

/* A thread for each slot of the receive queue: wait for it, give it back, and again. */
static void receive_kernel(void *arg)
{
	struct job *job = (struct job *)arg;
	uint64_t ticket = job->first + linear();

	for (int i = 0; i < job->nr; i++) {
		count(job, doca_gpu_dev_verbs_recv_wait(&job->q->qp, ticket));
		count(job, doca_gpu_dev_verbs_repost(&job->q->qp));
		ticket += job->q->qp.rq_wqe_num;
	}
}

/* Puts until one fails. */
static void until_failure_kernel(void *arg)
{
	struct job *job = (struct job *)arg;
	uint64_t ticket;
	int ret = 0;

	for (int i = 0; i < job->nr && !ret; i++) {
		ret = doca_gpu_dev_verbs_put(&job->q->qp, {0x1000, 0}, numbered(i), 8, &ticket);
		if (!ret)
			ret = doca_gpu_dev_verbs_wait(&job->q->qp, ticket);
	}
	count(job, ret);
}

struct shape {
	const char *name;
	void (*run)(void *);
	uint32_t handler;
	unsigned int blocks;
	unsigned int threads;
	uint32_t slots;
	int nr;
};

static struct bl_grid grid_of(const struct shape *shape, struct job *job, const struct bl_grid_actor *actor)
{
	struct bl_grid grid = {};

	grid.grid = {shape->blocks, 1, 1};
	grid.block = {shape->threads, 1, 1};
	grid.run = shape->run;
	grid.arg = job;
	grid.timeout_ms = 60000;
	grid.actors = actor;
	grid.nr_actors = actor ? 1 : 0;
	return grid;
}

static void check_end(const struct shape *shape, const struct job *job, uint64_t nr_wqes, uint64_t start, int error)
{
	if (error)
		tap_end(TAP_FAILED, "%s: grid %d: %.600s; nic %s", shape->name, error, result.text, nic.bad);
	if (nic.bad[0])
		tap_end(TAP_FAILED, "%s: %s", shape->name, nic.bad);
	if (job->failures)
		tap_end(TAP_FAILED, "%s: %d failures, last %d", shape->name, job->failures, job->last);
	check_eq(nic.done, nr_wqes);
	check_eq(q.qp.sq_rsvd_index, start + nr_wqes);
	/* nobody waits for an index where each slot has a word */
	check_eq(q.qp.sq_ready_index, q.qp.nic_handler == FREE_FLOW ? start : start + nr_wqes);
	check_eq(q.qp.sq_wqe_pi, start + nr_wqes);
	check_eq(q.qp.sq_lock, 0);
}

/* All of a shape's writes come, each thread's in its order. */
static void run_shape(const struct shape *shape, enum bl_grid_order order, uint64_t seed, uint64_t start, uint64_t extra)
{
	uint64_t nr_wqes = (uint64_t)shape->blocks * shape->threads * (unsigned int)shape->nr + extra;
	struct bl_grid_actor actor = {nic_run, &nic};
	struct job job = {&q, shape->nr, 0, 0, {}, 0x10000 - 96};
	struct bl_grid grid = grid_of(shape, &job, &actor);
	int ret;

	queue_init(&q, shape->slots, shape->handler, start);
	q.qp.cq_sq.timeout_ms = order == BL_GRID_FREE ? 50000 : 0;
	/* where a doorbell was rung last */
	q.db[0] = shape->handler == PROXY ? start : 0;
	q.dbrec[1] = __builtin_bswap32((uint32_t)(start & 0xffff));
	nic_init(&nic, &q, nr_wqes);
	grid.order = order;
	grid.seed = seed;
	grid.max_steps = 2000000;
	ret = bl_grid_run(&grid, &result);
	check_end(shape, &job, nr_wqes, start, ret);
	for (unsigned int i = 0; i < shape->blocks * shape->threads; i++) {
		if (shape->run != signals_kernel)
			check_eq(nic.next[i], shape->nr);
	}
}

static const struct shape by_thread[] = {
	{"gpu, proxy", puts_kernel<GPU, AUTO, THREAD>, PROXY, 2, 32, 16, 12},
	{"gpu, doorbell", puts_kernel<GPU, AUTO, THREAD>, SM_DB, 2, 32, 16, 12},
	{"gpu, no record", puts_kernel<GPU, AUTO, THREAD>, SM_NO_DBR, 2, 32, 16, 12},
	{"gpu, blueflame", puts_kernel<GPU, AUTO, THREAD>, SM_BF, 2, 32, 16, 12},
	{"gpu, free flow", puts_kernel<GPU, AUTO, THREAD>, FREE_FLOW, 2, 32, 16, 12},
	{"block, free flow", puts_kernel<CTA, AUTO, THREAD>, FREE_FLOW, 1, 64, 16, 12},
	{"one, free flow", puts_kernel<EXCLUSIVE, AUTO, THREAD>, FREE_FLOW, 1, 1, 8, 200},
	{"block, proxy", puts_kernel<CTA, AUTO, THREAD>, PROXY, 1, 64, 16, 12},
	{"block, doorbell", puts_kernel<CTA, SM_DB, THREAD>, SM_DB, 1, 64, 16, 12},
	{"block, no record", puts_kernel<CTA, SM_NO_DBR, THREAD>, SM_NO_DBR, 1, 64, 16, 12},
	{"one, proxy", puts_kernel<EXCLUSIVE, PROXY, THREAD>, PROXY, 1, 1, 8, 200},
	{"one, doorbell", puts_kernel<EXCLUSIVE, AUTO, THREAD>, SM_DB, 1, 1, 8, 200},
	{"one, no record", puts_kernel<EXCLUSIVE, AUTO, THREAD>, SM_NO_DBR, 1, 1, 8, 200},
	{"gpu, a ring of one", puts_kernel<GPU, AUTO, THREAD>, PROXY, 1, 8, 1, 20},
};

static const struct shape by_warp[] = {
	{"gpu, proxy", puts_kernel<GPU, AUTO, WARP>, PROXY, 2, 64, 64, 6},
	{"gpu, doorbell", puts_kernel<GPU, AUTO, WARP>, SM_DB, 2, 64, 64, 6},
	{"gpu, no record", puts_kernel<GPU, AUTO, WARP>, SM_NO_DBR, 2, 64, 64, 6},
	{"gpu, free flow", puts_kernel<GPU, AUTO, WARP>, FREE_FLOW, 2, 64, 64, 6},
	{"one warp, free flow", puts_kernel<EXCLUSIVE, AUTO, WARP>, FREE_FLOW, 1, 32, 32, 8},
	{"block, proxy", puts_kernel<CTA, AUTO, WARP>, PROXY, 1, 64, 64, 6},
	{"block, doorbell", puts_kernel<CTA, AUTO, WARP>, SM_DB, 1, 64, 64, 6},
	{"one warp, proxy", puts_kernel<EXCLUSIVE, AUTO, WARP>, PROXY, 1, 32, 32, 8},
	{"one warp, doorbell", puts_kernel<EXCLUSIVE, AUTO, WARP>, SM_DB, 1, 32, 32, 8},
	/* lanes one after the other */
	{"gpu, a ring that is too short for a warp", puts_kernel<GPU, AUTO, WARP>, PROXY, 1, 64, 8, 4},
	{"one warp, a ring that is too short", puts_kernel<EXCLUSIVE, AUTO, WARP>, PROXY, 1, 32, 4, 4},
};

static void threads_share_in_every_way(void)
{
	for (const struct shape &shape : by_thread)
		run_shape(&shape, BL_GRID_FREE, 0, NEAR_WRAP, 0);
}

static void warps_share_in_every_way(void)
{
	for (const struct shape &shape : by_warp)
		run_shape(&shape, BL_GRID_FREE, 0, NEAR_WRAP, 0);
}

static void signals_and_fences_between(void)
{
	static const struct shape shape = {"signals", signals_kernel, PROXY, 1, 64, 128, 5};

	/* a signal each, and a fence of each warp */
	run_shape(&shape, BL_GRID_FREE, 0, NEAR_WRAP, 64 * 5 + 2 * 5);
}

static void most_make_no_completion(void)
{
	static const struct shape shapes[] = {
		{"gpu", quiet_kernel<GPU>, SM_DB, 2, 16, 32, 16},
		{"block", quiet_kernel<CTA>, PROXY, 1, 32, 16, 16},
		{"one", quiet_kernel<EXCLUSIVE>, PROXY, 1, 1, 8, 200},
	};

	for (const struct shape &shape : shapes)
		run_shape(&shape, BL_GRID_FREE, 0, NEAR_WRAP, 0);
}

/* The requests of the others are seen by what marking them has passed on alone. */
static void one_speaks_for_all(void)
{
	static const struct shape shapes[] = {
		{"gpu, exchange", spokesman_kernel<GPU, DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS>, PROXY, 1, 16, 16, 1},
		{"gpu, store", spokesman_kernel<GPU, DOCA_GPUNETIO_VERBS_READY_MODE_LD_ST>, SM_DB, 1, 16, 16, 1},
		{"block, store", spokesman_kernel<CTA, DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT>, PROXY, 1, 16, 16, 1},
		{"block, exchange", spokesman_kernel<CTA, DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS>, SM_NO_DBR, 1, 16, 16, 1},
	};

	for (const struct shape &shape : shapes)
		run_shape(&shape, BL_GRID_FREE, 0, NEAR_WRAP, 0);
}

static uint64_t base_seed(void)
{
	const char *text = getenv("BL_TEST_SEED");
	uint64_t seed = text ? strtoull(text, nullptr, 0) : 20260101;

	printf("# seed %llu\n", (unsigned long long)seed);
	return seed;
}

static void seeded_orders(void)
{
	static const struct shape shapes[] = {
		{"gpu, proxy", puts_kernel<GPU, AUTO, THREAD>, PROXY, 2, 2, 2, 4},
		{"gpu, doorbell", puts_kernel<GPU, AUTO, THREAD>, SM_DB, 2, 2, 2, 4},
		{"gpu, no record", puts_kernel<GPU, AUTO, THREAD>, SM_NO_DBR, 2, 2, 4, 4},
		{"gpu, free flow", puts_kernel<GPU, AUTO, THREAD>, FREE_FLOW, 2, 2, 2, 4},
		{"block, proxy", puts_kernel<CTA, AUTO, THREAD>, PROXY, 1, 4, 2, 4},
		{"block, doorbell", puts_kernel<CTA, AUTO, THREAD>, SM_DB, 1, 4, 2, 4},
		{"quiet", quiet_kernel<GPU>, PROXY, 1, 3, 8, 8},
	};
	uint64_t seed = base_seed();

	for (unsigned int i = 0; i < SEEDS; i++) {
		for (const struct shape &shape : shapes)
			run_shape(&shape, i % 2 ? BL_GRID_PCT : BL_GRID_UNIFORM, seed + i, 0xfffe, 0);
	}
}

static void receives_go_round(void)
{
	static const struct shape shape = {"receives", receive_kernel, PROXY, 1, 32, 32, 20};
	struct bl_grid_actor actor = {nic_run_receives, &nic};
	struct job job = {&q, shape.nr, 0, 0, {}, 0x10000 - 96};
	struct bl_grid grid = grid_of(&shape, &job, &actor);

	queue_init(&q, 32, PROXY, 0x10000 - 96);
	q.qp.cq_rq.timeout_ms = 50000;
	q.dbrec[0] = __builtin_bswap32(0x10000 - 96);
	nic_init(&nic, &q, 32 * 20);
	for (int i = 0; i < 32; i++)
		check_eq(doca_gpu_dev_verbs_recv(&q.qp, {0, 0}, 0), 0);
	check_eq(bl_grid_run(&grid, &result), 0);
	check_eq(job.failures, 0);
	check_eq(nic.done, 32 * 20);
	check_eq(q.qp.rq_wqe_pi, 0x10000 - 96 + 32 + 32 * 20);
}

static void an_error_ends_all_threads(void)
{
	static const struct shape shape = {"error", until_failure_kernel, SM_DB, 2, 32, 8, 1000000};
	struct bl_grid_actor actor = {nic_run, &nic};
	struct job job = {&q, shape.nr, 0, 0, {}, 0x10000 - 96};
	struct bl_grid grid = grid_of(&shape, &job, &actor);

	/* no time-out and no stop flag */
	queue_init(&q, shape.slots, shape.handler, 0);
	nic_init(&nic, &q, UINT64_MAX);
	nic.fail_at = 100;
	if (bl_grid_run(&grid, &result))
		tap_end(TAP_FAILED, "grid: %.800s", result.text);
	check_str(nic.bad, "");
	check_eq(job.failures, 64);
	check_eq(job.counts[0], 64);
	check_eq(q.qp.cq_sq.error, DOCA_GPUNETIO_VERBS_ERROR_SET | 0x8813);
	check_eq(q.qp.cq_sq.error_wqe, DOCA_GPUNETIO_VERBS_ERROR_SET | 100);
}

static void a_stop_flag_ends_all_threads(void)
{
	static const struct shape shape = {"stop", until_failure_kernel, PROXY, 2, 32, 8, 1000000};
	struct bl_grid_actor actor = {nic_run, &nic};
	struct job job = {&q, shape.nr, 0, 0, {}, 0x10000 - 96};
	struct bl_grid grid = grid_of(&shape, &job, &actor);

	queue_init(&q, shape.slots, shape.handler, 0);
	nic_init(&nic, &q, UINT64_MAX);
	nic.stop_after = 100;
	if (bl_grid_run(&grid, &result))
		tap_end(TAP_FAILED, "grid: %.800s", result.text);
	check_str(nic.bad, "");
	check_eq(job.counts[2], 64);
	/* nobody has left a slot that others would wait for */
	check_eq(q.qp.sq_ready_index, q.qp.sq_rsvd_index);
}

static void a_silent_nic_ends_all_threads(void)
{
	static const struct shape shape = {"silent", until_failure_kernel, PROXY, 1, 32, 8, 1000000};
	struct job job = {&q, shape.nr, 0, 0, {}, 0x10000 - 96};
	struct bl_grid grid = grid_of(&shape, &job, nullptr);

	queue_init(&q, shape.slots, shape.handler, 0);
	q.qp.cq_sq.timeout_ms = 30;
	if (bl_grid_run(&grid, &result))
		tap_end(TAP_FAILED, "grid: %.800s", result.text);
	check_eq(job.counts[1], 32);
	check_eq(q.qp.sq_rsvd_index, 8);
	check_eq(q.qp.sq_ready_index, 8);
}

static const struct tap_test tests[] = {
	{"threads share a queue in every way", threads_share_in_every_way},
	{"warps share a queue in every way", warps_share_in_every_way},
	{"signals and fences come between", signals_and_fences_between},
	{"most requests make no completion", most_make_no_completion},
	{"one thread speaks for all", one_speaks_for_all},
	{"drawn orders of a few threads", seeded_orders},
	{"receives go round", receives_go_round},
	{"an error ends all threads, and its cause stays", an_error_ends_all_threads},
	{"a stop flag ends all threads, and no slot is lost", a_stop_flag_ends_all_threads},
	{"a silent NIC ends all threads by their time-out", a_silent_nic_ends_all_threads},
};

TAP_MAIN(tests)
