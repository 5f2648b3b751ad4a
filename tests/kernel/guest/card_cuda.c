// SPDX-License-Identifier: MIT
/* The stand-in libcuda on a card: its memory is the card's, and a kernel module can pin it. */
#include "card.h"
#include "emu/cuda/api.h"
#include "engine.h"
#include "host.h"
#include "tap.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1UL << 20)

static int card, client;

static void loads(void)
{
	check_eq(module_load("bl_card"), 0);
	check_eq(module_load("bl_p2ptest"), 0);
	check_eq(module_load("bl_edu"), 0);
	card = card_open();
	client = client_open();
	check(card >= 0 && client >= 0);
}

/* Bytes of the card in use when a process has allocated 4 MiB with this setting, in MiB. */
static int use_of_card(void *setting)
{
	CUdeviceptr ptr;
	CUcontext ctx;
	int own = card_open();

	setenv("BARLANE_EMU_CARD", setting, 1);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) || cuMemAlloc_v2(&ptr, 4 * MIB))
		return 127;
	return (int)(counters(own, false).used >> 20);
}

static void environment_decides(void)
{
	check_eq(in_child(use_of_card, "0"), 0);
	check_eq(in_child(use_of_card, "1"), 4);
	check_eq(in_child(use_of_card, ""), 4);
	check_eq(counters(card, true).used, 0);
}

static void device_is_the_card(void)
{
	struct bl_card_info info;
	char want[40], got[40];
	size_t bytes;
	CUcontext ctx;

	check_eq(cuInit(0), CUDA_SUCCESS);
	check_eq(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS);
	check_eq(cuCtxSetCurrent(ctx), CUDA_SUCCESS);
	check_eq(request(card, BL_CARD_IOC_INFO, &info), 0);
	check_eq(cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
	check_eq(bytes, info.size);
	snprintf(want, sizeof(want), "%04x:%02x:%02x.0", info.domain, info.bus, info.devfn >> 3);
	check_eq(cuDeviceGetPCIBusId(got, sizeof(got), 0), CUDA_SUCCESS);
	check_str(got, want);
}

static CUdeviceptr alloc(size_t size)
{
	CUdeviceptr ptr = 0;

	check_eq(cuMemAlloc_v2(&ptr, size), CUDA_SUCCESS);
	return ptr;
}

/* Pin with the tokens that CUDA gives, and return where in video memory it is. */
static uint64_t pin(uint32_t slot, CUdeviceptr ptr, uint64_t len)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
	struct p2ptest_get get = { .slot = slot, .va = ptr, .len = len };
	unsigned long long off = 0;
	char line[160];
	FILE *pins;

	check_eq(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, ptr), CUDA_SUCCESS);
	get.token = tokens.p2pToken;
	get.va_space = tokens.vaSpaceToken;
	check(get.token && get.va_space);
	check_eq(request(client, P2PTEST_IOC_GET, &get), 0);
	pins = fopen("/sys/kernel/debug/bl_card/pins", "re");
	check(pins);
	while (fgets(line, sizeof(line), pins)) {
		unsigned long long va, at;

		if (sscanf(line, "va 0x%llx len 0x%*x offset 0x%llx", &va, &at) == 2 && va == ptr)
			off = at;
	}
	fclose(pins);
	check(off);
	return off;
}

static void memory_is_the_cards(void)
{
	CUdeviceptr ptr = alloc(4 * MIB);
	uint8_t bytes[4096], back[4096];
	uint64_t off = pin(0, ptr, 4 * MIB);

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i & 1 ? 0xda : 0xcd;
	check_eq(cuMemcpyHtoD_v2(ptr + MIB, bytes, sizeof(bytes)), CUDA_SUCCESS);
	check(host_ask("check", off + MIB, sizeof(bytes), "cdda"));
	check(host_ask("fill", off + 4 * MIB - 4096, 4096, "0102030405060708"));
	check_eq(cuMemcpyDtoH_v2(back, ptr + 4 * MIB - 4096, 4096), CUDA_SUCCESS);
	check_eq(back[0], 1);
	check_eq(back[4095], 8);
	check_eq(client_called(client, 0), 0);
	check_eq(cuMemFree_v2(ptr), CUDA_SUCCESS);
	check_eq(client_called(client, 0), 1);
	check_eq(client_put(client, 0, 0, ptr), 0);
	check(host_ask("check", off, 4 * MIB, "db"));
	check_eq(counters(card, true).late_writes, 0);
}

static int pin_by_numbers(void *arg)
{
	return -request(client, P2PTEST_IOC_GET, arg);
}

/* The engine's side has a pointer, a length and two numbers, and nothing of CUDA's. */
static void device_reaches_memory_by_pointer_and_tokens(void)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
	CUdeviceptr ptr = alloc(2 * MIB);
	struct p2ptest_get get = { .va = ptr, .len = 2 * MIB };
	struct p2ptest_dma dma = { 0 };
	uint8_t bytes[64], back[64];

	check_eq(engine_find(&dma), 0);
	check_eq(in_child(pin_by_numbers, &get), EINVAL);
	check_eq(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, ptr), CUDA_SUCCESS);
	get.token = tokens.p2pToken;
	get.va_space = tokens.vaSpaceToken;
	/* tokens choose among the spaces of the caller, and open nobody else's */
	check_eq(in_child(pin_by_numbers, &get), EINVAL);
	check_eq(pin_by_numbers(&get), 0);
	check_eq(request(client, P2PTEST_IOC_DMA_MAP, &dma), 0);
	check(dma.addr != ptr);
	memset(bytes, 0xe7, sizeof(bytes));
	check_eq(cuMemcpyHtoD_v2(ptr, bytes, sizeof(bytes)), CUDA_SUCCESS);
	memset(back, 0, sizeof(back));
	check_eq(cuMemcpyHtoD_v2(ptr + 4096, back, sizeof(back)), CUDA_SUCCESS);
	check_eq(engine_run("in", dma.addr, sizeof(bytes)), 0);
	check_eq(engine_run("out", dma.addr + 4096, sizeof(bytes)), 0);
	check_eq(cuMemcpyDtoH_v2(back, ptr + 4096, sizeof(back)), CUDA_SUCCESS);
	check(!memcmp(back, bytes, sizeof(bytes)));
	check_eq(cuMemFree_v2(ptr), CUDA_SUCCESS);
	check_eq(client_called(client, 0), 1);
	check_eq(counters(card, false).dma_maps, 0);
	check_eq(client_put(client, 0, 0, ptr), 0);
}

static int read_byte(void *at)
{
	(void)*(volatile uint8_t *)at;
	return 0;
}

static unsigned int memory_type(CUdeviceptr ptr)
{
	unsigned int type = 0;

	check_eq(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr), CUDA_SUCCESS);
	return type;
}

static void pointers_are_unified(void)
{
	CUdeviceptr device, ptr = alloc(2 * MIB);
	int unified = 0;
	void *host;

	check_eq(cuDeviceGetAttribute(&unified, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0), CUDA_SUCCESS);
	check_eq(unified, 1);
	check_eq(cuMemHostAlloc(&host, 2 * MIB, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
	check_eq(cuMemHostGetDevicePointer_v2(&device, host, 0), CUDA_SUCCESS);
	check_eq(device, (uintptr_t)host);
	/* a number tells which memory it is */
	check_eq(memory_type(device), CU_MEMORYTYPE_HOST);
	check_eq(memory_type(ptr), CU_MEMORYTYPE_DEVICE);
	/* but not that the CPU, or the driver's pages for peers, can be had by it */
	check_eq(in_child(read_byte, host), 0);
	check_eq(in_child(read_byte, (void *)ptr), -1);
	device = (device + GPU_PAGE - 1) & ~(GPU_PAGE - 1);
	check_eq(client_get(client, 0, 0, device, GPU_PAGE), -EINVAL);
	check_eq(client_get(client, 0, 0, ptr, GPU_PAGE), 0);
	check_eq(client_put(client, 0, 0, ptr), 0);
	check_eq(cuMemFreeHost(host), CUDA_SUCCESS);
	check_eq(cuMemFree_v2(ptr), CUDA_SUCCESS);
}

/* Map an object there, return the physical address of what is there, and unmap it. */
static uint64_t physical_at(CUdeviceptr ptr, CUmemGenericAllocationHandle handle)
{
	struct p2ptest_get get = { .va = ptr, .len = 2 * MIB };

	check_eq(cuMemMap(ptr, 2 * MIB, 0, handle, 0), CUDA_SUCCESS);
	check_eq(request(client, P2PTEST_IOC_GET, &get), 0);
	check_eq(client_put(client, 0, 0, ptr), 0);
	check_eq(cuMemUnmap(ptr, 2 * MIB), CUDA_SUCCESS);
	return get.pa;
}

static void address_does_not_tell_where_memory_is(void)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
		.allocFlags.gpuDirectRDMACapable = 1,
	};
	CUmemGenericAllocationHandle handle[2];
	CUdeviceptr ptr[2];
	uint64_t pa;

	for (int i = 0; i < 2; i++) {
		check_eq(cuMemAddressReserve(&ptr[i], 2 * MIB, 0, 0, 0), CUDA_SUCCESS);
		check_eq(cuMemCreate(&handle[i], 2 * MIB, &prop, 0), CUDA_SUCCESS);
	}
	pa = physical_at(ptr[0], handle[0]);
	check(pa != ptr[0]);
	/* the same address, other memory; another address, the same memory */
	check(physical_at(ptr[0], handle[1]) != pa);
	check_eq(physical_at(ptr[1], handle[0]), pa);
	for (int i = 0; i < 2; i++) {
		check_eq(cuMemRelease(handle[i]), CUDA_SUCCESS);
		check_eq(cuMemAddressFree(ptr[i], 2 * MIB), CUDA_SUCCESS);
	}
}

/* Small allocations share an object that stays when one of them is freed. */
static void small_allocation_calls_back_too(void)
{
	CUdeviceptr first = alloc(128 << 10), second = alloc(128 << 10);

	check_eq(second - first, 128 << 10);
	check_eq(client_get(client, 0, 0, first, 128 << 10), 0);
	check_eq(client_get(client, 1, 0, second, 128 << 10), 0);
	check_eq(cuMemFree_v2(first), CUDA_SUCCESS);
	check_eq(client_called(client, 0), 1);
	check_eq(client_called(client, 1), 0);
	check_eq(cuMemFree_v2(second), CUDA_SUCCESS);
	check_eq(client_called(client, 1), 1);
	check_eq(client_put(client, 0, 0, first), 0);
	check_eq(client_put(client, 1, 0, second), 0);
}

static void vmm(int rdma, int want)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
		.allocFlags.gpuDirectRDMACapable = (unsigned char)rdma,
	};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr ptr;

	check_eq(cuMemAddressReserve(&ptr, 2 * MIB, 0, 0, 0), CUDA_SUCCESS);
	check_eq(cuMemCreate(&handle, 2 * MIB, &prop, 0), CUDA_SUCCESS);
	check_eq(cuMemMap(ptr, 2 * MIB, 0, handle, 0), CUDA_SUCCESS);
	check_eq(client_get(client, 0, 0, ptr, 2 * MIB), want);
	check_eq(cuMemUnmap(ptr, 2 * MIB), CUDA_SUCCESS);
	if (!want) {
		check_eq(client_called(client, 0), 1);
		check_eq(client_put(client, 0, 0, ptr), 0);
	}
	check_eq(client_get(client, 0, 0, ptr, 2 * MIB), -EINVAL);
	check_eq(cuMemRelease(handle), CUDA_SUCCESS);
	check_eq(cuMemAddressFree(ptr, 2 * MIB), CUDA_SUCCESS);
}

static void vmm_memory_as_it_was_made(void)
{
	vmm(1, 0);
	vmm(0, -EINVAL);
}

static void dmabuf_is_the_kernels(void)
{
	CUdeviceptr ptr = alloc(2 * MIB);
	uint64_t off = pin(0, ptr, 2 * MIB);
	int fd = -1;
	uint8_t *at;

	check_eq(cuMemGetHandleForAddressRange(&fd, ptr + 4096, MIB, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
		 CUDA_SUCCESS);
	check_eq(counters(card, false).dmabufs, 1);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(at != MAP_FAILED);
	close(fd);
	memset(at, 0x99, 4096);
	check(host_ask("check", off + 4096, 4096, "99"));
	munmap(at, 4096);
	check_eq(counters(card, false).dmabufs, 0);
	check_eq(client_put(client, 0, 0, ptr), 0);
	check_eq(cuMemFree_v2(ptr), CUDA_SUCCESS);
}

static const struct tap_test tests[] = {
	{ "the modules load", loads },
	{ "the environment decides whether the card is used", environment_decides },
	{ "the device is the card", device_is_the_card },
	{ "memory is the card's, and CUDA's tokens pin it", memory_is_the_cards },
	{ "a device reaches memory by pointer and tokens alone", device_reaches_memory_by_pointer_and_tokens },
	{ "host and device share pointers, not memory", pointers_are_unified },
	{ "a GPU address does not tell where memory is", address_does_not_tell_where_memory_is },
	{ "freeing a small allocation calls back as well", small_allocation_calls_back_too },
	{ "VMM memory can be pinned when it was made for that", vmm_memory_as_it_was_made },
	{ "dma-bufs are the kernel's", dmabuf_is_the_kernels },
};

/* The library keeps its file of the card as long as its process lives, so the tests are a child's. */
int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	setenv("BARLANE_EMU_CUDA", "13030", 1);
	pid = fork();
	if (!pid)
		return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	module_unload("bl_p2ptest");
	module_unload("bl_card");
	module_unload("bl_edu");
	if (!access("/sys/module/bl_p2ptest", F_OK) || !access("/sys/module/bl_card", F_OK)) {
		puts("# a module is in use though nobody uses it");
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
