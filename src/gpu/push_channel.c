// SPDX-License-Identifier: MIT
/* The parts of a channel: kernel, stream, doorbell, host memory; and launching the kernel. */
#define log_fmt(fmt) "gpu/push: " fmt
#include "push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "copy/fence.h"
#include "core.h"
#include "util/fork.h"
#include "util/log.h"

#define START_US     2000U
#define MAX_START_US 10000000U

/*
 * BARLANE_PUSH_GRID=BLOCKSxTHREADS, for measurements. 64 KiB are divided among the blocks, so that short reads are
 * served by the first of them.
 */
static void choose_grid(struct bl_push *push)
{
	const char *text = getenv("BARLANE_PUSH_GRID");
	unsigned int blocks, threads;
	char rest;

	push->nr_blocks = BL_PUSH_BLOCKS;
	push->nr_threads = BL_PUSH_THREADS;
	if (text && *text) {
		if (sscanf(text, "%ux%u%c", &blocks, &threads, &rest) == 2 && blocks >= 1 &&
		    blocks <= BL_PUSH_MAX_BLOCKS && !(blocks & (blocks - 1)) && threads >= 32 && threads <= 1024) {
			push->nr_blocks = blocks;
			push->nr_threads = threads;
		} else {
			log_warn("BARLANE_PUSH_GRID %s ignored: it is not BLOCKSxTHREADS, 1 2 4 8 16 x 32 ... 1024",
				 text);
		}
	}
	push->slice = BL_PUSH_MAX_LEN / push->nr_blocks;
	push->start_ns = bl_push_env_us("BARLANE_PUSH_START_US", START_US, MAX_START_US) * 1000ULL;
}

static int load_kernel(const struct bl_cuda *cuda, struct bl_push *push)
{
	CUmodule module;
	CUresult err;

	err = cuda->cuModuleLoadData(&module, bl_push_ptx);
	if (!err)
		err = cuda->cuModuleGetFunction(&push->fn, module, "bl_push");
	if (err)
		return fail(bl_cuda_errno(err), "device %d: load the kernel: %s", push->ordinal, bl_cuda_strerror(err));
	err = cuda->cuStreamCreate(&push->stream, CU_STREAM_NON_BLOCKING);
	if (err)
		return fail(bl_cuda_errno(err), "device %d: stream for the kernel: %s", push->ordinal,
			    bl_cuda_strerror(err));
	return 0;
}

/* Of the library's own, so that it stays when the context goes; and no child shares pages that the GPU writes. */
static int map_host(struct bl_push *push)
{
	void *addr;
	int ret = 0;

	bl_fork_window_enter();
	addr = mmap(NULL, BL_PUSH_HOST_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (addr == MAP_FAILED) {
		ret = -errno;
	} else if (madvise(addr, BL_PUSH_HOST_SIZE, MADV_DONTFORK)) {
		ret = -errno;
		munmap(addr, BL_PUSH_HOST_SIZE);
	}
	bl_fork_window_leave();
	if (ret)
		return fail(-ret, "%lu bytes of host memory: error %d", BL_PUSH_HOST_SIZE, -ret);
	push->words = addr;
	return 0;
}

static int register_host(const struct bl_cuda *cuda, struct bl_push *push)
{
	CUdeviceptr va = 0;
	CUresult err;
	int ret;

	ret = map_host(push);
	if (ret)
		return ret;
	err = cuda->cuMemHostRegister(push->words, BL_PUSH_HOST_SIZE,
				      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	if (err) {
		munmap(push->words, BL_PUSH_HOST_SIZE);
		return fail(bl_cuda_errno(err), "register host memory: %s", bl_cuda_strerror(err));
	}
	err = cuda->cuMemHostGetDevicePointer(&va, push->words, 0);
	if (err)
		return fail(bl_cuda_errno(err), "device address of host memory: %s", bl_cuda_strerror(err));
	if ((va + BL_PUSH_HOST_SIZE) >> BL_PUSH_TAG_SHIFT)
		return fail(EOPNOTSUPP, "device address 0x%llx of host memory is too large", va);
	push->words_va = va;
	return 0;
}

/* All zero before the first launch: no number, no generation to stop. */
static void clear_doorbell(struct bl_push *push)
{
	volatile uint64_t *word = (volatile uint64_t *)push->doorbell;

	for (size_t i = 0; i < sizeof(*push->doorbell) / sizeof(*word); i++)
		word[i] = 0;
	/* the zeroes before the load, whose answer comes behind them */
	bl_fence_full();
	(void)*word;
	bl_fence_wc_load();
}

static int map_doorbell(struct bl_push *push, const char *provider)
{
	struct bl_pin_info info;
	void *addr = NULL;
	bl_pin_t pin;
	int ret;

	ret = bl_open(provider, &push->ctx);
	if (ret)
		return ret;
	ret = bl_pin(push->ctx, push->doorbell_va, BL_GPU_PAGE_SIZE, 0, 0, 0, &pin);
	if (!ret)
		ret = bl_pin_info(push->ctx, pin, &info);
	if (!ret)
		ret = bl_map_own(push->ctx, pin, BL_GPU_PAGE_SIZE, &addr);
	if (!ret && (uintptr_t)addr % sizeof(struct bl_push_doorbell))
		ret = fail(EPROTO, "doorbell at %p: not aligned", addr);
	if (ret) {
		bl_close(push->ctx);
		return ret;
	}
	push->doorbell = addr;
	clear_doorbell(push);
	return 0;
}

/* The doorbell's memory is what tells whether the context is still there. */
static int make_doorbell(const struct bl_cuda *cuda, struct bl_push *push, const char *provider)
{
	CUdeviceptr va;
	CUresult err;

	err = cuda->cuMemAlloc(&va, BL_PUSH_DOORBELL_SIZE);
	if (err)
		return fail(bl_cuda_errno(err), "%lu bytes of GPU memory for a doorbell: %s", BL_PUSH_DOORBELL_SIZE,
			    bl_cuda_strerror(err));
	push->doorbell_va = va;
	err = cuda->cuPointerGetAttribute(&push->sentinel, CU_POINTER_ATTRIBUTE_BUFFER_ID, va);
	if (err)
		return fail(bl_cuda_errno(err), "id of the doorbell's memory: %s", bl_cuda_strerror(err));
	return map_doorbell(push, provider);
}

/*
 * On an error what CUDA gave stays with the context: to give it back can wait for kernels, and one of them may wait for
 * this very thread.
 */
int bl_push_create(const struct bl_cuda *cuda, const struct bl_cuda_ptr *where, const char *provider,
		   struct bl_push **push_p)
{
	struct bl_push *push;
	int ret;

	if (!cuda->cuMemHostRegister || !cuda->cuMemHostGetDevicePointer)
		return fail(EOPNOTSUPP, "engine push: the driver library cannot register host memory");
	push = calloc(1, sizeof(*push));
	if (!push)
		return fail(ENOMEM, "channel: out of memory");
	push->context = where->context;
	push->ordinal = where->ordinal;
	choose_grid(push);
	ret = load_kernel(cuda, push);
	if (ret)
		goto free_push;
	ret = make_doorbell(cuda, push, provider);
	if (ret)
		goto free_push;
	ret = register_host(cuda, push);
	if (ret)
		goto close_doorbell;
	pthread_mutex_init(&push->lock, NULL);
	*push_p = push;
	return 0;
close_doorbell:
	bl_close(push->ctx);
free_push:
	free(push);
	return ret;
}

void bl_push_stop(struct bl_push *push)
{
	push->stop = atomic_load_explicit(&push->gen, memory_order_relaxed);
	push->doorbell->stop = push->stop;
	/* the word out of the write-combining buffer: somebody polls it */
	bl_fence_wc_store();
}

int bl_push_launch(const struct bl_cuda *cuda, struct bl_push *push, unsigned int idle_us)
{
	uint64_t gen = atomic_load_explicit(&push->gen, memory_order_relaxed) + 1;
	uint64_t doorbell = push->doorbell_va, words = push->words_va, idle_ns = (uint64_t)idle_us * 1000;
	uint64_t slice = push->slice;
	void *params[] = { &doorbell, &words, &gen, &idle_ns, &slice };
	CUresult err;

	/* a block that is still there keeps the new ones from beginning */
	bl_push_stop(push);
	err = cuda->cuLaunchKernel(push->fn, push->nr_blocks, 1, 1, push->nr_threads, 1, 1, 0, push->stream, params,
				   NULL);
	if (err) {
		atomic_store(&push->state, BL_PUSH_NONE);
		return fail(bl_cuda_errno(err), "device %d: launch: %s", push->ordinal, bl_cuda_strerror(err));
	}
	atomic_store(&push->gen, gen);
	atomic_store(&push->state, BL_PUSH_PENDING);
	log_debug("device %d: generation %" PRIu64 " launched", push->ordinal, gen);
	return 0;
}
