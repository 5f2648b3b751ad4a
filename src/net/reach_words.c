// SPDX-License-Identifier: MIT
/*
 * A few bytes of GPU memory, many times in a row, with one fence for all of them: bl_copy() has one each time. A load of
 * its own takes 1.0 us, one of many 85 ns; a store with a fence 130 ns, without one 5 ns (H200, PCIe 5).
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "copy/fence.h"
#include "copy/line.h"
#include "reach.h"
#include "softnic/snic.h"
#include "util/guard.h"

#define CHUNK 16U /* a streaming load; four of one line are one transfer */

#if defined(__x86_64__)
#include <smmintrin.h>

/* Neighbours of the bytes are read with them and thrown away: who may be writing there just now is no race. */
__attribute__((target("sse4.1"), no_sanitize("address", "thread"))) static void load_line(const char *src, char *dst)
{
	for (size_t i = 0; i < BL_REACH_LINE; i += CHUNK)
		_mm_storeu_si128((__m128i *)(void *)(dst + i), _mm_stream_load_si128((__m128i *)(uintptr_t)(src + i)));
}

static bool can_load(void)
{
	return __builtin_cpu_supports("sse4.1");
}
#else
static void load_line(const char *src, char *dst)
{
	for (size_t i = 0; i < BL_REACH_LINE; i += sizeof(uint64_t)) {
		uint64_t word = __atomic_load_n((const uint64_t *)(const void *)(src + i), __ATOMIC_RELAXED);

		memcpy(dst + i, &word, sizeof(word));
	}
}

static bool can_load(void)
{
	return true;
}
#endif

static int do_load_line(void *arg)
{
	struct bl_reach *reach = arg;

	load_line((const char *)reach->line, reach->bytes);
	return 0;
}

/* Pages are mapped whole, so all of a line is there. Short messages often lie side by side in one. */
int bl_reach_peek(void *priv, uint64_t off, void *dst, size_t len)
{
	struct bl_reach *reach = priv;
	uintptr_t at = (uintptr_t)reach->cpu + off;
	char *out = dst;

	if (!can_load())
		return bl_reach_read(priv, off, dst, len);
	if (reach->gone)
		return -EFAULT;
	while (len) {
		uintptr_t skip = at % BL_REACH_LINE;
		size_t part = len < BL_REACH_LINE - skip ? len : BL_REACH_LINE - skip;

		if (reach->line != at - skip) {
			const void *line = (const void *)(at - skip);

			reach->line = at - skip;
			if (bl_reach_said(reach, bl_guard_call(line, BL_REACH_LINE, do_load_line, reach)))
				return -EFAULT;
		}
		memcpy(out, reach->bytes + skip, part);
		out += part;
		at += part;
		len -= part;
	}
	return 0;
}

void bl_reach_peeked(void *priv)
{
	struct bl_reach *reach = priv;

	reach->line = 0;
	bl_fence_wc_load();
}

struct words {
	uint64_t *dst;
	const char *src;
	size_t len;
};

/* Release: what a reader of the last word looks for afterwards; on x86 and write-combining memory it is a plain store. */
static int do_put(void *arg)
{
	const struct words *what = arg;
	uint64_t *dst = what->dst, word;

	for (size_t i = 0; i < what->len; i += sizeof(word)) {
		memcpy(&word, what->src + i, sizeof(word));
		__atomic_store_n(dst++, word, __ATOMIC_RELEASE);
	}
	return 0;
}

int bl_reach_put(void *priv, uint64_t off, const void *src, size_t len)
{
	struct bl_reach *reach = priv;
	struct words what = { (void *)((char *)reach->cpu + off), src, len };

	if (reach->gone)
		return -EFAULT;
	return bl_reach_said(reach, bl_guard_call(what.dst, len, do_put, &what));
}

static int do_put_line(void *arg)
{
	const struct words *what = arg;

	bl_store_line(what->dst, what->src);
	return 0;
}

int bl_reach_put_line(void *priv, uint64_t off, const void *src)
{
	struct bl_reach *reach = priv;
	struct words what = { (void *)((char *)reach->cpu + off), src, BL_STORE_LINE };

	if (reach->gone)
		return -EFAULT;
	return bl_reach_said(reach, bl_guard_call(what.dst, what.len, do_put_line, &what));
}
