// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver: what a stream capture forbids. What other threads get was seen on a real driver. */
#include <pthread.h>

#include "emu/cuda/api.h"
#include "tests/tap.h"

enum { NONE, ACTIVE, INVALIDATED };

static CUcontext ctx;
static CUdeviceptr device;
static CUstream stream, other;
static CUevent event;

static CUresult do_alloc(void)
{
	CUdeviceptr ptr;
	CUresult ret = cuMemAlloc_v2(&ptr, 4096);

	return ret ? ret : cuMemFree_v2(ptr);
}

static CUresult do_free(void)
{
	return cuMemFree_v2(device);
}

static CUresult do_host_alloc(void)
{
	void *ptr;
	CUresult ret = cuMemHostAlloc(&ptr, 4096, 0);

	return ret ? ret : cuMemFreeHost(ptr);
}

static CUresult do_copy(void)
{
	char bytes[16];

	return cuMemcpyDtoH_v2(bytes, device, sizeof(bytes));
}

static CUresult do_memset_async(void)
{
	return cuMemsetD8Async(device, 1, 16, NULL);
}

static CUresult do_other_sync(void)
{
	return cuStreamSynchronize(other);
}

static CUresult do_event_query(void)
{
	return cuEventQuery(event);
}

static CUresult do_ipc(void)
{
	CUipcMemHandle handle;

	return cuIpcGetMemHandle(&handle, device);
}

static CUresult do_export(void)
{
	CUmemAllocationProp prop = { .type = 1, .requestedHandleTypes = 1, .location = { 1, 0 } };
	CUmemGenericAllocationHandle handle;
	CUresult ret = cuMemCreate(&handle, 2 << 20, &prop, 0);

	return ret ? ret : cuMemRelease(handle);
}

/* What is tried, by which thread, in which mode, and what comes of it. */
struct attempt {
	CUresult (*call)(void);
	int thread_mode;
	CUresult got;
};

static void *attempt(void *arg)
{
	struct attempt *a = arg;
	int mode = a->thread_mode;

	a->got = cuCtxSetCurrent(ctx);
	if (!a->got)
		a->got = cuThreadExchangeStreamCaptureMode(&mode);
	if (!a->got)
		a->got = a->call();
	return NULL;
}

static void enter(void)
{
	if (ctx)
		return;
	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&device, 4096), CUDA_SUCCESS);
	check_eq(cuEventCreate(&event, 0), CUDA_SUCCESS);
	check_eq(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
}

/* Capture on a new stream, let another thread try a call, end the capture. */
static void expect(unsigned int flags, int mode, CUresult (*call)(void), int thread_mode, CUresult want)
{
	struct attempt a = { .call = call, .thread_mode = thread_mode };
	CUgraph graph = NULL;
	pthread_t thread;
	int status;

	enter();
	check_eq(cuStreamCreate(&stream, flags), CUDA_SUCCESS);
	check_eq(cuStreamBeginCapture_v2(stream, mode), CUDA_SUCCESS);
	check(!pthread_create(&thread, NULL, attempt, &a));
	check(!pthread_join(thread, NULL));
	check_eq(cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
	check_eq(a.got, want);
	check_eq(status, want ? INVALIDATED : ACTIVE);
	check_eq(cuStreamEndCapture(stream, &graph), want ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
	check_eq(!graph, !!want);
	if (graph)
		check_eq(cuGraphDestroy(graph), CUDA_SUCCESS);
	check_eq(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

enum { GLOBAL = CU_STREAM_CAPTURE_MODE_GLOBAL, LOCAL = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL };
enum { RELAXED = CU_STREAM_CAPTURE_MODE_RELAXED, BLOCKING = CU_STREAM_DEFAULT, FREE = CU_STREAM_NON_BLOCKING };

static void global_capture_forbids_unsafe_calls(void)
{
	CUresult (*const calls[])(void) = { do_alloc, do_free, do_host_alloc, do_other_sync, do_event_query };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		expect(BLOCKING, GLOBAL, calls[i], GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
		expect(FREE, GLOBAL, calls[i], GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
}

static void relaxed_threads_may(void)
{
	CUresult (*const calls[])(void) = { do_alloc, do_host_alloc, do_other_sync, do_event_query };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		expect(BLOCKING, GLOBAL, calls[i], RELAXED, CUDA_SUCCESS);
		expect(FREE, GLOBAL, calls[i], LOCAL, CUDA_SUCCESS);
	}
}

static void narrower_captures_leave_others_alone(void)
{
	expect(BLOCKING, LOCAL, do_alloc, GLOBAL, CUDA_SUCCESS);
	expect(BLOCKING, RELAXED, do_alloc, GLOBAL, CUDA_SUCCESS);
}

/* A capture of the thread itself, unless it is a relaxed one. */
static void own_capture_forbids_unsafe_calls(void)
{
	const int modes[] = { GLOBAL, LOCAL, RELAXED };
	CUgraph graph;

	enter();
	for (int i = 0; i < 3; i++) {
		check_eq(cuStreamBeginCapture_v2(other, modes[i]), CUDA_SUCCESS);
		if (modes[i] == RELAXED) {
			check_eq(do_alloc(), CUDA_SUCCESS);
			check_eq(cuStreamEndCapture(other, &graph), CUDA_SUCCESS);
			check_eq(cuGraphDestroy(graph), CUDA_SUCCESS);
		} else {
			check_eq(do_alloc(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
			check_eq(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
		}
	}
}

static void default_stream_would_join_a_blocking_capture(void)
{
	const int modes[] = { GLOBAL, LOCAL, RELAXED };

	for (int i = 0; i < 3; i++) {
		expect(BLOCKING, modes[i], do_copy, RELAXED, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
		expect(BLOCKING, modes[i], do_memset_async, RELAXED, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
		expect(FREE, modes[i], do_copy, GLOBAL, CUDA_SUCCESS);
		expect(FREE, modes[i], do_memset_async, GLOBAL, CUDA_SUCCESS);
	}
}

static void context_cannot_be_waited_for(void)
{
	expect(FREE, GLOBAL, cuCtxSynchronize, RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

static void handles_may_be_had(void)
{
	expect(BLOCKING, GLOBAL, do_ipc, GLOBAL, CUDA_SUCCESS);
	expect(BLOCKING, GLOBAL, do_export, GLOBAL, CUDA_SUCCESS);
}

static void begin_and_end_match(void)
{
	CUgraph graph;

	enter();
	check_eq(cuStreamBeginCapture_v2(NULL, GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	check_eq(cuStreamEndCapture(other, &graph), 401);
	check_eq(cuStreamBeginCapture_v2(other, 9), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuStreamBeginCapture_v2(other, GLOBAL), CUDA_SUCCESS);
	check_eq(cuStreamBeginCapture_v2(other, GLOBAL), 401);
	check_eq(cuStreamEndCapture(other, &graph), CUDA_SUCCESS);
	check_eq(cuGraphDestroy(graph), CUDA_SUCCESS);
	check_eq(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
}

static CUresult do_end(void)
{
	CUgraph graph;
	CUresult ret = cuStreamEndCapture(other, &graph);

	return ret ? ret : cuGraphDestroy(graph);
}

static void only_the_beginner_ends(void)
{
	struct attempt a = { .call = do_end, .thread_mode = GLOBAL };
	const struct {
		int mode;
		CUresult want;
	} cases[] = { { GLOBAL, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD }, { RELAXED, CUDA_SUCCESS } };
	pthread_t thread;
	int status;

	enter();
	for (int i = 0; i < 2; i++) {
		check_eq(cuStreamBeginCapture_v2(other, cases[i].mode), CUDA_SUCCESS);
		check(!pthread_create(&thread, NULL, attempt, &a));
		check(!pthread_join(thread, NULL));
		check_eq(a.got, cases[i].want);
		check_eq(cuStreamIsCapturing(other, &status), CUDA_SUCCESS);
		check_eq(status, NONE);
	}
}

static void captured_work_does_not_run(void)
{
	unsigned char before, after;
	CUgraph graph;

	enter();
	check_eq(cuMemcpyDtoH_v2(&before, device, 1), CUDA_SUCCESS);
	check_eq(cuStreamBeginCapture_v2(other, GLOBAL), CUDA_SUCCESS);
	check_eq(cuMemsetD8Async(device, (unsigned char)~before, 16, other), CUDA_SUCCESS);
	check_eq(cuStreamEndCapture(other, &graph), CUDA_SUCCESS);
	check_eq(cuGraphDestroy(graph), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(other), CUDA_SUCCESS);
	check_eq(cuMemcpyDtoH_v2(&after, device, 1), CUDA_SUCCESS);
	check_eq(after, before);
}

static void capturing_stream_cannot_be_asked(void)
{
	CUevent captured;
	CUgraph graph;

	enter();
	check_eq(cuStreamBeginCapture_v2(other, GLOBAL), CUDA_SUCCESS);
	check_eq(cuStreamQuery(other), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	check_eq(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	check(!graph);
	check_eq(cuEventCreate(&captured, 0), CUDA_SUCCESS);
	check_eq(cuStreamBeginCapture_v2(other, GLOBAL), CUDA_SUCCESS);
	check_eq(cuEventRecord(captured, other), CUDA_SUCCESS);
	check_eq(cuEventQuery(captured), 907);
	check_eq(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	check_eq(cuEventDestroy_v2(captured), CUDA_SUCCESS);
}

static const struct tap_test tests[] = {
	{ "global_capture_forbids_unsafe_calls_in_other_threads", global_capture_forbids_unsafe_calls },
	{ "threads_in_a_narrower_mode_may_make_them", relaxed_threads_may },
	{ "captures_of_a_narrower_mode_leave_other_threads_alone", narrower_captures_leave_others_alone },
	{ "a_threads_own_capture_forbids_it_unsafe_calls", own_capture_forbids_unsafe_calls },
	{ "default_stream_breaks_a_capture_on_a_blocking_stream", default_stream_would_join_a_blocking_capture },
	{ "context_that_captures_cannot_be_waited_for", context_cannot_be_waited_for },
	{ "ipc_handles_and_vmm_memory_may_be_had_meanwhile", handles_may_be_had },
	{ "begin_and_end_match", begin_and_end_match },
	{ "only_the_thread_that_began_a_capture_ends_it", only_the_beginner_ends },
	{ "captured_work_does_not_run", captured_work_does_not_run },
	{ "capturing_streams_and_events_cannot_be_asked", capturing_stream_cannot_be_asked },
};

TAP_MAIN(tests)
