// SPDX-License-Identifier: MIT
/*
 * The stand-in CUDA driver: kernels compiled for the CPU, those of kernels/host_kernels.cu. Failures that end a context
 * are in cuda_host_errors.c.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "emu/cuda/api.h"
#include "host_kernel.h"
#include "tests/tap.h"

static CUmodule module;
static unsigned int *words; /* host memory that the device reaches */

static void enter(void)
{
	if (module)
		return;
	module = host_kernel_enter();
	check_eq(cuMemAllocHost_v2((void **)&words, 1 << 20), CUDA_SUCCESS);
}

static void run(const char *name, struct dims dims, void **params)
{
	check_eq(host_kernel_launch(module, name, dims, NULL, params), CUDA_SUCCESS);
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
}

static void places_of_three_dimensions(void)
{
	unsigned long long *out;
	CUdeviceptr ptr;
	void *params[] = { &ptr };

	enter();
	check_eq(cuMemAlloc_v2(&ptr, 3 * 2 * 2 * 4 * 3 * 2 * 8), CUDA_SUCCESS);
	check_eq(cuMemsetD8_v2(ptr, 0, 3 * 2 * 2 * 4 * 3 * 2 * 8), CUDA_SUCCESS);
	run("record_place", (struct dims){ { 3, 2, 2 }, { 4, 3, 2 }, 0 }, params);
	out = (unsigned long long *)ptr;
	for (unsigned long long block = 0; block < 12; block++) {
		for (unsigned long long thread = 0; thread < 24; thread++)
			check(out[block * 24 + thread] == (1ULL << 48 | block / 6 << 40 | block / 3 % 2 << 28 |
							   thread / 12 << 16 | thread % 4));
	}
	check_eq(cuMemFree_v2(ptr), CUDA_SUCCESS);
}

static void parameters_of_all_sizes(void)
{
	struct {
		unsigned long long words[5];
		char tag;
	} wide = { { 1000, 0, 0, 0, 1 }, 't' };
	unsigned long long *out = (unsigned long long *)words;
	unsigned char last = 200;
	_Bool b = 1;
	short s = -2;
	char c = 'c';
	float f = 2.25F;
	double d = -0.5;
	int i = -77;
	void *params[] = { &out, &c, &b, &s, &f, &wide, &i, &d, &last };

	enter();
	out = (unsigned long long *)words;
	memset(out, 0, 9 * 8);
	run("take_params", (struct dims){ { 1, 1, 1 }, { 1, 1, 1 }, 0 }, params);
	check_eq(out[0], 'c');
	check_eq(out[1], 1);
	check_eq(out[2], -2);
	check_eq(out[3], 9);
	check_eq(out[4], 1001);
	check_eq(out[5], 't');
	check_eq(out[6], -77);
	check_eq((long long)out[7], -4);
	check_eq(out[8], 200);
	run("no_params", (struct dims){ { 2, 1, 1 }, { 2, 1, 1 }, 0 }, NULL);
}

static void blocks_and_warps_add_up(void)
{
	unsigned int nr = 5000;
	unsigned long long *sum, want = 0;
	const unsigned int *from;
	CUdeviceptr ptr;
	void *params[] = { &ptr, &nr, &sum };

	enter();
	from = words + 16;
	sum = (unsigned long long *)words;
	*sum = 0;
	for (unsigned int i = 0; i < nr; i++) {
		words[16 + i] = i * 7 % 1000;
		want += words[16 + i];
	}
	check_eq(cuMemAlloc_v2(&ptr, nr * 4), CUDA_SUCCESS);
	check_eq(cuMemcpyHtoD_v2(ptr, from, nr * 4), CUDA_SUCCESS);
	/* 5120 threads: block after block */
	run("sum_words", (struct dims){ { 20, 1, 1 }, { 256, 1, 1 }, 0 }, params);
	check_eq(*sum, want);
	check_eq(cuMemFree_v2(ptr), CUDA_SUCCESS);
}

static void dynamic_shared_memory(void)
{
	void *params[] = { &words };

	enter();
	for (unsigned int i = 0; i < 64; i++)
		words[i] = i;
	run("turn_round", (struct dims){ { 2, 1, 1 }, { 32, 1, 1 }, 32 * 4 }, params);
	for (unsigned int i = 0; i < 64; i++)
		check_eq(words[i], (i & 32) + 31 - i % 32);
}

static void warps_vote_and_shuffle(void)
{
	void *params[] = { &words };

	enter();
	run("vote", (struct dims){ { 1, 1, 1 }, { 32, 1, 1 }, 0 }, params);
	for (unsigned int lane = 0; lane < 32; lane++) {
		const unsigned int *got = &words[lane * 8];

		check_eq(got[0], lane & 1 ? 0xaa : 0x55);
		check_eq(got[1], lane & 1);
		check_eq(got[2], !(lane & 1));
		check_eq(got[3], (lane & ~7U) + 5);
		check_eq(got[4], lane < 3 ? lane : lane - 3);
		check_eq(got[5], lane % 16 > 12 ? lane : lane + 3);
		check_eq(got[6], lane ^ 9);
		check_eq(got[7], 31 + (unsigned int)__builtin_popcount(lane));
	}
}

static void atomics_count(void)
{
	unsigned long long *l;
	float *f;
	void *params[] = { &words, &l, &f };

	enter();
	l = (unsigned long long *)(words + 32);
	f = (float *)(words + 64);
	memset(words, 0, 512);
	words[1] = 1000;
	words[3] = 5000;
	words[5] = ~0U;
	run("count", (struct dims){ { 4, 1, 1 }, { 64, 1, 1 }, 0 }, params);
	check_eq(words[0], 512);
	check_eq(words[1], 744);
	check_eq(words[2], 255);
	check_eq(words[3], 0);
	check_eq(words[4], ~0U);
	check_eq(words[5], 0);
	check_eq(words[6], 0);
	check_eq(words[7], 256 % 7);
	check_eq(words[8], 256);
	check(*f == 128.0F);
	check(l[0] == 256ULL << 33);
	check_eq(l[1], 77);
}

static void modules_have_variables_of_their_own(void)
{
	CUmodule second, third;
	void *image = host_kernel_image(), *params[] = { &words };
	struct dims one = { { 1, 1, 1 }, { 1, 1, 1 }, 0 };

	enter();
	run("count_calls", one, params);
	run("count_calls", one, params);
	check_eq(words[0], 2);
	check_eq(cuModuleLoad(&second, host_kernel_path()), CUDA_SUCCESS);
	check_eq(cuModuleLoadData(&third, image), CUDA_SUCCESS);
	check_eq(host_kernel_launch(second, "count_calls", one, NULL, params), CUDA_SUCCESS);
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	check_eq(words[0], 1);
	check_eq(host_kernel_launch(third, "count_calls", one, NULL, params), CUDA_SUCCESS);
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	check_eq(words[0], 1);
	check_eq(cuModuleUnload(second), CUDA_SUCCESS);
	check_eq(cuModuleUnload(third), CUDA_SUCCESS);
	/* the descriptors' numbers come again, and the loader must not take the new for the old */
	for (int i = 0; i < 3; i++) {
		check_eq(cuModuleLoadData(&third, image), CUDA_SUCCESS);
		check_eq(host_kernel_launch(third, "count_calls", one, NULL, params), CUDA_SUCCESS);
		check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
		check_eq(words[0], 1);
		check_eq(cuModuleUnload(third), CUDA_SUCCESS);
	}
	free(image);
	run("count_calls", one, params);
	check_eq(words[0], 3);
}

static void what_is_no_module_is_refused(void)
{
	char path[] = "/tmp/barlane-module-XXXXXX";
	unsigned char head[64] = "\177ELF\2\1\1";
	CUmodule none;
	int fd;

	enter();
	check_eq(cuModuleLoad(&none, "/nonexistent/kernels.so"), CUDA_ERROR_FILE_NOT_FOUND);
	check_eq(cuModuleLoad(&none, "/tmp"), CUDA_ERROR_FILE_NOT_FOUND);
	check_eq(cuModuleLoad(NULL, host_kernel_path()), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuModuleLoad(&none, NULL), CUDA_ERROR_INVALID_VALUE);
	/* a shared object, and none of kernels */
	check_eq(cuModuleLoad(&none, "/proc/self/exe"), CUDA_ERROR_INVALID_IMAGE);
	check_eq(cuModuleLoad(&none, host_kernel_other()), CUDA_ERROR_NO_BINARY_FOR_GPU);
	/* the same, and loaded */
	check_eq(cuModuleLoad(&none, getenv("BARLANE_SYSCALLS")), CUDA_ERROR_NO_BINARY_FOR_GPU);
	/* of a GPU, 190, as cubins are */
	head[16] = 2;
	head[18] = 190;
	check_eq(cuModuleLoadData(&none, head), CUDA_ERROR_NO_BINARY_FOR_GPU);
	fd = mkstemp(path);
	check(fd >= 0);
	check_eq(write(fd, "\177ELF", 4), 4);
	check_eq(cuModuleLoad(&none, path), CUDA_ERROR_INVALID_IMAGE);
	check_eq(ftruncate(fd, 0), 0);
	check_eq(cuModuleLoad(&none, path), CUDA_ERROR_INVALID_IMAGE);
	close(fd);
	unlink(path);
}

static void bad_launches_are_refused(void)
{
	struct dims one = { { 1, 1, 1 }, { 1, 1, 1 }, 0 };
	void *params[] = { &words };
	CUmodule second;
	CUfunction fn;

	enter();
	check_eq(cuModuleGetFunction(&fn, module, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
	check_eq(host_kernel_launch(module, "count_calls", one, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	one.block[0] = 1025;
	check_eq(host_kernel_launch(module, "count_calls", one, NULL, params), CUDA_ERROR_INVALID_VALUE);
	one.block[0] = 64;
	one.block[1] = 32;
	check_eq(host_kernel_launch(module, "count_calls", one, NULL, params), CUDA_ERROR_INVALID_VALUE);
	one = (struct dims){ { 1, 1, 1 }, { 1, 1, 1 }, 49153 };
	check_eq(host_kernel_launch(module, "count_calls", one, NULL, params), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuModuleLoad(&second, host_kernel_path()), CUDA_SUCCESS);
	check_eq(cuModuleGetFunction(&fn, second, "count_calls"), CUDA_SUCCESS);
	check_eq(cuModuleUnload(second), CUDA_SUCCESS);
	check_eq(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
}

static void resident_kernel_waits_for_the_cpu(void)
{
	unsigned int *out;
	void *params[] = { &words, &out };
	CUstream stream;

	enter();
	out = words + 1;
	words[0] = words[1] = 0;
	check_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(host_kernel_launch(module, "wait_for_word", (struct dims){ { 2, 1, 1 }, { 40, 1, 1 }, 0 }, stream, params),
		 CUDA_SUCCESS);
	check_eq(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	check_eq(__atomic_load_n(out, __ATOMIC_ACQUIRE), 0);
	__atomic_store_n(words, 1, __ATOMIC_RELEASE);
	check_eq(cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(*out, 80);
	check_eq(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

static void kernels_of_two_streams_run_at_once(void)
{
	unsigned int *out;
	void *wait[] = { &words, &out }, *set[] = { &words };
	CUstream first, second;

	enter();
	out = words + 1;
	words[0] = words[1] = 0;
	check_eq(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(host_kernel_launch(module, "wait_for_word", (struct dims){ { 1, 1, 1 }, { 8, 1, 1 }, 0 }, first, wait),
		 CUDA_SUCCESS);
	check_eq(host_kernel_launch(module, "set_word", (struct dims){ { 1, 1, 1 }, { 1, 1, 1 }, 0 }, second, set),
		 CUDA_SUCCESS);
	check_eq(cuStreamSynchronize(first), CUDA_SUCCESS);
	check_eq(*out, 8);
	check_eq(cuStreamDestroy_v2(first), CUDA_SUCCESS);
	check_eq(cuStreamDestroy_v2(second), CUDA_SUCCESS);
}

static void *launch_many(void *arg)
{
	unsigned int *mine = arg;
	CUfunction fn;
	CUcontext ctx;
	void *params[] = { &mine };
	long bad;

	bad = cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) || cuModuleGetFunction(&fn, module, "set_word");
	for (int i = 0; i < 20 && !bad; i++) {
		__atomic_store_n(mine, 0, __ATOMIC_RELEASE);
		bad = cuLaunchKernel(fn, 2, 1, 1, 4, 1, 1, 0, (CUstream)2, params, NULL) ||
		      cuStreamSynchronize((CUstream)2) || __atomic_load_n(mine, __ATOMIC_ACQUIRE) != 1;
	}
	return (void *)(bad | (long)cuDevicePrimaryCtxRelease_v2(0));
}

static void threads_launch_at_once(void)
{
	pthread_t threads[4];
	void *bad;

	enter();
	for (int i = 0; i < 4; i++)
		check_eq(pthread_create(&threads[i], NULL, launch_many, words + 16 * i), 0);
	for (int i = 0; i < 4; i++) {
		check_eq(pthread_join(threads[i], &bad), 0);
		check(!bad);
	}
}

static void kernels_print(void)
{
	int number = 4711;
	void *params[] = { &number };

	enter();
	fflush(stdout);
	run("say", (struct dims){ { 1, 1, 1 }, { 1, 1, 1 }, 0 }, params);
}

static const struct tap_test tests[] = {
	{ "host_kernel_finds_its_place_in_three_dimensions", places_of_three_dimensions },
	{ "host_kernel_takes_parameters_of_all_sizes", parameters_of_all_sizes },
	{ "host_kernel_of_many_blocks_sums_by_lanes_blocks_and_atomics", blocks_and_warps_add_up },
	{ "host_kernel_has_dynamic_shared_memory", dynamic_shared_memory },
	{ "host_kernel_votes_and_shuffles_as_a_warp", warps_vote_and_shuffle },
	{ "host_kernel_has_cudas_atomics", atomics_count },
	{ "modules_of_one_object_have_variables_of_their_own", modules_have_variables_of_their_own },
	{ "what_is_no_module_of_kernels_is_refused", what_is_no_module_is_refused },
	{ "bad_launches_of_host_kernels_are_refused", bad_launches_are_refused },
	{ "resident_host_kernel_waits_for_a_word_of_the_cpu", resident_kernel_waits_for_the_cpu },
	{ "host_kernels_of_two_streams_run_at_once", kernels_of_two_streams_run_at_once },
	{ "threads_launch_host_kernels_at_once", threads_launch_at_once },
	{ "host_kernels_print", kernels_print },
};

TAP_MAIN(tests)
