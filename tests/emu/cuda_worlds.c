// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver in worlds that its environment describes, each in a process of its own. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "child.h"
#include "emu/cuda/api.h"
#include "gpu/kernels/pattern.h"
#include "tests/tap.h"

static void enter(void)
{
	CUcontext ctx;

	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
}

static void in_world(void (*run)(const void *arg), const void *arg, const char *name, const char *value)
{
	const char *const env[] = { name, value, NULL };

	child_run(run, arg, env);
}

static void expect_init(const void *arg)
{
	/* the complaint on stderr is expected */
	check(freopen("/dev/null", "w", stderr));
	check_eq(cuInit(0), *(const CUresult *)arg);
}

static void bad_variables(void)
{
	static const char *const bad[][2] = {
		{ "BARLANE_EMU_GPUS", "9" },	   { "BARLANE_EMU_GPUS", "-1" },  { "BARLANE_EMU_GPUS", "two" },
		{ "BARLANE_EMU_VRAM", "16Q" },	   { "BARLANE_EMU_VRAM", "1K" },  { "BARLANE_EMU_VRAM", "4GB" },
		{ "BARLANE_EMU_STATIC_BAR1", "2" }, { "BARLANE_EMU_CUDA", "13.0" }, { "BARLANE_EMU_BLOB", "other" },
		{ "BARLANE_EMU_LOAD", "now" },
	};
	const CUresult unknown = CUDA_ERROR_UNKNOWN, no_device = CUDA_ERROR_NO_DEVICE;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		in_world(expect_init, &unknown, bad[i][0], bad[i][1]);
	in_world(expect_init, &no_device, "BARLANE_EMU_GPUS", "0");
}

static void eight_gpus(const void *arg)
{
	char id[16], before[16] = "";
	CUdeviceptr ptr[8];
	CUcontext ctx;
	CUuuid uuid, first;
	int nr, ordinal;

	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDeviceGetCount(&nr), CUDA_SUCCESS);
	check_eq(nr, 8);
	check_eq(cuDeviceGetUuid(&first, 0), CUDA_SUCCESS);
	for (int i = 0; i < nr; i++) {
		check_eq(cuDeviceGetPCIBusId(id, sizeof(id), i), CUDA_SUCCESS);
		check(strcmp(id, before) > 0);
		strcpy(before, id);
		check_eq(cuDeviceGetUuid(&uuid, i), CUDA_SUCCESS);
		check_eq(!memcmp(&uuid, &first, sizeof(uuid)), !i);
		check_eq(cuCtxCreate_v2(&ctx, 0, i), CUDA_SUCCESS);
		check_eq(cuMemAlloc_v2(&ptr[i], 8192), CUDA_SUCCESS);
	}
	for (int i = 0; i < nr; i++) {
		check_eq(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, ptr[i]), CUDA_SUCCESS);
		check_eq(ordinal, i);
	}
	check_eq(cuMemsetD8_v2(ptr[7], 9, 8192), CUDA_SUCCESS);
	check_eq(cuMemcpyDtoD_v2(ptr[0], ptr[7], 8192), CUDA_SUCCESS);
	check_eq(cuMemcpyDtoH_v2(id, ptr[0] + 8000, 1), CUDA_SUCCESS);
	check_eq(id[0], 9);
}

static void several_gpus(void)
{
	in_world(eight_gpus, NULL, "BARLANE_EMU_GPUS", "8");
}

static void small_gpu(const void *arg)
{
	CUdeviceptr ptr;
	size_t bytes;

	enter();
	check_eq(cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
	check_eq(bytes, 64 << 20);
	check_eq(cuMemAlloc_v2(&ptr, 64 << 20), CUDA_ERROR_OUT_OF_MEMORY);
	check_eq(cuMemAlloc_v2(&ptr, 60 << 20), CUDA_SUCCESS);
}

static void memory_size(void)
{
	in_world(small_gpu, NULL, "BARLANE_EMU_VRAM", "64M");
}

static void newer_driver(const void *arg)
{
	int version, value;

	enter();
	check_eq(cuDriverGetVersion(&version), CUDA_SUCCESS);
	check_eq(version, *(const int *)arg);
	if (version < 13030) {
		check_eq(cuDeviceGetAttribute(&value, 152, 0), CUDA_ERROR_INVALID_VALUE);
		return;
	}
	check_eq(cuDeviceGetAttribute(&value, 152, 0), CUDA_SUCCESS);
	check_eq(value, 1);
}

static void driver_version(void)
{
	const int old = 13020, new = 13030;

	in_world(newer_driver, &old, "BARLANE_EMU_CUDA", "13020");
	in_world(newer_driver, &new, "BARLANE_EMU_CUDA", "13030");
}

/* Words of the layout that was measured. */
struct blob {
	uint32_t units, offset, client, memory;
};

static struct blob blob_of(CUdeviceptr ptr)
{
	CUipcMemHandle handle;
	struct blob blob;

	check_eq(cuIpcGetMemHandle(&handle, ptr), CUDA_SUCCESS);
	memcpy(&blob.units, handle.reserved + 24, 4);
	memcpy(&blob.offset, handle.reserved + 28, 4);
	memcpy(&blob.client, handle.reserved + 48, 4);
	memcpy(&blob.memory, handle.reserved + 52, 4);
	return blob;
}

/* What is at the measured places must be wrong in the way that the variant promises, and right elsewhere. */
static void drifted(const void *arg)
{
	const char *variant = arg;
	struct blob seen;
	CUdeviceptr ptr;
	int same_client;

	enter();
	check_eq(cuMemAlloc_v2(&ptr, 4 << 20), CUDA_SUCCESS);
	seen = blob_of(ptr);
	same_client = seen.client >> 20 == 0xc1d && seen.memory >> 24 == 0x5c;
	if (!strcmp(variant, "real"))
		check(same_client && seen.units == 1024 && seen.offset == 0);
	else if (!strcmp(variant, "swap"))
		check(seen.memory >> 20 == 0xc1d && seen.client >> 24 == 0x5c);
	else if (!strcmp(variant, "offset"))
		check(same_client && seen.units == 1024 && seen.offset != 0);
	else if (!strcmp(variant, "size"))
		check(same_client && seen.units == 64 && seen.offset == 0);
	else if (!strcmp(variant, "random"))
		check(seen.units != 1024 && !same_client);
}

static void blob_drifts(void)
{
	static const char *const variants[] = { "real", "swap", "offset", "size", "random" };

	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		in_world(drifted, variants[i], "BARLANE_EMU_BLOB", variants[i]);
}

static void shift_by_fault(const void *arg)
{
	struct blob real, moved;
	CUdeviceptr ptr;

	enter();
	check_eq(cuMemAlloc_v2(&ptr, 4 << 20), CUDA_SUCCESS);
	real = blob_of(ptr);
	check_eq(bl_emu_fault("cuda.blob"), 0);
	moved = blob_of(ptr);
	check(moved.client != real.client && moved.memory != real.memory);
	real = blob_of(ptr);
	check(moved.client != real.client);
}

static void blob_shifts_once(void)
{
	child_run(shift_by_fault, NULL, NULL);
}

static void faults(const void *arg)
{
	CUipcMemHandle handle;
	CUdeviceptr ptr;
	char byte = 0;
	int value;

	enter();
	check_eq(bl_emu_fault("cuda.alloc,cuda.attr,cuda.memcpy,cuda.stream,cuda.export,cuda.ipc:1:801"), 0);
	check_eq(cuMemAlloc_v2(&ptr, 4096), CUDA_ERROR_OUT_OF_MEMORY);
	check_eq(cuMemAlloc_v2(&ptr, 4096), CUDA_SUCCESS);
	check_eq(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr), CUDA_SUCCESS);
	check_eq(cuMemcpyHtoD_v2(ptr, &byte, 1), CUDA_ERROR_UNKNOWN);
	check_eq(cuMemcpyHtoD_v2(ptr, &byte, 1), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(NULL), CUDA_ERROR_UNKNOWN);
	check_eq(cuStreamSynchronize(NULL), CUDA_SUCCESS);
	check_eq(cuIpcGetMemHandle(&handle, ptr), CUDA_ERROR_NOT_SUPPORTED);
	check_eq(cuIpcGetMemHandle(&handle, ptr), CUDA_SUCCESS);
	check_eq(cuMemGetHandleForAddressRange(&value, ptr, 4096, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
	check_eq(cuMemGetHandleForAddressRange(&value, ptr, 4096, 1, 0), CUDA_SUCCESS);
	check(!close(value));
}

static void faults_fire(void)
{
	child_run(faults, NULL, NULL);
}

static void slow_stream(const void *arg)
{
	CUdeviceptr ptr;

	enter();
	check_eq(cuMemAlloc_v2(&ptr, 4096), CUDA_SUCCESS);
	check_eq(cuMemsetD8Async(ptr, 0, 4096, NULL), CUDA_SUCCESS);
	check_eq(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	check_eq(cuStreamSynchronize(NULL), CUDA_SUCCESS);
}

static void delay(void)
{
	in_world(slow_stream, NULL, "BARLANE_EMU_ASYNC_US", "200000");
}

static atomic_int gate;

static void wait_for_gate(void *arg)
{
	while (!atomic_load(&gate))
		usleep(100);
}

static void *open_late(void *arg)
{
	usleep(100000);
	atomic_store(&gate, 1);
	return NULL;
}

/* Stop a stream for a tenth of a second. */
static void stop(CUstream stream)
{
	pthread_t thread;

	atomic_store(&gate, 0);
	check_eq(cuLaunchHostFunc(stream, wait_for_gate, NULL), CUDA_SUCCESS);
	check_eq(pthread_create(&thread, NULL, open_late, NULL), 0);
	check_eq(pthread_detach(thread), 0);
}

static CUfunction load(void)
{
	CUfunction fill;
	CUmodule module;

	check_eq(cuModuleLoadData(&module, bl_pattern_ptx), CUDA_SUCCESS);
	check_eq(cuModuleGetFunction(&fill, module, "bl_pattern_fill"), CUDA_SUCCESS);
	return fill;
}

static void launch(CUfunction fill, CUdeviceptr ptr, CUstream stream)
{
	uint64_t nr = 1, seed = 1;
	void *params[] = { &ptr, &nr, &seed };

	check_eq(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL), CUDA_SUCCESS);
}

/* Who waits is seen by the gate: it is open when the call comes back. */
static void loading(const void *arg)
{
	const char *world = arg;
	CUstream stopped, other;
	CUfunction fill;
	CUdeviceptr ptr;

	enter();
	check_eq(cuMemAlloc_v2(&ptr, 4096), CUDA_SUCCESS);
	check_eq(cuStreamCreate(&stopped, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	stop(stopped);
	fill = load();
	check_eq(atomic_load(&gate), !strcmp(world, "idle"));
	launch(fill, ptr, other);
	check_eq(atomic_load(&gate), strcmp(world, "kernels") != 0);
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	/* what was launched once is there; so is what was asked for by name */
	stop(stopped);
	launch(fill, ptr, other);
	check_eq(atomic_load(&gate), 0);
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	fill = load();
	check_eq(cuFuncLoad(fill), CUDA_SUCCESS);
	stop(stopped);
	launch(fill, ptr, other);
	check_eq(cuFuncLoad(fill), CUDA_SUCCESS);
	check_eq(cuFuncLoad((CUfunction)&gate), CUDA_ERROR_INVALID_HANDLE);
	check_eq(atomic_load(&gate), 0);
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void loading_waits(void)
{
	static const char *const worlds[] = { "kernels", "idle", "launch" };

	for (size_t i = 0; i < 3; i++)
		in_world(loading, worlds[i], "BARLANE_EMU_LOAD", worlds[i]);
}

static const struct tap_test tests[] = {
	{ "variables_that_make_no_sense_fail_cuinit", bad_variables },
	{ "several_gpus_are_told_apart", several_gpus },
	{ "memory_has_the_size_that_was_asked_for", memory_size },
	{ "driver_version_decides_on_dma_buf_mmap", driver_version },
	{ "ipc_handle_drifts_as_asked_for", blob_drifts },
	{ "ipc_handle_shifts_by_a_fault_once", blob_shifts_once },
	{ "faults_fire_once_at_their_point", faults_fire },
	{ "streams_can_be_slowed_down", delay },
	{ "loading_code_waits_for_what_it_is_told_to", loading_waits },
};

TAP_MAIN(tests)
