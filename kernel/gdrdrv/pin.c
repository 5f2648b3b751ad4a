// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Life of a pin: started by a request, published as a handle, perhaps revoked, ended once.
 */
#include "core.h"

#include <linux/slab.h>

/* Calls that got pages and have not given them back. */
atomic_t bl_nr_pins = ATOMIC_INIT(0);

static void pin_free(struct kref *ref)
{
	struct bl_pin *pin = container_of(ref, struct bl_pin, ref);

	bl_runs_free(&pin->runs);
	mutex_destroy(&pin->lock);
	kfree(pin);
}

void bl_pin_ref(struct bl_pin *pin)
{
	kref_get(&pin->ref);
}

void bl_pin_unref(struct bl_pin *pin)
{
	kref_put(&pin->ref, pin_free);
}

static struct bl_pin *pin_new(struct bl_file *file, const struct bl_pin_ops *ops)
{
	struct bl_pin *pin = kzalloc(sizeof(*pin), GFP_KERNEL_ACCOUNT);

	if (!pin)
		return NULL;
	kref_init(&pin->ref);
	mutex_init(&pin->lock);
	pin->ops = ops;
	bl_watch_init_one(&pin->watch);
	pin->mapping = &file->mapping;
	return pin;
}

static void watch_no_more(struct bl_pin *pin)
{
	bl_watch_end(&pin->watch);
	bl_watch_remove(&pin->watch);
}

/* Get the pages; again when a device went meanwhile. */
static int hold(struct bl_file *file, const struct bl_pin_ops *ops, const struct bl_pin_request *req,
		struct bl_pin **pin_p)
{
	for (;;) {
		struct bl_pin *pin = pin_new(file, ops);
		int ret;

		if (!pin)
			return -ENOMEM;
		bl_watch_begin(&pin->watch);
		ret = ops->get(pin, req);
		if (!ret && bl_watch_hold(&pin->watch)) {
			*pin_p = pin;
			return 0;
		}
		watch_no_more(pin);
		if (!ret)
			ops->put(pin);
		bl_pin_unref(pin);
		if (ret)
			return ret;
	}
}

/**
 * bl_pin_start() - Hold pages and publish them as a handle
 * @file:  whose pin it will be
 * @ops:   who holds the pages
 * @req:   what to hold
 * @pin_p: receives the pin with a reference for the caller; not written on error
 *
 * From here on another thread may use and end the pin: its handle can be guessed.
 *
 * Context: may sleep.
 * Return: 0 or -errno; the error was reported.
 */
int bl_pin_start(struct bl_file *file, const struct bl_pin_ops *ops, const struct bl_pin_request *req,
		 struct bl_pin **pin_p)
{
	u64 begin = bl_platform_cycles();
	struct bl_pin *pin;
	int ret;

	ret = hold(file, ops, req, &pin);
	if (ret)
		return ret;
	pin->cycles = bl_platform_cycles() - begin;
	bl_pin_ref(pin);
	ret = bl_handle_add(file, pin);
	if (ret) {
		refuse(-ret, "pin va 0x%llx len 0x%llx: no handle for it", pin->va, pin->len);
		bl_pin_unref(pin);
		bl_pin_end(pin);
		return ret;
	}
	bl_dbg("pin va 0x%llx len 0x%llx by %s: handle 0x%llx, %zu pieces", pin->va, pin->len, ops->name,
	       pin->handle, pin->runs.nr);
	*pin_p = pin;
	return 0;
}

/**
 * bl_pin_revoke() - The provider takes the memory back
 * @pin: the pin
 *
 * On return no CPU can reach the memory through this module any more. The pin stays, as a tombstone, until it is ended.
 *
 * Context: called by the provider, with its locks held; may sleep.
 */
void bl_pin_revoke(struct bl_pin *pin)
{
	mutex_lock(&pin->lock);
	pin->freed = true;
	pin->gone = true;
	bl_mmap_zap(pin);
	mutex_unlock(&pin->lock);
	bl_dbg("va 0x%llx len 0x%llx: taken back by its owner", pin->va, pin->len);
}

/**
 * bl_pin_lose() - The device of the memory goes
 * @pin: the pin
 *
 * On return no CPU can reach the memory through this module any more.
 *
 * Context: may sleep.
 */
void bl_pin_lose(struct bl_pin *pin)
{
	mutex_lock(&pin->lock);
	pin->lost = true;
	pin->gone = true;
	bl_mmap_zap(pin);
	mutex_unlock(&pin->lock);
}

/**
 * bl_pin_end() - Give the pages back
 * @pin: a pin that is in no table any more; the table's reference is dropped
 *
 * VMAs may still exist; an access through them is SIGBUS.
 *
 * Context: may sleep, and wait for the provider.
 */
void bl_pin_end(struct bl_pin *pin)
{
	mutex_lock(&pin->lock);
	pin->gone = true;
	bl_mmap_zap(pin);
	mutex_unlock(&pin->lock);
	watch_no_more(pin);
	pin->ops->put(pin);
	bl_pin_unref(pin);
}
