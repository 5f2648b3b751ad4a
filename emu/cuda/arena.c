// SPDX-License-Identifier: MIT
#include "arena.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "card.h"
#include "env.h"
#include "extent.h"
#include "table.h"

#define SIZE_MAX_TRY (1ULL << 40)
#define SIZE_MIN_TRY (1ULL << 34)

/**
 * struct binding - memory that the "GPU" sees
 * @node: where
 * @mem:  what; it outlives the binding
 */
struct binding {
	struct emu_node node;
	const struct emu_mem *mem;
};

static uint64_t base, view, size;
static struct emu_extents addresses;
static struct emu_table bindings; /* struct binding */
static int unified;		  /* the CPU reaches memory at device addresses */

static void *reserve(uint64_t len)
{
	void *addr = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return addr == MAP_FAILED ? NULL : addr;
}

/* Less than wanted where the process may not have so much address space. */
int emu_arena_init(void)
{
	for (uint64_t len = SIZE_MAX_TRY; len >= SIZE_MIN_TRY; len >>= 1) {
		void *first = reserve(len + EMU_BLOCK_SIZE);
		void *second = first ? reserve(len + EMU_BLOCK_SIZE) : NULL;

		if (!second) {
			if (first)
				munmap(first, len + EMU_BLOCK_SIZE);
			continue;
		}
		base = ((uint64_t)first + EMU_BLOCK_SIZE - 1) & ~(EMU_BLOCK_SIZE - 1);
		view = ((uint64_t)second + EMU_BLOCK_SIZE - 1) & ~(EMU_BLOCK_SIZE - 1);
		size = len;
		unified = emu_env()->uva == EMU_UVA_ALWAYS;
		return emu_extents_init(&addresses, base, size);
	}
	return -ENOMEM;
}

int emu_arena_take(uint64_t len, uint64_t align, uint64_t hint, uint64_t *va_p)
{
	if (hint && !(hint & (align - 1)) && !emu_extents_take_at(&addresses, hint, len)) {
		*va_p = hint;
		return 0;
	}
	return emu_extents_take(&addresses, len, align, va_p);
}

void emu_arena_give(uint64_t va, uint64_t len)
{
	emu_extents_give(&addresses, va, len);
}

static int map_file(void *addr, int fd, uint64_t off, uint64_t len)
{
	if (mmap(addr, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, (off_t)off) == MAP_FAILED)
		return -errno;
	/* a child must not write its parent's video memory */
	madvise(addr, len, MADV_DONTFORK);
	return 0;
}

static int map_at(void *addr, const struct emu_mem *mem, uint64_t len)
{
	return map_file(addr, mem->gpu->memfd, mem->phys, len);
}

static void reserve_at(void *addr, uint64_t len)
{
	mmap(addr, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

static int binding_add(uint64_t va, const struct emu_mem *mem, uint64_t len)
{
	struct binding *binding = malloc(sizeof(*binding));

	if (!binding)
		return -ENOMEM;
	*binding = (struct binding){ { va, len }, mem };
	if (emu_table_add(&bindings, &binding->node)) {
		free(binding);
		return -ENOMEM;
	}
	return 0;
}

static void binding_remove(uint64_t va)
{
	struct binding *binding = emu_table_find(&bindings, va);

	if (!binding)
		return;
	emu_table_remove(&bindings, &binding->node);
	free(binding);
}

static void unmap(uint64_t va, uint64_t len)
{
	reserve_at(emu_cpu(va), len);
	if (unified)
		reserve_at((void *)va, len);
	binding_remove(va);
}

int emu_arena_bind(uint64_t va, const struct emu_mem *mem, uint64_t len, int peers)
{
	int ret = binding_add(va, mem, len);

	if (ret)
		return ret;
	ret = map_at(emu_cpu(va), mem, len);
	if (!ret && unified)
		ret = map_at((void *)va, mem, len);
	if (ret) {
		unmap(va, len);
		return ret;
	}
	if (!mem->gpu->card || !peers)
		return 0;
	ret = emu_card_bind(va, mem, len);
	if (ret)
		emu_arena_unbind(va, len);
	return ret;
}

int emu_arena_bind_file(uint64_t va, int fd, uint64_t off, uint64_t len)
{
	int ret = map_file(emu_cpu(va), fd, off, len);

	if (!ret && unified)
		ret = map_file((void *)va, fd, off, len);
	if (ret)
		unmap(va, len);
	return ret;
}

void emu_arena_unbind(uint64_t va, uint64_t len)
{
	emu_card_unbind(va, len);
	unmap(va, len);
}

int emu_arena_unify(void)
{
	int ret = 0;

	if (unified)
		return 0;
	for (size_t i = 0; i < bindings.nr && !ret; i++) {
		const struct binding *binding = (const struct binding *)bindings.nodes[i];

		ret = map_at((void *)binding->node.va, binding->mem, binding->node.size);
	}
	for (size_t i = 0; ret && i < bindings.nr; i++)
		reserve_at((void *)bindings.nodes[i]->va, bindings.nodes[i]->size);
	unified = !ret;
	return ret;
}

int emu_arena_contains(uint64_t va)
{
	return va - base < size;
}

void *emu_cpu(uint64_t va)
{
	return (void *)(emu_arena_contains(va) ? va - base + view : va);
}
