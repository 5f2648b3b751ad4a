// SPDX-License-Identifier: MIT
/* The stand-in CUDA driver: device memory, copies, host and managed memory, pools, pointer attributes, IPC handles. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/cuda/api.h"
#include "tests/tap.h"

#define MIB (1UL << 20)
#define BLOCK (2 * MIB)

static void enter(void)
{
	static CUcontext ctx;

	if (ctx)
		return;
	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
}

static CUdeviceptr alloc(size_t size)
{
	CUdeviceptr ptr = 0;

	check_eq(cuMemAlloc_v2(&ptr, size), CUDA_SUCCESS);
	return ptr;
}

static void release(CUdeviceptr ptr)
{
	check_eq(cuMemFree_v2(ptr), CUDA_SUCCESS);
}

static size_t used(void)
{
	size_t free_bytes, total;

	check_eq(cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
	return total - free_bytes;
}

static uint64_t attribute(int attr, CUdeviceptr ptr)
{
	uint64_t value = 0;

	check_eq(cuPointerGetAttribute(&value, attr, ptr), CUDA_SUCCESS);
	return value;
}

static void small_allocations_share_a_block(void)
{
	CUdeviceptr first, second, third, again;
	size_t before;

	enter();
	first = alloc(100);
	before = used();
	second = alloc(4096);
	third = alloc(70000);
	check_eq(used(), before);
	check_eq(second, first + 512);
	check_eq(third, second + 4096);
	release(second);
	again = alloc(4000);
	check_eq(again, second);
	release(first);
	release(again);
	release(third);
	/* the last shared block stays */
	check_eq(used(), before);
}

static void large_allocations_have_their_own(void)
{
	size_t before;
	CUdeviceptr ptr;

	enter();
	before = used();
	ptr = alloc(BLOCK + 1);
	check_eq(ptr % BLOCK, 0);
	check_eq(used() - before, 2 * BLOCK);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, ptr), 2 * BLOCK);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_RANGE_SIZE, ptr), BLOCK + 1);
	release(ptr);
	check_eq(used(), before);
}

static void bad_sizes_and_frees(void)
{
	CUdeviceptr ptr;
	size_t free_bytes, total;

	enter();
	check_eq(cuMemAlloc_v2(&ptr, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
	check_eq(cuMemAlloc_v2(&ptr, free_bytes + 1), CUDA_ERROR_OUT_OF_MEMORY);
	ptr = alloc(free_bytes);
	check_eq(cuMemAlloc_v2(&ptr, 4 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	release(ptr);
	ptr = alloc(1000);
	check_eq(cuMemFree_v2(ptr + 8), CUDA_ERROR_INVALID_VALUE);
	release(ptr);
	check_eq(cuMemFree_v2(ptr), CUDA_ERROR_INVALID_VALUE);
	release(0);
}

static void ranges_are_as_asked(void)
{
	CUdeviceptr ptr, base;
	size_t size;

	enter();
	ptr = alloc(70000);
	check_eq(cuMemGetAddressRange_v2(&base, &size, ptr + 69999), CUDA_SUCCESS);
	check_eq(base, ptr);
	check_eq(size, 70000);
	check_eq(cuMemGetAddressRange_v2(&base, &size, ptr + 70000), CUDA_ERROR_NOT_FOUND);
	release(ptr);
}

static void copies_stay_inside(void)
{
	char out[4096], in[4096] = "";
	CUdeviceptr ptr;

	enter();
	memset(out, 0x5a, sizeof(out));
	ptr = alloc(100);
	check_eq(cuMemcpyHtoD_v2(ptr, out, 101), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemcpyHtoD_v2(ptr, out, 100), CUDA_SUCCESS);
	check_eq(cuMemcpyDtoH_v2(in, ptr + 1, 100), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemcpyDtoH_v2(in, ptr, 100), CUDA_SUCCESS);
	check(!memcmp(in, out, 100) && !in[100]);
	check_eq(cuMemcpyHtoD_v2((CUdeviceptr)in, out, 10), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemcpyHtoD_v2(0, out, 10), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemcpyHtoD_v2(0, out, 0), CUDA_SUCCESS);
	check_eq(cuMemsetD32_v2(ptr + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemsetD8_v2(ptr, 0, 101), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemsetD32_v2(ptr, 0x01020304, 25), CUDA_SUCCESS);
	check_eq(cuMemcpy((CUdeviceptr)in, ptr, 100), CUDA_SUCCESS);
	check(in[96] == 4 && in[99] == 1);
	release(ptr);
	check_eq(cuMemcpyHtoD_v2(ptr, out, 1), CUDA_ERROR_INVALID_VALUE);
}

static sigjmp_buf fault_env;

static void on_fault(int sig)
{
	siglongjmp(fault_env, 1);
}

static void the_cpu_cannot_touch_device_memory(void)
{
	struct sigaction old, sa = { .sa_handler = on_fault };
	volatile int faulted = 1;
	CUdeviceptr ptr;

	enter();
	ptr = alloc(4096);
	check(!sigaction(SIGSEGV, &sa, &old));
	if (!sigsetjmp(fault_env, 1)) {
		*(volatile char *)ptr = 1;
		faulted = 0;
	}
	check(!sigaction(SIGSEGV, &old, NULL));
	check(faulted);
	release(ptr);
}

static void freed_memory_is_poisoned(void)
{
	unsigned char bytes[64];
	CUdeviceptr first, second;

	enter();
	first = alloc(BLOCK);
	check_eq(cuMemsetD8_v2(first, 0x77, BLOCK), CUDA_SUCCESS);
	release(first);
	second = alloc(BLOCK);
	check_eq(cuMemcpyDtoH_v2(bytes, second + MIB, sizeof(bytes)), CUDA_SUCCESS);
	for (size_t i = 0; i < sizeof(bytes); i++)
		check_eq(bytes[i], 0xdb);
	release(second);
}

/* In KiB, of memory that has a file, which video memory is. */
static long file_memory(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	check(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "RssShmem: %ld kB", &kib) == 1)
			break;
	fclose(file);
	check(kib >= 0);
	return kib;
}

static void untouched_memory_takes_none(void)
{
	unsigned char bytes[64] = { 0 };
	CUdeviceptr ptr;
	long before;

	enter();
	before = file_memory();
	ptr = alloc(32 * MIB);
	/* the last page of one half, and the last byte */
	check_eq(cuMemcpyHtoD_v2(ptr + 16 * MIB - 64, bytes, sizeof(bytes)), CUDA_SUCCESS);
	check_eq(cuMemsetD8_v2(ptr + 32 * MIB - 1, 0x77, 1), CUDA_SUCCESS);
	release(ptr);
	check(file_memory() - before < 4096);
	ptr = alloc(32 * MIB);
	for (int i = 1; i <= 2; i++) {
		check_eq(cuMemcpyDtoH_v2(bytes, ptr + i * 16 * MIB - 64, sizeof(bytes)), CUDA_SUCCESS);
		for (size_t at = 0; at < sizeof(bytes); at++)
			check_eq(bytes[at], 0xdb);
	}
	release(ptr);
}

static void device_memory_has_attributes(void)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
	CUdeviceptr ptr, again;
	uint64_t id, host;

	enter();
	ptr = alloc(5000);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr + 8), CU_MEMORYTYPE_DEVICE);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, ptr + 8), ptr + 8);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, ptr), 0);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, ptr), 1);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, ptr), 0);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, ptr + 4999), ptr);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, ptr), BLOCK);
	check_eq(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, ptr), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, ptr), CUDA_SUCCESS);
	check(tokens.p2pToken && tokens.vaSpaceToken);
	id = attribute(CU_POINTER_ATTRIBUTE_BUFFER_ID, ptr);
	release(ptr);
	again = alloc(5000);
	check_eq(again, ptr);
	check(attribute(CU_POINTER_ATTRIBUTE_BUFFER_ID, again) > id);
	release(again);
}

static void unknown_memory_has_none(void)
{
	int attrs[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };
	int type = 77, ordinal = 77, one = 77;
	void *values[] = { &type, &ordinal };

	enter();
	check_eq(cuPointerGetAttribute(&one, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&one),
		 CUDA_ERROR_INVALID_VALUE);
	check_eq(one, 77);
	check_eq(cuPointerGetAttributes(2, attrs, values, (CUdeviceptr)&one), CUDA_SUCCESS);
	check_eq(type, 0);
	check_eq(ordinal, -2);
}

static void host_memory(void)
{
	static char registered[8192];
	CUdeviceptr ptr;
	void *host;

	enter();
	check_eq(cuMemHostAlloc(&host, 5000, 0), CUDA_SUCCESS);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host), CU_MEMORYTYPE_HOST);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_HOST_POINTER, (CUdeviceptr)host + 1), (CUdeviceptr)host + 1);
	check_eq(cuMemFree_v2((CUdeviceptr)host), CUDA_ERROR_INVALID_VALUE);
	memset(host, 1, 5000);
	check_eq(cuMemFreeHost(host), CUDA_SUCCESS);
	check_eq(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemHostRegister_v2(registered, 8192, 0), CUDA_SUCCESS);
	check_eq(cuMemHostRegister_v2(registered + 100, 10, 0), 712);
	check_eq(cuMemHostGetDevicePointer_v2(&ptr, registered, 0), CUDA_SUCCESS);
	check_eq(ptr, (CUdeviceptr)registered);
	check_eq(cuMemHostUnregister(registered), CUDA_SUCCESS);
	check_eq(cuMemHostUnregister(registered), 713);
}

static void managed_memory(void)
{
	CUipcMemHandle handle;
	CUdeviceptr ptr;
	char byte;

	enter();
	check_eq(cuMemAllocManaged(&ptr, 5000, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemAllocManaged(&ptr, 5000, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr), CU_MEMORYTYPE_DEVICE);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, ptr), 1);
	check_eq(cuIpcGetMemHandle(&handle, ptr), CUDA_ERROR_INVALID_VALUE);
	*(char *)ptr = 0x42;
	check_eq(cuMemcpyDtoH_v2(&byte, ptr, 1), CUDA_SUCCESS);
	check_eq(byte, 0x42);
	check_eq(cuMemPrefetchAsync(ptr, 5000, 0, NULL), CUDA_SUCCESS);
	check_eq(cuMemPrefetchAsync(ptr, 5001, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	release(ptr);
}

static void pool_memory(void)
{
	CUipcMemHandle handle;
	CUmemoryPool pool;
	CUdeviceptr ptr;
	size_t before;

	enter();
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	before = used();
	check_eq(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
	check_eq(cuMemAllocAsync(&ptr, 5000, NULL), CUDA_SUCCESS);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, ptr), (uintptr_t)pool);
	check_eq(attribute(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, ptr), 0);
	check_eq(cuIpcGetMemHandle(&handle, ptr), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemFreeAsync(ptr, NULL), CUDA_SUCCESS);
	check_eq(cuMemFreeAsync(ptr, NULL), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuCtxSynchronize(), CUDA_SUCCESS);
	check_eq(used(), before);
	check_eq(cuMemAllocAsync(&ptr, 0, NULL), CUDA_SUCCESS);
	check_eq(ptr, 0);
	check_eq(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
}

static uint32_t word(const CUipcMemHandle *handle, unsigned int at)
{
	uint32_t value;

	memcpy(&value, handle->reserved + at, sizeof(value));
	return value;
}

/* The layout that was measured: size at 16, object in 4 KiB units at 24, offset at 28, handles at 48 and 52. */
static void ipc_handle_is_as_measured(void)
{
	CUipcMemHandle first, inside, second, odd;
	CUdeviceptr a, b, c, opened;

	enter();
	a = alloc(0x11170);
	b = alloc(100);
	c = alloc(BLOCK + 1);
	check_eq(cuIpcGetMemHandle(&first, a), CUDA_SUCCESS);
	check_eq(cuIpcGetMemHandle(&inside, a + 0x11000), CUDA_SUCCESS);
	check(!memcmp(&first, &inside, sizeof(first)));
	check_eq(cuIpcGetMemHandle(&second, b), CUDA_SUCCESS);
	check_eq(cuIpcGetMemHandle(&odd, c), CUDA_SUCCESS);
	check_eq(word(&first, 8), getpid());
	check_eq(word(&first, 16), 0x11170);
	check_eq(word(&first, 24), BLOCK / 4096);
	check_eq(word(&second, 28) - word(&first, 28), b - a);
	check_eq(word(&first, 48), word(&odd, 48));
	check_eq(word(&first, 52), word(&second, 52));
	check(word(&first, 52) != word(&odd, 52));
	check_eq(word(&odd, 24), BLOCK / 4096 + 1);
	check_eq(cuIpcOpenMemHandle_v2(&opened, first, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
		 CUDA_ERROR_INVALID_CONTEXT);
	release(c);
	release(b);
	release(a);
}

static void dma_buf_goes_by_pages(void)
{
	CUdeviceptr ptr;
	int fd;

	enter();
	ptr = alloc(BLOCK);
	check_eq(cuMemGetHandleForAddressRange(&fd, ptr + 4, 4096, 1, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemGetHandleForAddressRange(&fd, ptr, 100, 1, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemGetHandleForAddressRange(&fd, ptr, 2 * BLOCK, 1, 0), CUDA_ERROR_INVALID_VALUE);
	check_eq(cuMemGetHandleForAddressRange(&fd, ptr, 4096, 1, 1), CUDA_ERROR_NOT_SUPPORTED);
	check_eq(cuMemGetHandleForAddressRange(&fd, ptr + 4096, 4096, 1, 0), CUDA_SUCCESS);
	check(!close(fd));
	release(ptr);
}

static const struct tap_test tests[] = {
	{ "small_allocations_share_a_block_and_reuse_its_space", small_allocations_share_a_block },
	{ "large_allocations_have_objects_of_whole_blocks", large_allocations_have_their_own },
	{ "bad_sizes_and_bad_frees_are_refused", bad_sizes_and_frees },
	{ "address_range_is_the_allocation_as_asked", ranges_are_as_asked },
	{ "copies_do_not_leave_an_allocation", copies_stay_inside },
	{ "cpu_access_to_a_device_pointer_faults", the_cpu_cannot_touch_device_memory },
	{ "memory_given_back_is_poisoned", freed_memory_is_poisoned },
	{ "memory_that_nobody_touched_takes_none_when_given_back", untouched_memory_takes_none },
	{ "device_memory_has_its_attributes_and_a_new_id_each_time", device_memory_has_attributes },
	{ "unknown_memory_has_no_attributes", unknown_memory_has_none },
	{ "host_memory_is_registered_and_freed_once", host_memory },
	{ "managed_memory_is_shared_with_the_cpu", managed_memory },
	{ "pool_memory_belongs_to_its_pool_and_goes_back_when_idle", pool_memory },
	{ "ipc_handle_has_the_measured_layout", ipc_handle_is_as_measured },
	{ "dma_buf_covers_whole_pages_of_one_object", dma_buf_goes_by_pages },
};

TAP_MAIN(tests)
