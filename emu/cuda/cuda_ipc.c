// SPDX-License-Identifier: MIT
/*
 * The 64 bytes of cuIpcGetMemHandle(), laid out as a driver of branch 580 does. They are that library's private
 * matter and may change with any release, so the emulator can change them too: BARLANE_EMU_BLOB, or fault cuda.blob.
 *
 * Where the driver has the last two words zero, they say here where the memory lies in the exporter's video memory: a
 * file that another process of the same user opens through /proc. Memory that its owner frees stays readable until it is
 * closed, and is poisoned.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "arena.h"
#include "env.h"
#include "fault.h"
#include "rm.h"
#include "state.h"

#define UNIT 4096UL

/* Words of the layout. */
enum {
	WORD_POINTER = 0, /* 2 words */
	WORD_PID = 2,
	WORD_SIZE = 4, /* 2 words, bytes as asked for */
	WORD_UNITS = 6,
	WORD_OFFSET = 7,
	WORD_SIX = 8,
	WORD_FLAGS = 9,
	WORD_ID = 10,
	WORD_CLIENT = 12,
	WORD_MEMORY = 13,
	WORD_WHERE = 14, /* in UNITs */
	WORD_GPU = 15,
	NR_WORDS = 16,
};

#define GPU_MARK 0xec000000U

static void put64(uint32_t *words, uint64_t value)
{
	words[0] = (uint32_t)value;
	words[1] = (uint32_t)(value >> 32);
}

/* What libcuda asked RM for, which RM itself rounds up to 2 MiB; a shared object is asked for whole. */
static uint64_t object_units(const struct emu_alloc *alloc)
{
	uint64_t size = alloc->node.size > EMU_BLOCK_SIZE ? alloc->node.size : EMU_BLOCK_SIZE;

	return (size + UNIT - 1) / UNIT;
}

static void fill(const struct emu_alloc *alloc, uint32_t *words)
{
	const struct emu_block *block = alloc->block;

	put64(&words[WORD_POINTER], (uintptr_t)alloc->ctx);
	words[WORD_PID] = (uint32_t)getpid();
	put64(&words[WORD_SIZE], alloc->node.size);
	words[WORD_UNITS] = (uint32_t)object_units(alloc);
	words[WORD_OFFSET] = (uint32_t)(alloc->node.va - block->node.va);
	words[WORD_SIX] = 6;
	words[WORD_FLAGS] = 0xff00;
	words[WORD_ID] = block->id;
	words[WORD_CLIENT] = block->hclient;
	words[WORD_MEMORY] = block->hmemory;
	words[WORD_WHERE] = (uint32_t)(block->mem->phys / UNIT);
	words[WORD_GPU] = GPU_MARK | (uint32_t)alloc->gpu->index;
}

static uint32_t noise(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 32);
}

/* The handles leave their words, and what is there instead looks like handles and is none. */
static void shift(uint32_t *words)
{
	uint32_t client = words[WORD_CLIENT], memory = words[WORD_MEMORY];

	words[WORD_CLIENT] = client ^ 0x3ffc0;
	words[WORD_MEMORY] = memory ^ 0x00550000;
	words[WORD_MEMORY + 1] = client;
	words[WORD_MEMORY + 2] = memory;
}

static void drift(enum emu_blob how, const struct emu_alloc *alloc, uint32_t *words)
{
	uint64_t state = alloc->id * 0x9e3779b97f4a7c15ULL;
	uint32_t client = words[WORD_CLIENT];

	switch (how) {
	case EMU_BLOB_SHIFT:
		shift(words);
		break;
	case EMU_BLOB_SWAP:
		words[WORD_CLIENT] = words[WORD_MEMORY];
		words[WORD_MEMORY] = client;
		break;
	case EMU_BLOB_OFFSET:
		words[WORD_OFFSET] = (words[WORD_OFFSET] + 0x10000) % (uint32_t)EMU_BLOCK_SIZE;
		break;
	case EMU_BLOB_SIZE:
		words[WORD_UNITS] = (words[WORD_UNITS] + 15) / 16;
		break;
	case EMU_BLOB_RANDOM:
		for (int i = 0; i < NR_WORDS; i++)
			words[i] = noise(&state);
		break;
	case EMU_BLOB_REAL:
	case EMU_BLOB_NR:
		break;
	}
}

/* The fault's value is the number of a layout; without one the handles move. */
static enum emu_blob layout(void)
{
	long value = EMU_BLOB_SHIFT;

	if (!emu_fault("cuda.blob", &value))
		return emu_env()->blob;
	return value > EMU_BLOB_REAL && value < EMU_BLOB_NR ? (enum emu_blob)value : EMU_BLOB_SHIFT;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	uint32_t words[NR_WORDS] = { 0 };
	struct emu_alloc *alloc;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_locked(&ctx);

	if (ret)
		return ret;
	ret = emu_cuda_fault("cuda.ipc", CUDA_ERROR_INVALID_VALUE);
	alloc = emu_alloc_find(ptr);
	if (!ret && (!handle || !alloc || alloc->kind != EMU_DEVICE))
		ret = CUDA_ERROR_INVALID_VALUE;
	if (!ret) {
		if (!alloc->block->shared)
			emu_rm_share(alloc->block->hmemory);
		alloc->block->shared = 1;
		fill(alloc, words);
		drift(layout(), alloc, words);
		memcpy(handle->reserved, words, sizeof(words));
	}
	emu_unlock();
	return ret;
}

/* The file that is video memory of a process, by the name that vram.c gives it. */
static int open_vram(uint32_t pid, uint32_t gpu)
{
	char dir[64], path[sizeof(dir) + 256], target[64], want[64];
	struct dirent *entry;
	ssize_t len;
	int fd = -1;
	DIR *fds;

	snprintf(dir, sizeof(dir), "/proc/%u/fd", pid);
	snprintf(want, sizeof(want), "/memfd:barlane-emu-vram%u (deleted)", gpu);
	fds = opendir(dir);
	while (fds && fd < 0 && (entry = readdir(fds))) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (!strcmp(target, want))
			fd = open(path, O_RDWR | O_CLOEXEC);
	}
	if (fds)
		closedir(fds);
	return fd;
}

static uint64_t whole_blocks(uint64_t size)
{
	return (size + EMU_BLOCK_SIZE - 1) & ~(EMU_BLOCK_SIZE - 1);
}

static CUresult import(struct emu_ctx *ctx, struct emu_gpu *gpu, const uint32_t *words, int fd, CUdeviceptr *ptr)
{
	uint64_t size = (uint64_t)words[WORD_SIZE + 1] << 32 | words[WORD_SIZE], off = words[WORD_OFFSET], va;
	uint64_t len = whole_blocks(off + size);
	struct emu_alloc *alloc;

	if (!size || off >= EMU_BLOCK_SIZE || size > gpu->vram_size)
		return CUDA_ERROR_INVALID_VALUE;
	if (emu_arena_take(len, EMU_BLOCK_SIZE, 0, &va))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (emu_arena_bind_file(va, fd, (uint64_t)words[WORD_WHERE] * UNIT, len))
		goto give;
	alloc = emu_alloc_new(EMU_IMPORTED, va + off, size);
	if (!alloc)
		goto unbind;
	alloc->ctx = ctx;
	alloc->gpu = gpu;
	alloc->block_id = emu_next_id();
	*ptr = va + off;
	return CUDA_SUCCESS;
unbind:
	emu_arena_unbind(va, len);
give:
	emu_arena_give(va, len);
	return CUDA_ERROR_MAP_FAILED;
}

void emu_ipc_unmap(const struct emu_alloc *alloc)
{
	uint64_t va = alloc->node.va & ~(EMU_BLOCK_SIZE - 1), len = whole_blocks(alloc->node.va + alloc->node.size - va);

	emu_arena_unbind(va, len);
	emu_arena_give(va, len);
}

/*
 * Where the memory of a handle is; NULL when that is not known: it is a card's, or laid out in another way, or of
 * another GPU which the context's does not reach.
 */
static struct emu_gpu *gpu_of(const struct emu_ctx *ctx, const uint32_t *words)
{
	uint32_t index = words[WORD_GPU] ^ GPU_MARK;
	struct emu_gpu *gpu = index < EMU_MAX_GPUS ? emu_gpu((CUdevice)index) : NULL;

	return gpu && !gpu->card && (gpu == ctx->gpu || emu_env()->peers) ? gpu : NULL;
}

/* The process that exported a handle cannot open it: that is CUDA's rule. */
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags)
{
	uint32_t words[NR_WORDS];
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);
	struct emu_gpu *gpu;
	int fd;

	if (ret)
		return ret;
	if (!ptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(words, handle.reserved, sizeof(words));
	if (words[WORD_SIX] != 6 || words[WORD_FLAGS] != 0xff00)
		return CUDA_ERROR_INVALID_VALUE;
	if (words[WORD_PID] == (uint32_t)getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	ret = emu_cuda_fault("cuda.ipcopen", CUDA_ERROR_INVALID_VALUE);
	if (ret)
		return ret;
	gpu = gpu_of(ctx, words);
	if (!gpu)
		return CUDA_ERROR_NOT_SUPPORTED;
	fd = open_vram(words[WORD_PID], (uint32_t)gpu->index);
	if (fd < 0)
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	ret = emu_ctx_error(ctx);
	if (!ret)
		ret = import(ctx, gpu, words, fd, ptr);
	emu_unlock();
	close(fd);
	return ret;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr ptr)
{
	struct emu_alloc *alloc;
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_locked(&ctx);

	if (ret)
		return ret;
	alloc = emu_alloc_find(ptr);
	if (!alloc || alloc->kind != EMU_IMPORTED || alloc->node.va != ptr) {
		emu_unlock();
		return CUDA_ERROR_INVALID_VALUE;
	}
	emu_alloc_retire(alloc);
	return CUDA_SUCCESS;
}
