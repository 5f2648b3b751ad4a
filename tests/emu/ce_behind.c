// SPDX-License-Identifier: MIT
/*
 * Copies by ce of several threads are posted behind each other: who waits for its own has given the channel's lock back.
 * The stream is held until the last of them has posted, and each that gives the lock back meanwhile lets the next begin
 * and stays there: so no thread is quick or slow, and one that would wait with the lock is found out by its deadline.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "barlane.h"
#include "child.h"
#include "gpu/ce.h"
#include "gpu/cuda.h"
#include "tests/tap.h"

#define SIZE	   (64UL << 10)
#define NR_THREADS 4

int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);

static struct bl_cuda cuda; /* the driver library's, with the function below in it */
static const struct bl_cuda *real;
static struct bl_ce_target target;
static CUcontext context;
static CUdeviceptr va;
static unsigned char *pinned, *model;
static uint32_t *gate;
static sem_t begin[NR_THREADS], opened;
static atomic_uint posted, posted_behind; /* transfers; those posted while the stream was held */
static _Thread_local int turn;		  /* of a copying thread, from 1 on, until it has given the lock back */
static _Thread_local bool has_posted;

static bool is_open(void)
{
	return __atomic_load_n(gate, __ATOMIC_ACQUIRE);
}

static CUresult post(void *host, CUdeviceptr from, size_t len, CUstream stream)
{
	has_posted = true;
	if (!is_open())
		atomic_fetch_add(&posted_behind, 1);
	if (atomic_fetch_add(&posted, 1) + 1 == NR_THREADS)
		__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	return real->cuMemcpyDtoHAsync(host, from, len, stream);
}

/* Behind the last there is nobody: all go on. */
static void next_begins(int nr)
{
	turn = 0;
	if (nr < NR_THREADS) {
		sem_post(&begin[nr]);
		return;
	}
	for (int i = 0; i < NR_THREADS; i++)
		sem_post(&opened);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
	struct bl_ce *ce = atomic_load(&target.ce);
	int ret = __real_pthread_mutex_unlock(lock), mine = turn;

	if (!mine || !has_posted || !ce || lock != &ce->lock)
		return ret;
	next_begins(mine);
	sem_wait(&opened);
	return ret;
}

static int read_back(unsigned char *host)
{
	const struct bl_ce_copy request = {
		.target = &target, .va = va, .host = host, .len = SIZE, .dir = BL_COPY_FROM, .pinned = true};

	return bl_ce_run(&cuda, &request);
}

static void *copying_thread(void *arg)
{
	int nr = (int)(intptr_t)arg;
	const char *wrong = NULL;

	sem_wait(&begin[nr]);
	turn = nr + 1;
	if (real->cuCtxSetCurrent(context))
		wrong = "no context";
	else if (read_back(pinned + (size_t)nr * SIZE))
		wrong = strdup(bl_last_error(NULL));
	else if (memcmp(pinned + (size_t)nr * SIZE, model, SIZE))
		wrong = "other bytes";
	/* one that has failed before it gave the lock back holds up nobody */
	if (turn)
		next_begins(turn);
	return (void *)wrong;
}

static void set_up(void)
{
	void *host;
	CUdevice dev;

	real = bl_cuda();
	if (!real || real->cuInit(0) || real->cuDeviceGet(&dev, 0))
		skip("no emulated GPU: %s", bl_cuda_error());
	cuda = *real;
	check(!real->cuDevicePrimaryCtxRetain(&context, dev) && !real->cuCtxSetCurrent(context));
	check(!real->cuMemAlloc(&va, SIZE));
	check(!real->cuMemHostAlloc(&host, NR_THREADS * SIZE + 4096, CU_MEMHOSTALLOC_PORTABLE));
	pinned = host;
	gate = (uint32_t *)(pinned + NR_THREADS * SIZE);
	model = malloc(SIZE);
	check(model != NULL);
	for (size_t i = 0; i < SIZE; i++)
		model[i] = (unsigned char)(i * 5 + (i >> 8) + 1);
	check_eq(real->cuMemcpyHtoD(va, model, SIZE), CUDA_SUCCESS);
	check_eq(bl_ce_target_init(real, va, 0, &target), 0);
	/* the channel, before it is held */
	check_eq(read_back(pinned), 0);
	cuda.cuMemcpyDtoHAsync = post;
}

static void copy_at_once(enum bl_ce_tokens tokens)
{
	struct bl_ce *ce = atomic_load(&target.ce);
	pthread_t threads[NR_THREADS];
	const char *why = NULL;
	void *wrong;

	bl_ce_report(ce, false, false, tokens);
	memset(pinned, 0, NR_THREADS * SIZE);
	__atomic_store_n(gate, 0, __ATOMIC_RELAXED);
	atomic_store(&posted, 0);
	atomic_store(&posted_behind, 0);
	check(!sem_init(&opened, 0, 0));
	for (int i = 0; i < NR_THREADS; i++)
		check(!sem_init(&begin[i], 0, i == 0));
	check_eq(real->cuStreamWaitValue32(ce->stream, (uintptr_t)gate, 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
	for (int i = 0; i < NR_THREADS; i++)
		check(!pthread_create(&threads[i], NULL, copying_thread, (void *)(intptr_t)i));
	for (int i = 0; i < NR_THREADS; i++) {
		check(!pthread_join(threads[i], &wrong));
		why = why ? why : wrong;
	}
	if (why)
		tap_end(TAP_FAILED, "%s", why);
	check_eq(atomic_load(&posted_behind), NR_THREADS);
}

static void counted(const void *arg)
{
	set_up();
	copy_at_once(BL_CE_TOKENS_OFF);
}

static void copies_that_are_counted(void)
{
	child_run(counted, NULL, (const char *[]){"BARLANE_CE_TIMEOUT_MS", "5000", NULL});
}

static void with_tokens(const void *arg)
{
	set_up();
	copy_at_once(BL_CE_TOKENS_ON);
}

static void copies_that_have_tokens(void)
{
	child_run(with_tokens, NULL, (const char *[]){"BARLANE_CE_TIMEOUT_MS", "5000", NULL});
}

static const struct tap_test tests[] = {
	{"threads post copies behind each other", copies_that_are_counted},
	{"threads post copies with tokens behind each other", copies_that_have_tokens},
};

TAP_MAIN(tests)
