// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver under several threads at once: their memory and streams do not get in each other's way. */
#include <pthread.h>

#include "emu/cuda/api.h"
#include "tests/tap.h"

#define NR_THREADS 4
#define ROUNDS	   150

static CUcontext shared;

/* What a thread did wrong, and where. */
struct worker {
	unsigned int nr;
	CUresult err;
	const char *what;
};

#define must(call)                                                                                                     \
	do {                                                                                                           \
		worker->err = (call);                                                                                  \
		if (worker->err) {                                                                                     \
			worker->what = #call;                                                                          \
			return;                                                                                        \
		}                                                                                                      \
	} while (0)

static int all_are(const unsigned char *bytes, size_t nr, unsigned char value)
{
	for (size_t i = 0; i < nr; i++) {
		if (bytes[i] != value)
			return 0;
	}
	return 1;
}

static void one_round(struct worker *worker, CUstream stream, unsigned int round)
{
	unsigned char value = (unsigned char)(worker->nr * 50 + round % 50 + 1), bytes[3000];
	size_t size = 3000 + (round % 3) * (1UL << 20);
	CUdeviceptr ptr, pooled;
	CUipcMemHandle handle;

	must(cuMemAlloc_v2(&ptr, size));
	must(cuMemAllocAsync(&pooled, sizeof(bytes), stream));
	must(cuMemsetD8Async(ptr, value, size, stream));
	must(cuMemcpyDtoDAsync_v2(pooled, ptr + size - sizeof(bytes), sizeof(bytes), stream));
	must(cuMemcpyDtoHAsync_v2(bytes, pooled, sizeof(bytes), stream));
	must(cuMemFreeAsync(pooled, stream));
	must(cuIpcGetMemHandle(&handle, ptr + size / 2));
	if (!all_are(bytes, sizeof(bytes), value)) {
		worker->what = "the bytes are another thread's";
		return;
	}
	must(cuMemcpyDtoH_v2(bytes, ptr, sizeof(bytes)));
	if (!all_are(bytes, sizeof(bytes), value))
		worker->what = "the bytes changed";
	must(cuMemFree_v2(ptr));
}

static void in_shared_context(struct worker *worker)
{
	CUstream stream;

	must(cuCtxSetCurrent(shared));
	must(cuStreamCreate(&stream, worker->nr & 1));
	for (unsigned int round = 0; round < ROUNDS && !worker->what; round++)
		one_round(worker, stream, round);
	if (!worker->what)
		must(cuStreamDestroy_v2(stream));
}

static void in_own_contexts(struct worker *worker)
{
	CUdeviceptr left;
	CUcontext ctx;
	CUstream stream;

	for (unsigned int round = 0; round < ROUNDS / 10 && !worker->what; round++) {
		must(cuCtxCreate_v2(&ctx, 0, 0));
		must(cuStreamCreate(&stream, 0));
		one_round(worker, stream, round);
		if (worker->what)
			return;
		must(cuMemAlloc_v2(&left, 5000));
		must(cuMemsetD8Async(left, 1, 5000, stream));
		must(cuCtxDestroy_v2(ctx));
	}
}

static void *shared_thread(void *arg)
{
	in_shared_context(arg);
	return NULL;
}

static void *own_thread(void *arg)
{
	in_own_contexts(arg);
	return NULL;
}

static size_t used(void)
{
	size_t free_bytes, total;

	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	check_eq(cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
	return total - free_bytes;
}

static void run(void *(*body)(void *))
{
	struct worker workers[NR_THREADS];
	pthread_t threads[NR_THREADS];
	CUdeviceptr ptr;
	size_t before;

	if (!shared) {
		check_eq(cuInit(0), CUDA_SUCCESS);
		check_eq(cuDevicePrimaryCtxRetain(&shared, 0), CUDA_SUCCESS);
	}
	check_eq(cuCtxSetCurrent(shared), CUDA_SUCCESS);
	/* from here on the context keeps one block */
	check_eq(cuMemAlloc_v2(&ptr, 100), CUDA_SUCCESS);
	check_eq(cuMemFree_v2(ptr), CUDA_SUCCESS);
	before = used();
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		workers[i] = (struct worker){ .nr = i };
		check(!pthread_create(&threads[i], NULL, body, &workers[i]));
	}
	for (unsigned int i = 0; i < NR_THREADS; i++)
		check(!pthread_join(threads[i], NULL));
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		if (workers[i].what)
			tap_end(TAP_FAILED, "thread %u: %s: error %d", i, workers[i].what, workers[i].err);
	}
	check_eq(used(), before);
}

static void one_context(void)
{
	run(shared_thread);
}

static void many_contexts(void)
{
	run(own_thread);
}

static const struct tap_test tests[] = {
	{ "threads_share_a_context", one_context },
	{ "threads_make_and_destroy_contexts", many_contexts },
};

TAP_MAIN(tests)
