// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "arena.h"
#include "fault.h"
#include "queue.h"
#include "state.h"
#include "util/tsan.h"

/* Which ends of a copy must be memory that the device reaches. */
enum { DST_DEVICE = 1, SRC_DEVICE = 2 };

/* Longer copies go in whatever order memmove() has. */
#define SHUFFLED_MAX (1UL << 20)

/* As long as a word that tells of other copies. */
#define SHORT sizeof(uint64_t)

struct copy {
	void *dst;
	const void *src;
	size_t size;
	char staged[]; /* pageable host memory is read when the copy is asked for */
};

/*
 * A copy engine promises no order among the words of a transfer. Every other group of eight goes first here, so that who
 * takes the last one for the end is found out.
 */
static void move_words(uint32_t *dst, const uint32_t *src, size_t nr)
{
	for (int odd = 1; odd >= 0; odd--) {
		for (size_t i = 0; i < nr; i++) {
			if ((i >> 3 & 1) == (size_t)odd)
				__atomic_store_n(&dst[i], __atomic_load_n(&src[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
		}
	}
}

/* Who sees the words come may write to their source: all reads of it come before, which ThreadSanitizer cannot see. */
static void move_seen(uint32_t *dst, const uint32_t *src, size_t nr)
{
	uint32_t *words = BL_TSAN ? malloc(nr * sizeof(*words)) : NULL;

	if (!words) {
		move_words(dst, src, nr);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		words[i] = __atomic_load_n(&src[i], __ATOMIC_RELAXED);
	BL_TSAN_GIVE(dst);
	move_words(dst, words, nr);
	free(words);
}

/*
 * Words that somebody may poll for what the stream did before: release. Not of longer copies, for ThreadSanitizer would keep a
 * history of each word.
 */
static void move_short(uint32_t *dst, const uint32_t *src, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		__atomic_store_n(&dst[i], __atomic_load_n(&src[i], __ATOMIC_RELAXED), __ATOMIC_RELEASE);
}

static void run_copy(void *arg)
{
	const struct copy *copy = arg;

	uintptr_t dst = (uintptr_t)copy->dst, src = (uintptr_t)copy->src;
	bool apart = dst + copy->size <= src || src + copy->size <= dst;

	if (copy->size > SHUFFLED_MAX || !apart || (dst | src | copy->size) % sizeof(uint32_t))
		memmove(copy->dst, copy->src, copy->size);
	else if (copy->size <= SHORT)
		move_short(copy->dst, copy->src, copy->size / sizeof(uint32_t));
	else
		move_seen(copy->dst, copy->src, copy->size / sizeof(uint32_t));
}

/* Lock held. Memory that CUDA does not know is the host's, unless it must not be. */
static CUresult check_end(uint64_t va, size_t size, int device, int *pageable_p)
{
	int known = emu_table_overlap(&emu_allocs, va, size) != NULL;

	*pageable_p = !known;
	if (!known && !emu_arena_contains(va) && !device)
		return va ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	/* host memory that is registered in part is copied as if it were not */
	if (known && !device && !emu_arena_contains(va) && !emu_range_ok(va, size)) {
		*pageable_p = 1;
		return CUDA_SUCCESS;
	}
	return emu_range_ok(va, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

struct ends {
	uint64_t dst;
	uint64_t src;
	size_t size;
	int kinds;
	int dst_pageable;
	int src_pageable;
};

static CUresult check_ends(struct ends *ends)
{
	CUresult ret = check_end(ends->dst, ends->size, ends->kinds & DST_DEVICE, &ends->dst_pageable);

	return ret ? ret : check_end(ends->src, ends->size, ends->kinds & SRC_DEVICE, &ends->src_pageable);
}

static CUresult enter_copy(struct emu_ctx **ctx_p)
{
	CUresult ret = emu_enter_ctx(ctx_p);

	return ret ? ret : emu_cuda_fault("cuda.memcpy", CUDA_ERROR_UNKNOWN);
}

static CUresult copy_sync(uint64_t dst, uint64_t src, size_t size, int kinds)
{
	struct ends ends = { .dst = dst, .src = src, .size = size, .kinds = kinds };
	struct copy copy = { .dst = emu_cpu(dst), .src = emu_cpu(src), .size = size };
	struct emu_ctx *ctx;
	CUresult ret = enter_copy(&ctx);
	struct emu_op *op;

	if (ret || !size)
		return ret;
	emu_lock();
	ret = check_ends(&ends);
	if (!ret)
		ret = emu_begin(ctx, &op);
	if (!ret)
		emu_peer_count(ctx, dst, src);
	emu_unlock();
	if (ret)
		return ret;
	emu_perform(op, run_copy, &copy);
	return emu_ctx_error(ctx);
}

/*
 * As CUDA documents: from pageable memory the bytes are taken before the call returns; to pageable memory the call
 * returns when they have arrived. Only pinned memory is really asynchronous.
 */
static CUresult submit_copy(struct emu_ctx *ctx, const struct ends *ends, CUstream stream)
{
	size_t staged = ends->src_pageable ? ends->size : 0;
	struct copy *copy = malloc(sizeof(*copy) + staged);

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	copy->dst = emu_cpu(ends->dst);
	copy->src = emu_cpu(ends->src);
	copy->size = ends->size;
	if (staged) {
		memcpy(copy->staged, copy->src, staged);
		copy->src = copy->staged;
	}
	/* an engine that does not keep the order of its writes */
	if (ends->kinds == SRC_DEVICE && ends->size <= SHORT && emu_fault("cuda.overtake", NULL))
		run_copy(copy);
	emu_peer_count(ctx, ends->dst, ends->src);
	return emu_submit(ctx, stream, run_copy, copy);
}

static CUresult wait_for_stream(struct emu_ctx *ctx, CUstream stream)
{
	struct emu_op *op = NULL;
	CUresult ret = emu_submit_mark(ctx, stream, &op);

	if (ret || !op)
		return ret;
	emu_queue_lock();
	emu_op_wait(op);
	emu_op_put(op);
	emu_queue_unlock();
	return emu_ctx_error(ctx);
}

static CUresult copy_async(uint64_t dst, uint64_t src, size_t size, int kinds, CUstream stream)
{
	struct ends ends = { .dst = dst, .src = src, .size = size, .kinds = kinds };
	struct emu_ctx *ctx;
	CUresult ret = enter_copy(&ctx);

	if (ret || !size)
		return ret;
	emu_lock();
	ret = check_ends(&ends);
	if (!ret)
		ret = submit_copy(ctx, &ends, stream);
	emu_unlock();
	if (ret || !ends.dst_pageable)
		return ret;
	return wait_for_stream(ctx, stream);
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	return copy_sync(dst, src, size, 0);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t size)
{
	return copy_sync(dst, (uint64_t)src, size, DST_DEVICE);
}

CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size)
{
	return copy_sync((uint64_t)dst, src, size, SRC_DEVICE);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	return copy_sync(dst, src, size, DST_DEVICE | SRC_DEVICE);
}

static CUresult check_peers(CUcontext dst_ctx, CUcontext src_ctx)
{
	CUresult ret = emu_enter();
	int known;

	if (ret)
		return ret;
	emu_lock();
	known = emu_ctx_find(dst_ctx) && emu_ctx_find(src_ctx);
	emu_unlock();
	return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size)
{
	CUresult ret = check_peers(dst_ctx, src_ctx);

	return ret ? ret : copy_sync(dst, src, size, DST_DEVICE | SRC_DEVICE);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size,
			   CUstream stream)
{
	CUresult ret = check_peers(dst_ctx, src_ctx);

	return ret ? ret : copy_async(dst, src, size, DST_DEVICE | SRC_DEVICE, stream);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
	return copy_async(dst, src, size, 0, stream);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
	return copy_async(dst, (uint64_t)src, size, DST_DEVICE, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
	return copy_async((uint64_t)dst, src, size, SRC_DEVICE, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
	return copy_async(dst, src, size, DST_DEVICE | SRC_DEVICE, stream);
}

struct fill {
	void *dst;
	uint32_t value;
	unsigned int width;
	size_t nr;
};

static void run_fill(void *arg)
{
	const struct fill *fill = arg;
	uint32_t *words = fill->dst;

	if (fill->width == 1) {
		memset(fill->dst, (int)fill->value, fill->nr);
		return;
	}
	for (size_t i = 0; i < fill->nr; i++)
		words[i] = fill->value;
}

/* Also the synchronous calls return before device memory is filled. */
static CUresult fill(uint64_t dst, uint32_t value, unsigned int width, size_t nr, CUstream stream)
{
	struct emu_ctx *ctx;
	CUresult ret = enter_copy(&ctx);
	struct fill *job;

	if (ret || !nr)
		return ret;
	if (dst & (width - 1) || nr > SIZE_MAX / width)
		return CUDA_ERROR_INVALID_VALUE;
	job = malloc(sizeof(*job));
	if (!job)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*job = (struct fill){ .dst = emu_cpu(dst), .value = value, .width = width, .nr = nr };
	emu_lock();
	if (emu_range_ok(dst, nr * width)) {
		ret = emu_submit(ctx, stream, run_fill, job);
	} else {
		free(job);
		ret = CUDA_ERROR_INVALID_VALUE;
	}
	emu_unlock();
	return ret;
}

CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t nr)
{
	return fill(dst, value, 1, nr, NULL);
}

CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned int value, size_t nr)
{
	return fill(dst, value, 4, nr, NULL);
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t nr, CUstream stream)
{
	return fill(dst, value, 1, nr, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned int value, size_t nr, CUstream stream)
{
	return fill(dst, value, 4, nr, stream);
}
