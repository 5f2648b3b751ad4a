// SPDX-License-Identifier: MIT
#include "push_bare.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/memory.h"
#include "common/stats.h"
#include "copy/fence.h"
#include "gpu/kernels/push.h"

#define IDLE_NS	    1000000000ULL
#define PATIENCE_NS 10000000000ULL

static const struct bl_cuda *cu;
static volatile struct bl_push_doorbell *doorbell;
static uint64_t doorbell_va;
static struct bl_push_words *words;
static CUfunction fn;
static CUstream stream;
static unsigned int nr_blocks = BL_PUSH_BLOCKS, nr_threads = BL_PUSH_THREADS;
static uint64_t gen, seq, slice, stop;

static void must(int ok, const char *what)
{
	if (!ok)
		tool_die("bare exchange: %s: %s", what, bl_last_error(NULL));
}

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void make_doorbell(const struct tool_device *device, bl_ctx_t ctx)
{
	struct tool_mem mem;
	void *addr = NULL;
	bl_pin_t pin;

	if (tool_mem_alloc(device, TOOL_MEM_ALLOC, BL_GPU_PAGE_SIZE, &mem))
		tool_die("%s", tool_why());
	must(!cu->cuMemsetD8(mem.ptr, 0, BL_GPU_PAGE_SIZE) && !cu->cuCtxSynchronize(), "clear the doorbell");
	must(!bl_pin(ctx, mem.ptr, BL_GPU_PAGE_SIZE, 0, 0, 0, &pin) &&
		     !bl_map_byte(ctx, pin, BL_GPU_PAGE_SIZE, BL_MAP_NONE, &addr),
	     "map the doorbell");
	doorbell = addr;
	doorbell_va = mem.ptr;
}

void bare_start(const struct tool_device *device, bl_ctx_t ctx)
{
	const char *grid = getenv("BARLANE_PUSH_GRID");
	CUmodule module;
	void *host;

	cu = device->cu;
	if (grid && sscanf(grid, "%ux%u", &nr_blocks, &nr_threads) != 2)
		tool_die("BARLANE_PUSH_GRID %s: not BLOCKSxTHREADS", grid);
	slice = BL_PUSH_MAX_LEN / nr_blocks;
	make_doorbell(device, ctx);
	must(!cu->cuMemHostAlloc(&host, sizeof(*words), CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	words = host;
	*words = (struct bl_push_words){ 0 };
	must(!cu->cuModuleLoadData(&module, bl_push_ptx), "cuModuleLoadData");
	must(!cu->cuModuleGetFunction(&fn, module, "bl_push"), "cuModuleGetFunction");
	must(!cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

static void launch(void)
{
	uint64_t idle_ns = IDLE_NS, host = (uintptr_t)words, end = tool_now_ns() + PATIENCE_NS;
	void *params[] = { &doorbell_va, &host, &gen, &idle_ns, &slice };

	bare_stop();
	gen++;
	must(!cu->cuLaunchKernel(fn, nr_blocks, 1, 1, nr_threads, 1, 1, 0, stream, params, NULL), "cuLaunchKernel");
	for (unsigned int i = 0; i < nr_blocks; i++) {
		while (load(&words->block[i].alive) != gen)
			must(tool_now_ns() < end, "the kernel does not begin");
	}
}

void bare_ready(void)
{
	bool there = gen;

	for (unsigned int i = 0; i < nr_blocks; i++)
		there = there && load(&words->block[i].left) != gen;
	if (!there)
		launch();
}

void bare_read(uint64_t src, uint64_t dst, size_t len)
{
	unsigned int nr = (unsigned int)((len + slice - 1) / slice);
	uint64_t tag, polls = 0;

	tag = ++seq << BL_PUSH_TAG_SHIFT;
	doorbell->src = src | tag;
	doorbell->dst = dst | tag;
	doorbell->command = seq << BL_PUSH_LEN_SHIFT | len;
	doorbell->stop = stop;
	for (size_t i = 0; i < sizeof(doorbell->reserved) / sizeof(doorbell->reserved[0]); i++)
		doorbell->reserved[i] = 0;
	bl_fence_wc_store();
	for (unsigned int i = nr; i-- > 0;) {
		while (load(&words->block[i].served) != seq)
			must(polls++ < 1ULL << 33, "no answer");
	}
}

void bare_stop(void)
{
	stop = gen;
	doorbell->stop = stop;
	bl_fence_wc_store();
}
