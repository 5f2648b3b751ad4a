/* SPDX-License-Identifier: MIT */
/*
 * core.h - contexts and pins behind the handles of barlane.h
 *
 * Lock order: pin->lock, ctx->lock, shares.lock, table lock; provider locks below all of them. The table lock guards the handle
 * tables and the views, and is held for a moment only, but for bl_pin_find(); a reference taken under it keeps an object
 * alive afterwards.
 * Copies take none of them, see copy.c.
 */
#ifndef BL_GPU_CORE_H
#define BL_GPU_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "ce.h"
#include "copy/cpu.h"
#include "provider.h"
#include "share.h"
#include "util/slots.h"
#include "vmm.h"

/**
 * struct bl_ctx - an open context
 * @refs:    the handle, every pin, every call under way
 * @id:      its handle
 * @lock:    guards @place, @settled, @closing, @pins and @nr_pins
 * @place:   who serves, as a place in bl_providers
 * @priv:    the provider's own
 * @forced:  the provider was asked for by name: nobody takes over
 * @settled: the provider has proved that it can serve
 * @closing: bl_close() has begun; no new pins
 * @pins:    living pins, linked by pin->next and pin->prev
 * @shares:  mappings that pins share, with a lock of its own
 */
struct bl_ctx {
	atomic_int refs;
	uint64_t id;
	pthread_mutex_t lock;
	const struct bl_provider_ops *const *place;
	void *priv;
	bool forced;
	bool settled;
	bool closing;
	struct bl_pin *pins;
	struct bl_shares shares;
};

/**
 * struct bl_pin - a pinned range
 * @refs:     the handle, every call under way, a shared mapping that this pin made
 * @holds:    who needs @backing: the pin until it is unpinned, and such a mapping
 * @id:       its handle
 * @ctx:      context, referenced
 * @ops:      provider that pinned it
 * @lock:     guards what follows
 * @backing:  the provider's view; never changes
 * @asked:    requested address
 * @page_off: offset of the requested address in its page; bl_map() refuses a pin where it is not 0
 * @mapping:  addr is NULL while there is none
 * @share:    what @mapping is a part of, NULL while it is the pin's alone
 * @shown:    offset in the mapping of the address that the caller was given
 * @cpu:      routines of the mapping
 * @ce:       what engine ce knows of the memory, once @ce_known
 * @ce_known: set once, with release
 * @vmm:      memory that goes when the pin goes; size 0: it is the caller's
 * @batches:  batches of copies under way that use it; its mapping and the pin itself stay meanwhile
 * @orphan:   its context was closed while batches used it, the last of them destroys it
 * @dead:     unpinned; calls that still hold a reference fail
 * @next:     in ctx->pins, under ctx->lock
 * @prev:     likewise
 */
struct bl_pin {
	atomic_int refs;
	atomic_int holds;
	uint64_t id;
	struct bl_ctx *ctx;
	const struct bl_provider_ops *ops;
	pthread_mutex_t lock;
	struct bl_backing backing;
	uint64_t asked;
	uint64_t page_off;
	struct bl_mapping mapping;
	struct bl_share *share;
	size_t shown;
	const struct bl_cpu_copy *cpu;
	struct bl_ce_target ce;
	_Atomic(bool) ce_known;
	struct bl_vmm vmm;
	size_t batches;
	bool orphan;
	bool dead;
	struct bl_pin *next;
	struct bl_pin *prev;
};

/* The process' pins. */
extern struct bl_slots bl_pin_slots;

/* Living mappings per type; more than one type in use makes copies take the full fence. */
extern _Atomic(bool) bl_maps_mixed;

/*
 * Copies have something to do behind their routine: mappings are mixed, or writes must be noted for engine ce, which
 * begins when that is asked for and never ends.
 */
extern _Atomic(bool) bl_copies_followed;
void bl_copies_note(void);
void bl_maps_count(enum bl_map_type type, int change); /* under the table lock */
void bl_maps_forget(void);

/* Refuse a forked child: -EACCES with the reason, else 0. */
int bl_check_owner(void);

/**
 * bl_ctx_get() - Find a context and keep it alive
 * @id: handle
 *
 * Return: the context, to be given to bl_ctx_put(), or NULL when the handle is stale.
 */
struct bl_ctx *bl_ctx_get(bl_ctx_t id);
void bl_ctx_put(struct bl_ctx *ctx);

/**
 * bl_pin_get() - Find a pin of a context and keep it alive
 * @ctx_id: context that the caller says pinned it
 * @id:     handle
 * @pin_p:  receives the pin, to be given to bl_pin_put()
 *
 * Return: 0, -EACCES in a forked child, -EINVAL for handles that are stale or do not belong together.
 */
int bl_pin_get(bl_ctx_t ctx_id, bl_pin_t id, struct bl_pin **pin_p);

/* As bl_pin_get(), whatever context it belongs to. */
int bl_pin_get_any(bl_pin_t id, struct bl_pin **pin_p);
void bl_pin_put(struct bl_pin *pin);

/* Give up one of the holds of its backing; with the last the provider unpins. 0 or the provider's error. */
int bl_pin_release(struct bl_pin *pin);

/* The lock of both handle tables. */
void bl_table_lock(void);
void bl_table_unlock(void);

/*
 * Unmap, unpin, free what bl_alloc() made; under no lock. -EINVAL when somebody else did it first, -ETIMEDOUT when a
 * batch that uses it does not end: nothing was done.
 */
int bl_pin_destroy(struct bl_pin *pin);

/* After -ETIMEDOUT: take the handle away now, and let the last batch that uses the pin destroy it. */
int bl_pin_leave(struct bl_pin *pin);

/* bl_map_byte() for pins of the core's own: engines need not be prepared for them. */
int bl_map_own(bl_ctx_t ctx_id, bl_pin_t id, size_t len, void **addr_p);

/* Forget all that was inherited, in a child that starts anew. */
void bl_core_forget(void);

#endif
