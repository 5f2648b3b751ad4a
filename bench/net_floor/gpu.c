// SPDX-License-Identifier: MIT
/* gpu.c - the GPU's side: kernels, and what its operations take by its own clock */
#include "floor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/object.h"

#define OBJECT "net_floor_kernels.so"

/* The longest wait of a kernel: it ends soon after the program has given up. */
#define KERNEL_NS 2000000000ULL

#ifdef HAVE_FLOOR_PTX
extern const char bl_net_floor_ptx_75[];
#endif
#ifdef HAVE_FLOOR_PTX_90
extern const char bl_net_floor_ptx_90[];
#endif

static void need(CUresult res, const char *what)
{
	if (tool_cuda(res, what))
		tool_die("%s", tool_why());
}

static const char *choose_ptx(const struct tool_device *device)
{
#ifdef HAVE_FLOOR_PTX_90
	if (tool_device_attr(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9)
		return bl_net_floor_ptx_90;
#endif
	(void)device;
#ifdef HAVE_FLOOR_PTX
	return bl_net_floor_ptx_75;
#else
	return NULL;
#endif
}

static int load_kernels(struct floor *floor)
{
	const struct tool_device *device = &floor->bench.device;
	const char *ptx = choose_ptx(device), *why = "this program was built without nvcc";

	if (ptx) {
		CUresult res = device->cu->cuModuleLoadData(&floor->module, ptx);

		if (res != CUDA_ERROR_NO_BINARY_FOR_GPU)
			return tool_cuda(res, "cuModuleLoadData");
		why = "the driver takes no PTX";
	}
	return tool_object_load(device, OBJECT, why, &floor->module);
}

int floor_open(struct floor *floor)
{
	const struct bl_cuda *cu = floor->bench.device.cu;
	int ret = load_kernels(floor);

	if (ret == -ENOENT)
		return ret;
	if (ret)
		tool_die("%s", tool_why());
	floor->gpu = floor->bench.mem.ptr;
	floor->map = (unsigned char *)floor->bench.user;
	need(cu->cuMemHostAlloc((void **)&floor->host, BL_FLOOR_BYTES, 0), "cuMemHostAlloc");
	need(cu->cuStreamCreate(&floor->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	return 0;
}

void floor_close(struct floor *floor)
{
	const struct bl_cuda *cu = floor->bench.device.cu;

	need(cu->cuStreamDestroy(floor->stream), "cuStreamDestroy");
	need(cu->cuModuleUnload(floor->module), "cuModuleUnload");
	need(cu->cuMemFreeHost(floor->host), "cuMemFreeHost");
}

void floor_launch(struct floor *floor, const char *kernel, int kind, unsigned int threads)
{
	const struct bl_cuda *cu = floor->bench.device.cu;
	struct bl_floor_work work = {
		.host = (uintptr_t)floor->host,
		.gpu = floor->gpu,
		.turns = floor->turns,
		.limit_ns = KERNEL_NS,
		.kind = (uint32_t)kind,
	};
	const uint64_t loaded[2] = { BL_FLOOR_LOADED, BL_FLOOR_LOADED };
	void *params[] = { &work };
	CUfunction fn;

	memset(floor->host, 0, BL_FLOOR_BYTES);
	memcpy(floor->host + BL_FLOOR_AT_LOAD, loaded, sizeof(loaded));
	need(cu->cuMemsetD8(floor->gpu, 0, BL_FLOOR_AT_LINES), "cuMemsetD8");
	need(cu->cuMemcpyHtoD(floor->gpu + BL_FLOOR_AT_LOAD, loaded, sizeof(loaded)), "cuMemcpyHtoD");
	need(cu->cuCtxSynchronize(), "cuCtxSynchronize");
	need(cu->cuModuleGetFunction(&fn, floor->module, kernel), "cuModuleGetFunction");
	need(cu->cuLaunchKernel(fn, 1, 1, 1, threads, 1, 1, 0, floor->stream, params, NULL), "cuLaunchKernel");
}

void floor_finish(struct floor *floor, struct bl_floor_result *result)
{
	const struct bl_cuda *cu = floor->bench.device.cu;
	const struct timespec nap = { .tv_nsec = 20000 };
	CUresult res;

	while ((res = cu->cuStreamQuery(floor->stream)) == CUDA_ERROR_NOT_READY) {
		if (tool_now_ns() > floor->end_ns)
			floor_give_up(floor, "a kernel on the GPU did not end in time");
		nanosleep(&nap, NULL);
	}
	need(res, "the kernel on the GPU");
	need(cu->cuMemcpyDtoH(result, floor->gpu + BL_FLOOR_AT_RESULT, sizeof(*result)), "cuMemcpyDtoH");
}

void floor_give_up(struct floor *floor, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	__atomic_store_n(floor_host_word(floor, BL_FLOOR_AT_STOP), 1, __ATOMIC_RELEASE);
	fprintf(stderr, "net_floor: %s\n", text);
	fflush(NULL);
	/* handlers of the driver would wait for the kernel */
	_exit(EXIT_FAILURE);
}

/**
 * struct left - the word that an operation leaves in the host's memory, or that it found
 * @off:   where; 0: nowhere, the word is the one that was found
 * @turns: whether it is the number of turns; else BL_FLOOR_LOADED; < 0: nothing is left
 */
struct left {
	size_t off;
	int turns;
};

static const struct left lefts[] = {
	[BL_FLOOR_REQUEST_FENCE] = { BL_FLOOR_AT_REQUEST + 56, 1 },
	[BL_FLOOR_FENCE] = { 0, -1 },
	[BL_FLOOR_REQUEST_RELEASE] = { BL_FLOOR_AT_REQUEST + 56, 1 },
	[BL_FLOOR_RELEASE] = { 0, -1 },
	[BL_FLOOR_REQUEST_STORE] = { BL_FLOOR_AT_FLAG, 1 },
	[BL_FLOOR_STORE] = { BL_FLOOR_AT_FLAG, 1 },
	[BL_FLOOR_MAX] = { BL_FLOOR_AT_COUNT, 1 },
	[BL_FLOOR_ADD] = { BL_FLOOR_AT_COUNT, 1 },
	[BL_FLOOR_LOAD_GPU] = { 0, 0 },
	[BL_FLOOR_LOAD_HOST] = { 0, 0 },
};

static int time_op(struct floor *floor, int op, double *ns_p)
{
	const struct left *left = &lefts[op];
	struct bl_floor_result result;
	uint64_t word;

	floor_launch(floor, "bl_floor_time", op, 1);
	floor_finish(floor, &result);
	if (result.end == BL_FLOOR_ABSENT)
		return -EOPNOTSUPP;
	if (result.end != BL_FLOOR_DONE || result.turns != floor->turns)
		tool_die("operation %d: the kernel ended as %u after %" PRIu64 " turns", op, result.end, result.turns);
	word = left->off ? *floor_host_word(floor, left->off) : result.word;
	if (left->turns >= 0 && word != (left->turns ? floor->turns : BL_FLOOR_LOADED))
		tool_die("operation %d: it left 0x%" PRIx64 ", which is wrong", op, word);
	*ns_p = (double)result.ns / (double)floor->turns;
	return 0;
}

const struct floor_row floor_gpu_rows[] = {
	{ "gpu", "request_fence", "64 bytes to the host, fence.acq_rel.sys", time_op, BL_FLOOR_REQUEST_FENCE },
	{ "gpu", "fence", "fence.acq_rel.sys", time_op, BL_FLOOR_FENCE },
	{ "gpu", "request_release", "64 bytes to the host, fence.release.sys", time_op, BL_FLOOR_REQUEST_RELEASE },
	{ "gpu", "release", "fence.release.sys", time_op, BL_FLOOR_RELEASE },
	{ "gpu", "request_store", "64 bytes to the host, st.release.sys", time_op, BL_FLOOR_REQUEST_STORE },
	{ "gpu", "store", "st.release.sys to the host", time_op, BL_FLOOR_STORE },
	{ "gpu", "max", "atom.max.sys of the host's", time_op, BL_FLOOR_MAX },
	{ "gpu", "add", "atom.add.sys of the host's", time_op, BL_FLOOR_ADD },
	{ "gpu", "load_gpu", "ld.acquire.sys of the GPU's", time_op, BL_FLOOR_LOAD_GPU },
	{ "gpu", "load_host", "ld.relaxed.sys of the host's", time_op, BL_FLOOR_LOAD_HOST },
	{ NULL, NULL, NULL, NULL, 0 },
};
