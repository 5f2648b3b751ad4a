// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * NVIDIA's kernel interface for peers: pages. Behaviour is that of the open modules of branch 580.
 */
#define pr_fmt(fmt) "bl_card: " fmt
#include <linux/build_bug.h>
#include <linux/export.h>
#include <linux/overflow.h>
#include <linux/sched.h>

#include "card.h"

static_assert(sizeof(struct nvidia_p2p_page) == 32);
static_assert(sizeof(struct nvidia_p2p_page_table) == 40);
static_assert(offsetof(struct nvidia_p2p_page_table, page_size) == 4);
static_assert(offsetof(struct nvidia_p2p_page_table, pages) == 8);
static_assert(offsetof(struct nvidia_p2p_page_table, entries) == 16);
static_assert(offsetof(struct nvidia_p2p_page_table, gpu_uuid) == 24);
static_assert(offsetof(struct nvidia_p2p_page_table, flags) == 32);
static_assert(sizeof(struct nvidia_p2p_dma_mapping) == 40);
static_assert(offsetof(struct nvidia_p2p_dma_mapping, page_size_type) == 4);
static_assert(offsetof(struct nvidia_p2p_dma_mapping, entries) == 8);
static_assert(offsetof(struct nvidia_p2p_dma_mapping, dma_addresses) == 16);
static_assert(offsetof(struct nvidia_p2p_dma_mapping, pci_dev) == 32);

/* A callback runs with the driver's lock held: a real driver would wait for itself here. */
bool bl_p2p_forbidden(const char *function)
{
	if (READ_ONCE(bl_caller) != current)
		return false;
	pr_err("%s called from a free callback, where the driver would wait for itself\n",
	       function);
	if (bl_card)
		bl_card->counts.misuses++;
	return true;
}

static int check_range(u64 va, u64 len)
{
	u64 end;

	if (!va || !len || (va | len) & (BL_CARD_PAGE_SIZE - 1) ||
	    check_add_overflow(va, len, &end))
		return -EINVAL;
	return len / BL_CARD_PAGE_SIZE <= U32_MAX ? 0 : -EINVAL;
}

static int get_locked(const struct bl_pin *want, struct nvidia_p2p_page_table **table_p)
{
	struct bl_binding *binding;
	struct bl_pin *pin;
	int ret;

	if (!bl_card)
		return -ENODEV;
	ret = bl_knob_fail(&bl_knobs.fail_get);
	if (ret)
		return ret;
	binding = bl_binding_find(want->token, want->va_space, want->va, want->len);
	if (!binding)
		return -EINVAL;
	ret = bl_pin_new(binding, want, &pin);
	if (ret)
		return ret;
	*table_p = pin->table;
	if (pin->callback && bl_knob_fires(&bl_knobs.revoke_get))
		bl_pin_revoke_soon(pin);
	return 0;
}

static int get(const struct bl_pin *want, struct nvidia_p2p_page_table **table_p)
{
	int ret;

	if (!table_p)
		return -EINVAL;
	ret = check_range(want->va, want->len);
	if (ret)
		return ret;
	might_sleep();
	bl_knob_delay(&bl_knobs.delay_get_ms);
	mutex_lock(&bl_rm);
	ret = get_locked(want, table_p);
	mutex_unlock(&bl_rm);
	return ret;
}

/**
 * nvidia_p2p_get_pages() - Pin a range until it is put or its owner frees it
 * @p2p_token:     names an address space of the calling process; 0: all that it has
 * @va_space:      goes with the token
 * @va:            GPU address, multiple of 64 KiB
 * @length:        bytes, multiple of 64 KiB
 * @table_p:       receives the page table
 * @free_callback: called when the memory goes; must stop all use of the pages before it returns
 * @data:          for the callback
 *
 * Context: may sleep; not from a free callback.
 * Return: 0, or -EINVAL (arguments, another process' token, or not one object's memory), -ENOMEM,
 * -ENODEV (no card).
 */
int nvidia_p2p_get_pages(u64 p2p_token, u32 va_space, u64 va, u64 length,
			 struct nvidia_p2p_page_table **table_p, void (*free_callback)(void *data),
			 void *data)
{
	struct bl_pin want = {
		.va = va,
		.len = length,
		.token = p2p_token,
		.va_space = va_space,
		.callback = free_callback,
		.data = data,
	};

	if (bl_p2p_forbidden(__func__) || !free_callback)
		return -EINVAL;
	return get(&want, table_p);
}
EXPORT_SYMBOL_GPL(nvidia_p2p_get_pages);

/**
 * nvidia_p2p_get_pages_persistent() - Pin a range until it is put, whatever its owner does
 * @va:      GPU address in the calling process, multiple of 64 KiB
 * @length:  bytes, multiple of 64 KiB
 * @table_p: receives the page table
 * @flags:   0 or NVIDIA_P2P_FLAGS_FORCE_BAR1_MAPPING
 *
 * Context: may sleep; not from a free callback.
 * Return: as nvidia_p2p_get_pages(), or -ENOTSUPP when the knobs say that the driver cannot.
 */
int nvidia_p2p_get_pages_persistent(u64 va, u64 length, struct nvidia_p2p_page_table **table_p,
				    u32 flags)
{
	struct bl_pin want = {.va = va, .len = length, .flags = flags};

	if (bl_p2p_forbidden(__func__) || flags & ~NVIDIA_P2P_FLAGS_FORCE_BAR1_MAPPING)
		return -EINVAL;
	if (!READ_ONCE(bl_knobs.persistent) || (flags && !READ_ONCE(bl_knobs.force_bar1)))
		return -ENOTSUPP;
	return get(&want, table_p);
}
EXPORT_SYMBOL_GPL(nvidia_p2p_get_pages_persistent);

static int misuse(const char *what, u64 va)
{
	pr_err("%s, va 0x%llx\n", what, va);
	if (bl_card)
		bl_card->counts.misuses++;
	return -EINVAL;
}

/* The table of a pin that was called back is no error, since the client cannot know in time. */
static int put_locked(const struct nvidia_p2p_page_table *table, u64 va, bool persistent)
{
	struct bl_pin *pin = bl_pin_find(table);

	if (!pin && persistent)
		return misuse("put of what is no persistent page table", va);
	if (!pin) {
		if (bl_card)
			bl_card->counts.late_puts++;
		return 0;
	}
	if (persistent != !pin->callback)
		return misuse("put with the wrong one of the two functions", va);
	if (pin->va != va)
		return misuse("put of another range's page table", va);
	pin->card->counts.puts++;
	bl_pin_remove(pin);
	return 0;
}

static int put(const struct nvidia_p2p_page_table *table, u64 va, bool persistent)
{
	int ret;

	if (!table)
		return 0;
	might_sleep();
	bl_knob_delay(&bl_knobs.delay_put_ms);
	mutex_lock(&bl_rm);
	ret = put_locked(table, va, persistent);
	mutex_unlock(&bl_rm);
	return ret;
}

/**
 * nvidia_p2p_put_pages() - Give a page table back
 * @p2p_token: as given to get
 * @va_space:  as given to get
 * @va:        as given to get
 * @table:     the table; NULL, or one that was called back, is no error
 *
 * Context: may sleep; waits for a callback that runs; not from one.
 * Return: 0, or -EINVAL.
 */
int nvidia_p2p_put_pages(u64 p2p_token, u32 va_space, u64 va, struct nvidia_p2p_page_table *table)
{
	return bl_p2p_forbidden(__func__) ? -EINVAL : put(table, va, false);
}
EXPORT_SYMBOL_GPL(nvidia_p2p_put_pages);

/**
 * nvidia_p2p_put_pages_persistent() - Give a persistent page table back
 * @va:    as given to get
 * @table: the table, or NULL
 * @flags: 0
 *
 * Context: may sleep; not from a free callback.
 * Return: 0, or -EINVAL.
 */
int nvidia_p2p_put_pages_persistent(u64 va, struct nvidia_p2p_page_table *table, u32 flags)
{
	return bl_p2p_forbidden(__func__) || flags ? -EINVAL : put(table, va, true);
}
EXPORT_SYMBOL_GPL(nvidia_p2p_put_pages_persistent);

/**
 * nvidia_p2p_free_page_table() - What a callback calls; the driver frees the table itself when the
 * callback returns
 * @table: the table
 *
 * Return: 0.
 */
int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *table)
{
	return 0;
}
EXPORT_SYMBOL_GPL(nvidia_p2p_free_page_table);

/**
 * nvidia_p2p_init_mapping() - Of an interface that no driver serves any more
 * @p2p_token: unused
 * @gpu_uuid:  unused
 * @thread_id: unused
 * @map:       unused
 * @unmap:     unused
 * @data:      unused
 *
 * Return: -ENOTSUPP.
 */
int nvidia_p2p_init_mapping(u64 p2p_token, char *gpu_uuid, u64 thread_id, u64 map, u64 unmap,
			    void *data)
{
	return -ENOTSUPP;
}
EXPORT_SYMBOL_GPL(nvidia_p2p_init_mapping);

/**
 * nvidia_p2p_destroy_mapping() - Of an interface that no driver serves any more
 * @p2p_token: unused
 *
 * Return: -ENOTSUPP.
 */
int nvidia_p2p_destroy_mapping(u64 p2p_token)
{
	return -ENOTSUPP;
}
EXPORT_SYMBOL_GPL(nvidia_p2p_destroy_mapping);
