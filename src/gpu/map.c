// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/map: " fmt
#include "core.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "edge.h"
#include "engine.h"
#include "util/log.h"
#include "view.h"

#define NR_MAP_TYPES (BL_MAP_DEVICE + 1)

static atomic_int maps_of_type[NR_MAP_TYPES];
static atomic_bool writes_noted;
_Atomic(bool) bl_maps_mixed;
_Atomic(bool) bl_copies_followed;

static void count_types(void)
{
	int types = 0;

	for (int type = BL_MAP_WC; type < NR_MAP_TYPES; type++)
		types += atomic_load(&maps_of_type[type]) > 0;
	atomic_store(&bl_maps_mixed, types > 1);
	atomic_store(&bl_copies_followed, types > 1 || atomic_load(&writes_noted));
}

void bl_copies_note(void)
{
	if (atomic_load_explicit(&writes_noted, memory_order_relaxed))
		return;
	bl_table_lock();
	atomic_store(&writes_noted, true);
	count_types();
	bl_table_unlock();
}

void bl_maps_count(enum bl_map_type type, int change)
{
	/* the table lock keeps two threads from publishing the flag in the wrong order */
	bl_table_lock();
	atomic_fetch_add(&maps_of_type[type], change);
	count_types();
	bl_table_unlock();
}

void bl_maps_forget(void)
{
	for (int type = 0; type < NR_MAP_TYPES; type++)
		atomic_store(&maps_of_type[type], 0);
	atomic_store(&writes_noted, false);
	count_types();
}

static int check_map(const struct bl_pin *pin, size_t len, int type)
{
	if (pin->dead)
		return fail(EINVAL, "map: unpinned already");
	if (pin->mapping.addr)
		return fail(EAGAIN, "map va 0x%" PRIx64 ": mapped already, unmap it first", pin->backing.va);
	if (type < BL_MAP_NONE || type >= NR_MAP_TYPES)
		return fail(EINVAL, "map va 0x%" PRIx64 ": no mapping type %d", pin->backing.va, type);
	if (pin->page_off)
		return fail(EINVAL,
			    "map va 0x%" PRIx64 ": the pinned address lies 0x%" PRIx64
			    " bytes into its page; pin from the start of a page to map it",
			    pin->backing.va + pin->page_off, pin->page_off);
	if (!len || len > pin->backing.len)
		return fail(EINVAL, "map va 0x%" PRIx64 " len 0x%zx: the pin has 0x%" PRIx64 " bytes", pin->backing.va,
			    len, pin->backing.len);
	return 0;
}

static int map_locked(struct bl_pin *pin, size_t len, int type, bool edge, void **addr_p)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct bl_mapping mapping = { .len = (len + page - 1) & ~(page - 1), .type = (enum bl_map_type)type };
	const struct bl_cpu_copy *copy;
	int ret;

	ret = check_map(pin, len, type);
	if (ret)
		return ret;
	ret = pin->ops->map(pin->ctx->priv, &pin->backing, &mapping);
	if (ret)
		return ret;
	pin->mapping = mapping;
	pin->cpu = bl_cpu_copy_select(mapping.type);
	copy = edge ? bl_edge_select(pin->id, &mapping, pin->cpu) : pin->cpu;
	bl_maps_count(mapping.type, 1);
	bl_view_show(pin->id, mapping.addr, mapping.len, copy);
	*addr_p = mapping.addr;
	return 0;
}

static int map_pin(bl_ctx_t ctx_id, bl_pin_t id, size_t len, enum bl_map_type type, bool edge, void **addr_p)
{
	struct bl_pin *pin = NULL;
	int ret;

	if (!addr_p)
		return fail(EINVAL, "map: no place for the address");
	ret = bl_pin_get(ctx_id, id, &pin);
	if (ret)
		return ret;
	pthread_mutex_lock(&pin->lock);
	ret = map_locked(pin, len, (int)type, edge, addr_p);
	pthread_mutex_unlock(&pin->lock);
	bl_pin_put(pin);
	return ret;
}

int bl_map(bl_ctx_t ctx_id, bl_pin_t id, size_t len, enum bl_map_type type, void **addr_p)
{
	return map_pin(ctx_id, id, len, type, false, addr_p);
}

int bl_map_for_edge(bl_ctx_t ctx_id, bl_pin_t id, size_t len, enum bl_map_type type, void **addr_p)
{
	return map_pin(ctx_id, id, len, type, true, addr_p);
}

static int unmap_locked(struct bl_pin *pin, const void *addr, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct bl_mapping mapping = pin->mapping;

	if (pin->dead || !mapping.addr)
		return fail(EINVAL, "unmap va 0x%" PRIx64 ": not mapped", pin->backing.va);
	if (addr != mapping.addr || ((len + page - 1) & ~(page - 1)) != mapping.len || !len)
		return fail(EINVAL, "unmap addr %p len 0x%zx: the mapping is addr %p len 0x%zx, and goes as a whole",
			    addr, len, mapping.addr, mapping.len);
	bl_view_hide(pin->id);
	bl_edge_drop(mapping.addr);
	pin->mapping = (struct bl_mapping){ 0 };
	bl_maps_count(mapping.type, -1);
	return pin->ops->unmap(pin->ctx->priv, &pin->backing, &mapping);
}

int bl_unmap(bl_ctx_t ctx_id, bl_pin_t id, void *addr, size_t len)
{
	struct bl_pin *pin = NULL;
	int ret;

	ret = bl_pin_get(ctx_id, id, &pin);
	if (ret)
		return ret;
	pthread_mutex_lock(&pin->lock);
	ret = unmap_locked(pin, addr, len);
	pthread_mutex_unlock(&pin->lock);
	bl_pin_put(pin);
	return ret;
}
