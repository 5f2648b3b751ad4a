// SPDX-License-Identifier: MIT
#include "cost.h"

#include <stdatomic.h>

#define NR_CLASSES 64
#define TRY_AGAIN  512U /* questions without a request, after which what is known is too old */
#define NEW_SHARE  8.0	/* a request counts for an eighth, those before it for the rest */

/**
 * struct size_class - requests of one size
 * @ns_per_byte: smoothed; 0: none yet
 * @asked:       questions since the last request
 */
struct size_class {
	_Atomic(double) ns_per_byte;
	atomic_uint asked;
};

static struct size_class classes[BL_PATH_NR][2][NR_CLASSES];

static struct size_class *class_of(enum bl_path path, size_t len, bool write)
{
	return &classes[path][write][63 - __builtin_clzll(len)];
}

double bl_cost(enum bl_path path, size_t len, bool write)
{
	struct size_class *class = class_of(path, len, write);

	if (atomic_fetch_add_explicit(&class->asked, 1, memory_order_relaxed) >= TRY_AGAIN)
		return 0;
	return atomic_load_explicit(&class->ns_per_byte, memory_order_relaxed) * (double)len;
}

void bl_cost_note(enum bl_path path, size_t len, bool write, uint64_t ns)
{
	struct size_class *class = class_of(path, len, write);
	double old = atomic_load_explicit(&class->ns_per_byte, memory_order_relaxed);
	double now = (double)(ns ? ns : 1) / (double)len;

	if (old > 0)
		now = old + (now - old) / NEW_SHARE;
	atomic_store_explicit(&class->ns_per_byte, now, memory_order_relaxed);
	atomic_store_explicit(&class->asked, 0, memory_order_relaxed);
}
