// SPDX-License-Identifier: MIT
/*
 * What a program needs of a mapping besides copies: to know that its writes have arrived, and to hand data to a GPU
 * thread that waits for a flag. As in copy.c: no lock, no system call, no allocation, failures out of line.
 */
#define log_fmt(fmt) "gpu/publish: " fmt
#include <errno.h>
#include <inttypes.h>

#include "copy/fence.h"
#include "core.h"
#include "gpu/engine.h"
#include "util/log.h"
#include "view.h"

static __attribute__((noinline, cold)) int refuse_handle(const char *what, bl_pin_t pin)
{
	int ret = bl_check_owner();

	return ret ? ret : fail(EINVAL, "%s: handle 0x%" PRIx64 " is not a mapped pin", what, pin);
}

int bl_flush(bl_pin_t pin)
{
	struct bl_view *view = bl_view_live(pin);
	const volatile uint32_t *word;

	if (__builtin_expect(!view, 0))
		return refuse_handle("flush", pin);
	word = (const volatile uint32_t *)atomic_load_explicit(&view->addr, memory_order_relaxed);
	/* stores, also those in write-combining buffers, before the load: a store fence would let the load go first */
	bl_fence_full();
	/* the answer of the device comes after the posted writes that were on the way before the question */
	(void)*word;
	/* the load before whatever the caller does next */
	bl_fence_wc_load();
	return 0;
}

static __attribute__((noinline, cold)) int refuse_publish(bl_pin_t pin, const void *dst, size_t len, const void *flag)
{
	struct bl_view *view = bl_view_live(pin);

	if (!view)
		return refuse_handle("publish", pin);
	if ((uintptr_t)flag % sizeof(uint64_t))
		return fail(EINVAL, "publish: flag at %p is not aligned to 8 bytes", flag);
	if (!bl_view_holds(view, dst, len) || !bl_view_holds(view, flag, sizeof(uint64_t)))
		return fail(EINVAL,
			    "publish: addr %p len 0x%zx, flag at %p: not inside the mapping at 0x%" PRIxPTR " len 0x%zx",
			    dst, len, flag, atomic_load(&view->addr), atomic_load(&view->len));
	return fail(EINVAL, "publish: the flag at %p lies in the data at %p len 0x%zx", flag, dst, len);
}

/* A flag that the data covers would be seen with whatever the data has in its place. */
static inline bool apart(const void *dst, size_t len, const void *flag)
{
	uintptr_t data = (uintptr_t)dst, word = (uintptr_t)flag;

	return !len || (word >= data ? word - data >= len : data - word >= sizeof(uint64_t));
}

/* Mappings of different types want a full fence behind a copy, and engine ce wants to know of writes. */
static __attribute__((noinline, cold)) void follow(void)
{
	if (atomic_load_explicit(&bl_maps_mixed, memory_order_relaxed))
		bl_cpu_fence_mixed();
	bl_ce_wrote();
}

/* A mapping of libgdrapi with GDRCOPY_ENGINE: its own routines might call CUDA and wait, the CPU's lie behind them. */
static __attribute__((noinline, cold)) int publish_data_by_cpu(void *dst, const void *src, size_t len)
{
	const struct bl_cpu_copy *copy = bl_edge_cpu(dst);

	if (!copy)
		return fail(EINVAL, "publish: addr %p: the mapping went away", dst);
	return copy->to(dst, src, len);
}

static inline int write_data(const struct bl_cpu_copy *copy, void *dst, const void *src, size_t len)
{
	if (__builtin_expect(!len, 0))
		return 0;
	if (__builtin_expect(bl_edge_is(copy), 0))
		return publish_data_by_cpu(dst, src, len);
	return copy->to(dst, src, len);
}

int bl_publish(bl_pin_t pin, void *data_dst, const void *data_src, size_t len, uint64_t *flag_dst, uint64_t flag)
{
	struct bl_view *view = bl_view_live(pin);
	int ret;

	if (__builtin_expect(!view || (uintptr_t)flag_dst % sizeof(uint64_t) ||
			     !bl_view_holds(view, flag_dst, sizeof(uint64_t)), 0))
		return refuse_publish(pin, len ? data_dst : flag_dst, len, flag_dst);
	if (__builtin_expect((len && !bl_view_holds(view, data_dst, len)) || !apart(data_dst, len, flag_dst), 0))
		return refuse_publish(pin, len ? data_dst : flag_dst, len, flag_dst);
	ret = write_data(atomic_load_explicit(&view->copy, memory_order_relaxed), data_dst, data_src, len);
	if (__builtin_expect(ret, 0))
		return ret;
	/* the data, and what this thread stored before, ahead of the flag; whatever type the mapping has */
	bl_fence_wc_store();
	__atomic_store_n(flag_dst, flag, __ATOMIC_RELAXED);
	/* the flag ahead of later stores, and out of the write-combining buffer: somebody waits for it */
	bl_fence_wc_store();
	if (__builtin_expect(atomic_load_explicit(&bl_copies_followed, memory_order_relaxed), 0))
		follow();
	return 0;
}
