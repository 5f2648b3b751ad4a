// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver: words that streams write and wait for, and functions that they call. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <unistd.h>

#include "child.h"
#include "emu/cuda/api.h"
#include "tests/tap.h"

#define PAGE 4096

static CUcontext ctx;
static CUdeviceptr device;
static _Atomic(uint32_t) *words; /* pinned; the emulated device reaches them under the same address */

static void enter(void)
{
	void *host;

	if (ctx)
		return;
	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&device, PAGE), CUDA_SUCCESS);
	check_eq(cuMemHostAlloc(&host, PAGE, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
	words = host;
}

static CUstream new_stream(void)
{
	CUstream stream;

	enter();
	for (int i = 0; i < PAGE / 4; i++)
		atomic_store(&words[i], 0);
	check_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	return stream;
}

static CUdeviceptr word(int i)
{
	return (CUdeviceptr)&words[i];
}

static void end(CUstream stream)
{
	check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

static void bad_arguments(void)
{
	CUstream stream = new_stream();
	char local[8];

	check_eq(cuStreamWaitValue32_v2(stream, word(0) + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuStreamWaitValue64_v2(stream, word(1), 0, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuStreamWaitValue32_v2(stream, word(0), 0, 4), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuStreamWaitValue32_v2(stream, (CUdeviceptr)local & ~7ULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuStreamWriteValue64_v2(stream, word(0), 0, 2), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuStreamWaitValue32_v2((CUstream)0x12345678, word(0), 0, 0), CUDA_ERROR_INVALID_HANDLE);
	end(stream);
}

static void waits_for(unsigned int how, uint32_t from, uint32_t value, uint32_t to)
{
	CUstream stream = new_stream();

	atomic_store(&words[0], from);
	check_eq(cuStreamWaitValue32_v2(stream, word(0), value, how), CUDA_SUCCESS);
	check_eq(cuStreamWriteValue32_v2(stream, word(1), 7, 0), CUDA_SUCCESS);
	usleep(10000);
	check_eq(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	check_eq(atomic_load(&words[1]), 0);
	atomic_store(&words[0], to);
	end(stream);
	check_eq(atomic_load(&words[1]), 7);
}

static void comparisons(void)
{
	waits_for(CU_STREAM_WAIT_VALUE_GEQ, 4, 5, 6);
	waits_for(CU_STREAM_WAIT_VALUE_GEQ, 0xfffffffe, 1, 2);
	waits_for(CU_STREAM_WAIT_VALUE_EQ, 6, 5, 5);
	waits_for(CU_STREAM_WAIT_VALUE_AND, 1, 6, 4);
	waits_for(CU_STREAM_WAIT_VALUE_NOR, 0xfffffff0, 0x0f, 0);
	waits_for(CU_STREAM_WAIT_VALUE_GEQ | CU_STREAM_WAIT_VALUE_FLUSH, 0, 1, 1);
}

static void wide_words(void)
{
	CUstream stream = new_stream();
	_Atomic(uint64_t) *wide = (_Atomic(uint64_t) *)&words[0];

	check_eq(cuStreamWaitValue64_v2(stream, word(0), 1ULL << 40, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
	check_eq(cuStreamWriteValue64_v2(stream, word(2), 1ULL << 50, 0), CUDA_SUCCESS);
	atomic_store(wide, 0xffffffff);
	usleep(5000);
	check_eq(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	atomic_store(wide, (1ULL << 40) + 1);
	end(stream);
	check(atomic_load(&wide[1]) == 1ULL << 50);
}

static void streams_release_each_other(void)
{
	CUstream first = new_stream(), second;
	unsigned char seen = 0;

	check_eq(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(cuMemsetD8_v2(device, 0, 1), CUDA_SUCCESS);
	/* streams that do not block would not wait for it */
	check_eq(cuStreamSynchronize(NULL), CUDA_SUCCESS);
	check_eq(cuStreamWaitValue32_v2(first, word(0), 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
	check_eq(cuMemsetD8Async(device, 9, 1, first), CUDA_SUCCESS);
	check_eq(cuStreamWriteValue32_v2(second, word(0), 1, 0), CUDA_SUCCESS);
	end(first);
	end(second);
	check_eq(cuMemcpyDtoH_v2(&seen, device, 1), CUDA_SUCCESS);
	check_eq(seen, 9);
}

static void stopped_work(void *arg)
{
	while (!atomic_load((atomic_int *)arg))
		usleep(100);
}

/* Work behind a wait is in the channel, and all that is submitted to it later waits for it. */
static void wait_in_channel(const void *arg)
{
	CUstream first = new_stream(), second;
	int shared = *(const int *)arg;

	check_eq(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(cuStreamWaitValue32_v2(first, word(0), 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
	check_eq(cuMemsetD8Async(device, 9, 1, first), CUDA_SUCCESS);
	check_eq(cuMemsetD8Async(device + 1, 8, 1, second), CUDA_SUCCESS);
	usleep(50000);
	check_eq(cuStreamQuery(second), shared ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
	atomic_store(&words[0], 1);
	end(first);
	end(second);
}

/* CUDA keeps what waits for a function of the program's to itself. */
static void function_outside_channel(const void *arg)
{
	CUstream first = new_stream(), second;
	atomic_int open = 0;

	check_eq(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(cuLaunchHostFunc(first, stopped_work, &open), CUDA_SUCCESS);
	check_eq(cuMemsetD8Async(device, 9, 1, first), CUDA_SUCCESS);
	check_eq(cuMemsetD8Async(device + 1, 8, 1, second), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(second), CUDA_SUCCESS);
	check_eq(cuStreamQuery(first), CUDA_ERROR_NOT_READY);
	atomic_store(&open, 1);
	end(first);
	end(second);
}

static void streams_share_channels(void)
{
	static const char *const one[] = { "BARLANE_EMU_CHANNELS", "1", NULL };
	static const char *const each[] = { "BARLANE_EMU_CHANNELS", "0", NULL };
	static const int yes = 1, no = 0;

	child_run(wait_in_channel, &yes, one);
	child_run(wait_in_channel, &no, each);
	child_run(function_outside_channel, NULL, one);
}

static void waits_end_with_the_context(void)
{
	CUcontext other;
	CUstream stream;

	enter();
	atomic_store(&words[0], 0);
	check_eq(cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
	check_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(cuStreamWaitValue32_v2(stream, word(0), 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
	check_eq(cuCtxDestroy_v2(other), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
}

static void streams_know_their_context(void)
{
	CUstream stream = new_stream();
	CUcontext other, got = NULL;

	check_eq(cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
	check_eq(cuStreamGetCtx(stream, &got), CUDA_SUCCESS);
	check(got == ctx);
	check_eq(cuStreamGetCtx(NULL, &got), CUDA_SUCCESS);
	check(got == other);
	check_eq(cuStreamGetCtx(stream, NULL), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuStreamGetCtx((CUstream)0x1234567, &got), CUDA_ERROR_INVALID_HANDLE);
	check_eq(cuCtxDestroy_v2(other), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
	end(stream);
}

static void streams_have_numbers(void)
{
	unsigned long long first = 0, second = 0, own = 0;
	CUstream stream = new_stream();

	check_eq(cuStreamGetId(stream, &first), CUDA_SUCCESS);
	check_eq(cuStreamGetId(stream, NULL), CUDA_ERROR_INVALID_VALUE);
	end(stream);
	stream = new_stream();
	check_eq(cuStreamGetId(stream, &second), CUDA_SUCCESS);
	check_eq(cuStreamGetId((CUstream)2, &own), CUDA_SUCCESS);
	check(first != second && second != own);
	check_eq(cuStreamGetId((CUstream)0x1234567, &own), CUDA_ERROR_INVALID_HANDLE);
	end(stream);
}

static atomic_int calls;
static atomic_int told;

static void callback(CUstream stream, CUresult status, void *arg)
{
	atomic_fetch_add(&calls, 1);
	atomic_store(&told, status);
	atomic_store((_Atomic(CUstream) *)arg, stream);
}

static void host_fn(void *arg)
{
	atomic_fetch_add(&calls, 1);
}

static void callbacks(void)
{
	CUstream stream = new_stream();
	_Atomic(CUstream) of = NULL;
	CUgraph graph;

	atomic_store(&calls, 0);
	check_eq(cuStreamAddCallback(stream, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuStreamAddCallback(stream, callback, &of, 1), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuStreamAddCallback(stream, callback, &of, 0), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(atomic_load(&calls), 1);
	check_eq(atomic_load(&told), CUDA_SUCCESS);
	check(atomic_load(&of) == stream);
	check_eq(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
	check_eq(cuStreamAddCallback(stream, callback, &of, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	check_eq(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	end(stream);
}

static void call_cuda(void *arg)
{
	int version;

	atomic_store((atomic_int *)arg, cuDriverGetVersion(&version));
	cuMemAlloc_v2(&device, 1);
	atomic_store((atomic_int *)arg, cuMemAlloc_v2(&device, 1));
}

static void host_functions_that_call_cuda(const void *arg)
{
	struct bl_emu_counts counts;
	atomic_int got = -1;
	CUstream stream = new_stream();

	check_eq(cuLaunchHostFunc(stream, call_cuda, &got), CUDA_SUCCESS);
	end(stream);
	check_eq(atomic_load(&got), CUDA_ERROR_NOT_PERMITTED);
	bl_emu_counts(&counts);
	check_eq(counts.violations, 3);
	check_has(bl_emu_violation(), "a function that a stream had called");
	/* the thread that asks is no host function */
	check_eq(cuMemAlloc_v2(&device, 1), CUDA_SUCCESS);
}

static void calling_cuda_is_a_violation(void)
{
	child_run(host_functions_that_call_cuda, NULL, NULL);
}

static void faults(void)
{
	CUstream stream = new_stream();
	CUcontext got;
	int status;

	check_eq(bl_emu_fault("cuda.wait,cuda.memop,cuda.hostfn:2,cuda.streamctx,cuda.capturing:1:709"), 0);
	check_eq(cuStreamWaitValue32_v2(stream, word(0), 0, 0), CUDA_ERROR_NOT_SUPPORTED);
	check_eq(cuStreamWaitValue32_v2(stream, word(0), 0, 0), CUDA_SUCCESS);
	check_eq(cuStreamWriteValue64_v2(stream, word(0), 0, 0), CUDA_ERROR_NOT_SUPPORTED);
	check_eq(cuLaunchHostFunc(stream, host_fn, NULL), CUDA_SUCCESS);
	check_eq(cuLaunchHostFunc(stream, host_fn, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	check_eq(cuStreamGetCtx(stream, &got), CUDA_ERROR_INVALID_CONTEXT);
	check_eq(cuStreamIsCapturing(stream, &status), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	check_eq(bl_emu_fault(""), 0);
	end(stream);
}

static void versions(void)
{
	void *fn = NULL;
	int status = -1;

	enter();
	check_eq(cuGetProcAddress_v2("cuStreamWaitValue32", &fn, 12000, 0, &status), CUDA_SUCCESS);
	check(fn == (void *)cuStreamWaitValue32_v2);
	check_eq(cuGetProcAddress_v2("cuStreamGetCtx", &fn, 9020, 0, &status), CUDA_SUCCESS);
	check(fn == (void *)cuStreamGetCtx);
}

/* Those in children come first: a child of a process that uses CUDA has none. */
static const struct tap_test tests[] = {
	{ "calling_cuda_in_a_host_function_is_refused_and_counted", calling_cuda_is_a_violation },
	{ "work_behind_a_wait_stops_other_streams_of_its_channel", streams_share_channels },
	{ "words_that_are_not_there_or_not_aligned_are_refused", bad_arguments },
	{ "a_stream_waits_until_the_comparison_holds", comparisons },
	{ "words_of_64_bits_are_compared_whole", wide_words },
	{ "one_stream_releases_another", streams_release_each_other },
	{ "a_wait_ends_with_its_context", waits_end_with_the_context },
	{ "a_stream_tells_its_context", streams_know_their_context },
	{ "a_number_of_a_stream_is_not_used_again", streams_have_numbers },
	{ "callbacks_are_told_stream_and_status_and_break_captures", callbacks },
	{ "each_stream_call_fails_when_it_is_told_to", faults },
	{ "entries_are_found_by_name_and_version", versions },
};

TAP_MAIN(tests)
