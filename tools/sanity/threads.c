// SPDX-License-Identifier: MIT
/*
 * threads.c - pins made from threads that CUDA does not know, during captures, and by many threads at once
 */
#include "sanity/sanity.h"

#include <pthread.h>
#include <stdlib.h>

#define LEN	    (2 * GPU_PAGE_SIZE)
#define NR_THREADS  8
#define NR_ROUNDS   100
#define CAPTURE_LEN 4096

/* What a thread works on. */
struct job {
	const struct tool_device *device;
	gdr_t g;
	CUdeviceptr ptr;
	uint32_t seed;
	int rounds;
};

/* Pin, map, copy there and back, unmap, unpin; not one CUDA call. */
static void rounds(const struct job *job)
{
	char *want = st_host(LEN), *got = st_host(LEN);

	for (int i = 0; i < job->rounds; i++) {
		struct st_buf buf = { .mem.ptr = job->ptr, .len = LEN };

		st_fill(want, LEN, job->seed + (uint32_t)i);
		memset(got, 0, LEN);
		st_buf_pin(job->g, &buf);
		st_buf_map(job->g, &buf);
		st_ok(gdr_copy_to_mapping(buf.mh, (void *)(uintptr_t)buf.map, want, LEN));
		st_ok(gdr_copy_from_mapping(buf.mh, got, (void *)(uintptr_t)buf.map, LEN));
		st_same(got, want, LEN);
		st_ok(gdr_unmap(job->g, buf.mh, st_buf_addr(&buf), LEN));
		st_ok(gdr_unpin_buffer(job->g, buf.mh));
	}
	free(want);
	free(got);
}

static void *in_thread(void *arg)
{
	rounds(arg);
	return NULL;
}

static void run_thread(void *(*body)(void *), struct job *job)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, job))
		st_fail("cannot start a thread");
	pthread_join(thread, NULL);
}

/* The first pin of the process, while a stream is captured in a mode that forbids unsafe calls to every thread. */
static void barlane_pin_during_capture(enum tool_mem_kind kind)
{
	struct tool_device device;
	CUstream stream = NULL;
	CUgraph graph = NULL;
	struct tool_mem mem, target;
	void *host = NULL;
	struct job job;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, LEN, &mem);
	st_alloc(&device, kind, LEN, &target);
	st_cuda(device.cu->cuMemHostAlloc(&host, CAPTURE_LEN, 0));
	st_cuda(device.cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	job = (struct job){ &device, g, mem.ptr, 1, 3 };

	st_cuda(device.cu->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	st_cuda(device.cu->cuMemcpyHtoDAsync(target.ptr, host, CAPTURE_LEN, stream));
	run_thread(in_thread, &job);
	rounds(&job);
	st_cuda(device.cu->cuMemcpyHtoDAsync(target.ptr, host, CAPTURE_LEN, stream));
	st_cuda(device.cu->cuStreamEndCapture(stream, &graph));
	st_check(graph);

	st_cuda(device.cu->cuGraphDestroy(graph));
	st_cuda(device.cu->cuStreamDestroy(stream));
	st_cuda(device.cu->cuMemFreeHost(host));
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
	st_help(tool_mem_free(&target));
}

static void *without_context(void *arg)
{
	struct job *job = arg;
	CUcontext ctx = NULL;

	st_cuda(job->device->cu->cuCtxGetCurrent(&ctx));
	st_check(!ctx);
	rounds(job);
	st_cuda(job->device->cu->cuCtxGetCurrent(&ctx));
	st_check(!ctx);
	return NULL;
}

static void barlane_pin_without_context(enum tool_mem_kind kind)
{
	struct tool_device device;
	struct tool_mem mem;
	CUcontext ctx = NULL;
	struct job job;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, LEN, &mem);
	job = (struct job){ &device, g, mem.ptr, 1, 3 };
	run_thread(without_context, &job);
	st_cuda(device.cu->cuCtxGetCurrent(&ctx));
	st_check(ctx == device.ctx);
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
}

static void barlane_eight_threads(enum tool_mem_kind kind)
{
	pthread_t threads[NR_THREADS];
	struct job jobs[NR_THREADS];
	struct tool_device device;
	struct tool_mem mem;
	gdr_t g;

	st_gpu(&device);
	g = st_open();
	st_alloc(&device, kind, NR_THREADS * LEN, &mem);
	for (uint32_t i = 0; i < NR_THREADS; i++) {
		jobs[i] = (struct job){ &device, g, mem.ptr + i * LEN, 1000 * i, NR_ROUNDS };
		if (pthread_create(&threads[i], NULL, in_thread, &jobs[i]))
			st_fail("cannot start a thread");
	}
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	st_ok(gdr_close(g));
	st_help(tool_mem_free(&mem));
}

const struct sanity_test sanity_threads[] = {
	SANITY_BOTH(barlane_pin_during_capture),
	SANITY_BOTH(barlane_pin_without_context),
	SANITY_BOTH(barlane_eight_threads),
	{ 0 },
};
