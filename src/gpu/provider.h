/* SPDX-License-Identifier: MIT */
/*
 * provider.h - a way to reach GPU memory: one struct of operations, one file each
 *
 * Adding one is a file and a line in the table of select.c.
 *
 * Locking: pin(), unpin(), map(), unmap() and released() of one pin are serialised by the caller; those of different
 * pins run at the same time. With same() a pin may have several mappings, each made with map() and removed with unmap(),
 * and unmap() may run at the same time as any other operation on the pin but unpin(). Every operation gives 0 or -errno
 * unless said otherwise; the one that decides on the error calls fail().
 */
#ifndef BL_GPU_PROVIDER_H
#define BL_GPU_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barlane.h"

struct bl_provider_ops;

/**
 * struct bl_request - what the user wants pinned; already checked: @len > 0, no overflow
 * @va:    device address
 * @len:   bytes
 * @flags: BL_PIN_*
 * @token: p2p token
 * @space: va-space token
 */
struct bl_request {
	uint64_t va;
	size_t len;
	uint32_t flags;
	uint64_t token;
	uint32_t space;
};

/**
 * struct bl_backing - a pin as its provider sees it
 * @va:         first pinned byte, set by pin()
 * @len:        pinned bytes, set by pin()
 * @page_size:  granularity, set by pin()
 * @buffer_id:  CUDA's id of the allocation, set by pin() where it asks CUDA, else 0
 * @object_va:  device address of the object that holds the pinned bytes; set by pin() where same() can compare them,
 *              else 0. Says where to look: pins of the same memory have the same.
 * @priv:       the provider's own, set by pin(), released by unpin()
 */
struct bl_backing {
	uint64_t va;
	uint64_t len;
	uint32_t page_size;
	uint64_t buffer_id;
	uint64_t object_va;
	void *priv;
};

/**
 * struct bl_mapping - a CPU mapping of a pin
 * @addr: start; the pin's first byte
 * @len:  bytes, whole CPU pages
 * @type: what the CPU sees
 * @key:  the provider's own, set by map() for unmap()
 */
struct bl_mapping {
	void *addr;
	size_t len;
	enum bl_map_type type;
	uint64_t key;
};

/**
 * struct bl_provider_ops - operations of a provider
 * @name:     as in BARLANE_PROVIDER
 * @from_page: maps only what was pinned from the start of a page, see bl_map_byte()
 * @probe:    whether it can serve; fills @info but for the name; makes no CUDA call
 * @open:     start serving a context; sets *@priv_p to what the other operations get
 * @close:    end serving a context, which has no pins left
 * @settle:   optional: decide, with CUDA calls allowed, whether it really can serve (asked before the first pin when
 *            another provider could take over); -errno hands the context on to the next provider
 * @pin:      pin a range
 * @unpin:    give it back; the pin is gone whatever is returned
 * @map:      map the first @mapping->len bytes; @mapping->type is the wish, replaced by what it became
 * @unmap:    remove the mapping; it is gone whatever is returned
 * @released: optional: whether the owner freed the memory under the pin
 * @same:     optional: whether two pins of a context hold the same memory, so that equal device addresses in them mean
 *            equal bytes and a mapping of one serves the other. True only when that is proved. Both backings stay
 *            pinned during the call, and calls for different pins run at the same time.
 * @times:    optional: CPU cycles that pinning took and the counter's rate
 * @refresh:  optional: fill @info of an open context with what is in use, instead of probe()'s answer
 */
struct bl_provider_ops {
	const char *name;
	bool from_page;
	int (*probe)(struct bl_provider_info *info);
	int (*open)(void **priv_p);
	void (*close)(void *priv);
	int (*settle)(void *priv);
	int (*pin)(void *priv, const struct bl_request *req, struct bl_backing *backing);
	int (*unpin)(void *priv, struct bl_backing *backing);
	int (*map)(void *priv, struct bl_backing *backing, struct bl_mapping *mapping);
	int (*unmap)(void *priv, struct bl_backing *backing, struct bl_mapping *mapping);
	int (*released)(void *priv, struct bl_backing *backing, int *released_p);
	bool (*same)(void *priv, const struct bl_backing *a, const struct bl_backing *b);
	int (*times)(void *priv, struct bl_backing *backing, uint64_t *cycles_p, uint32_t *khz_p);
	int (*refresh)(void *priv, struct bl_provider_info *info);
};

extern const struct bl_provider_ops bl_provider_gdrdrv;
extern const struct bl_provider_ops bl_provider_dmabuf;
extern const struct bl_provider_ops bl_provider_rm;

/* All providers in the order in which they are tried, NULL-terminated. */
extern const struct bl_provider_ops *const bl_providers[];

/**
 * bl_provider_select() - Choose who serves
 * @name:  name that forces the choice, or NULL: environment, then the first usable
 * @first: provider to start from, bl_providers for the first
 * @ops_p: receives the place in the table, so that the search can go on behind it
 *
 * Return: 0, -EINVAL (no provider of that name), -ENODEV (none usable); the reasons are in bl_last_error().
 */
int bl_provider_select(const char *name, const struct bl_provider_ops *const *first,
		       const struct bl_provider_ops *const **ops_p);

/* Name that the environment forces, NULL when it leaves the choice free. */
const char *bl_provider_forced(void);

#endif
