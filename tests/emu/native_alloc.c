// SPDX-License-Identifier: MIT
/* Memory of bl_alloc(): what it is good for, its end, and each call that fails on the way. */
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "tests/tap.h"
#include "world.h"

#define MIB (1UL << 20)

/* What must be given back, with the GPU memory itself. */
static void check_nothing_left(const struct snapshot *before)
{
	struct bl_emu_counts now;

	snapshot_check(before);
	world.counts(&now);
	check_eq(now.vram_used, before->counts.vram_used);
}

/* The first pin on a GPU allocates for the self-test; not to be counted. */
static void warm_up(const char *provider)
{
	struct bl_alloc mem;
	bl_ctx_t ctx = world_open(provider);

	if (bl_alloc(ctx, 0, 1, &mem))
		tap_end(TAP_FAILED, "alloc: %s", bl_last_error(NULL));
	check_eq(bl_free(ctx, mem.pin), 0);
	check_eq(bl_close(ctx), 0);
}

/* As a program exports memory to another process. */
static void check_exportable(CUdeviceptr va)
{
	CUmemGenericAllocationHandle handle;
	int fd = -1;

	check_eq(world.cuda->cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)va), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
		 CUDA_SUCCESS);
	check(fd >= 0);
	check_eq(close(fd), 0);
	check_eq(world.cuda->cuMemRelease(handle), CUDA_SUCCESS);
}

/* @arg: provider */
static void live(const void *arg)
{
	struct snapshot before;
	CUcontext current = world.context;
	struct bl_alloc mem, more;
	bl_ctx_t ctx;

	world_enter();
	warm_up(arg);
	snapshot_take(&before);
	ctx = world_open(arg);
	/* no context is current, and none is afterwards */
	check_eq(world.cuda->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	check_eq(bl_alloc(ctx, 0, 5 * MIB, &mem), 0);
	check_eq(world.cuda->cuCtxGetCurrent(&current), CUDA_SUCCESS);
	check(!current);
	check_eq(world.cuda->cuCtxSetCurrent(world.context), CUDA_SUCCESS);
	check_eq(mem.size, 6 * MIB);
	check_eq(mem.va % BL_GPU_PAGE_SIZE, 0);
	world_check_mapping(mem.pin, mem.addr, mem.va, mem.size);
	check_eq(bl_publish(mem.pin, mem.addr, "hello", 5, (uint64_t *)mem.addr + 1, 1), 0);
	check_exportable(mem.va);
	check_eq(bl_alloc(ctx, 0, 1, &more), 0);
	check(more.va != mem.va && more.addr != mem.addr && more.pin != mem.pin);
	world_check_mapping(more.pin, more.addr, more.va, more.size);
	/* the mapping may come and go */
	check_eq(bl_unmap(ctx, more.pin, more.addr, more.size), 0);
	check_eq(bl_map(ctx, more.pin, MIB, BL_MAP_NONE, &more.addr), 0);
	world_check_mapping(more.pin, more.addr, more.va, MIB);
	check_eq(bl_free(ctx, mem.pin), 0);
	check_eq(bl_free(ctx, mem.pin), -EINVAL);
	check_eq(world.cuda->cuMemsetD8(mem.va, 0, 1), CUDA_ERROR_INVALID_VALUE);
	/* and what is left goes with the context */
	check_eq(bl_close(ctx), 0);
	check_nothing_left(&before);
	world_check_rules();
}

static void memory_is_shared_from_birth_to_the_end(void)
{
	child_run(live, "rm", NULL);
	child_run(live, "gdrdrv", (const char *[]){ "BARLANE_EMU_NODES", "gdrdrv", NULL });
	child_run(live, "dmabuf",
		  (const char *[]){ "BARLANE_EMU_DRIVER", "610.43.02", "BARLANE_EMU_CUDA", "13030", NULL });
}

static void misuse(const void *arg)
{
	struct bl_alloc mem = { .va = 1 };
	bl_ctx_t ctx, other;
	bl_pin_t pin;

	world_enter();
	ctx = world_open("rm");
	other = world_open("rm");
	check_eq(bl_alloc(ctx, 0, 0, &mem), -EINVAL);
	check_eq(bl_alloc(ctx, 0, 1, NULL), -EINVAL);
	check_eq(bl_alloc(0, 0, 1, &mem), -EINVAL);
	check_has(bl_last_error(NULL), "no such context");
	check_eq(bl_alloc(ctx, 7, 1, &mem), -ENODEV);
	check_has(bl_last_error(NULL), "device 7");
	check_eq(bl_alloc(ctx, -1, 1, &mem), -ENODEV);
	check_eq(bl_alloc(ctx, 0, SIZE_MAX, &mem), -ENOMEM);
	check_eq(bl_alloc(ctx, 0, 1UL << 45, &mem), -ENOMEM);
	check_has(bl_last_error(NULL), "cuMemCreate");
	check_eq(mem.va, 1);
	check_eq(bl_alloc(ctx, 0, 1, &mem), 0);
	check_eq(bl_free(other, mem.pin), -EINVAL);
	check_eq(bl_unpin(ctx, mem.pin), -EINVAL);
	check_has(bl_last_error(NULL), "bl_free()");
	world_check_mapping(mem.pin, mem.addr, mem.va, mem.size);
	check_eq(bl_pin(ctx, mem.va, 65536, 0, 0, 0, &pin), 0);
	check_eq(bl_free(ctx, pin), -EINVAL);
	check_has(bl_last_error(NULL), "unpin it");
	check_eq(bl_unpin(ctx, pin), 0);
	check_eq(bl_free(ctx, 0), -EINVAL);
	check_eq(bl_close(ctx), 0);
	check_eq(bl_free(ctx, mem.pin), -EINVAL);
	check_eq(bl_close(other), 0);
	world_check_rules();
}

static void misuse_is_refused(void)
{
	child_run(misuse, NULL, NULL);
}

/**
 * struct walk - one point of failure
 * @point: name of the point
 * @value: what the call fails with
 * @provider: who serves
 */
struct walk {
	const char *point;
	int value;
	const char *provider;
	int nth;
};

/* Whether the child's call failed: a word shared with the parent. */
static int *fired;

static void fail_nth(const void *arg)
{
	const struct walk *walk = arg;
	struct bl_alloc mem = { .va = 1 };
	struct snapshot before;
	bl_ctx_t ctx;
	char spec[64];
	int ret;

	world_enter();
	warm_up(walk->provider);
	ctx = world_open(walk->provider);
	check_eq(bl_alloc(ctx, 0, 1, &mem), 0); /* what a context has for its first pin is there */
	check_eq(bl_free(ctx, mem.pin), 0);
	snapshot_take(&before);
	mem = (struct bl_alloc){ .va = 1 };
	snprintf(spec, sizeof(spec), "%s:%d:%d", walk->point, walk->nth, walk->value);
	check_eq(world.fault(spec), 0);
	ret = bl_alloc(ctx, 0, 2 * MIB, &mem);
	check_eq(world.fault(""), 0);
	*fired = ret != 0;
	if (ret) {
		check(strlen(bl_last_error(NULL)) > 0);
		check_eq(mem.va, 1);
	} else {
		check_eq(bl_free(ctx, mem.pin), 0);
	}
	check_nothing_left(&before);
	/* and the next one works */
	check_eq(bl_alloc(ctx, 0, 2 * MIB, &mem), 0);
	world_check_mapping(mem.pin, mem.addr, mem.va, mem.size);
	check_eq(bl_close(ctx), 0);
	check_eq(world.violation()[0], 0);
}

static void walk_point(const char *provider, const char *point, int value, const char *const *env)
{
	struct walk walk = { .point = point, .value = value, .provider = provider };
	int fires = 0, quiet = 0;

	fired = mmap(NULL, sizeof(*fired), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(fired != MAP_FAILED);
	for (walk.nth = 1; walk.nth < 60 && quiet < 4; walk.nth++) {
		*fired = 0;
		child_run(fail_nth, &walk, env);
		fires += *fired;
		quiet = *fired ? 0 : quiet + 1;
	}
	munmap(fired, sizeof(*fired));
	if (!fires)
		tap_end(TAP_FAILED, "%s never fired", point);
}

static void each_failing_call_is_undone(void)
{
	walk_point("rm", "cuda.alloc", 2, NULL);
	walk_point("rm", "cuda.vmm", 2, NULL);
	walk_point("rm", "cuda.attr", 1, NULL);
	walk_point("rm", "cuda.export", 801, NULL);
	walk_point("rm", "open.dev", 24, NULL);
	walk_point("rm", "ioctl", EIO, NULL);
	walk_point("rm", "rm.control", 0x56, NULL);
	walk_point("rm", "rm.map", 0x51, NULL);
	walk_point("rm", "mmap", ENOMEM, NULL);
	walk_point("rm", "madvise", EINVAL, NULL);
}

static void each_failing_call_of_the_module_is_undone(void)
{
	const char *const env[] = { "BARLANE_EMU_NODES", "gdrdrv", NULL };

	walk_point("gdrdrv", "gdrdrv.pin", ENOMEM, env);
	walk_point("gdrdrv", "gdrdrv.map", EIO, env);
	walk_point("gdrdrv", "mmap", ENOMEM, env);
	walk_point("gdrdrv", "ioctl", EIO, env);
}

/* @arg: 1: cuMemUnmap fails, 2: cuMemAddressFree */
static void free_fails(const void *arg)
{
	struct bl_emu_counts before, after;
	struct bl_alloc mem;
	bl_ctx_t ctx;
	char spec[32];

	world_enter();
	warm_up("rm");
	ctx = world_open("rm");
	world.counts(&before);
	check_eq(bl_alloc(ctx, 0, 1, &mem), 0);
	snprintf(spec, sizeof(spec), "cuda.unmap:%d:999", *(const int *)arg);
	check_eq(world.fault(spec), 0);
	check_eq(bl_free(ctx, mem.pin), -EIO);
	check_has(bl_last_error(NULL), *(const int *)arg == 1 ? "cuMemUnmap" : "cuMemAddressFree");
	world.counts(&after);
	check_eq(after.vmas, before.vmas);
	check_eq(bl_free(ctx, mem.pin), -EINVAL);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void memory_that_cuda_does_not_take_back_is_an_error(void)
{
	child_run(free_fails, &(int){ 1 }, NULL);
	child_run(free_fails, &(int){ 2 }, NULL);
}

static void mapping_stays(const void *arg)
{
	struct bl_emu_counts before, after;
	struct bl_alloc mem;
	bl_ctx_t ctx;

	world_enter();
	warm_up("rm");
	ctx = world_open("rm");
	check_eq(bl_alloc(ctx, 0, 1, &mem), 0);
	world.counts(&before);
	check_eq(world.fault("munmap:1:22"), 0);
	check_eq(bl_free(ctx, mem.pin), -EBUSY);
	world.counts(&after);
	/* the mapping lives, so what it shows must too */
	check_eq(after.vmas, before.vmas);
	check_eq(after.vram_used, before.vram_used);
	check_eq(world.cuda->cuMemsetD8(mem.va, 0x77, 1), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	check_eq(*(volatile char *)mem.addr, 0x77);
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void memory_under_a_mapping_that_cannot_be_removed_stays(void)
{
	child_run(mapping_stays, NULL, NULL);
}

static void no_cuda(const void *arg)
{
	struct bl_alloc mem;
	bl_ctx_t ctx = world_open("rm");

	check_eq(bl_alloc(ctx, 0, 1, &mem), -ENODEV);
	check_has(bl_last_error(NULL), "cuInit()");
	check_eq(bl_close(ctx), 0);
}

static void cuda_must_be_initialised(void)
{
	child_run(no_cuda, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "memory_is_shared_from_birth_to_the_end", memory_is_shared_from_birth_to_the_end },
	{ "misuse_is_refused", misuse_is_refused },
	{ "each_failing_call_is_undone", each_failing_call_is_undone },
	{ "each_failing_call_of_the_module_is_undone", each_failing_call_of_the_module_is_undone },
	{ "memory_that_cuda_does_not_take_back_is_an_error", memory_that_cuda_does_not_take_back_is_an_error },
	{ "memory_under_a_mapping_that_cannot_be_removed_stays", memory_under_a_mapping_that_cannot_be_removed_stays },
	{ "cuda_must_be_initialised", cuda_must_be_initialised },
};

TAP_MAIN(tests)
