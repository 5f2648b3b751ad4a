/* SPDX-License-Identifier: MIT */
/* ref.h - reference counts of objects that are found without a lock */
#ifndef BL_UTIL_REF_H
#define BL_UTIL_REF_H

#include <stdatomic.h>
#include <stdbool.h>

/*
 * One more reference, unless there is none: then the object is on its way out, or is not in use. Its memory must never be
 * given back. Acquire: what was stored before the count became positive is seen.
 */
static inline bool bl_ref_get(atomic_int *refs)
{
	int nr = atomic_load_explicit(refs, memory_order_relaxed);

	while (nr > 0) {
		if (atomic_compare_exchange_weak_explicit(refs, &nr, nr + 1, memory_order_acquire,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

/* Whether that was the last one: all that others did with the object is seen, and it is the caller's alone. */
static inline bool bl_ref_put(atomic_int *refs)
{
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

#endif
