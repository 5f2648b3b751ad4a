// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver: kernels compiled for the CPU that fail. Each makes its context useless, so each has a process. */
#include <unistd.h>

#include "child.h"
#include "emu/cuda/api.h"
#include "host_kernel.h"
#include "tests/tap.h"

static const struct dims one = { { 1, 1, 1 }, { 1, 1, 1 }, 0 };

/* What a case needs: complaints on stderr are expected. */
static CUmodule enter(void)
{
	check(freopen("/dev/null", "w", stderr));
	return host_kernel_enter();
}

static unsigned int *host_words(void)
{
	void *words;

	check_eq(cuMemAllocHost_v2(&words, 4096), CUDA_SUCCESS);
	return words;
}

static void write_at(CUmodule module, CUdeviceptr ptr, CUresult want)
{
	unsigned int value = 42;
	void *params[] = { &ptr, &value };

	check_eq(host_kernel_launch(module, "write_at", one, NULL, params), CUDA_SUCCESS);
	check_eq(cuCtxSynchronize(), want);
}

static void follow_pointers(const void *arg)
{
	unsigned int got;
	CUmodule module;
	CUdeviceptr ptr;
	CUcontext ctx;

	check(freopen("/dev/null", "w", stderr));
	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
	/* allocated before any module is loaded: reached all the same */
	check_eq(cuMemAlloc_v2(&ptr, 4096), CUDA_SUCCESS);
	module = host_kernel_enter();
	write_at(module, ptr, CUDA_SUCCESS);
	check_eq(cuMemcpyDtoH_v2(&got, ptr, 4), CUDA_SUCCESS);
	check_eq(got, 42);
	write_at(module, 16, CUDA_ERROR_ILLEGAL_ADDRESS);
	check_eq(cuMemFree_v2(ptr), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void no_pointers(const void *arg)
{
	CUmodule module = enter();
	CUdeviceptr ptr;

	check_eq(cuMemAlloc_v2(&ptr, 4096), CUDA_SUCCESS);
	write_at(module, (CUdeviceptr)host_words(), CUDA_SUCCESS);
	write_at(module, ptr, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void freed_memory(const void *arg)
{
	CUmodule module = enter();
	CUdeviceptr ptr;

	check_eq(cuMemAlloc_v2(&ptr, 64 << 20), CUDA_SUCCESS);
	write_at(module, ptr, CUDA_SUCCESS);
	check_eq(cuMemFree_v2(ptr), CUDA_SUCCESS);
	write_at(module, ptr, CUDA_ERROR_ILLEGAL_ADDRESS);
}

struct bad_kernel {
	const char *name;
	unsigned int threads;
	CUresult want;
};

static void fails(const void *arg)
{
	const struct bad_kernel *bad = arg;
	CUmodule module = enter();
	unsigned int *words = host_words(), *out = words + 1;
	int when = 3;
	void *params[] = { &words, &out }, *trap[] = { &when };
	struct dims dims = one;
	CUstream stream;

	dims.block[0] = bad->threads;
	check_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(host_kernel_launch(module, bad->name, dims, stream, bad->name[0] == 't' ? trap : params), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(stream), bad->want);
	check_eq(cuStreamQuery(stream), bad->want);
	check_eq(cuCtxSynchronize(), bad->want);
}

/* A kernel that fails takes the others of its context with it. */
static void fails_beside_another(const void *arg)
{
	CUmodule module = enter();
	unsigned int *words = host_words(), *out = words + 1;
	int when = 0;
	void *wait[] = { &words, &out }, *trap[] = { &when };
	CUstream first, second;

	check_eq(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(host_kernel_launch(module, "wait_for_word", one, first, wait), CUDA_SUCCESS);
	check_eq(host_kernel_launch(module, "trap", one, second, trap), CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(second), CUDA_ERROR_ILLEGAL_ADDRESS);
	check_eq(cuStreamSynchronize(first), CUDA_ERROR_ILLEGAL_ADDRESS);
	check_eq(*out, 0);
}

static void destroyed(const void *arg)
{
	CUmodule module = enter();
	unsigned int *words = host_words(), *out = words + 1;
	void *wait[] = { &words, &out };
	CUcontext ctx, primary;

	check_eq(cuCtxGetCurrent(&primary), CUDA_SUCCESS);
	check_eq(cuCtxCreate_v2(&ctx, 0, 0), CUDA_SUCCESS);
	check_eq(cuModuleLoad(&module, host_kernel_path()), CUDA_SUCCESS);
	check_eq(host_kernel_launch(module, "wait_for_word", one, NULL, wait), CUDA_SUCCESS);
	check_eq(cuCtxDestroy_v2(ctx), CUDA_SUCCESS);
	/* the other context is as it was */
	check_eq(cuCtxSetCurrent(primary), CUDA_SUCCESS);
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	check_eq(*out, 0);
}

static void in_world(const char *name, const char *value, void (*run)(const void *arg), const void *arg)
{
	host_kernel_path();
	child_run(run, arg, (const char *[]){ name, value, NULL });
}

static void device_pointers_are_followed(void)
{
	in_world("BARLANE_EMU_UVA", "", follow_pointers, NULL);
	in_world("BARLANE_EMU_UVA", "1", follow_pointers, NULL);
}

static void device_pointers_are_refused(void)
{
	in_world("BARLANE_EMU_UVA", "0", no_pointers, NULL);
}

static void freed_memory_is_illegal(void)
{
	in_world("BARLANE_EMU_UVA", "1", freed_memory, NULL);
}

static void failures_are_told(void)
{
	static const struct bad_kernel bad[] = {
		{ "trap", 8, CUDA_ERROR_ILLEGAL_ADDRESS },
		{ "meet_apart", 40, CUDA_ERROR_LAUNCH_FAILED },
	};

	for (size_t i = 0; i < 2; i++)
		in_world("BARLANE_EMU_UVA", "1", fails, &bad[i]);
}

static void deadline_ends_kernels(void)
{
	static const struct bad_kernel bad[] = {
		{ "spin", 2, CUDA_ERROR_LAUNCH_TIMEOUT },
		{ "wait_for_word", 70, CUDA_ERROR_LAUNCH_TIMEOUT },
	};

	for (size_t i = 0; i < 2; i++)
		in_world("BARLANE_EMU_KERNEL_MS", "50", fails, &bad[i]);
}

static void others_end_too(void)
{
	in_world("BARLANE_EMU_UVA", "1", fails_beside_another, NULL);
}

static void destroyed_context_ends_kernels(void)
{
	in_world("BARLANE_EMU_KERNEL_MS", "0", destroyed, NULL);
}

static const struct tap_test tests[] = {
	{ "host_kernel_follows_device_pointers_and_an_illegal_one_stays", device_pointers_are_followed },
	{ "host_kernel_cannot_follow_device_pointers_without_uva", device_pointers_are_refused },
	{ "host_kernel_that_uses_freed_memory_is_illegal", freed_memory_is_illegal },
	{ "traps_and_deadlocks_of_host_kernels_are_told", failures_are_told },
	{ "deadline_ends_host_kernels_that_stay", deadline_ends_kernels },
	{ "failing_host_kernel_ends_the_others_of_its_context", others_end_too },
	{ "destroyed_context_ends_its_host_kernels", destroyed_context_ends_kernels },
};

TAP_MAIN(tests)
