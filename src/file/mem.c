// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/mem: " fmt
#include "mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "buffer.h"
#include "config.h"
#include "error.h"
#include "gpu/cuda_ptr.h"
#include "range.h"
#include "util/log.h"

#define MAX_PIECES 4096 /* allocations that one request may span: VMM memory is mapped in pieces of 2 MiB and more */

/**
 * struct answer - what CUDA says of an address
 */
struct answer {
	unsigned int type;
	unsigned int managed;
	int ordinal;
	CUcontext context;
	uint64_t buffer_id;
	CUdeviceptr base;
	size_t size;
};

static CUresult ask(const struct bl_cuda *cuda, uint64_t va, struct answer *answer)
{
	int attrs[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
			CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_CONTEXT,
			CU_POINTER_ATTRIBUTE_BUFFER_ID,	       CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
			CU_POINTER_ATTRIBUTE_RANGE_SIZE };
	void *values[] = { &answer->type,      &answer->managed, &answer->ordinal, &answer->context,
			   &answer->buffer_id, &answer->base,	 &answer->size };

	*answer = (struct answer){ .ordinal = -1 };
	return cuda->cuPointerGetAttributes(sizeof(attrs) / sizeof(attrs[0]), attrs, values, va);
}

void bl_mem_target_copy(struct bl_ce_target *to, const struct bl_ce_target *from)
{
	to->device = from->device;
	to->ordinal = from->ordinal;
	to->context = from->context;
	to->shared = from->shared;
	to->asked = from->asked;
	to->buffer_id = from->buffer_id;
	to->base = from->base;
	to->size = from->size;
	atomic_store_explicit(&to->ce, atomic_load_explicit(&from->ce, memory_order_acquire), memory_order_relaxed);
	atomic_store_explicit(&to->push, NULL, memory_order_relaxed);
}

static int beyond(uint64_t va, size_t len, const struct bl_ce_target *target)
{
	return fail(EIO, "va 0x%" PRIx64 " len 0x%zx leaves the allocation at 0x%" PRIx64 " size 0x%" PRIx64, va, len,
		    target->base, target->size);
}

/* VMM memory goes on where one mapping ends and the next begins. The copies may span them, so the target does. */
static int extend(const struct bl_cuda *cuda, uint64_t va, size_t len, struct bl_ce_target *target)
{
	struct answer next;

	for (int i = 0; va + len > target->base + target->size; i++) {
		if (i == MAX_PIECES || !target->shared || ask(cuda, target->base + target->size, &next) ||
		    next.type != CU_MEMORYTYPE_DEVICE || next.ordinal != target->ordinal || next.context ||
		    next.base != target->base + target->size || !next.size)
			return beyond(va, len, target);
		target->size += next.size;
	}
	return 0;
}

static int managed_target(const struct bl_cuda *cuda, uint64_t va, const struct answer *answer,
			  struct bl_ce_target *target)
{
	if (!answer->context || cuda->cuDeviceGet(&target->device, answer->ordinal < 0 ? 0 : answer->ordinal))
		return fail(EOPNOTSUPP, "va 0x%" PRIx64 ": managed memory without a context", va);
	target->ordinal = answer->ordinal < 0 ? 0 : answer->ordinal;
	target->context = answer->context;
	target->shared = false;
	target->asked = va;
	target->buffer_id = answer->buffer_id;
	target->base = answer->base;
	target->size = answer->size;
	atomic_store_explicit(&target->ce, NULL, memory_order_relaxed);
	atomic_store_explicit(&target->push, NULL, memory_order_relaxed);
	return 0;
}

static int gpu_memory(const struct bl_cuda *cuda, uint64_t va, size_t len, const struct answer *answer,
		      struct bl_mem *mem)
{
	int ret;

	mem->kind = answer->managed ? BL_MEM_MANAGED : BL_MEM_DEVICE;
	ret = answer->managed ? managed_target(cuda, va, answer, &mem->own) :
				bl_ce_target_init(cuda, va, answer->buffer_id, &mem->own);
	if (ret)
		return ret;
	mem->target = &mem->own;
	mem->ordinal = mem->own.ordinal;
	return extend(cuda, va, len, &mem->own);
}

static int host_memory(uint64_t va)
{
	if (__builtin_expect(bl_file_config()->allow_system_memory, 1))
		return 0;
	return bl_fail(-BL_CUFILE(CU_FILE_CUDA_MEMORY_TYPE_INVALID),
		       log_fmt("va 0x%" PRIx64 ": host memory, and allow_system_memory is off"), va);
}

int bl_mem_query(uint64_t va, size_t len, struct bl_mem *mem)
{
	const struct bl_cuda *cuda = bl_cuda();
	struct answer answer;

	mem->kind = BL_MEM_HOST;
	mem->va = va;
	mem->len = len;
	mem->buffer = NULL;
	mem->pin = 0;
	mem->pin_off = 0;
	mem->mapped = NULL;
	mem->flush = false;
	mem->target = NULL;
	mem->ordinal = -1;
	/* what CUDA does not know, also because there is no CUDA, is the host's: the file system finds out */
	if (!cuda || ask(cuda, va, &answer))
		return host_memory(va);
	if (!answer.managed && (answer.type == 0 || answer.type == CU_MEMORYTYPE_HOST))
		return host_memory(va);
	return gpu_memory(cuda, va, len, &answer, mem);
}

static int of_buffer(struct bl_buffer *buffer, uint64_t va, size_t len, struct bl_mem *mem)
{
	size_t at = va - buffer->base;

	mem->kind = buffer->kind;
	mem->va = va;
	mem->len = len;
	mem->buffer = buffer;
	mem->pin = buffer->pin;
	mem->pin_off = buffer->pin_off + at;
	mem->mapped = buffer->mapped ? (char *)buffer->mapped + at : NULL;
	mem->flush = buffer->flush;
	mem->target = buffer->kind == BL_MEM_HOST ? NULL : &buffer->target;
	mem->ordinal = buffer->ordinal;
	if (!mem->target || bl_cuda_ptr_holds(bl_cuda(), mem->target->asked, mem->target->buffer_id))
		return 0;
	bl_buffer_put(buffer);
	return bl_fail(-BL_CUFILE(CU_FILE_CUDA_POINTER_INVALID),
		       log_fmt("va 0x%" PRIx64 ": the registered memory was freed, or its context destroyed"), va);
}

int bl_mem_get(void *base, int64_t off, size_t len, struct bl_mem *mem)
{
	uint64_t va = (uintptr_t)base + (uint64_t)off;
	struct bl_buffer *buffer;
	int ret;

	if (va < (uintptr_t)base || va + len < va)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_MAPPING_RANGE),
			       log_fmt("base %p off 0x%" PRIx64 " len 0x%zx: beyond all addresses"), base, (uint64_t)off, len);
	buffer = bl_range_find((uintptr_t)base, va, len, &ret);
	if (buffer)
		return of_buffer(buffer, va, len, mem);
	if (ret)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_MAPPING_RANGE),
			       log_fmt("base %p off 0x%" PRIx64 " len 0x%zx: outside the registered range"), base,
			       (uint64_t)off, len);
	return bl_mem_query(va, len, mem);
}

void bl_mem_put(struct bl_mem *mem)
{
	if (mem->buffer)
		bl_buffer_put(mem->buffer);
}

void bl_mem_part(const struct bl_mem *mem, size_t off, size_t len, struct bl_mem *part)
{
	part->kind = mem->kind;
	part->va = mem->va + off;
	part->len = len;
	part->buffer = mem->buffer;
	part->pin = mem->pin;
	part->pin_off = mem->pin_off + off;
	part->mapped = mem->mapped ? (char *)mem->mapped + off : NULL;
	part->flush = mem->flush;
	part->target = mem->target;
	part->ordinal = mem->ordinal;
}

int bl_mem_store(const struct bl_mem *mem, size_t off, const void *host, size_t len)
{
	if (!mem->mapped || bl_copy_to(mem->pin, (char *)mem->mapped + off, host, len))
		return fail(EIO, "va 0x%" PRIx64 ": not mapped any more", mem->va + off);
	/* whoever copies the same bytes next with a copy engine must have it wait for these */
	bl_ce_wrote();
	return mem->flush && bl_flush(mem->pin) ? -EIO : 0;
}

/* The last resort, when there is no pinned memory for a channel: it waits for what the legacy stream waits for. */
static int copy_plainly(const struct bl_cuda *cuda, const struct bl_ce_copy *copy)
{
	struct bl_cuda_scope scope;
	CUresult err;
	int ret;

	ret = bl_ce_enter(cuda, copy->target, &scope);
	if (ret)
		return ret;
	if (copy->dir == BL_COPY_TO)
		err = cuda->cuMemcpyHtoD(copy->va, copy->host, copy->len);
	else
		err = cuda->cuMemcpyDtoH(copy->host, copy->va, copy->len);
	bl_cuda_leave(cuda, &scope);
	if (err)
		return fail(bl_cuda_errno(err), "copy va 0x%" PRIx64 " len 0x%zx: %s", copy->va, copy->len,
			    bl_cuda_strerror(err));
	return 0;
}

int bl_mem_copy(const struct bl_mem *mem, size_t off, void *host, size_t len, enum bl_copy_dir dir)
{
	const struct bl_cuda *cuda = bl_cuda();
	struct bl_ce_copy copy = {
		.target = mem->target,
		.va = mem->va + off,
		.mapped = mem->mapped,
		.host = host,
		.len = len,
		.dir = dir,
	};
	int ret;

	if (!mem->target) {
		memcpy(dir == BL_COPY_TO ? (void *)(uintptr_t)copy.va : host,
		       dir == BL_COPY_TO ? host : (void *)(uintptr_t)copy.va, len);
		return 0;
	}
	bl_fail_hush(1);
	ret = bl_ce_run(cuda, &copy);
	bl_fail_hush(-1);
	if (ret == -ENOMEM)
		return copy_plainly(cuda, &copy);
	return ret;
}
