// SPDX-License-Identifier: MIT
/* Sixteen threads with batches of their own, and with one that they share; two threads that meet one fault. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "file_world.h"
#include "tests/tap.h"
#include "util/log.h"

#define NR_THREADS 16
#define NR	   24
#define PIECE	   12000UL
#define AREA	   (NR * PIECE)
#define ROUNDS	   3

static struct tested tested;
static struct memory memory;
static CUfileBatchHandle_t shared;
static atomic_uint seen;

struct worker {
	pthread_t thread;
	unsigned int nr;
	const char *what;
};

static void set_up(void)
{
	world_enter();
	check_eq(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, NR_THREADS * AREA, 3);
	memory_make(&memory, REGISTERED, NR_THREADS * AREA);
}

static void tear_down(void)
{
	memory_drop(&memory);
	tested_drop(&tested);
	check_eq(cuFileDriverClose().err, CU_FILE_SUCCESS);
	world_check_rules();
}

static void each(void *(*fn)(void *arg))
{
	struct worker workers[NR_THREADS];

	for (unsigned int i = 0; i < NR_THREADS; i++)
		workers[i] = (struct worker){ .nr = i };
	for (unsigned int i = 0; i < NR_THREADS; i++)
		check_eq(pthread_create(&workers[i].thread, NULL, fn, &workers[i]), 0);
	for (unsigned int i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		if (workers[i].what)
			tap_end(TAP_FAILED, "thread %u: %s", i, workers[i].what);
	}
}

static void fill(CUfileIOParams_t *params, unsigned int area, CUfileOpcode_t opcode)
{
	for (size_t i = 0; i < NR; i++) {
		size_t at = area * AREA + i * PIECE;

		params[i] = (CUfileIOParams_t){
			.mode = CUFILE_BATCH,
			.u.batch = { memory.base, (off_t)at, (off_t)at, PIECE },
			.fh = tested.handle,
			.opcode = opcode,
			.cookie = (void *)i,
		};
	}
}

static const char *run(CUfileBatchHandle_t batch, CUfileIOParams_t *params)
{
	CUfileIOEvents_t events[NR];
	unsigned int got;

	if (cuFileBatchIOSubmit(batch, NR, params, 0).err)
		return "submit failed";
	for (unsigned int done = 0; done < NR; done += got) {
		struct timespec patience = { 30, 0 };

		got = NR - done;
		if (cuFileBatchIOGetStatus(batch, 1, &got, events, &patience).err || !got)
			return "no events";
		for (unsigned int i = 0; i < got; i++) {
			if (events[i].status != CUFILE_COMPLETE || events[i].ret != PIECE)
				return "an entry failed";
		}
	}
	return NULL;
}

static void *own_batches(void *arg)
{
	CUfileIOParams_t params[NR];
	struct worker *worker = arg;
	CUfileBatchHandle_t batch;

	for (int round = 0; round < ROUNDS && !worker->what; round++) {
		if (cuFileBatchIOSetUp(&batch, NR).err) {
			worker->what = "no batch";
			break;
		}
		fill(params, worker->nr, CUFILE_READ);
		worker->what = run(batch, params);
		fill(params, worker->nr, CUFILE_WRITE);
		if (!worker->what)
			worker->what = run(batch, params);
		/* some are cancelled in the middle, and the batch destroyed under them */
		if (round % 2) {
			cuFileBatchIOSubmit(batch, NR, params, 0);
			cuFileBatchIOCancel(batch);
		}
		cuFileBatchIODestroy(batch);
	}
	return NULL;
}

static void own(const void *arg)
{
	unsigned char *bytes = malloc(NR_THREADS * AREA);

	set_up();
	check(bytes);
	each(own_batches);
	check_eq(pread(tested.plain, bytes, NR_THREADS * AREA, 0), NR_THREADS * AREA);
	check_eq(pattern_wrong(bytes, NR_THREADS * AREA, 3, 0), 0);
	free(bytes);
	tear_down();
}

static void threads_have_batches(void)
{
	child_run(own, NULL, NULL);
	child_run(own, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "30", NULL });
	child_run(own, NULL, (const char *[]){ "BARLANE_FILE_PATH", "plain", NULL });
}

/* Half of the threads submit, half collect, and one entry is collected once. */
static void *share_a_batch(void *arg)
{
	struct worker *worker = arg;
	CUfileIOParams_t params[NR];
	CUfileIOEvents_t events[8];

	fill(params, worker->nr, CUFILE_READ);
	for (int round = 0; round < ROUNDS * NR && !worker->what && worker->nr % 2; round++) {
		if (cuFileBatchIOSubmit(shared, 1, params + round % NR, 0).err)
			round--; /* no room yet */
	}
	while (worker->nr % 2 == 0 && !worker->what && atomic_load(&seen) < NR_THREADS / 2 * ROUNDS * NR) {
		struct timespec moment = { 0, 20000000 };
		unsigned int got = 8;

		if (cuFileBatchIOGetStatus(shared, 1, &got, events, &moment).err)
			worker->what = "no status";
		else
			atomic_fetch_add(&seen, got);
		for (unsigned int i = 0; i < got && !worker->what; i++) {
			if (events[i].status != CUFILE_COMPLETE)
				worker->what = "an entry failed";
		}
	}
	return NULL;
}

static void one(const void *arg)
{
	set_up();
	check_eq(cuFileBatchIOSetUp(&shared, 32).err, CU_FILE_SUCCESS);
	each(share_a_batch);
	check_eq(atomic_load(&seen), NR_THREADS / 2 * ROUNDS * NR);
	cuFileBatchIODestroy(shared);
	tear_down();
}

static void threads_share_a_batch(void)
{
	child_run(one, NULL, NULL);
}

/* A batch that another thread destroys while this one waits for it, submits to it or cancels it. */
static void *meddle(void *arg)
{
	struct worker *worker = arg;
	CUfileIOParams_t params[NR];
	CUfileIOEvents_t events[8];
	unsigned int got = 8;
	struct timespec moment = { 0, 1000000 };

	fill(params, worker->nr, CUFILE_READ);
	for (int round = 0; round < ROUNDS; round++) {
		cuFileBatchIOSubmit(shared, 4, params, 0);
		got = 8;
		cuFileBatchIOGetStatus(shared, 2, &got, events, &moment);
		if (worker->nr == 5)
			cuFileBatchIOCancel(shared);
		if (worker->nr == 7 && round == ROUNDS / 2)
			cuFileBatchIODestroy(shared);
	}
	return NULL;
}

static void destroyed(const void *arg)
{
	set_up();
	for (int i = 0; i < 10; i++) {
		check_eq(cuFileBatchIOSetUp(&shared, 64).err, CU_FILE_SUCCESS);
		each(meddle);
	}
	tear_down();
}

static void batches_are_destroyed_in_use(void)
{
	child_run(destroyed, NULL, NULL);
	child_run(destroyed, NULL, (const char *[]){ "BARLANE_FILE_PATH", "plain", "BARLANE_EMU_ASYNC_US", "50", NULL });
}

static atomic_uint nr_errors;

static void count_error(enum bl_log_level level, const char *text)
{
	atomic_fetch_add(&nr_errors, level == BL_LOG_ERROR);
}

/* A small read is tried by the submitting thread before one of the crew gets it. */
static void read_behind_the_memory(const void *arg)
{
	CUfileBatchHandle_t batch = NULL;
	CUfileIOParams_t params = { .mode = CUFILE_BATCH, .opcode = CUFILE_READ };
	struct timespec wait = { .tv_sec = 20 };
	CUfileIOEvents_t event = { 0 };
	unsigned int nr = 1;

	set_up();
	params.fh = tested.handle;
	params.u.batch.devPtr_base = memory.base;
	params.u.batch.devPtr_offset = (off_t)(NR_THREADS * AREA);
	params.u.batch.size = PIECE;
	check_eq(cuFileBatchIOSetUp(&batch, 1).err, CU_FILE_SUCCESS);
	bl_log_set_level(BL_LOG_ERROR);
	bl_log_set_sink(count_error);
	check_eq(cuFileBatchIOSubmit(batch, 1, &params, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileBatchIOGetStatus(batch, 1, &nr, &event, &wait).err, CU_FILE_SUCCESS);
	bl_log_set_sink(NULL);
	bl_log_set_level(BL_LOG_OFF);
	check_eq(nr, 1);
	check_eq(event.status, CUFILE_FAILED);
	check_eq(nr_errors, 1);
	cuFileBatchIODestroy(batch);
	tear_down();
}

static void a_fault_is_said_once(void)
{
	child_run(read_behind_the_memory, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "a_fault_that_two_threads_meet_is_said_once", a_fault_is_said_once },
	{ "sixteen_threads_have_batches_of_their_own", threads_have_batches },
	{ "threads_submit_to_and_collect_from_one_batch", threads_share_a_batch },
	{ "batches_are_destroyed_while_threads_use_them", batches_are_destroyed_in_use },
};

TAP_MAIN(tests)
