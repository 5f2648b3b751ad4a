// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Pins: page tables that clients have. */
#define pr_fmt(fmt) "bl_card: " fmt
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "card.h"

DEFINE_HASHTABLE(bl_pins, BL_PIN_BITS);
struct task_struct *bl_caller;

static u64 last_id;
static u64 soon_id; /* pin that is to be revoked soon */

static void revoke_soon(struct work_struct *work);
static DECLARE_WORK(soon_work, revoke_soon);

/*
 * Of exactly the size that its version has, so that a debug kernel sees a client read the flags of
 * a table that has none.
 */
static struct nvidia_p2p_page_table *table_new(u32 entries)
{
	u32 version = READ_ONCE(bl_knobs.page_table_version);
	bool has_flags = version >> 16 >= 2;
	struct nvidia_p2p_page_table *table;

	table = kzalloc(has_flags ? sizeof(*table) : offsetof(struct nvidia_p2p_page_table, flags),
			GFP_KERNEL);
	if (!table)
		return NULL;
	table->version = version;
	table->page_size = READ_ONCE(bl_knobs.page_size);
	table->entries = entries;
	table->gpu_uuid = bl_card->uuid;
	if (has_flags && READ_ONCE(bl_knobs.cacheable))
		table->flags = NVIDIA_P2P_PAGE_TABLE_CPU_CACHEABLE;
	table->pages = kvmalloc_array(entries, sizeof(*table->pages), GFP_KERNEL);
	if (!table->pages) {
		kfree(table);
		return NULL;
	}
	return table;
}

static void fill(struct bl_pin *pin)
{
	for (u32 i = 0; i < pin->table->entries; i++) {
		pin->pages[i].physical_address = pin->pa + (u64)i * BL_CARD_PAGE_SIZE;
		pin->table->pages[i] = &pin->pages[i];
	}
}

static void pin_free(struct bl_pin *pin)
{
	kvfree(pin->table->pages);
	kfree(pin->table);
	kvfree(pin->pages);
	kref_put(&pin->card->ref, bl_card_release);
	kfree(pin);
}

/*
 * @want: va, len, token, va_space, flags, callback, data. Without a callback the pin keeps the
 * storage.
 */
int bl_pin_new(struct bl_binding *binding, const struct bl_pin *want, struct bl_pin **pin_p)
{
	struct bl_mem *mem = binding->mem;
	u32 entries = want->len / BL_CARD_PAGE_SIZE;
	struct bl_pin *pin = kmemdup(want, sizeof(*want), GFP_KERNEL);

	if (!pin)
		return -ENOMEM;
	pin->pages = kvcalloc(entries, sizeof(*pin->pages), GFP_KERNEL);
	if (!pin->pages)
		goto free_pin;
	pin->table = table_new(entries);
	if (!pin->table)
		goto free_pages;
	INIT_LIST_HEAD(&pin->maps);
	pin->pa = bl_block_pa(bl_card, mem->block) + binding->off + (want->va - binding->va);
	fill(pin);
	kref_get(&bl_card->ref);
	pin->card = bl_card;
	if (pin->callback) {
		list_add_tail(&pin->node, &binding->pins);
	} else {
		bl_mem_hold(mem);
		pin->mem = mem;
		bl_card->counts.persistent++;
	}
	pin->id = ++last_id;
	hash_add(bl_pins, &pin->by_table, (unsigned long)pin->table);
	bl_card->counts.pins++;
	bl_card->counts.gets++;
	*pin_p = pin;
	return 0;
free_pages:
	kvfree(pin->pages);
free_pin:
	kfree(pin);
	return -ENOMEM;
}

/* Clients may pass what is no table any more: the address is compared and never followed. */
struct bl_pin *bl_pin_find(const struct nvidia_p2p_page_table *table)
{
	struct bl_pin *pin;

	hash_for_each_possible(bl_pins, pin, by_table, (unsigned long)table) {
		if (pin->table == table)
			return pin;
	}
	return NULL;
}

void bl_pin_remove(struct bl_pin *pin)
{
	struct bl_mem *mem = pin->mem;

	bl_dma_unmap_all(pin);
	hash_del(&pin->by_table);
	pin->card->counts.pins--;
	if (mem)
		pin->card->counts.persistent--;
	else
		list_del(&pin->node);
	pin_free(pin);
	if (mem)
		bl_mem_drop(mem);
}

/* In the callback the table can still be read; when it returns, the table is gone. */
void bl_pin_revoke(struct bl_pin *pin)
{
	struct bl_card *card = pin->card;

	bl_knob_delay(&bl_knobs.delay_callback_ms);
	WRITE_ONCE(bl_caller, current);
	pin->callback(pin->data);
	WRITE_ONCE(bl_caller, NULL);
	card->counts.callbacks++;
	bl_pin_remove(pin);
}

void bl_pins_revoke(struct bl_binding *binding, u64 va, u64 len)
{
	struct bl_pin *pin, *next;

	list_for_each_entry_safe(pin, next, &binding->pins, node) {
		if (pin->va < va + len && va < pin->va + pin->len)
			bl_pin_revoke(pin);
	}
}

/* Persistent ones cannot be. */
void bl_pins_revoke_all(void)
{
	struct hlist_node *next;
	struct bl_pin *pin;
	int bucket;

	hash_for_each_safe(bl_pins, bucket, next, pin, by_table) {
		if (pin->callback)
			bl_pin_revoke(pin);
	}
}

static void revoke_soon(struct work_struct *work)
{
	struct bl_pin *pin, *found = NULL;
	int bucket;

	mutex_lock(&bl_rm);
	hash_for_each(bl_pins, bucket, pin, by_table) {
		if (pin->id == soon_id)
			found = pin;
	}
	if (found)
		bl_pin_revoke(found);
	mutex_unlock(&bl_rm);
}

/* By another task, as an owner that frees is one: the client may hold what its callback takes. */
void bl_pin_revoke_soon(const struct bl_pin *pin)
{
	soon_id = pin->id;
	schedule_work(&soon_work);
}

void bl_pin_flush(void)
{
	flush_work(&soon_work);
}
