// SPDX-License-Identifier: MIT
/*
 * Where the GPU stores. Memory that is pinned is written directly, at the price of one question to CUDA per copy: the
 * BUFFER_ID of an allocation is never given out again, so one that is still the same at any address of it proves all
 * that was found out before. Other memory gets its bytes through the staging buffer; that is right for every kind of
 * memory, so an outdated answer of that kind costs time and nothing else.
 */
#define log_fmt(fmt) "gpu/push: " fmt
#include "push.h"

#include <inttypes.h>

#include "util/log.h"

/* Copies of ordinary memory until it is looked at again: it may have been pinned. */
#define ORDINARY_USES 256U

static uint64_t buffer_id(const struct bl_cuda *cuda, uint64_t host)
{
	uint64_t id = 0;

	return cuda->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, host) ? 0 : id;
}

/* Asked now, unlike bl_ce_pinned(); for several attributes, since for one a driver takes its time to fail. */
static bool is_pinned(const struct bl_cuda *cuda, uint64_t host)
{
	int attr = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
	unsigned int type = 0;
	void *value = &type;

	return !cuda->cuPointerGetAttributes(1, &attr, &value, host) && type == CU_MEMORYTYPE_HOST;
}

/*
 * Device address, and that the GPU may write there: memory can be registered for reading only. A driver that does not
 * say so of host memory has given it to the GPU for both. One id at both ends means one allocation from end to end.
 */
static bool find_out(const struct bl_cuda *cuda, const struct bl_ce_copy *copy, struct bl_push_host *host)
{
	uint64_t first = (uintptr_t)copy->host, last = first + copy->len - 1, va = 0;
	unsigned int access = 0;
	struct bl_cuda_scope scope;
	bool found = false;

	*host = (struct bl_push_host){ .low = first, .high = last + 1 };
	if (!is_pinned(cuda, first) || bl_ce_enter(cuda, copy->target, &scope))
		return false;
	if (!cuda->cuPointerGetAttribute(&va, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, first) &&
	    !((va + copy->len) >> BL_PUSH_TAG_SHIFT))
		found = cuda->cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, first) ||
			access != CU_MEM_ACCESS_FLAGS_PROT_READ;
	bl_cuda_leave(cuda, &scope);
	log_debug("host %p len 0x%zx: pinned, device address 0x%" PRIx64 " access %u: %s", copy->host, copy->len, va,
		  access, found ? "written directly" : "through the staging buffer");
	if (!found)
		return false;
	host->id = buffer_id(cuda, first);
	host->offset = va - first;
	if (buffer_id(cuda, last) != host->id)
		host->id = 0;
	return host->id;
}

/* The range was all of one allocation; that one is still there if it is there at one address. */
static bool known_pinned(const struct bl_cuda *cuda, const struct bl_push_host *host, uint64_t first, uint64_t end)
{
	if (!host->id || first < host->low || end > host->high)
		return false;
	return buffer_id(cuda, first) == host->id;
}

static bool known_ordinary(struct bl_push_host *host, uint64_t first, uint64_t end)
{
	return host->high && !host->id && first >= host->low && end <= host->high && ++host->uses < ORDINARY_USES;
}

bool bl_push_direct(const struct bl_cuda *cuda, struct bl_push *push, const struct bl_ce_copy *copy, uint64_t *va_p)
{
	uint64_t first = (uintptr_t)copy->host, end = first + copy->len;
	struct bl_push_host *host = &push->hosts[(first >> 12) % BL_PUSH_NR_HOSTS];

	if (known_ordinary(host, first, end))
		return false;
	if (!known_pinned(cuda, host, first, end) && !find_out(cuda, copy, host))
		return false;
	*va_p = first + host->offset;
	/* the kernel moves 16 bytes at a time: where they lie otherwise on the two sides, memcpy() does better */
	return !((*va_p ^ copy->va) & 15);
}
