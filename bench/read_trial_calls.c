// SPDX-License-Identifier: MIT
/* Of read_trial: what single calls take, and what captures say to them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/stats.h"
#include "read_trial.h"

#define LEN	 (64UL << 10)
#define ROWS	 2001
#define IN_ROW	 64
#define NR_STEPS 8

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return tool_now_ns();
#endif
}

/* Ticks per nanosecond. */
static double rate(void)
{
	uint64_t start = tool_now_ns(), first = ticks(), now;

	do {
		now = tool_now_ns();
	} while (now - start < 20000000);
	return (double)(ticks() - first) / (double)(now - start);
}

static CUresult attribute(void)
{
	uint64_t id;

	return bed.cu->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, bed.mem.ptr);
}

static CUresult host_attribute(void)
{
	uint64_t id;

	return bed.cu->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, (uintptr_t)bed.words);
}

static CUresult host_attributes(void)
{
	unsigned int type;
	CUdeviceptr start;
	size_t size;
	int attrs[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		       CU_POINTER_ATTRIBUTE_RANGE_SIZE};
	void *values[] = {&type, &start, &size};

	return bed.cu->cuPointerGetAttributes(3, attrs, values, (uintptr_t)bed.dst);
}

static CUresult get_current(void)
{
	CUcontext context;

	return bed.cu->cuCtxGetCurrent(&context);
}

static CUresult get_device(void)
{
	CUdevice device;

	return bed.cu->cuCtxGetDevice(&device);
}

/* The current context's, which no other has or will have. */
static CUresult get_id(void)
{
	unsigned long long id;

	return bed.more.context_id ? bed.more.context_id(NULL, &id) : CUDA_SUCCESS;
}

static CUresult push_pop(void)
{
	CUcontext context;
	CUresult err = bed.cu->cuCtxPushCurrent(bed.device.ctx);

	return err ? err : bed.cu->cuCtxPopCurrent(&context);
}

static CUresult exchange(void)
{
	static int mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	return bed.cu->cuThreadExchangeStreamCaptureMode(&mode);
}

static CUresult query(void)
{
	return bed.cu->cuStreamQuery(bed.stream);
}

static CUresult lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}

static CUresult look_at_clock(void)
{
	return tool_now_ns() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static CUresult stamp(void)
{
	return ticks() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static CUresult store_fence(void)
{
#if defined(__x86_64__)
	__builtin_ia32_sfence();
#endif
	return CUDA_SUCCESS;
}

static CUresult relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
	return CUDA_SUCCESS;
}

static const struct call {
	const char *name;
	CUresult (*fn)(void);
} calls[] = {
	{"cuPointerGetAttribute(BUFFER_ID), GPU memory", attribute},
	{"cuPointerGetAttribute(BUFFER_ID), host memory", host_attribute},
	{"cuPointerGetAttributes(3), host memory", host_attributes},
	{"cuCtxGetCurrent", get_current},
	{"cuCtxGetDevice", get_device},
	{"cuCtxGetId", get_id},
	{"cuCtxPushCurrent, cuCtxPopCurrent", push_pop},
	{"cuThreadExchangeStreamCaptureMode, twice", NULL},
	{"cuStreamQuery, idle", query},
	{"pthread_mutex_lock, _unlock", lock},
	{"clock_gettime", look_at_clock},
	{"rdtsc", stamp},
	{"sfence", store_fence},
	{"pause", relax},
};

static double time_call(const struct call *call, double per_ns)
{
	static double samples[ROWS];
	struct tool_stats stats;

	for (int row = 0; row < ROWS; row++) {
		uint64_t start = ticks();

		for (int i = 0; i < IN_ROW; i++) {
			if (call->fn) {
				must(call->fn(), call->name);
			} else {
				must(exchange(), call->name);
				must(exchange(), call->name);
			}
		}
		samples[row] = (double)(ticks() - start) / IN_ROW / per_ns;
	}
	tool_stats_fill(samples, ROWS, &stats);
	return stats.p50;
}

static const char *const steps[NR_STEPS] = {
	"is the memory there", "current context", "capture mode", "store fence",
	"post the read",       "post the token",  "wait",	  "capture mode back",
};

/* One copy as bl_copy() does it, with a stamp behind each step. */
static void copy_stamped(uint64_t *stamps, uint32_t number)
{
	const struct bl_cuda *cu = bed.cu;
	CUdeviceptr mark = bed.marks + number % NR_MARKS * MARK_STRIDE;

	*bed.words = NO_WORD;
	stamps[0] = ticks();
	must(attribute(), steps[0]);
	stamps[1] = ticks();
	must(get_current(), steps[1]);
	stamps[2] = ticks();
	must(exchange(), steps[2]);
	stamps[3] = ticks();
	store_fence();
	stamps[4] = ticks();
	must(cu->cuMemcpyDtoHAsync(bed.dst, bed.mem.ptr, LEN, bed.stream), steps[4]);
	stamps[5] = ticks();
	must(cu->cuMemcpyDtoHAsync(bed.words, mark, sizeof(*bed.words), bed.stream), steps[5]);
	stamps[6] = ticks();
	await_word(bed.words, number % NR_MARKS);
	stamps[7] = ticks();
	must(exchange(), steps[7]);
	stamps[8] = ticks();
}

static void show_steps(double per_ns)
{
	static double samples[NR_STEPS + 1][ROWS];
	uint64_t stamps[NR_STEPS + 1];
	struct tool_stats stats;

	for (uint32_t row = 0; row < ROWS; row++) {
		copy_stamped(stamps, row);
		for (int i = 0; i < NR_STEPS; i++)
			samples[i][row] = (double)(stamps[i + 1] - stamps[i]) / per_ns;
		samples[NR_STEPS][row] = (double)(stamps[NR_STEPS] - stamps[0]) / per_ns;
	}
	printf("# steps of a read of 64 KiB by token: min, p50, p99 in ns; a stamp is part of each\n");
	for (int i = 0; i <= NR_STEPS; i++) {
		tool_stats_fill(samples[i], ROWS, &stats);
		printf("%-48s %7.0f %7.0f %7.0f\n", i < NR_STEPS ? steps[i] : "all", stats.min, stats.p50, stats.p99);
	}
}

void show_calls(void)
{
	double per_ns = rate();

	printf("# calls in a row, ns each, p50 of %d rows of %d; %.3f ticks a ns\n", ROWS, IN_ROW, per_ns);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		printf("%-48s %7.1f\n", calls[i].name, time_call(&calls[i], per_ns));
	show_steps(per_ns);
	fflush(stdout);
}

static CUresult read_one(void)
{
	return bed.cu->cuMemcpyDtoHAsync(bed.dst, bed.mem.ptr, LEN, bed.stream);
}

static CUresult write_one(void)
{
	return bed.cu->cuMemcpyHtoDAsync(bed.mem.ptr, bed.dst, LEN, bed.stream);
}

static CUresult write_value(void)
{
	return bed.cu->cuStreamWriteValue32 ? bed.cu->cuStreamWriteValue32(bed.stream, (uintptr_t)bed.words, 1, 0)
					    : CUDA_SUCCESS;
}

static const struct call captured[] = {
	{"cuPointerGetAttribute", attribute},
	{"cuPointerGetAttributes", host_attributes},
	{"cuCtxGetCurrent", get_current},
	{"cuMemcpyDtoHAsync", read_one},
	{"cuMemcpyHtoDAsync", write_one},
	{"cuStreamWriteValue32", write_value},
	{"cuStreamQuery", query},
};

static void *in_thread(void *arg)
{
	const struct call *call = arg;

	must(bed.cu->cuCtxSetCurrent(bed.device.ctx), "cuCtxSetCurrent");
	return (void *)(uintptr_t)call->fn();
}

/* A capture in mode "global" in this thread, and the call in this or in another thread, in its own mode. */
static void show_capture(const struct call *call, bool other)
{
	CUgraph graph = NULL;
	CUresult err, end;
	pthread_t thread;
	void *result = NULL;

	must(bed.cu->cuStreamBeginCapture(bed.others[0], CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
	if (!other)
		err = call->fn();
	else if (pthread_create(&thread, NULL, in_thread, (void *)(uintptr_t)call) || pthread_join(thread, &result))
		tool_die("no thread");
	else
		err = (CUresult)(uintptr_t)result;
	end = bed.cu->cuStreamEndCapture(bed.others[0], &graph);
	printf("%-28s %-8s %-36s capture ends with %s\n", call->name, other ? "other" : "same", bl_cuda_strerror(err),
	       bl_cuda_strerror(end));
	if (!end && graph)
		must(bed.cu->cuGraphDestroy(graph), "cuGraphDestroy");
	must(bed.cu->cuStreamSynchronize(bed.stream), "cuStreamSynchronize");
}

void show_captures(void)
{
	printf("# calls beside a capture in mode global, in the same and in another thread\n");
	for (size_t i = 0; i < sizeof(captured) / sizeof(captured[0]); i++) {
		show_capture(&captured[i], false);
		show_capture(&captured[i], true);
	}
}
