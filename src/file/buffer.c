// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/buffer: " fmt
#include "buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "driver.h"
#include "error.h"
#include "gpu/cuda_ptr.h"
#include "lane.h"
#include "nvfs.h"
#include "pages.h"
#include "pair.h"
#include "range.h"
#include "rings.h"
#include "stats.h"
#include "util/log.h"
#include "util/ref.h"
#include "util/vmpages.h"

/* From here on a GPU's work sees what a third party wrote before that work was submitted (CUDA's WRITES_ORDERING). */
#define ATTRIBUTE_WRITES_ORDERING 118
#define ORDERED_FOR_OWNER	  100

/* Guards changes of the ranges, and the list of unused structs. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_buffer *unused;
static _Atomic(uint64_t) pinned_bytes;

static struct bl_buffer *take_unused(void)
{
	struct bl_buffer *buffer;
	bool fresh;

	pthread_mutex_lock(&lock);
	buffer = unused;
	if (buffer)
		unused = buffer->next_free;
	pthread_mutex_unlock(&lock);
	fresh = !buffer;
	if (fresh)
		buffer = aligned_alloc(_Alignof(struct bl_buffer), sizeof(*buffer));
	if (buffer && fresh)
		memset(buffer, 0, sizeof(*buffer));
	return buffer;
}

static void give_unused(struct bl_buffer *buffer)
{
	pthread_mutex_lock(&lock);
	buffer->next_free = unused;
	unused = buffer;
	pthread_mutex_unlock(&lock);
}

/* Whether writes through a mapping need a flush before CUDA's work is sure to see them. */
static bool needs_flush(const struct bl_buffer *buffer)
{
	int ordering = 0;

	if (bl_cuda()->cuDeviceGetAttribute(&ordering, ATTRIBUTE_WRITES_ORDERING, buffer->target.device))
		return true;
	return ordering < ORDERED_FOR_OWNER;
}

static int pin_and_map(struct bl_buffer *buffer, bl_ctx_t ctx)
{
	struct bl_pin_info info;
	void *addr;
	int ret;

	ret = bl_pin(ctx, buffer->base, buffer->len, 0, 0, 0, &buffer->pin);
	if (ret)
		return ret;
	ret = bl_pin_info(ctx, buffer->pin, &info);
	if (!ret)
		ret = bl_map_byte(ctx, buffer->pin, buffer->len, BL_MAP_NONE, &addr);
	if (ret) {
		bl_unpin(ctx, buffer->pin);
		buffer->pin = 0;
		return ret;
	}
	buffer->pin_off = buffer->base - info.va;
	buffer->mapped = addr;
	atomic_store_explicit(&buffer->pages, bl_vm_has_pages(addr), memory_order_relaxed);
	buffer->flush = needs_flush(buffer);
	return 0;
}

/* Room for @len more; the limit is the configuration's. */
static int account(size_t len)
{
	uint64_t limit = bl_file_config()->max_device_pinned_mem_size_kb << 10;

	if (atomic_fetch_add(&pinned_bytes, len) + len <= limit)
		return 0;
	atomic_fetch_sub(&pinned_bytes, len);
	return fail(ENOSPC, "max_device_pinned_mem_size_kb %" PRIu64 " would be exceeded", limit >> 10);
}

/* What cannot be pinned is no error: CUDA copies. */
static void pin(struct bl_buffer *buffer)
{
	bl_ctx_t ctx = bl_driver_ctx();
	int ret = -ENODEV;

	bl_fail_hush(1);
	if (ctx)
		ret = account(buffer->len);
	if (!ret) {
		ret = pin_and_map(buffer, ctx);
		if (ret)
			atomic_fetch_sub(&pinned_bytes, buffer->len);
	}
	bl_fail_hush(-1);
	if (ret)
		log_info("base 0x%" PRIx64 " len 0x%zx: not mapped, CUDA copies (%s)", buffer->base, buffer->len,
			 bl_last_error(NULL));
}

static void unpin(struct bl_buffer *buffer)
{
	bl_ctx_t ctx;

	if (!buffer->pin)
		return;
	/* open as long as there are pins; without one it would be opened for nothing here */
	ctx = bl_driver_ctx();
	bl_nvfs_forget(buffer->pin);
	bl_fail_hush(1);
	if (bl_unmap(ctx, buffer->pin, buffer->mapped, buffer->len))
		log_warn("base 0x%" PRIx64 ": unmap: %s", buffer->base, bl_last_error(NULL));
	if (bl_unpin(ctx, buffer->pin))
		log_warn("base 0x%" PRIx64 ": unpin: %s", buffer->base, bl_last_error(NULL));
	bl_fail_hush(-1);
	atomic_fetch_sub(&pinned_bytes, buffer->len);
	buffer->pin = 0;
	buffer->mapped = NULL;
}

static int examine(struct bl_buffer *buffer)
{
	struct bl_mem mem;
	int ret = bl_mem_query(buffer->base, buffer->len, &mem);

	if (ret == -EIO)
		return BL_CUFILE(CU_FILE_CUDA_POINTER_RANGE_ERROR);
	if (ret)
		return ret;
	buffer->kind = mem.kind;
	buffer->ordinal = mem.ordinal;
	if (mem.kind != BL_MEM_HOST)
		bl_mem_target_copy(&buffer->target, mem.target);
	if (mem.kind == BL_MEM_DEVICE)
		pin(buffer);
	return 0;
}

static int publish(struct bl_buffer *buffer)
{
	int ret;

	atomic_store_explicit(&buffer->refs, 1, memory_order_release);
	pthread_mutex_lock(&lock);
	ret = bl_range_add(buffer);
	pthread_mutex_unlock(&lock);
	if (!ret)
		return 0;
	atomic_store(&buffer->refs, 0);
	if (ret != -EEXIST)
		return fail(-ret, "base 0x%" PRIx64 ": out of memory", buffer->base);
	return bl_fail(-BL_CUFILE(CU_FILE_MEMORY_ALREADY_REGISTERED), log_fmt("base 0x%" PRIx64 ": registered already"),
		       buffer->base);
}

int bl_buffer_add(const void *base, size_t len, int flags)
{
	struct bl_buffer *buffer;
	int ret;

	if (!base || !len || (uintptr_t)base + len < (uintptr_t)base)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("base %p len 0x%zx: no range"), base, len);
	buffer = take_unused();
	if (!buffer)
		return fail(ENOMEM, "base %p: out of memory", base);
	buffer->base = (uintptr_t)base;
	buffer->len = len;
	buffer->pin = 0;
	buffer->pin_off = 0;
	buffer->mapped = NULL;
	buffer->flush = false;
	ret = examine(buffer);
	if (!ret)
		ret = publish(buffer);
	if (!ret) {
		bl_stats_buffer(buffer->ordinal, (int64_t)len, 0);
		return 0;
	}
	unpin(buffer);
	bl_stats_buffer(-1, (int64_t)len, ret);
	give_unused(buffer);
	return ret;
}

bool bl_buffer_lend(struct bl_mem *mem)
{
	struct bl_buffer *buffer = take_unused();

	if (!buffer)
		return false;
	buffer->base = mem->va;
	buffer->len = mem->len;
	buffer->kind = mem->kind;
	buffer->ordinal = mem->ordinal;
	buffer->pin = 0;
	bl_mem_target_copy(&buffer->target, mem->target);
	pin(buffer);
	if (!buffer->pin) {
		give_unused(buffer);
		return false;
	}
	atomic_store_explicit(&buffer->refs, 1, memory_order_release);
	mem->buffer = buffer;
	mem->pin = buffer->pin;
	mem->pin_off = buffer->pin_off;
	mem->mapped = buffer->mapped;
	mem->flush = buffer->flush;
	mem->target = &buffer->target;
	return true;
}

void bl_buffer_put(struct bl_buffer *buffer)
{
	if (!bl_ref_put(&buffer->refs))
		return;
	unpin(buffer);
	give_unused(buffer);
}

int bl_buffer_remove(const void *base)
{
	struct bl_buffer *buffer;

	pthread_mutex_lock(&lock);
	buffer = bl_range_remove((uintptr_t)base);
	pthread_mutex_unlock(&lock);
	if (!buffer)
		return bl_fail_quiet(-BL_CUFILE(CU_FILE_MEMORY_NOT_REGISTERED), log_fmt("base %p: not registered"), base);
	bl_stats_buffer(buffer->ordinal, -(int64_t)buffer->len, 0);
	bl_buffer_put(buffer);
	return 0;
}

void bl_buffer_remove_all(void)
{
	uint64_t base;

	for (;;) {
		pthread_mutex_lock(&lock);
		base = bl_range_any();
		pthread_mutex_unlock(&lock);
		if (!base)
			break;
		bl_buffer_remove((const void *)(uintptr_t)base);
	}
	bl_lane_drop_idle();
	bl_ring_drop_idle();
}

void bl_buffer_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	bl_range_forget();
	unused = NULL;
	atomic_store(&pinned_bytes, 0);
	bl_file_lane_forget();
	bl_ring_forget();
	bl_pages_forget();
	bl_pair_forget();
}
