// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver: modules and launches; and the kernels of pattern.ptx against their twin in C. */
#include "emu/cuda/api.h"
#include "gpu/kernels/pattern.h"
#include "tests/tap.h"

#define NR 10007UL /* no multiple of any grid here */
#define SEED 0x1234567890abcdefULL

static CUmodule module;
static CUfunction fill, check_words;
static CUdeviceptr words, result;

static void enter(void)
{
	static CUcontext ctx;

	if (ctx)
		return;
	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuCtxCreate_v2(&ctx, 0, 0), CUDA_SUCCESS);
	check_eq(cuModuleLoadData(&module, bl_pattern_ptx), CUDA_SUCCESS);
	check_eq(cuModuleGetFunction(&fill, module, "bl_pattern_fill"), CUDA_SUCCESS);
	check_eq(cuModuleGetFunction(&check_words, module, "bl_pattern_check"), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&words, NR * 8), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&result, 8), CUDA_SUCCESS);
}

static CUresult launch_fill(uint64_t ptr, uint64_t nr, unsigned int blocks, unsigned int threads)
{
	uint64_t seed = SEED;
	void *params[] = { &ptr, &nr, &seed };

	return cuLaunchKernel(fill, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL);
}

static uint64_t count_wrong(uint64_t seed, unsigned int blocks, unsigned int threads)
{
	uint64_t ptr = words, nr = NR, to = result, wrong = 99;
	void *params[] = { &ptr, &nr, &seed, &to };

	check_eq(cuMemsetD8_v2(result, 0, 8), CUDA_SUCCESS);
	check_eq(cuLaunchKernel(check_words, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL), CUDA_SUCCESS);
	check_eq(cuMemcpyDtoH_v2(&wrong, result, 8), CUDA_SUCCESS);
	return wrong;
}

static void pattern_is_splitmix64(void)
{
	/* the first outputs of splitmix64 for state 0 */
	check(bl_pattern_word(0, 0) == 0xe220a8397b1dcdafULL);
	check(bl_pattern_word(0x9e3779b97f4a7c15ULL, 0) == 0x6e789e6aa1b965f4ULL);
	check(bl_pattern_word(5, 7) == bl_pattern_word(12, 0));
}

static void fill_is_the_pattern(void)
{
	static const struct {
		unsigned int blocks, threads;
	} grids[] = { { 1, 1 }, { 1, 256 }, { 7, 33 }, { 200, 128 } };
	static uint64_t got[NR];

	enter();
	for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++) {
		check_eq(cuMemsetD8_v2(words, 0, NR * 8), CUDA_SUCCESS);
		check_eq(launch_fill(words, NR, grids[g].blocks, grids[g].threads), CUDA_SUCCESS);
		check_eq(cuMemcpyDtoH_v2(got, words, sizeof(got)), CUDA_SUCCESS);
		for (size_t i = 0; i < NR; i++)
			check(got[i] == bl_pattern_word(SEED, i));
	}
}

static void check_counts_wrong_words(void)
{
	uint64_t wrong = 0;

	enter();
	check_eq(launch_fill(words, NR, 4, 64), CUDA_SUCCESS);
	check_eq(count_wrong(SEED, 3, 50), 0);
	check_eq(count_wrong(SEED + 1, 3, 50), NR);
	check_eq(cuMemcpyHtoD_v2(words + 8 * 17, &wrong, 8), CUDA_SUCCESS);
	check_eq(cuMemcpyHtoD_v2(words + 8 * (NR - 1), &wrong, 8), CUDA_SUCCESS);
	check_eq(count_wrong(SEED, 1, 1), 2);
	check_eq(count_wrong(SEED, 64, 256), 2);
}

static void fill_stays_inside(void)
{
	uint64_t before, after;

	enter();
	check_eq(cuMemsetD8_v2(words, 0x11, NR * 8), CUDA_SUCCESS);
	check_eq(launch_fill(words + 8, NR - 2, 8, 32), CUDA_SUCCESS);
	check_eq(cuMemcpyDtoH_v2(&before, words, 8), CUDA_SUCCESS);
	check_eq(cuMemcpyDtoH_v2(&after, words + 8 * (NR - 1), 8), CUDA_SUCCESS);
	check_eq(before, 0x1111111111111111);
	check_eq(after, 0x1111111111111111);
}

static void foreign_code_is_refused(void)
{
	static const char foreign[] = ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry foo() { ret; }\n";
	CUfunction fn;
	CUmodule none;

	enter();
	check_eq(cuModuleLoadData(&none, foreign), CUDA_ERROR_NO_BINARY_FOR_GPU);
	check_eq(cuModuleLoadData(&none, "garbage"), CUDA_ERROR_INVALID_IMAGE);
	check_eq(cuModuleGetFunction(&fn, module, "bl_no_such"), CUDA_ERROR_NOT_FOUND);
	check_eq(cuModuleGetFunction(&fn, (CUmodule)&none, "bl_pattern_fill"), CUDA_ERROR_INVALID_HANDLE);
}

static void bad_launches_are_refused(void)
{
	uint64_t ptr, nr = 1, seed = 0;
	void *params[] = { &ptr, &nr, &seed };

	enter();
	ptr = words;
	check_eq(cuLaunchKernel(fill, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuLaunchKernel(fill, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuLaunchKernel(fill, 1, 70000, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
}

static void unloaded_functions_are_gone(void)
{
	uint64_t ptr = 0, nr = 0, seed = 0;
	void *params[] = { &ptr, &nr, &seed };
	CUmodule second;
	CUfunction fn;

	enter();
	check_eq(cuModuleLoadData(&second, bl_pattern_ptx), CUDA_SUCCESS);
	check_eq(cuModuleGetFunction(&fn, second, "bl_pattern_fill"), CUDA_SUCCESS);
	check_eq(cuModuleUnload(second), CUDA_SUCCESS);
	check_eq(cuModuleUnload(second), CUDA_ERROR_INVALID_HANDLE);
	check_eq(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
}

/* Last: the context is of no use afterwards. */
static void illegal_access_stays(void)
{
	CUdeviceptr ptr;
	CUcontext ctx;
	size_t bytes;
	CUdevice dev;

	enter();
	check_eq(launch_fill(words, NR + 1000000, 1, 32), CUDA_SUCCESS);
	check_eq(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	check_eq(cuMemAlloc_v2(&ptr, 100), CUDA_ERROR_ILLEGAL_ADDRESS);
	check_eq(cuMemFree_v2(words), CUDA_ERROR_ILLEGAL_ADDRESS);
	check_eq(cuMemGetInfo_v2(&bytes, &bytes), CUDA_ERROR_ILLEGAL_ADDRESS);
	check_eq(cuPointerGetAttribute(&dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, words), CUDA_SUCCESS);
	check_eq(cuCtxGetDevice(&dev), CUDA_SUCCESS);
	check_eq(cuCtxGetCurrent(&ctx), CUDA_SUCCESS);
	check_eq(cuCtxDestroy_v2(ctx), CUDA_SUCCESS);
}

static const struct tap_test tests[] = {
	{ "pattern_is_splitmix64_of_seed_and_index", pattern_is_splitmix64 },
	{ "fill_kernel_writes_the_pattern_for_any_grid", fill_is_the_pattern },
	{ "check_kernel_counts_the_wrong_words", check_counts_wrong_words },
	{ "fill_kernel_stays_inside_its_range", fill_stays_inside },
	{ "code_of_others_is_refused", foreign_code_is_refused },
	{ "bad_launches_are_refused", bad_launches_are_refused },
	{ "functions_of_an_unloaded_module_are_gone", unloaded_functions_are_gone },
	{ "illegal_access_makes_the_context_useless", illegal_access_stays },
};

TAP_MAIN(tests)
