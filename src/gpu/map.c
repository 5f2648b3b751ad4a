// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/map: " fmt
#include "core.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "batch.h"
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
	atomic_fetch_add(&maps_of_type[type], change);
	count_types();
}

void bl_maps_forget(void)
{
	for (int type = 0; type < NR_MAP_TYPES; type++)
		atomic_store(&maps_of_type[type], 0);
	atomic_store(&writes_noted, false);
	count_types();
}

/* What is mapped, and for whom. */
enum want { WHOLE, WHOLE_FOR_EDGE, BYTE, OWN };

/* How far into the mapping the address lies that the caller gets. */
static int check_start(const struct bl_pin *pin, enum want want, size_t *shown_p)
{
	*shown_p = 0;
	if (want != BYTE && want != OWN)
		return pin->page_off ? fail(EINVAL,
					    "map va 0x%" PRIx64 ": the pinned address lies 0x%" PRIx64
					    " bytes into its page; pin from the start of a page to map it",
					    pin->asked, pin->page_off) :
				       0;
	if (pin->page_off && pin->ops->from_page)
		return fail(EOPNOTSUPP,
			    "map va 0x%" PRIx64 ": provider %s maps no range whose pinned address, as this one, lies 0x%"
			    PRIx64 " bytes into its page; pin from the start of the page",
			    pin->asked, pin->ops->name, pin->page_off);
	if (pin->asked < pin->backing.va || pin->asked - pin->backing.va >= pin->backing.len)
		return fail(EPROTO, "map va 0x%" PRIx64 ": the driver pinned va 0x%" PRIx64 " len 0x%" PRIx64,
			    pin->asked, pin->backing.va, pin->backing.len);
	*shown_p = pin->asked - pin->backing.va;
	return 0;
}

static int check_map(const struct bl_pin *pin, size_t len, int type, enum want want, size_t *shown_p)
{
	int ret;

	if (pin->dead)
		return fail(EINVAL, "map: unpinned already");
	if (pin->mapping.addr)
		return fail(EAGAIN, "map va 0x%" PRIx64 ": mapped already, unmap it first", pin->backing.va);
	if (type < BL_MAP_NONE || type >= NR_MAP_TYPES)
		return fail(EINVAL, "map va 0x%" PRIx64 ": no mapping type %d", pin->backing.va, type);
	ret = check_start(pin, want, shown_p);
	if (ret)
		return ret;
	if (!len || len > pin->backing.len - *shown_p)
		return fail(EINVAL, "map va 0x%" PRIx64 " len 0x%zx: the pin has 0x%" PRIx64 " bytes from there",
			    pin->backing.va + *shown_p, len, pin->backing.len - *shown_p);
	return 0;
}

static int map_locked(struct bl_pin *pin, size_t len, int type, enum want want, void **addr_p)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), shown = 0;
	struct bl_mapping mapping = { .type = (enum bl_map_type)type };
	const struct bl_cpu_copy *copy;
	int ret;

	ret = check_map(pin, len, type, want, &shown);
	if (ret)
		return ret;
	mapping.len = (shown + len + page - 1) & ~(page - 1);
	/* whoever comes from GDRCopy knows an address for each handle */
	ret = bl_share_map(pin, want == WHOLE_FOR_EDGE, &mapping);
	if (ret)
		return ret;
	pin->mapping = mapping;
	pin->shown = shown;
	pin->cpu = bl_cpu_copy_select(mapping.type);
	copy = want == WHOLE_FOR_EDGE ? bl_edge_select(pin->id, &mapping, pin->cpu) : pin->cpu;
	bl_table_lock();
	bl_maps_count(mapping.type, 1);
	bl_view_show(pin->id, mapping.addr, mapping.len, copy);
	bl_table_unlock();
	*addr_p = (char *)mapping.addr + shown;
	return 0;
}

static int map_pin(bl_ctx_t ctx_id, bl_pin_t id, size_t len, enum bl_map_type type, enum want want, void **addr_p)
{
	struct bl_pin *pin = NULL;
	int ret;

	if (!addr_p)
		return fail(EINVAL, "map: no place for the address");
	ret = bl_pin_get(ctx_id, id, &pin);
	if (ret)
		return ret;
	pthread_mutex_lock(&pin->lock);
	ret = map_locked(pin, len, (int)type, want, addr_p);
	pthread_mutex_unlock(&pin->lock);
	if (!ret && want != OWN)
		bl_engine_mapped(pin);
	bl_pin_put(pin);
	return ret;
}

int bl_map_own(bl_ctx_t ctx_id, bl_pin_t id, size_t len, void **addr_p)
{
	return map_pin(ctx_id, id, len, BL_MAP_NONE, OWN, addr_p);
}

int bl_map(bl_ctx_t ctx_id, bl_pin_t id, size_t len, enum bl_map_type type, void **addr_p)
{
	return map_pin(ctx_id, id, len, type, WHOLE, addr_p);
}

int bl_map_byte(bl_ctx_t ctx_id, bl_pin_t id, size_t len, enum bl_map_type type, void **addr_p)
{
	return map_pin(ctx_id, id, len, type, BYTE, addr_p);
}

int bl_map_for_edge(bl_ctx_t ctx_id, bl_pin_t id, size_t len, enum bl_map_type type, void **addr_p)
{
	return map_pin(ctx_id, id, len, type, WHOLE_FOR_EDGE, addr_p);
}

static int unmap_locked(struct bl_pin *pin, const void *addr, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct bl_mapping mapping = pin->mapping;
	const char *given;

	if (pin->dead || !mapping.addr)
		return fail(EINVAL, "unmap va 0x%" PRIx64 ": not mapped", pin->backing.va);
	given = (const char *)mapping.addr + pin->shown;
	if (addr != given || !len || len > mapping.len - pin->shown ||
	    ((pin->shown + len + page - 1) & ~(page - 1)) != mapping.len)
		return fail(EINVAL, "unmap addr %p len 0x%zx: the mapping is addr %p len 0x%zx, and goes as a whole",
			    addr, len, (const void *)given, mapping.len - pin->shown);
	bl_table_lock();
	bl_view_hide(pin->id);
	bl_maps_count(mapping.type, -1);
	bl_table_unlock();
	bl_edge_drop(mapping.addr);
	pin->mapping = (struct bl_mapping){ 0 };
	return bl_share_unmap(pin, &mapping);
}

int bl_unmap(bl_ctx_t ctx_id, bl_pin_t id, void *addr, size_t len)
{
	struct bl_pin *pin = NULL;
	int ret;

	ret = bl_pin_get(ctx_id, id, &pin);
	if (ret)
		return ret;
	ret = bl_batch_pin_lock(pin);
	if (!ret) {
		ret = unmap_locked(pin, addr, len);
		pthread_mutex_unlock(&pin->lock);
	}
	bl_pin_put(pin);
	return ret;
}
