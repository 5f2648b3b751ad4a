// SPDX-License-Identifier: MIT
#include "pages.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define PLACES 256 /* CPUs beyond share */
#define PROBES 8
#define PAGE   4096UL

/* A place on a cache line of its own. */
static struct place {
	_Alignas(64) _Atomic(void *) pages;
} places[PLACES];

static unsigned int here(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (unsigned int)cpu;
}

void *bl_pages_get(void)
{
	unsigned int first = here();
	void *pages;

	for (unsigned int i = 0; i < PROBES; i++) {
		struct place *place = &places[(first + i) % PLACES];

		if (!atomic_load_explicit(&place->pages, memory_order_relaxed))
			continue;
		/* acquire: what the last user did with it is over */
		pages = atomic_exchange_explicit(&place->pages, NULL, memory_order_acq_rel);
		if (pages)
			return pages;
	}
	return aligned_alloc(PAGE, BL_PAGES_SIZE + 2 * PAGE);
}

void bl_pages_put(void *pages)
{
	unsigned int first = here();

	for (unsigned int i = 0; i < PROBES && pages; i++) {
		void *none = NULL;

		if (atomic_compare_exchange_strong_explicit(&places[(first + i) % PLACES].pages, &none, pages,
							    memory_order_release, memory_order_relaxed))
			return;
	}
	free(pages);
}

void bl_pages_forget(void)
{
	for (unsigned int i = 0; i < PLACES; i++)
		atomic_store(&places[i].pages, NULL);
}
