// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver: initialisation, devices, contexts, fork. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "emu/cuda/api.h"
#include "tests/tap.h"

static CUcontext enter(void)
{
	CUcontext ctx;

	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
	return ctx;
}

static void leave(void)
{
	check_eq(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
}

static void uninitialised(const void *arg)
{
	CUcontext ctx;
	CUdeviceptr ptr;
	const char *name;
	int nr;

	check_eq(cuDeviceGetCount(&nr), CUDA_ERROR_NOT_INITIALIZED);
	check_eq(cuCtxGetCurrent(&ctx), CUDA_ERROR_NOT_INITIALIZED);
	check_eq(cuMemAlloc_v2(&ptr, 10), CUDA_ERROR_NOT_INITIALIZED);
	check_eq(cuPointerGetAttribute(&nr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 1), CUDA_ERROR_NOT_INITIALIZED);
	check_eq(cuThreadExchangeStreamCaptureMode(&nr), CUDA_ERROR_NOT_INITIALIZED);
	check_eq(cuDriverGetVersion(&nr), CUDA_SUCCESS);
	check_eq(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &name), CUDA_SUCCESS);
	check_str(name, "CUDA_ERROR_OUT_OF_MEMORY");
	check_eq(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuDeviceGetCount(&nr), CUDA_ERROR_NOT_INITIALIZED);
}

static void before_init(void)
{
	child_run(uninitialised, NULL, NULL);
}

static void errors_have_names(void)
{
	const char *text;

	check_eq(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
	check_str(text, "invalid argument");
	check_eq(cuGetErrorName(12345, &text), CUDA_ERROR_INVALID_VALUE);
	check(!text);
}

static void device_is_described(void)
{
	char name[64], id[16];
	CUdevice dev;
	size_t bytes;
	int value;

	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDeviceGet(&dev, 0), CUDA_SUCCESS);
	check_eq(cuDeviceGet(&dev, 99), CUDA_ERROR_INVALID_DEVICE);
	check_eq(cuDeviceGetName(name, sizeof(name), 0), CUDA_SUCCESS);
	check_has(name, "emulated");
	check_eq(cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
	check(bytes >= 16UL << 20);
	check_eq(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
	check_eq(value, 9);
	check_eq(cuDeviceGetAttribute(&value, 9999, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 7), CUDA_ERROR_INVALID_DEVICE);
	check_eq(cuDeviceGetPCIBusId(id, sizeof(id), 0), CUDA_SUCCESS);
	check_eq(cuDeviceGetByPCIBusId(&dev, id), CUDA_SUCCESS);
	check_eq(dev, 0);
	check_eq(cuDeviceGetPCIBusId(id, 5, 0), CUDA_ERROR_INVALID_VALUE);
}

static void no_context(void)
{
	unsigned long long id;
	CUcontext ctx;
	CUdevice dev;
	CUdeviceptr ptr;
	CUstream stream;
	size_t bytes;

	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuCtxGetCurrent(&ctx), CUDA_SUCCESS);
	check(!ctx);
	check_eq(cuCtxGetDevice(&dev), CUDA_ERROR_INVALID_CONTEXT);
	check_eq(cuCtxGetId(NULL, &id), CUDA_ERROR_INVALID_CONTEXT);
	check_eq(cuCtxPopCurrent_v2(&ctx), CUDA_ERROR_INVALID_CONTEXT);
	check_eq(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	check_eq(cuMemAlloc_v2(&ptr, 10), CUDA_ERROR_INVALID_CONTEXT);
	check_eq(cuMemGetInfo_v2(&bytes, &bytes), CUDA_ERROR_INVALID_CONTEXT);
	check_eq(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
	check_eq(cuMemFree_v2(0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent((CUcontext)0x10), CUDA_ERROR_INVALID_CONTEXT);
	check_eq(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
}

static void contexts_are_a_stack(void)
{
	CUcontext primary = enter(), second, current;

	check_eq(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
	check_eq(cuCtxGetCurrent(&current), CUDA_SUCCESS);
	check(current == second);
	check_eq(cuCtxPopCurrent_v2(&current), CUDA_SUCCESS);
	check(current == second);
	check_eq(cuCtxGetCurrent(&current), CUDA_SUCCESS);
	check(current == primary);
	check_eq(cuCtxPushCurrent_v2(second), CUDA_SUCCESS);
	check_eq(cuCtxDestroy_v2(second), CUDA_SUCCESS);
	check_eq(cuCtxGetCurrent(&current), CUDA_SUCCESS);
	check(current == primary);
	check_eq(cuCtxDestroy_v2(primary), CUDA_ERROR_INVALID_CONTEXT);
	leave();
}

static void *use_context(void *arg)
{
	CUdeviceptr ptr;

	if (cuCtxSetCurrent(arg))
		return "cannot be set";
	return cuMemAlloc_v2(&ptr, 64) || cuMemFree_v2(ptr) ? "cannot be used" : NULL;
}

static void other_threads_have_none(void)
{
	CUcontext ctx = enter();
	pthread_t thread;
	void *complaint;

	check(!pthread_create(&thread, NULL, use_context, ctx));
	check(!pthread_join(thread, &complaint));
	check(!complaint);
	leave();
}

static void destroyed_context(void)
{
	size_t before, after, total;
	CUcontext ctx;
	CUdeviceptr ptr;
	int ordinal;

	enter();
	check_eq(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
	check_eq(cuCtxCreate_v2(&ctx, 0, 0), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&ptr, 64 << 20), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&ptr, 100), CUDA_SUCCESS);
	check_eq(cuCtxDestroy_v2(ctx), CUDA_SUCCESS);
	check_eq(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
	check_eq(after, before);
	check_eq(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, ptr), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuCtxSetCurrent(ctx), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	check_eq(cuCtxDestroy_v2(ctx), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	leave();
}

static void primary_comes_back(void)
{
	CUcontext first = enter(), again;
	unsigned long long id, other;
	CUdeviceptr ptr;
	CUdevice dev;

	check_eq(cuCtxGetId(NULL, &id), CUDA_SUCCESS);
	check_eq(cuCtxGetId(first, &other), CUDA_SUCCESS);
	check_eq(id, other);
	check_eq(cuCtxGetId(first, NULL), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemAlloc_v2(&ptr, 100), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	check_eq(cuMemFree_v2(ptr), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	check_eq(cuCtxGetDevice(&dev), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	check_eq(cuCtxGetId(NULL, &other), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	check_eq(cuCtxGetId(first, &other), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	check_eq(cuPointerGetAttribute(&dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, ptr), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
	check(again == first);
	check_eq(cuCtxGetId(NULL, &other), CUDA_SUCCESS);
	check(other != id);
	check_eq(cuMemAlloc_v2(&ptr, 100), CUDA_SUCCESS);
	check_eq(cuMemFree_v2(ptr), CUDA_SUCCESS);
	leave();
}

/* Returns 0 when the child got what it should. */
static int forked_child(void)
{
	CUdeviceptr ptr;
	const char *name;
	CUcontext ctx;
	int nr;

	if (cuInit(0) != CUDA_ERROR_NOT_INITIALIZED || cuDeviceGetCount(&nr) != CUDA_ERROR_NOT_INITIALIZED)
		return 1;
	if (cuMemAlloc_v2(&ptr, 10) != CUDA_ERROR_NOT_INITIALIZED || cuMemFree_v2(0) != CUDA_ERROR_NOT_INITIALIZED)
		return 2;
	if (cuCtxGetCurrent(&ctx) != CUDA_ERROR_NOT_INITIALIZED || cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED)
		return 3;
	return cuDriverGetVersion(&nr) || cuGetErrorName(1, &name) ? 4 : 0;
}

struct churn {
	CUcontext ctx;
	int stop;
};

static void *churn(void *arg)
{
	const struct churn *churned = arg;
	CUdeviceptr ptr;

	cuCtxSetCurrent(churned->ctx);
	while (!__atomic_load_n(&churned->stop, __ATOMIC_RELAXED)) {
		if (!cuMemAlloc_v2(&ptr, 1000)) {
			cuMemsetD8_v2(ptr, 1, 1000);
			cuMemFree_v2(ptr);
		}
	}
	return NULL;
}

static int exit_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* A child is forked while another thread has the locks, many times over; an alarm ends one that waits for them. */
static void fork_is_fatal_and_does_not_hang(void)
{
	struct churn churned = { .ctx = enter() };
	pthread_t thread;
	int status = 0;

	check(!pthread_create(&thread, NULL, churn, &churned));
	for (int i = 0; i < 20 && !status; i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(10);
			_exit(forked_child());
		}
		status = exit_status(pid);
	}
	__atomic_store_n(&churned.stop, 1, __ATOMIC_RELAXED);
	check(!pthread_join(thread, NULL));
	check_eq(status, 0);
	leave();
}

static void entry_points_by_version(void)
{
	void *fn = NULL, *other = NULL;
	int status = -1;

	check_eq(cuGetProcAddress("cuMemAlloc", &fn, 13000, 0), CUDA_SUCCESS);
	check_eq((uintptr_t)fn, (uintptr_t)cuMemAlloc_v2);
	check_eq(cuGetProcAddress("cuNoSuch", &fn, 13000, 0), CUDA_ERROR_NOT_FOUND);
	check_eq(cuGetProcAddress("cuMemAlloc_v2", &fn, 13000, 0), CUDA_ERROR_NOT_FOUND);
	check_eq(cuGetProcAddress_v2("cuNoSuch", &fn, 13000, 0, &status), CUDA_SUCCESS);
	check(!fn);
	check_eq(status, 1);
	check_eq(cuGetProcAddress_v2("cuMemAllocAsync", &fn, 5000, 0, &status), CUDA_SUCCESS);
	check_eq(status, 2);
	check_eq(cuGetProcAddress_v2("cuMemAlloc", &fn, 99000, 0, &status), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuGetProcAddress_v2("cuCtxCreate", &fn, 12000, 0, &status), CUDA_SUCCESS);
	check_eq(cuGetProcAddress_v2("cuCtxCreate", &other, 13000, 0, &status), CUDA_SUCCESS);
	check_eq((uintptr_t)fn, (uintptr_t)cuCtxCreate_v2);
	check_eq((uintptr_t)other, (uintptr_t)cuCtxCreate_v4);
}

static const struct tap_test tests[] = {
	{ "before_init_all_but_versions_and_names_is_not_initialized", before_init },
	{ "errors_have_names_and_texts", errors_have_names },
	{ "device_is_described_and_named_as_emulated", device_is_described },
	{ "without_a_context_calls_say_so", no_context },
	{ "contexts_are_a_stack_per_thread", contexts_are_a_stack },
	{ "another_thread_starts_without_a_context", other_threads_have_none },
	{ "destroying_a_context_frees_its_memory_and_stays_known", destroyed_context },
	{ "released_primary_context_is_destroyed_until_retained_again", primary_comes_back },
	{ "forked_child_is_not_initialized_and_does_not_hang", fork_is_fatal_and_does_not_hang },
	{ "entry_points_are_found_by_name_and_version", entry_points_by_version },
};

TAP_MAIN(tests)
