// SPDX-License-Identifier: MIT
/* Eight threads submit batches to one pin, wait for their own and for each other's, and end pins under batches. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "barlane_batch.h"
#include "child.h"
#include "pattern.h"
#include "tests/tap.h"
#include "world.h"

#define NR_THREADS 8
#define AREA	   (1UL << 20)
#define ROUNDS	   12
#define NR_OPS	   60

static bl_ctx_t ctx;
static bl_pin_t pin;
static CUdeviceptr va;
static _Atomic(bl_batch_t) somebodys;

struct worker {
	pthread_t thread;
	unsigned int nr;
	unsigned char *host;
	const char *what;
};

static size_t plan(struct worker *worker, struct bl_copy_op *ops, unsigned int *seed, uint32_t dir)
{
	size_t off = 0, nr = 0;

	while (nr < NR_OPS) {
		size_t len = (size_t)rand_r(seed) % (TAP_TSAN ? 8000 : 30000) + 1;

		if (off + len > AREA)
			break;
		ops[nr++] = (struct bl_copy_op){ pin, worker->nr * AREA + off, worker->host + off, len, dir,
						 (uint32_t)rand_r(seed) % 3, { 0 } };
		off += len;
	}
	return nr;
}

static int run(struct bl_copy_op *ops, size_t nr)
{
	bl_batch_t batch;
	int ret;

	ret = bl_batch_submit(ops, nr, 0, &batch);
	if (ret)
		return ret;
	/* a handle that another thread may free at any time: an answer, never a crash */
	bl_batch_test(atomic_exchange(&somebodys, batch), NULL);
	while ((ret = bl_batch_wait(batch, 1000000, NULL)) == -ETIMEDOUT)
		;
	return ret ? ret : bl_batch_free(batch);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	unsigned int seed = worker->nr + 1;
	struct bl_copy_op ops[NR_OPS];

	for (int i = 0; i < ROUNDS && !worker->what; i++) {
		unsigned int state = seed;
		size_t nr = plan(worker, ops, &seed, BL_COPY_TO);
		size_t len = ops[nr - 1].off + ops[nr - 1].len - worker->nr * AREA;

		for (size_t j = 0; j < len; j++)
			worker->host[j] = (unsigned char)(j * 5 + worker->nr + (unsigned int)i);
		if (run(ops, nr))
			worker->what = "a batch of writes failed";
		memset(worker->host, 0, len);
		plan(worker, ops, &state, BL_COPY_FROM);
		if (!worker->what && run(ops, nr))
			worker->what = "a batch of reads failed";
		for (size_t j = 0; j < len && !worker->what; j++) {
			if (worker->host[j] != (unsigned char)(j * 5 + worker->nr + (unsigned int)i))
				worker->what = "a batch read other bytes than were written";
		}
	}
	return NULL;
}

static void set_up(void)
{
	void *addr;

	world_enter();
	ctx = world_open("rm");
	va = world_alloc(NR_THREADS * AREA);
	check_eq(bl_pin(ctx, va, NR_THREADS * AREA, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, NR_THREADS * AREA, BL_MAP_NONE, &addr), 0);
}

static void start(struct worker *workers, void *(*fn)(void *arg))
{
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		void *pinned = NULL;

		workers[i] = (struct worker){ .nr = i, .host = malloc(AREA) };
		if (i % 2) {
			check_eq(world.cuda->cuMemHostAlloc(&pinned, AREA, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
			workers[i].host = pinned;
		}
		check(workers[i].host);
	}
	for (unsigned int i = 0; i < NR_THREADS; i++)
		check_eq(pthread_create(&workers[i].thread, NULL, fn, &workers[i]), 0);
}

static void join(struct worker *workers)
{
	for (unsigned int i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		if (workers[i].what)
			tap_end(TAP_FAILED, "thread %u: %s", i, workers[i].what);
	}
}

static void mix(const void *arg)
{
	struct worker workers[NR_THREADS];

	set_up();
	start(workers, work);
	join(workers);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void threads(void)
{
	child_run(mix, NULL, NULL);
	child_run(mix, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "20", NULL });
}

static bl_batch_t shared;

static void *wait_for_it(void *arg)
{
	struct worker *worker = arg;

	if (bl_batch_wait(shared, BL_BATCH_TIMEOUT, NULL))
		worker->what = "the batch failed";
	return NULL;
}

static void all_wait(const void *arg)
{
	struct worker workers[NR_THREADS];
	struct bl_copy_op ops[100];
	unsigned char *host = malloc(100 * 65536);

	set_up();
	check(host);
	check_eq(world.cuda->cuMemsetD8(va, 0x77, NR_THREADS * AREA), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	for (size_t i = 0; i < 100; i++)
		ops[i] = (struct bl_copy_op){
			pin, i * 70000, host + i * 65536, 65536, BL_COPY_FROM, BL_ENGINE_CE, { 0 },
		};
	check_eq(bl_batch_submit(ops, 100, 0, &shared), 0);
	start(workers, wait_for_it);
	join(workers);
	check_eq(value_wrong(host, 100 * 65536, 0x77), 0);
	check_eq(bl_batch_free(shared), 0);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void all_wait_for_one(void)
{
	child_run(all_wait, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "100", NULL });
}

/* Pins come and go under batches that nobody waits for before the pin is gone. */
static void *come_and_go(void *arg)
{
	struct worker *worker = arg;

	for (int i = 0; i < ROUNDS && !worker->what; i++) {
		struct bl_copy_op op = {
			.host = worker->host, .len = AREA, .dir = BL_COPY_FROM, .engine = BL_ENGINE_CE,
		};
		bl_batch_t batch;
		void *addr;

		if (bl_pin(ctx, va, AREA, 0, 0, 0, &op.pin) || bl_map(ctx, op.pin, AREA, BL_MAP_NONE, &addr))
			worker->what = "no pin";
		else if (bl_batch_submit(&op, 1, 0, &batch))
			worker->what = "no batch";
		else if (i % 2 && bl_unmap(ctx, op.pin, addr, AREA))
			worker->what = "unmap failed";
		else if (bl_unpin(ctx, op.pin))
			worker->what = "unpin failed";
		else if (bl_batch_test(batch, NULL) || bl_batch_free(batch))
			worker->what = "a batch had not ended behind its pin";
		else if (worker->host[0] != 0x33 || worker->host[AREA - 1] != 0x33)
			worker->what = "wrong bytes";
		memset(worker->host, 0, AREA);
	}
	return NULL;
}

static void pins_go(const void *arg)
{
	struct worker workers[NR_THREADS];

	set_up();
	check_eq(world.cuda->cuMemsetD8(va, 0x33, AREA), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	start(workers, come_and_go);
	join(workers);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void pins_end_under_batches(void)
{
	child_run(pins_go, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "50", NULL });
}

static const struct tap_test tests[] = {
	{ "eight threads have batches of all engines on one pin", threads },
	{ "eight threads wait for one batch", all_wait_for_one },
	{ "pins end under the batches of eight threads", pins_end_under_batches },
};

TAP_MAIN(tests)
