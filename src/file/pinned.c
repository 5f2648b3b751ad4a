// SPDX-License-Identifier: MIT
#include "pinned.h"

#include <stdint.h>
#include <sys/mman.h>

#define LARGE_PAGE (2UL << 20)

static void *map_large(size_t size)
{
	char *all = mmap(NULL, size + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *memory;
	size_t before;

	if (all == MAP_FAILED)
		return NULL;
	memory = (char *)(((uintptr_t)all + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1));
	before = (size_t)(memory - all);
	if (before)
		munmap(all, before);
	if (before < LARGE_PAGE)
		munmap(memory + size, LARGE_PAGE - before);
	/* the GPU must see this process' pages and no copies of a child's making */
	if (madvise(memory, size, MADV_DONTFORK)) {
		munmap(memory, size);
		return NULL;
	}
	madvise(memory, size, MADV_HUGEPAGE);
	return memory;
}

void *bl_pinned_new(const struct bl_cuda *cuda, size_t size)
{
	int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	void *memory;
	CUresult err;

	if (!cuda->cuMemHostRegister || !cuda->cuMemHostUnregister)
		return NULL;
	memory = map_large(size);
	if (!memory)
		return NULL;
	cuda->cuThreadExchangeStreamCaptureMode(&mode);
	err = cuda->cuMemHostRegister(memory, size, CU_MEMHOSTREGISTER_PORTABLE);
	cuda->cuThreadExchangeStreamCaptureMode(&mode);
	if (!err)
		return memory;
	munmap(memory, size);
	return NULL;
}

void bl_pinned_unregister(const struct bl_cuda *cuda, void *memory)
{
	if (memory)
		cuda->cuMemHostUnregister(memory);
}

void bl_pinned_free(void *memory, size_t size)
{
	if (memory)
		munmap(memory, size);
}
