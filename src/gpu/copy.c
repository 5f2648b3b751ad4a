// SPDX-License-Identifier: MIT
/*
 * The copies: the one place where a call must cost nanoseconds. No lock, no system call, no allocation: a handle is
 * resolved by one array look-up, and a failure leaves through functions kept out of line.
 */
#define log_fmt(fmt) "gpu/copy: " fmt
#include "core.h"

#include <errno.h>
#include <inttypes.h>

#include "copy/cpu.h"
#include "gpu/edge.h"
#include "gpu/engine.h"
#include "gpu/push.h"
#include "util/log.h"
#include "view.h"

static __attribute__((noinline, cold)) int refuse(bl_pin_t pin, const void *addr, size_t len)
{
	struct bl_view *view = bl_view_find(pin);
	int ret = bl_check_owner();

	if (ret)
		return ret;
	if (!view || atomic_load(&view->id) != pin)
		return fail(EINVAL, "copy: handle 0x%" PRIx64 " is not a mapped pin", pin);
	return fail(EINVAL, "copy: addr %p len 0x%zx is not inside the mapping at 0x%" PRIxPTR " len 0x%zx", addr, len,
		    atomic_load(&view->addr), atomic_load(&view->len));
}

/* Routines of the mapping that holds [addr, addr + len), NULL when there is none; in a forked child there is none. */
static inline const struct bl_cpu_copy *find(bl_pin_t pin, const void *addr, size_t len)
{
	struct bl_view *view = bl_view_live(pin);

	if (__builtin_expect(!view || !bl_view_holds(view, addr, len), 0))
		return NULL;
	return atomic_load_explicit(&view->copy, memory_order_relaxed);
}

static __attribute__((noinline, cold)) int followed_from(bl_copy_fn copy, void *dst, const void *src, size_t len)
{
	int ret = copy(dst, src, len);

	if (atomic_load_explicit(&bl_maps_mixed, memory_order_relaxed))
		bl_cpu_fence_mixed();
	return ret;
}

static __attribute__((noinline, cold)) int followed_to(bl_copy_fn copy, void *dst, const void *src, size_t len)
{
	int ret = followed_from(copy, dst, src, len);

	bl_ce_wrote();
	return ret;
}

/*
 * The routines of GDRCOPY_ENGINE (engine_edge.c) can fail, and what they say is negative. A mapping that has them makes
 * all copies followed, so the sign is turned here, and a plain copy pays nothing for it.
 */
static __attribute__((noinline, cold)) int followed_from_positive(bl_copy_fn copy, void *dst, const void *src,
								  size_t len)
{
	return -followed_from(copy, dst, src, len);
}

static __attribute__((noinline, cold)) int followed_to_positive(bl_copy_fn copy, void *dst, const void *src, size_t len)
{
	return -followed_to(copy, dst, src, len);
}

typedef int (*followed_fn)(bl_copy_fn copy, void *dst, const void *src, size_t len);

/* Ends in a jump to the routine: nothing is left to do behind it. @followed is for copies that something follows. */
static inline __attribute__((always_inline)) int run(bl_copy_fn copy, void *dst, const void *src, size_t len,
						     followed_fn followed)
{
	if (__builtin_expect(!len, 0))
		return 0;
	if (__builtin_expect(atomic_load_explicit(&bl_copies_followed, memory_order_relaxed), 0))
		return followed(copy, dst, src, len);
	return copy(dst, src, len);
}

int bl_copy_to(bl_pin_t pin, void *dst, const void *src, size_t len)
{
	const struct bl_cpu_copy *copy = find(pin, dst, len);

	if (__builtin_expect(!copy, 0))
		return refuse(pin, dst, len);
	return run(copy->to, dst, src, len, followed_to);
}

int bl_copy_from(bl_pin_t pin, void *dst, const void *src, size_t len)
{
	const struct bl_cpu_copy *copy = find(pin, src, len);

	if (__builtin_expect(!copy, 0))
		return refuse(pin, src, len);
	return run(copy->from, dst, src, len, followed_from);
}

int bl_copy_to_positive(bl_pin_t pin, void *dst, const void *src, size_t len)
{
	const struct bl_cpu_copy *copy = find(pin, dst, len);

	if (__builtin_expect(!copy, 0))
		return -refuse(pin, dst, len);
	return run(copy->to, dst, src, len, followed_to_positive);
}

int bl_copy_from_positive(bl_pin_t pin, void *dst, const void *src, size_t len)
{
	const struct bl_cpu_copy *copy = find(pin, src, len);

	if (__builtin_expect(!copy, 0))
		return -refuse(pin, src, len);
	return run(copy->from, dst, src, len, followed_from_positive);
}

static __attribute__((noinline, cold)) int refuse_request(const void *host, size_t len, unsigned int dir,
							  unsigned int engine)
{
	if (dir > BL_COPY_FROM)
		return fail(EINVAL, "copy: no direction %u", dir);
	if (engine > BL_ENGINE_PUSH)
		return fail(EINVAL, "copy: no engine %u", engine);
	return fail(EINVAL, "copy: host %p len 0x%zx", host, len);
}

int bl_copy(bl_pin_t pin, uint64_t off, void *host, size_t len, enum bl_copy_dir dir, enum bl_engine engine)
{
	struct bl_view *view = bl_view_find(pin);
	uintptr_t start = view ? atomic_load_explicit(&view->addr, memory_order_relaxed) : 0;
	void *addr = (void *)(start + off);
	const struct bl_cpu_copy *copy;

	if (__builtin_expect((unsigned int)dir > BL_COPY_FROM || (unsigned int)engine > BL_ENGINE_PUSH ||
			     (!host && len), 0))
		return refuse_request(host, len, dir, engine);
	copy = find(pin, addr, len);
	if (__builtin_expect(!copy, 0))
		return refuse(pin, addr, len);
	if (!len)
		return 0;
	if (engine >= BL_ENGINE_CE || bl_edge_is(copy) ||
	    (engine == BL_ENGINE_AUTO && (bl_engine_large(dir, len) || bl_push_fits(dir, len))))
		return bl_engine_copy(pin, off, host, len, dir, engine);
	bl_engine_count(BL_ENGINE_CPU, dir, len);
	return dir == BL_COPY_TO ? run(copy->to, addr, host, len, followed_to) :
				   run(copy->from, host, addr, len, followed_from);
}
