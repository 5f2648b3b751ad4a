// SPDX-License-Identifier: MIT
#include <string.h>

#include "api.h"
#include "arena.h"
#include "card.h"
#include "phys.h"
#include "state.h"

#define NO_DEVICE -2

/* What an attribute looks like: its type decides how much is written. */
enum shape { SHAPE_U64, SHAPE_U32, SHAPE_TOKENS };

static enum shape shape_of(int attr)
{
	switch (attr) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		return SHAPE_U64;
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		return SHAPE_TOKENS;
	}
	return SHAPE_U32;
}

/* Without a card both halves are made of one number. */
static uint32_t va_space(uint64_t token)
{
	const struct emu_gpu *card = emu_card();

	return card && token ? card->va_space : (uint32_t)(token >> 32);
}

static void store(void *data, int attr, uint64_t value)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens = { .p2pToken = value, .vaSpaceToken = va_space(value) };
	uint32_t word = (uint32_t)value;

	switch (shape_of(attr)) {
	case SHAPE_U64:
		memcpy(data, &value, sizeof(value));
		break;
	case SHAPE_U32:
		memcpy(data, &word, sizeof(word));
		break;
	case SHAPE_TOKENS:
		memcpy(data, &tokens, sizeof(tokens));
		break;
	}
}

static int in_host(const struct emu_alloc *alloc)
{
	return alloc->kind == EMU_HOST || alloc->kind == EMU_REGISTERED;
}

/* The mapping around the pointer: of a device allocation, the memory object that it was cut from. */
static void mapping(const struct emu_alloc *alloc, uint64_t *base, uint64_t *size)
{
	const struct emu_node *node = alloc->block ? &alloc->block->node : &alloc->node;
	uint64_t end = (node->va + node->size + 4095) & ~4095ULL;

	*base = node->va & ~4095ULL;
	*size = end - *base;
}

/*
 * The driver's tokens are 0 today; the emulator's are not, so that code which passes them on can be checked. Those of a
 * card are what its kernel interface takes.
 */
static uint64_t tokens(const struct emu_alloc *alloc)
{
	if (alloc->gpu->card)
		return alloc->gpu->p2p_token;
	return (alloc->id << 8 | 0x01) | 0x5000000000000000ULL;
}

/* A mapping that belongs to no context is accessible from one only. */
static int accessible(const struct emu_alloc *alloc)
{
	return alloc->kind != EMU_VMM || emu_thread()->depth;
}

static uint64_t range(const struct emu_alloc *alloc, int attr)
{
	const struct emu_node *node = &alloc->node;
	uint64_t base, size;

	if (alloc->kind == EMU_VMM)
		node = emu_reservation_find(alloc->node.va);
	mapping(alloc, &base, &size);
	switch (attr) {
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		return node->va;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		return node->size;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		return base;
	}
	return size;
}

/* Attributes that all memory has. */
static uint64_t property(const struct emu_alloc *alloc, int attr)
{
	switch (attr) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		return (uintptr_t)alloc->ctx;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		return in_host(alloc) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		return (uint64_t)alloc->sync_memops;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		return alloc->id;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		return alloc->kind == EMU_MANAGED;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return (uint64_t)alloc->gpu->index;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		return alloc->kind == EMU_DEVICE;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		return 1;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		return alloc->kind == EMU_VMM ? (uint64_t)emu_phys_handle_types(alloc->phys) : 0;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		return alloc->kind == EMU_DEVICE || (alloc->kind == EMU_VMM && emu_phys_rdma(alloc->phys));
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return accessible(alloc) ? (uint64_t)alloc->access : 0;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		return (uintptr_t)alloc->pool;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		return alloc->block_id;
	}
	return range(alloc, attr);
}

/* The value is 0 where there is none. */
static CUresult query(const struct emu_alloc *alloc, int attr, uint64_t ptr, uint64_t *value)
{
	*value = 0;
	switch (attr) {
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		if (!accessible(alloc))
			return CUDA_ERROR_INVALID_CONTEXT;
		*value = ptr;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!in_host(alloc) && alloc->kind != EMU_MANAGED)
			return CUDA_ERROR_INVALID_VALUE;
		*value = ptr;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		if (in_host(alloc))
			return CUDA_ERROR_INVALID_VALUE;
		*value = tokens(alloc);
		return CUDA_SUCCESS;
	}
	*value = property(alloc, attr);
	return CUDA_SUCCESS;
}

static int known(int attr)
{
	return attr >= CU_POINTER_ATTRIBUTE_CONTEXT && attr <= CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID;
}

/* Memory that CUDA knows nothing of is an error for one attribute, and left untouched. */
CUresult cuPointerGetAttribute(void *data, int attr, CUdeviceptr ptr)
{
	const struct emu_alloc *alloc;
	CUresult ret = emu_enter();
	uint64_t value;

	if (!ret)
		ret = emu_cuda_fault("cuda.attr", CUDA_ERROR_INVALID_VALUE);
	if (ret)
		return ret;
	if (!data || !known(attr))
		return CUDA_ERROR_INVALID_VALUE;
	emu_lock();
	alloc = emu_alloc_find(ptr);
	if (alloc) {
		ret = query(alloc, attr, ptr, &value);
		store(data, attr, value);
	} else {
		ret = CUDA_ERROR_INVALID_VALUE;
	}
	emu_unlock();
	return ret;
}

/* For several attributes it is no error, and each has a value for it. */
static void store_unknown(void *data, int attr, uint64_t ptr)
{
	const struct emu_node *node = emu_reservation_find(ptr);

	switch (attr) {
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		store(data, attr, (uint64_t)NO_DEVICE);
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		store(data, attr, ptr);
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		if (node)
			store(data, attr, node->va);
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		if (node)
			store(data, attr, node->size);
		break;
	default:
		store(data, attr, 0);
		break;
	}
}

CUresult cuPointerGetAttributes(unsigned int nr, int *attrs, void **data, CUdeviceptr ptr)
{
	const struct emu_alloc *alloc;
	CUresult ret = emu_enter();
	uint64_t value;

	if (!ret)
		ret = emu_cuda_fault("cuda.attr", CUDA_ERROR_INVALID_VALUE);
	if (ret)
		return ret;
	if (!nr || !attrs || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < nr; i++) {
		if (!known(attrs[i]) || !data[i])
			return CUDA_ERROR_INVALID_VALUE;
	}
	emu_lock();
	alloc = emu_alloc_find(ptr);
	for (unsigned int i = 0; i < nr; i++) {
		if (alloc) {
			query(alloc, attrs[i], ptr, &value);
			store(data[i], attrs[i], value);
		} else {
			store_unknown(data[i], attrs[i], ptr);
		}
	}
	emu_unlock();
	return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, int attr, CUdeviceptr ptr)
{
	CUresult ret = emu_enter();
	struct emu_alloc *alloc;
	uint32_t on;

	if (ret)
		return ret;
	if (!value || attr != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&on, value, sizeof(on));
	emu_lock();
	alloc = emu_alloc_find(ptr);
	if (alloc && !in_host(alloc))
		alloc->sync_memops = !!on;
	else
		ret = CUDA_ERROR_INVALID_VALUE;
	emu_unlock();
	return ret;
}
