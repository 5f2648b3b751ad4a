// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Devices that go: unbound from their driver, removed, or unplugged. No provider tells the holder of a persistent pin,
 * and the addresses may be another device's the next moment. So the driver core is listened to.
 *
 * A driver gives up its device between two notices. Before the first one its pins are good. From the second one on it
 * gives no pages any more. Pins that exist at either are told of; a get that began before the second one and ends after
 * it is done again.
 *
 * Pages are got and given back far more often than a device goes, and often by one that has done so before. So one
 * stays in the list meanwhile, and what it does is said by its state, without the lock.
 */
#include "watch.h"

#include <linux/device/bus.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci.h>

static DEFINE_MUTEX(watch_lock);
static LIST_HEAD(watched);
static bl_watch_fn *tell;
/* drivers that have given up a device, and one: 0 is nobody's count */
static unsigned long nr_gone = 1;

static int device_event(struct notifier_block *block, unsigned long event, void *data)
{
	const struct pci_dev *pdev = to_pci_dev((struct device *)data);
	bool last = event == BUS_NOTIFY_UNBOUND_DRIVER;
	struct bl_watch *watch;

	if (event != BUS_NOTIFY_UNBIND_DRIVER && event != BUS_NOTIFY_UNBOUND_DRIVER)
		return NOTIFY_DONE;
	mutex_lock(&watch_lock);
	if (last)
		smp_store_release(&nr_gone, nr_gone + 1);
	/* pairs with bl_watch_begin(): a get that is not seen here is served by what comes after the driver */
	smp_mb();
	list_for_each_entry(watch, &watched, node) {
		if (last)
			atomic_cmpxchg(&watch->state, BL_WATCH_GET, BL_WATCH_AGAIN);
		atomic_cmpxchg(&watch->state, BL_WATCH_HOLD, BL_WATCH_TOLD);
	}
	tell(&watched, pdev, last);
	list_for_each_entry(watch, &watched, node)
		atomic_cmpxchg(&watch->state, BL_WATCH_TOLD, BL_WATCH_HOLD);
	mutex_unlock(&watch_lock);
	return NOTIFY_OK;
}

static struct notifier_block device_block = {
	.notifier_call = device_event,
};

/**
 * bl_watch_events() - Read the count of devices that went
 *
 * Return: the count; never 0.
 */
unsigned long bl_watch_events(void)
{
	/* the count first, then what is asked about devices */
	return smp_load_acquire(&nr_gone);
}

/**
 * bl_watch_init_one() - Make one that is not told
 * @watch: it
 */
void bl_watch_init_one(struct bl_watch *watch)
{
	INIT_LIST_HEAD(&watch->node);
	atomic_set(&watch->state, BL_WATCH_NONE);
}

/**
 * bl_watch_add() - Put one into the list, for bl_watch_begin()
 * @watch: one that is not there
 *
 * Context: may sleep.
 */
void bl_watch_add(struct bl_watch *watch)
{
	mutex_lock(&watch_lock);
	list_add(&watch->node, &watched);
	mutex_unlock(&watch_lock);
}

/**
 * bl_watch_end_slow() - One that is told just now, or that had no pages, is told no more, for bl_watch_end()
 * @watch: it
 *
 * Context: may sleep, and wait for a bl_watch_fn.
 */
void bl_watch_end_slow(struct bl_watch *watch)
{
	mutex_lock(&watch_lock);
	atomic_set(&watch->state, BL_WATCH_NONE);
	mutex_unlock(&watch_lock);
}

/**
 * bl_watch_remove() - Forget one
 * @watch: one that has no pages, or was never used
 *
 * Context: may sleep.
 */
void bl_watch_remove(struct bl_watch *watch)
{
	if (list_empty(&watch->node))
		return;
	mutex_lock(&watch_lock);
	list_del_init(&watch->node);
	mutex_unlock(&watch_lock);
}

/**
 * bl_watch_init() - Begin to listen
 * @fn: called at each notice
 *
 * Return: 0 or -errno.
 */
int bl_watch_init(bl_watch_fn *fn)
{
	tell = fn;
	return bus_register_notifier(&pci_bus_type, &device_block);
}

/**
 * bl_watch_exit() - Listen no more
 */
void bl_watch_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &device_block);
}
