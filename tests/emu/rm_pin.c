// SPDX-License-Identifier: MIT
/* Provider rm from an address to a mapping and back, with the driver branch that BARLANE_EMU_DRIVER names. */
#include <sys/resource.h>

#include "tests/tap.h"
#include "world.h"

#define MIB (1UL << 20)

static void pin_map_check(bl_ctx_t ctx, CUdeviceptr va, size_t len)
{
	bl_pin_t pin;
	void *addr;

	if (bl_pin(ctx, va, len, 0, 0, 0, &pin))
		tap_end(TAP_FAILED, "pin: %s", bl_last_error(NULL));
	if (bl_map(ctx, pin, len, BL_MAP_NONE, &addr))
		tap_end(TAP_FAILED, "map: %s", bl_last_error(NULL));
	world_check_mapping(pin, addr, va, len);
	check_eq(bl_unmap(ctx, pin, addr, len), 0);
	check_eq(bl_unpin(ctx, pin), 0);
}

static void plain_memory_is_shared_with_the_cpu(void)
{
	struct snapshot before;
	CUdeviceptr ptr;
	bl_ctx_t ctx;

	world_enter();
	ptr = world_alloc(4 * MIB);
	snapshot_take(&before);
	ctx = world_open("rm");
	pin_map_check(ctx, ptr, 4 * MIB);
	pin_map_check(ctx, ptr + 65536, 65536);
	pin_map_check(ctx, ptr + 2 * MIB, 2 * MIB);
	check_eq(bl_close(ctx), 0);
	snapshot_check(&before);
	world_free(ptr);
	world_check_rules();
}

static void vmm_memory_is_shared_with_the_cpu(void)
{
	struct snapshot before;
	CUdeviceptr ptr;
	bl_ctx_t ctx;

	world_enter();
	ptr = world_vmm(4 * MIB, 1);
	snapshot_take(&before);
	ctx = world_open("rm");
	pin_map_check(ctx, ptr, 4 * MIB);
	pin_map_check(ctx, ptr + MIB, MIB);
	check_eq(bl_close(ctx), 0);
	snapshot_check(&before);
	world_check_rules();
}

static void neighbours_in_a_block_are_told_apart(void)
{
	CUdeviceptr ptrs[16];
	bl_pin_t pins[16];
	unsigned int value;
	void *addr;
	bl_ctx_t ctx;

	world_enter();
	ctx = world_open("rm");
	for (unsigned int i = 0; i < 16; i++) {
		ptrs[i] = world_alloc(i % 2 ? 100 : 70000);
		check_eq(world.cuda->cuMemcpyHtoD(ptrs[i], &i, sizeof(i)), CUDA_SUCCESS);
	}
	for (unsigned int i = 0; i < 16; i++) {
		CUdeviceptr page = ptrs[i] & ~(BL_GPU_PAGE_SIZE - 1);
		size_t off = ptrs[i] - page;

		/* aligned outward over whatever lies beside it, as UCX does */
		check_eq(bl_pin(ctx, page, 2 * BL_GPU_PAGE_SIZE, 0, 0, 0, &pins[i]), 0);
		check_eq(bl_map(ctx, pins[i], BL_GPU_PAGE_SIZE, BL_MAP_NONE, &addr), 0);
		check_eq(bl_copy_from(pins[i], &value, (char *)addr + off, sizeof(value)), 0);
		check_eq(value, i);
	}
	check_eq(bl_close(ctx), 0);
	for (unsigned int i = 0; i < 16; i++)
		world_free(ptrs[i]);
	world_check_rules();
}

/* UCX rounds a buffer out to GPU pages before it pins: the page may begin with memory that was freed. */
static void page_that_begins_with_a_hole_is_pinned(void)
{
	CUdeviceptr ptrs[200], page = 0;
	unsigned int sent = 4711, seen = 0;
	bl_pin_t pin;
	void *addr;
	bl_ctx_t ctx;
	int i, kept = 199;

	world_enter();
	ctx = world_open("rm");
	for (i = 0; i < 200; i++)
		ptrs[i] = world_alloc(600);
	/* the last one stays, and everything before it in its page goes */
	page = ptrs[kept] & ~(BL_GPU_PAGE_SIZE - 1);
	check(ptrs[kept] > page);
	for (i = 0; i < kept; i++)
		world_free(ptrs[i]);
	check_eq(world.cuda->cuMemcpyHtoD(ptrs[kept], &sent, sizeof(sent)), CUDA_SUCCESS);
	if (bl_pin(ctx, page, BL_GPU_PAGE_SIZE, 0, 0, 0, &pin))
		tap_end(TAP_FAILED, "pin: %s", bl_last_error(NULL));
	check_eq(bl_map(ctx, pin, BL_GPU_PAGE_SIZE, BL_MAP_NONE, &addr), 0);
	check_eq(bl_copy_from(pin, &seen, (char *)addr + (ptrs[kept] - page), sizeof(seen)), 0);
	check_eq(seen, sent);
	check_eq(bl_unpin(ctx, pin), 0);
	/* bytes that belong to nobody, with nothing behind them in the request, are still refused */
	check_eq(bl_pin(ctx, page, 256, 0, 0, 0, &pin), -EINVAL);
	check_has(bl_last_error(NULL), "no device memory");
	world_free(ptrs[kept]);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void pin_covers_whole_pages_clipped_to_the_object(void)
{
	struct bl_pin_info info;
	CUdeviceptr ptr;
	bl_pin_t pin;
	bl_ctx_t ctx;

	world_enter();
	ptr = world_alloc(2 * MIB + 4096);
	ctx = world_open("rm");
	check_eq(bl_pin(ctx, ptr + 100, 8, 0, 0, 0, &pin), 0);
	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check_eq(info.va, ptr);
	check_eq(info.len, BL_GPU_PAGE_SIZE);
	check_eq(info.page_size, BL_GPU_PAGE_SIZE);
	check_eq(bl_unpin(ctx, pin), 0);
	check_eq(bl_pin(ctx, ptr + 2 * MIB - 8, 16, 0, 0, 0, &pin), 0);
	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check_eq(info.va, ptr + 2 * MIB - BL_GPU_PAGE_SIZE);
	check(info.va + info.len >= ptr + 2 * MIB + 4096);
	check_eq(bl_close(ctx), 0);
	world_free(ptr);
}

static void refused(bl_ctx_t ctx, CUdeviceptr va, size_t len, int err, const char *reason)
{
	bl_pin_t pin = 77;
	int code;

	check_eq(bl_pin(ctx, va, len, 0, 0, 0, &pin), -err);
	check_has(bl_last_error(&code), reason);
	check_eq(code, err);
	check_eq(pin, 77);
}

static void memory_that_cannot_be_pinned_is_refused_with_the_reason(void)
{
	struct snapshot before;
	CUdeviceptr managed, pool, plain, vmm, freed;
	CUstream stream;
	void *host;
	bl_ctx_t ctx;

	world_enter();
	ctx = world_open("rm");
	plain = world_alloc(2 * MIB);
	pin_map_check(ctx, plain, 65536); /* so that the client exists */
	check_eq(world.cuda->cuMemAllocManaged(&managed, MIB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemAllocAsync(&pool, MIB, stream), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemHostAlloc(&host, 4096, 0), CUDA_SUCCESS);
	vmm = world_vmm(2 * MIB, 0);
	freed = world_alloc(2 * MIB);
	world_free(freed);
	snapshot_take(&before);
	refused(ctx, managed, 65536, EOPNOTSUPP, "managed memory");
	refused(ctx, pool, 65536, EOPNOTSUPP, "cuMemAllocAsync");
	refused(ctx, (CUdeviceptr)(uintptr_t)host, 4096, EINVAL, "host memory");
	refused(ctx, (CUdeviceptr)(uintptr_t)&before, 8, EINVAL, "no device memory");
	refused(ctx, vmm, 65536, EOPNOTSUPP, "not created exportable");
	refused(ctx, freed, 65536, EINVAL, "no device memory");
	refused(ctx, plain, 2 * MIB + 1, EINVAL, "leaves its allocation");
	refused(ctx, plain, 1UL << 40, EINVAL, "leaves its allocation");
	refused(ctx, plain, SIZE_MAX, EINVAL, "end of the address space");
	refused(ctx, plain, 0, EINVAL, "length 0");
	refused(ctx, 0, 65536, EINVAL, "address 0");
	snapshot_check(&before);
	check_eq(bl_close(ctx), 0);
	world_free(plain);
	world_check_rules();
}

static void ranges_over_two_vmm_handles_are_refused(void)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};
	CUmemAccessDesc access = { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr ptr;
	bl_ctx_t ctx;

	world_enter();
	check_eq(world.cuda->cuMemAddressReserve(&ptr, 8 * MIB, 0, 0, 0), CUDA_SUCCESS);
	for (int i = 0; i < 2; i++) {
		check_eq(world.cuda->cuMemCreate(&handle, 4 * MIB, &prop, 0), CUDA_SUCCESS);
		check_eq(world.cuda->cuMemMap(ptr + (size_t)i * 4 * MIB, 4 * MIB, 0, handle, 0), CUDA_SUCCESS);
		check_eq(world.cuda->cuMemRelease(handle), CUDA_SUCCESS);
	}
	check_eq(world.cuda->cuMemSetAccess(ptr, 8 * MIB, &access, 1), CUDA_SUCCESS);
	ctx = world_open("rm");
	pin_map_check(ctx, ptr, 4 * MIB);
	pin_map_check(ctx, ptr + 4 * MIB, 4 * MIB);
	refused(ctx, ptr + 3 * MIB, 2 * MIB, EINVAL, "leaves its allocation");
	check_eq(bl_close(ctx), 0);
}

static void freed_memory_stays_until_unpin(void)
{
	struct bl_emu_counts before, pinned, after;
	CUdeviceptr ptr;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;
	int value = 4711, seen = 0;

	world_enter();
	ctx = world_open("rm");
	ptr = world_alloc(2 * MIB);
	pin_map_check(ctx, ptr, 65536);
	world_free(ptr);
	world.counts(&before);
	ptr = world_alloc(64 * MIB);
	check_eq(world.cuda->cuMemcpyHtoD(ptr, &value, sizeof(value)), CUDA_SUCCESS);
	check_eq(bl_pin(ctx, ptr, 65536, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, 65536, BL_MAP_NONE, &addr), 0);
	world_free(ptr);
	world.counts(&pinned);
	check(pinned.vram_used >= before.vram_used + 64 * MIB);
	check_eq(bl_copy_from(pin, &seen, addr, sizeof(seen)), 0);
	check_eq(seen, value);
	check_eq(bl_unmap(ctx, pin, addr, 65536), 0);
	check_eq(bl_unpin(ctx, pin), 0);
	world.counts(&after);
	check_eq(after.vram_used, before.vram_used);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void descriptor_limit_is_reported_and_survived(void)
{
	struct rlimit old, tight;
	struct snapshot before;
	CUdeviceptr ptr;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;

	world_enter();
	ctx = world_open("rm");
	ptr = world_alloc(2 * MIB);
	check_eq(bl_pin(ctx, ptr, 65536, 0, 0, 0, &pin), 0);
	snapshot_take(&before);
	getrlimit(RLIMIT_NOFILE, &old);
	tight = old;
	tight.rlim_cur = 3;
	check_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
	check_eq(bl_map(ctx, pin, 65536, BL_MAP_NONE, &addr), -EMFILE);
	check_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	snapshot_check(&before);
	check_eq(bl_map(ctx, pin, 65536, BL_MAP_NONE, &addr), 0);
	world_check_mapping(pin, addr, ptr, 65536);
	check_eq(bl_close(ctx), 0);
	world_free(ptr);
	world_check_rules();
}

static void wish_for_another_type_is_refused(void)
{
	struct snapshot before;
	CUdeviceptr ptr;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;

	world_enter();
	ctx = world_open("rm");
	ptr = world_alloc(2 * MIB);
	check_eq(bl_pin(ctx, ptr, 65536, 0, 0, 0, &pin), 0);
	snapshot_take(&before);
	check_eq(bl_map(ctx, pin, 65536, BL_MAP_CACHED, &addr), -EOPNOTSUPP);
	check_eq(bl_map(ctx, pin, 65536, BL_MAP_DEVICE, &addr), -EOPNOTSUPP);
	snapshot_check(&before);
	check_eq(bl_map(ctx, pin, 65536, BL_MAP_WC, &addr), 0);
	check_eq(bl_close(ctx), 0);
	world_free(ptr);
	world_check_rules();
}

static void thousand_mappings_live_at_once(void)
{
	struct snapshot before;
	CUdeviceptr ptr;
	bl_pin_t pins[1000];
	void *addrs[1000];
	bl_ctx_t ctx;

	world_enter();
	snapshot_take(&before);
	ctx = world_open("rm");
	ptr = world_alloc(64 * MIB);
	for (unsigned int i = 0; i < 1000; i++) {
		check_eq(bl_pin(ctx, ptr + (CUdeviceptr)i * 65536, 65536, 0, 0, 0, &pins[i]), 0);
		check_eq(bl_map(ctx, pins[i], 65536, BL_MAP_NONE, &addrs[i]), 0);
		check_eq(bl_copy_to(pins[i], addrs[i], &i, sizeof(i)), 0);
	}
	for (unsigned int i = 0; i < 1000; i++) {
		unsigned int seen;

		check_eq(world.cuda->cuMemcpyDtoH(&seen, ptr + (CUdeviceptr)i * 65536, sizeof(seen)), CUDA_SUCCESS);
		check_eq(seen, i);
	}
	check_eq(bl_close(ctx), 0);
	world_free(ptr);
	snapshot_check(&before);
	world_check_rules();
}

static const struct tap_test tests[] = {
	{ "plain_memory_is_shared_with_the_cpu", plain_memory_is_shared_with_the_cpu },
	{ "vmm_memory_is_shared_with_the_cpu", vmm_memory_is_shared_with_the_cpu },
	{ "neighbours_in_a_block_are_told_apart", neighbours_in_a_block_are_told_apart },
	{ "page_that_begins_with_a_hole_is_pinned", page_that_begins_with_a_hole_is_pinned },
	{ "pin_covers_whole_pages_clipped_to_the_object", pin_covers_whole_pages_clipped_to_the_object },
	{ "memory_that_cannot_be_pinned_is_refused_with_the_reason",
	  memory_that_cannot_be_pinned_is_refused_with_the_reason },
	{ "ranges_over_two_vmm_handles_are_refused", ranges_over_two_vmm_handles_are_refused },
	{ "freed_memory_stays_until_unpin", freed_memory_stays_until_unpin },
	{ "descriptor_limit_is_reported_and_survived", descriptor_limit_is_reported_and_survived },
	{ "wish_for_another_type_is_refused", wish_for_another_type_is_refused },
	{ "thousand_mappings_live_at_once", thousand_mappings_live_at_once },
};

TAP_MAIN(tests)
