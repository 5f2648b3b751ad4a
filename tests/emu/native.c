// SPDX-License-Identifier: MIT
/* What the native API has besides pins and copies: flush, publish, find, mapping from any byte, memory of its own. */
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "tests/tap.h"
#include "world.h"

#define MIB (1UL << 20)
#define LEN 65536UL

static void *map_new(bl_ctx_t ctx, CUdeviceptr va, bl_pin_t *pin_p)
{
	void *addr = NULL;

	check_eq(bl_pin(ctx, va, LEN, 0, 0, 0, pin_p), 0);
	check_eq(bl_map(ctx, *pin_p, LEN, BL_MAP_NONE, &addr), 0);
	return addr;
}

/* Fills are asynchronous: done when this returns. */
static void fill(CUdeviceptr va, unsigned char value)
{
	check_eq(world.cuda->cuMemsetD8(va, value, LEN), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
}

static void flush_waits_without_cuda_and_without_ioctls(void)
{
	struct bl_emu_counts before, after;
	uint64_t sent = 42, seen = 0;
	CUdeviceptr va;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;

	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open("rm");
	check_eq(bl_pin(ctx, va, LEN, 0, 0, 0, &pin), 0);
	check_eq(bl_flush(pin), -EINVAL);
	check_has(bl_last_error(NULL), "not a mapped pin");
	check_eq(bl_map(ctx, pin, LEN, BL_MAP_NONE, &addr), 0);
	world.counts(&before);
	check_eq(bl_copy_to(pin, addr, &sent, sizeof(sent)), 0);
	check_eq(bl_flush(pin), 0);
	world.counts(&after);
	check_eq(after.cuda_calls, before.cuda_calls);
	check_eq(after.ioctls, before.ioctls);
	check_eq(world.cuda->cuMemcpyDtoH(&seen, va, sizeof(seen)), CUDA_SUCCESS);
	check_eq(seen, sent);
	check_eq(bl_close(ctx), 0);
	check_eq(bl_flush(pin), -EINVAL);
	check_eq(bl_flush(0), -EINVAL);
	world_free(va);
	world_check_rules();
}

static void publish_writes_data_and_flag(void)
{
	unsigned char sent[1000], seen[1000];
	uint64_t flag = 0, next = 0;
	CUdeviceptr va;
	bl_pin_t pin;
	bl_ctx_t ctx;
	char *addr;

	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open("rm");
	addr = map_new(ctx, va, &pin);
	for (size_t len = 0; len < sizeof(sent); len += 37) {
		memset(sent, (int)len + 1, sizeof(sent));
		fill(va, 0xee);
		check_eq(bl_publish(pin, addr + 3, sent, len, (uint64_t *)(addr + 4096), len << 33 | 5), 0);
		check_eq(world.cuda->cuMemcpyDtoH(seen, va + 3, sizeof(seen)), CUDA_SUCCESS);
		check(!memcmp(seen, sent, len));
		check_eq(seen[len], 0xee);
		check_eq(world.cuda->cuMemcpyDtoH(&flag, va + 4096, sizeof(flag)), CUDA_SUCCESS);
		check_eq(flag, len << 33 | 5);
		check_eq(world.cuda->cuMemcpyDtoH(&next, va + 4104, sizeof(next)), CUDA_SUCCESS);
		check_eq(next, 0xeeeeeeeeeeeeeeee);
	}
	/* the flag right before the data, right behind it, and in the last word */
	check_eq(bl_publish(pin, addr + 8, sent, 8, (uint64_t *)addr, 1), 0);
	check_eq(bl_publish(pin, addr + 8, sent, 8, (uint64_t *)(addr + 16), 1), 0);
	check_eq(bl_publish(pin, addr, sent, 8, (uint64_t *)(addr + LEN - 8), 1), 0);
	/* without data its address does not matter */
	check_eq(bl_publish(pin, NULL, NULL, 0, (uint64_t *)addr, 77), 0);
	check_eq(world.cuda->cuMemcpyDtoH(&flag, va, sizeof(flag)), CUDA_SUCCESS);
	check_eq(flag, 77);
	check_eq(bl_close(ctx), 0);
	world_free(va);
	world_check_rules();
}

static void publish_refuses_what_is_wrong_and_writes_nothing(void)
{
	unsigned char sent[64] = { 1 }, *seen = malloc(LEN);
	CUdeviceptr va;
	bl_pin_t pin, unmapped;
	bl_ctx_t ctx;
	char *addr;

	check(seen);
	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open("rm");
	addr = map_new(ctx, va, &pin);
	check_eq(bl_pin(ctx, va + LEN, LEN, 0, 0, 0, &unmapped), 0);
	fill(va, 0);
	check_eq(bl_publish(pin, addr, sent, 64, (uint64_t *)(addr + 68), 1), -EINVAL);
	check_has(bl_last_error(NULL), "aligned to 8");
	check_eq(bl_publish(pin, addr, sent, 64, (uint64_t *)(addr + LEN), 1), -EINVAL);
	check_has(bl_last_error(NULL), "not inside the mapping");
	check_eq(bl_publish(pin, addr, sent, 64, (uint64_t *)(addr - 8), 1), -EINVAL);
	check_eq(bl_publish(pin, addr + LEN - 63, sent, 64, (uint64_t *)addr, 1), -EINVAL);
	check_has(bl_last_error(NULL), "not inside the mapping");
	check_eq(bl_publish(pin, addr - 1, sent, 64, (uint64_t *)(addr + 128), 1), -EINVAL);
	check_eq(bl_publish(pin, addr + 8, sent, SIZE_MAX - 4, (uint64_t *)addr, 1), -EINVAL);
	check_eq(bl_publish(pin, addr, sent, 64, (uint64_t *)(addr + 56), 1), -EINVAL);
	check_has(bl_last_error(NULL), "lies in the data");
	check_eq(bl_publish(pin, addr + 15, sent, 1, (uint64_t *)(addr + 8), 1), -EINVAL);
	check_eq(bl_publish(pin, addr + 4, sent, 60, (uint64_t *)addr, 1), -EINVAL);
	check_eq(bl_publish(unmapped, addr, sent, 64, (uint64_t *)(addr + 64), 1), -EINVAL);
	check_has(bl_last_error(NULL), "not a mapped pin");
	check_eq(bl_publish(0, addr, sent, 64, (uint64_t *)(addr + 64), 1), -EINVAL);
	check_eq(world.cuda->cuMemcpyDtoH(seen, va, LEN), CUDA_SUCCESS);
	for (size_t i = 0; i < LEN; i++)
		check_eq(seen[i], 0);
	check_eq(bl_close(ctx), 0);
	free(seen);
	world_free(va);
	world_check_rules();
}

static void publish_to_gdrapi(const void *arg)
{
	uint64_t off, sent[2] = { 41, 42 }, seen[3];
	struct bl_emu_counts before, after;
	CUdeviceptr va;
	gdr_mh_t handle;
	bl_pin_t pin;
	void *addr;
	gdr_t g;

	world_enter();
	g = gdr_open();
	check(g);
	va = world_alloc(LEN);
	check_eq(gdr_pin_buffer(g, va, LEN, 0, 0, &handle), 0);
	check_eq(gdr_map(g, handle, &addr, LEN), 0);
	if (bl_pin_find(addr, &pin, &off) == -ENOENT)
		skip("libgdrapi carries a core of its own in this build");
	check_eq(pin, handle.h);
	world.counts(&before);
	check_eq(bl_publish(pin, (char *)addr + 8, sent, sizeof(sent), addr, 1), 0);
	check_eq(bl_publish(pin, NULL, NULL, 0, addr, 2), 0);
	check_eq(bl_publish(pin, (char *)addr + LEN - 8, sent, 16, addr, 3), -EINVAL);
	check_eq(bl_flush(pin), 0);
	world.counts(&after);
	check_eq(after.cuda_calls, before.cuda_calls);
	check_eq(world.cuda->cuMemcpyDtoH(seen, va, sizeof(seen)), CUDA_SUCCESS);
	check_eq(seen[0], 2);
	check_eq(seen[1], 41);
	check_eq(seen[2], 42);
	check_eq(gdr_unmap(g, handle, addr, LEN), 0);
	check_eq(bl_publish(pin, (char *)addr + 8, sent, 8, addr, 1), -EINVAL);
	check_eq(gdr_close(g), 0);
	world_check_rules();
}

static void mapping_of_libgdrapi_is_published_to_whatever_its_engine(void)
{
	child_run(publish_to_gdrapi, NULL, NULL);
	child_run(publish_to_gdrapi, NULL, (const char *[]){ "GDRCOPY_ENGINE", "ce", NULL });
	child_run(publish_to_gdrapi, NULL, (const char *[]){ "GDRCOPY_ENGINE", "auto", NULL });
}

static void pin_is_found_by_any_address_in_its_mapping(void)
{
	uint64_t off = 99;
	bl_pin_t pins[8], pin = 0;
	char *maps[8];
	CUdeviceptr va;
	bl_ctx_t ctx;
	int code = 0;

	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open("rm");
	for (size_t i = 0; i < 8; i++)
		maps[i] = map_new(ctx, va + i * LEN, &pins[i]);
	for (size_t i = 0; i < 8; i++) {
		check_eq(bl_pin_find(maps[i], &pin, &off), 0);
		check_eq(pin, pins[i]);
		check_eq(off, 0);
		check_eq(bl_pin_find(maps[i] + LEN - 1, &pin, &off), 0);
		check_eq(pin, pins[i]);
		check_eq(off, LEN - 1);
		check_eq(bl_pin_find(maps[i] + 5, &pin, NULL), 0);
		check_eq(pin, pins[i]);
	}
	check_eq(bl_unmap(ctx, pins[3], maps[3], LEN), 0);
	off = 99;
	pin = 7;
	check_eq(bl_pin_find(maps[3], &pin, &off), -ENOENT);
	check_has(bl_last_error(&code), "no mapping holds");
	check_eq(code, ENOENT);
	check_eq(bl_pin_find(&pin, &pin, &off), -ENOENT);
	check_eq(bl_pin_find(NULL, &pin, &off), -ENOENT);
	check_eq(bl_pin_find((void *)UINTPTR_MAX, &pin, &off), -ENOENT);
	check_eq(pin, 7);
	check_eq(off, 99);
	check_eq(bl_pin_find(maps[0], NULL, &off), -EINVAL);
	check_eq(bl_close(ctx), 0);
	check_eq(bl_pin_find(maps[0], &pin, &off), -ENOENT);
	world_free(va);
	world_check_rules();
}

static void pin_is_found_among_thousands(void)
{
	bl_pin_t pin = 0, last = 0;
	CUdeviceptr va;
	bl_ctx_t ctx;
	char *addr;

	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open("rm");
	for (int i = 0; i < 4500; i++)
		check_eq(bl_pin(ctx, va, LEN, 0, 0, 0, &pin), 0);
	addr = map_new(ctx, va, &last);
	check_eq(bl_pin_find(addr + 100, &pin, NULL), 0);
	check_eq(pin, last);
	check_eq(bl_close(ctx), 0);
	world_free(va);
}

/* Pinned from @va on, which starts on no page. */
static void use_byte(bl_ctx_t ctx, CUdeviceptr va, size_t len)
{
	struct bl_pin_info info;
	bl_pin_t pin, found;
	uint64_t off = 0;
	char *addr;
	void *any;

	check_eq(bl_pin(ctx, va, len, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, len, BL_MAP_NONE, &any), -EINVAL);
	check_has(bl_last_error(NULL), "into its page");
	check_eq(bl_map_byte(ctx, pin, len, BL_MAP_NONE, &any), 0);
	addr = any;
	world_check_mapping(pin, addr, va, len);
	check_eq(bl_map_byte(ctx, pin, len, BL_MAP_NONE, &any), -EAGAIN);
	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check(addr - (char *)info.addr == (ptrdiff_t)(va - info.va));
	check_eq(bl_pin_find(addr, &found, &off), 0);
	check_eq(found, pin);
	check_eq(off, va - info.va);
	/* only as it was given out */
	check_eq(bl_unmap(ctx, pin, info.addr, len), -EINVAL);
	check_eq(bl_unmap(ctx, pin, addr, len + LEN), -EINVAL);
	check_eq(bl_unmap(ctx, pin, addr, SIZE_MAX), -EINVAL);
	check_eq(bl_unmap(ctx, pin, addr, 0), -EINVAL);
	check_eq(bl_unmap(ctx, pin, addr, len), 0);
	/* to the end of the pin and not beyond */
	check_eq(bl_map_byte(ctx, pin, info.len - off + 1, BL_MAP_NONE, &any), -EINVAL);
	check_eq(bl_map_byte(ctx, pin, SIZE_MAX, BL_MAP_NONE, &any), -EINVAL);
	check_eq(bl_map_byte(ctx, pin, 0, BL_MAP_NONE, &any), -EINVAL);
	check_eq(bl_map_byte(ctx, pin, 1, 9, &any), -EINVAL);
	check_eq(bl_map_byte(ctx, pin, 1, BL_MAP_NONE, NULL), -EINVAL);
	check_eq(bl_map_byte(ctx, pin, info.len - off, BL_MAP_NONE, &any), 0);
	check_eq(bl_pin_info(ctx, pin, &info), 0);
	check_eq(info.map_len, info.len);
	check_eq(bl_unpin(ctx, pin), 0);
}

/* @arg: provider */
static void map_bytes(const void *arg)
{
	struct snapshot before;
	CUdeviceptr va;
	bl_ctx_t ctx;

	world_enter();
	va = world_alloc(4 * MIB);
	snapshot_take(&before);
	ctx = world_open(arg);
	use_byte(ctx, va + 24, 1000);
	use_byte(ctx, va + LEN + 4097, LEN);
	use_byte(ctx, va + 4 * MIB - 1, 1);
	check_eq(bl_close(ctx), 0);
	snapshot_check(&before);
	world_free(va);
	world_check_rules();
}

static void byte_that_was_asked_for_is_mapped(void)
{
	child_run(map_bytes, "rm", NULL);
	child_run(map_bytes, "dmabuf",
		  (const char *[]){ "BARLANE_EMU_DRIVER", "610.43.02", "BARLANE_EMU_CUDA", "13030", NULL });
}

static void map_byte_of_module(const void *arg)
{
	CUdeviceptr va;
	bl_pin_t pin;
	bl_ctx_t ctx;
	void *addr;

	world_enter();
	va = world_alloc(2 * MIB);
	ctx = world_open("gdrdrv");
	check_eq(bl_pin(ctx, va + 24, 1000, 0, 0, 0, &pin), 0);
	check_eq(bl_map_byte(ctx, pin, 1000, BL_MAP_NONE, &addr), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "pin from the start of the page");
	check_eq(bl_unpin(ctx, pin), 0);
	check_eq(bl_pin(ctx, va, 1000, 0, 0, 0, &pin), 0);
	check_eq(bl_map_byte(ctx, pin, 1000, BL_MAP_NONE, &addr), 0);
	world_check_mapping(pin, addr, va, 1000);
	check_eq(bl_unmap(ctx, pin, addr, 1000), 0);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void module_that_maps_whole_pages_only_is_not_asked_for_a_byte(void)
{
	child_run(map_byte_of_module, NULL, (const char *[]){ "BARLANE_EMU_NODES", "gdrdrv", NULL });
}

/* What a forked child may do: a bit per call that did not answer EACCES. */
static int try_all(bl_ctx_t ctx, const struct bl_alloc *mem)
{
	struct bl_alloc other;
	bl_pin_t pin;
	void *addr;
	int bad = 0;

	bad |= (bl_flush(mem->pin) != -EACCES) << 0;
	bad |= (bl_publish(mem->pin, mem->addr, "x", 1, (uint64_t *)mem->addr + 1, 1) != -EACCES) << 1;
	bad |= (bl_pin_find(mem->addr, &pin, NULL) != -EACCES) << 2;
	bad |= (bl_map_byte(ctx, mem->pin, 1, BL_MAP_NONE, &addr) != -EACCES) << 3;
	bad |= (bl_alloc(ctx, 0, 1, &other) != -EACCES) << 4;
	bad |= (bl_free(ctx, mem->pin) != -EACCES) << 5;
	return bad;
}

static void forks(const void *arg)
{
	struct bl_alloc mem;
	bl_ctx_t ctx;
	int status;
	pid_t pid;

	world_enter();
	ctx = world_open("rm");
	check_eq(bl_alloc(ctx, 0, 1, &mem), 0);
	pid = fork();
	if (!pid)
		_exit(try_all(ctx, &mem));
	check(waitpid(pid, &status, 0) == pid);
	check_eq(status, 0);
	world_check_mapping(mem.pin, mem.addr, mem.va, mem.size);
	check_eq(bl_free(ctx, mem.pin), 0);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void child_is_refused_and_its_parent_goes_on(void)
{
	child_run(forks, NULL, NULL);
}

/* Those with a world of their own come first: a child cannot enter one after its parent did. */
static const struct tap_test tests[] = {
	{ "byte_that_was_asked_for_is_mapped", byte_that_was_asked_for_is_mapped },
	{ "module_that_maps_whole_pages_only_is_not_asked_for_a_byte",
	  module_that_maps_whole_pages_only_is_not_asked_for_a_byte },
	{ "mapping_of_libgdrapi_is_published_to_whatever_its_engine",
	  mapping_of_libgdrapi_is_published_to_whatever_its_engine },
	{ "child_is_refused_and_its_parent_goes_on", child_is_refused_and_its_parent_goes_on },
	{ "flush_waits_without_cuda_and_without_ioctls", flush_waits_without_cuda_and_without_ioctls },
	{ "publish_writes_data_and_flag", publish_writes_data_and_flag },
	{ "publish_refuses_what_is_wrong_and_writes_nothing", publish_refuses_what_is_wrong_and_writes_nothing },
	{ "pin_is_found_by_any_address_in_its_mapping", pin_is_found_by_any_address_in_its_mapping },
	{ "pin_is_found_among_thousands", pin_is_found_among_thousands },
};

TAP_MAIN(tests)
