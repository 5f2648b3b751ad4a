// SPDX-License-Identifier: MIT
#include "arena.h"

#include <errno.h>
#include <sys/mman.h>

#include "card.h"
#include "extent.h"

#define SIZE_MAX_TRY (1ULL << 40)
#define SIZE_MIN_TRY (1ULL << 34)

static uint64_t base, view, size;
static struct emu_extents addresses;

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

int emu_arena_bind(uint64_t va, const struct emu_mem *mem, uint64_t len, int peers)
{
	void *addr = emu_cpu(va);
	int ret;

	if (mmap(addr, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, mem->gpu->memfd,
		 (off_t)mem->phys) == MAP_FAILED)
		return -errno;
	/* a child must not write its parent's video memory */
	madvise(addr, len, MADV_DONTFORK);
	if (!mem->gpu->card || !peers)
		return 0;
	ret = emu_card_bind(va, mem, len);
	if (ret)
		emu_arena_unbind(va, len);
	return ret;
}

void emu_arena_unbind(uint64_t va, uint64_t len)
{
	emu_card_unbind(va, len);
	mmap(emu_cpu(va), len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

int emu_arena_contains(uint64_t va)
{
	return va - base < size;
}

void *emu_cpu(uint64_t va)
{
	return (void *)(emu_arena_contains(va) ? va - base + view : va);
}
