// SPDX-License-Identifier: MIT
/*
 * The 64 bytes of cuIpcGetMemHandle(), laid out as a driver of branch 580 does. They are that library's private
 * matter and may change with any release, so the emulator can change them too: BARLANE_EMU_BLOB, or fault cuda.blob.
 */
#include <string.h>
#include <unistd.h>

#include "api.h"
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
	NR_WORDS = 16,
};

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

/*
 * The process that exported a handle cannot open it: that is CUDA's rule. Memory of another process cannot be reached
 * here, since each process has its own emulated GPUs.
 */
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags)
{
	uint32_t words[NR_WORDS];
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	if (ret)
		return ret;
	if (!ptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(words, handle.reserved, sizeof(words));
	if (words[WORD_SIX] != 6 || words[WORD_FLAGS] != 0xff00)
		return CUDA_ERROR_INVALID_VALUE;
	return words[WORD_PID] == (uint32_t)getpid() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr ptr)
{
	struct emu_ctx *ctx;
	CUresult ret = emu_enter_ctx(&ctx);

	/* nothing can have been opened */
	return ret ? ret : CUDA_ERROR_INVALID_VALUE;
}
