// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver: device memory that the CPU reaches at its device address, when BARLANE_EMU_UVA says so. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "emu/cuda/api.h"
#include "tests/tap.h"

#define SIZE (4UL << 20)

static void enter(void)
{
	CUcontext ctx;

	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
}

static void with(const char *uva, void (*run)(const void *arg))
{
	child_run(run, NULL, (const char *[]){ "BARLANE_EMU_UVA", uva, NULL });
}

static sigjmp_buf back;

static void jump_back(int sig)
{
	siglongjmp(back, 1);
}

/* Whether a CPU access faults. */
static int faults(uint64_t va)
{
	struct sigaction mine = { .sa_handler = jump_back }, old;
	volatile int faulted = 0;

	sigaction(SIGSEGV, &mine, &old);
	if (sigsetjmp(back, 1))
		faulted = 1;
	else
		(void)*(volatile unsigned char *)va;
	sigaction(SIGSEGV, &old, NULL);
	return faulted;
}

static void same_bytes(const void *arg)
{
	CUdeviceptr big, small, reserved;
	unsigned char got[64];
	CUmemGenericAllocationHandle handle;
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemAccessDesc desc = { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

	enter();
	check_eq(cuMemAlloc_v2(&big, SIZE), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&small, 64), CUDA_SUCCESS);
	check_eq(cuMemAddressReserve(&reserved, SIZE, 0, 0, 0), CUDA_SUCCESS);
	check(faults(reserved));
	check_eq(cuMemCreate(&handle, SIZE, &prop, 0), CUDA_SUCCESS);
	check_eq(cuMemMap(reserved, SIZE, 0, handle, 0), CUDA_SUCCESS);
	check_eq(cuMemSetAccess(reserved, SIZE, &desc, 1), CUDA_SUCCESS);
	memset((void *)big, 0x11, SIZE);
	memset((void *)small, 0x22, 64);
	memset((void *)reserved, 0x33, SIZE);
	check_eq(cuMemcpyDtoH_v2(got, big + SIZE - 64, 64), CUDA_SUCCESS);
	check_eq(got[63], 0x11);
	check_eq(cuMemcpyDtoH_v2(got, small, 64), CUDA_SUCCESS);
	check_eq(got[63], 0x22);
	check_eq(cuMemcpyDtoD_v2(big, reserved + SIZE - 64, 64), CUDA_SUCCESS);
	check_eq(*(unsigned char *)big, 0x33);
	check_eq(cuMemUnmap(reserved, SIZE), CUDA_SUCCESS);
	check(faults(reserved));
	check_eq(cuMemFree_v2(big), CUDA_SUCCESS);
	check(faults(big));
}

static void not_there(const void *arg)
{
	CUdeviceptr ptr;

	enter();
	check_eq(cuMemAlloc_v2(&ptr, SIZE), CUDA_SUCCESS);
	check_eq(cuMemsetD8_v2(ptr, 1, SIZE), CUDA_SUCCESS);
	check(faults(ptr));
}

static void fork_and_write(const void *arg)
{
	CUdeviceptr ptr;
	unsigned char got;
	int status;
	pid_t pid;

	enter();
	check_eq(cuMemAlloc_v2(&ptr, SIZE), CUDA_SUCCESS);
	check_eq(cuMemsetD8_v2(ptr, 7, SIZE), CUDA_SUCCESS);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		/* expected to die of it, and quietly */
		signal(SIGSEGV, SIG_DFL);
		*(volatile unsigned char *)ptr = 8;
		_exit(0);
	}
	check_eq(waitpid(pid, &status, 0), pid);
	check(WIFSIGNALED(status));
	check_eq(cuMemcpyDtoH_v2(&got, ptr, 1), CUDA_SUCCESS);
	check_eq(got, 7);
}

static void reached(void)
{
	with("1", same_bytes);
}

static void not_reached(void)
{
	with("0", not_there);
	/* and by itself it begins only with a module that is compiled for the CPU */
	with("", not_there);
}

static void not_for_children(void)
{
	with("1", fork_and_write);
}

static const struct tap_test tests[] = {
	{ "with_uva_the_cpu_reaches_device_memory_at_its_address", reached },
	{ "without_uva_a_cpu_access_to_device_memory_faults", not_reached },
	{ "with_uva_a_child_cannot_write_its_parents_device_memory", not_for_children },
};

TAP_MAIN(tests)
