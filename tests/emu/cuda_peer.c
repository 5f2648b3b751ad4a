// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver with two GPUs, whose contexts may be given access to each other's memory. */
#include "child.h"
#include "emu/cuda/api.h"
#include "emu/cuda/emu.h"
#include "tests/tap.h"

#define LEN 8192U

/**
 * struct two - a context of each GPU, and memory of it
 * @direct, @staged: copies between GPUs before
 */
struct two {
	CUcontext ctx[2];
	CUdeviceptr mem[2];
	uint64_t direct, staged;
};

static void make(struct two *two)
{
	struct bl_emu_counts counts;

	check_eq(cuInit(0), CUDA_SUCCESS);
	for (int i = 1; i >= 0; i--) {
		check_eq(cuCtxCreate_v2(&two->ctx[i], 0, i), CUDA_SUCCESS);
		check_eq(cuMemAlloc_v2(&two->mem[i], LEN), CUDA_SUCCESS);
	}
	bl_emu_counts(&counts);
	two->direct = counts.peer_direct;
	two->staged = counts.peer_staged;
}

static void in_world(void (*run)(const void *arg), const char *peers)
{
	const char *const env[] = {"BARLANE_EMU_GPUS", "2", "BARLANE_EMU_PEERS", peers, NULL};

	child_run(run, NULL, env);
}

/* The copies since make(). */
static void check_copies(const struct two *two, uint64_t direct, uint64_t staged)
{
	struct bl_emu_counts counts;

	bl_emu_counts(&counts);
	check_eq(counts.peer_direct - two->direct, direct);
	check_eq(counts.peer_staged - two->staged, staged);
}

/* From the second GPU to the first, in the context that is current. */
static void copy(const struct two *two)
{
	check_eq(cuMemcpyPeer(two->mem[0], two->ctx[0], two->mem[1], two->ctx[1], LEN), CUDA_SUCCESS);
}

static void without_access(const void *arg)
{
	unsigned char byte = 0;
	struct two two;
	int can = 1;

	(void)arg;
	make(&two);
	check_eq(cuDeviceCanAccessPeer(&can, 0, 1), CUDA_SUCCESS);
	check_eq(can, 0);
	check_eq(cuCtxEnablePeerAccess(two.ctx[1], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	check_eq(cuMemsetD8_v2(two.mem[1], 9, LEN), CUDA_SUCCESS);
	copy(&two);
	check_eq(cuMemcpyDtoH_v2(&byte, two.mem[0] + LEN - 1, 1), CUDA_SUCCESS);
	check_eq(byte, 9);
	check_copies(&two, 0, 1);
}

static void with_access(const void *arg)
{
	unsigned char byte = 0;
	struct two two;
	int can = 0;

	(void)arg;
	make(&two);
	check_eq(cuDeviceCanAccessPeer(&can, 0, 1), CUDA_SUCCESS);
	check_eq(can, 1);
	check_eq(cuDeviceCanAccessPeer(&can, 0, 0), CUDA_SUCCESS);
	check_eq(can, 0);
	check_eq(cuDeviceCanAccessPeer(&can, 0, 2), CUDA_ERROR_INVALID_DEVICE);
	copy(&two);
	check_copies(&two, 0, 1);
	check_eq(cuCtxEnablePeerAccess(two.ctx[1], 1), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuCtxEnablePeerAccess(two.ctx[0], 0), CUDA_ERROR_INVALID_DEVICE);
	check_eq(cuCtxEnablePeerAccess(two.ctx[1], 0), CUDA_SUCCESS);
	check_eq(cuCtxEnablePeerAccess(two.ctx[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	check_eq(cuMemsetD8_v2(two.mem[1], 7, LEN), CUDA_SUCCESS);
	copy(&two);
	check_eq(cuMemcpyDtoD_v2(two.mem[0], two.mem[1], LEN), CUDA_SUCCESS);
	check_eq(cuMemcpyDtoD_v2(two.mem[0], two.mem[0] + LEN / 2, LEN / 2), CUDA_SUCCESS);
	check_eq(cuMemcpyDtoH_v2(&byte, two.mem[0] + LEN - 1, 1), CUDA_SUCCESS);
	check_eq(byte, 7);
	check_copies(&two, 2, 1);
	/* that was one direction: the other context reaches nothing */
	check_eq(cuCtxSetCurrent(two.ctx[1]), CUDA_SUCCESS);
	copy(&two);
	check_copies(&two, 2, 2);
}

static void with_contexts_that_go(const void *arg)
{
	CUcontext again;
	struct two two;

	(void)arg;
	make(&two);
	check_eq(cuCtxDestroy_v2(two.ctx[1]), CUDA_SUCCESS);
	check_eq(cuCtxEnablePeerAccess(two.ctx[1], 0), CUDA_ERROR_INVALID_CONTEXT);
	/* a primary context that comes to life again has to be given access again */
	for (int i = 0; i < 2; i++) {
		check_eq(cuDevicePrimaryCtxRetain(&again, 1), CUDA_SUCCESS);
		check_eq(cuCtxEnablePeerAccess(again, 0), CUDA_SUCCESS);
		check_eq(cuDevicePrimaryCtxRelease_v2(1), CUDA_SUCCESS);
	}
}

static void no_access(void)
{
	in_world(without_access, "0");
}

static void access_one_way(void)
{
	in_world(with_access, "1");
}

static void contexts_that_go(void)
{
	in_world(with_contexts_that_go, "1");
}

static const struct tap_test tests[] = {
	{"gpus_that_do_not_reach_each_other_copy_by_way_of_the_host", no_access},
	{"access_is_given_once_and_one_way", access_one_way},
	{"access_goes_with_the_context", contexts_that_go},
};

TAP_MAIN(tests)
