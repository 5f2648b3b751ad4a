// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "arena.h"
#include "phys.h"
#include "queue.h"
#include "rm.h"
#include "state.h"

struct emu_table emu_allocs;

struct emu_alloc *emu_alloc_find(uint64_t va)
{
	return emu_table_find(&emu_allocs, va);
}

/* BUFFER_ID counts up and never repeats, so that a reused address is told from its former owner. */
struct emu_alloc *emu_alloc_new(enum emu_kind kind, uint64_t va, uint64_t size)
{
	static uint64_t last_id;
	struct emu_alloc *alloc = calloc(1, sizeof(*alloc));

	if (!alloc)
		return NULL;
	alloc->node.va = va;
	alloc->node.size = size;
	alloc->kind = kind;
	alloc->access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	alloc->sync_memops = kind != EMU_HOST && kind != EMU_REGISTERED;
	alloc->id = ++last_id;
	if (emu_table_add(&emu_allocs, &alloc->node)) {
		free(alloc);
		return NULL;
	}
	return alloc;
}

void emu_alloc_release(struct emu_alloc *alloc)
{
	switch (alloc->kind) {
	case EMU_DEVICE:
	case EMU_POOL:
		emu_heap_free(alloc->block, alloc->node.va, alloc->node.size);
		if (alloc->pool)
			emu_pool_forget(alloc->pool);
		break;
	case EMU_VMM:
		emu_arena_unbind(alloc->node.va, alloc->node.size);
		emu_phys_put(alloc->phys);
		break;
	case EMU_MANAGED:
	case EMU_HOST:
		munmap((void *)alloc->node.va, alloc->node.size);
		break;
	case EMU_REGISTERED:
		break;
	case EMU_IMPORTED:
		emu_ipc_unmap(alloc);
		break;
	}
	free(alloc);
}

/* From here on nobody can find it, so that what is queued now is all that can still use it. */
void emu_alloc_retire(struct emu_alloc *alloc)
{
	int device = alloc->kind == EMU_DEVICE || alloc->kind == EMU_POOL || alloc->kind == EMU_VMM;

	emu_table_remove(&emu_allocs, &alloc->node);
	emu_unlock();
	emu_drain(NULL);
	if (device)
		emu_rm_freed(alloc->node.va, alloc->node.size);
	emu_lock();
	emu_alloc_release(alloc);
	emu_unlock();
}

/* The context is dead: it gets no new memory while this goes through what it has. */
void emu_alloc_destroy_all(struct emu_ctx *ctx)
{
	struct emu_alloc *alloc;
	size_t i;

	for (;;) {
		alloc = NULL;
		emu_lock();
		for (i = 0; i < emu_allocs.nr && !alloc; i++) {
			alloc = (struct emu_alloc *)emu_allocs.nodes[i];
			if (alloc->ctx != ctx)
				alloc = NULL;
		}
		if (!alloc)
			break;
		emu_alloc_retire(alloc);
	}
	ctx->heap.keep = EMU_HEAP_KEEP_NONE;
	emu_heap_trim(&ctx->heap);
	emu_unlock();
}

int emu_range_ok(uint64_t va, uint64_t len)
{
	while (len) {
		const struct emu_alloc *alloc = emu_alloc_find(va);
		uint64_t here;

		if (!alloc || !alloc->access)
			return 0;
		here = alloc->node.va + alloc->node.size - va;
		if (here >= len)
			return 1;
		/* only mappings of one reservation make up a range */
		if (alloc->kind != EMU_VMM)
			return 0;
		va += here;
		len -= here;
	}
	return 1;
}

/* Pinning goes by whole pages, so what counts is the object around the range and not the allocations in it. */
int emu_va_resolve(uint64_t va, uint64_t len, struct emu_mem **mem_p, uint64_t *off_p)
{
	const struct emu_alloc *alloc;
	const struct emu_block *block;
	const struct emu_node *node = NULL;
	struct emu_mem *mem = NULL;

	if (!emu_ready())
		return -EINVAL;
	emu_lock();
	block = emu_block_find(va);
	alloc = emu_alloc_find(va);
	if (block && block->nr_allocs && block->heap->keep != EMU_HEAP_KEEP_ALL) {
		node = &block->node;
		mem = block->mem;
	} else if (alloc && alloc->kind == EMU_VMM && emu_phys_rdma(alloc->phys)) {
		node = &alloc->node;
		mem = emu_phys_mem(alloc->phys);
	}
	if (node && len && len <= node->va + node->size - va) {
		*mem_p = emu_mem_get(mem);
		*off_p = va - node->va;
	} else {
		mem = NULL;
	}
	emu_unlock();
	return mem ? 0 : -EINVAL;
}
