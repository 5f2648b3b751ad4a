// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Devices that go: unbound from their driver, removed, or unplugged. No provider tells the holder of a persistent pin,
 * and the addresses may be another device's the next moment. So the driver core is listened to.
 *
 * A driver gives up its device between two notices. Before the first one its pins are good. From the second one on it
 * gives no pages any more. Pins that exist at either are told of; a get that began before the second one and ends after
 * it is found out by the count of events, and done again.
 */
#include "watch.h"

#include <linux/device/bus.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci.h>

static DEFINE_MUTEX(watch_lock);
static LIST_HEAD(watched);
static bl_watch_fn *tell;
/* drivers that have given up a device, and one: 0 is no count of anybody's */
static unsigned long nr_gone = 1;

static int device_event(struct notifier_block *block, unsigned long event, void *data)
{
	const struct pci_dev *pdev = to_pci_dev((struct device *)data);

	if (event != BUS_NOTIFY_UNBIND_DRIVER && event != BUS_NOTIFY_UNBOUND_DRIVER)
		return NOTIFY_DONE;
	mutex_lock(&watch_lock);
	/* pairs with bl_watch_events(): a get that reads the new count is served by what comes after the driver */
	if (event == BUS_NOTIFY_UNBOUND_DRIVER)
		smp_store_release(&nr_gone, nr_gone + 1);
	tell(&watched, pdev, event == BUS_NOTIFY_UNBOUND_DRIVER);
	mutex_unlock(&watch_lock);
	return NOTIFY_OK;
}

static struct notifier_block device_block = {
	.notifier_call = device_event,
};

/**
 * bl_watch_events() - Read the count of devices that went
 *
 * Return: what bl_watch_add() wants to know; never 0.
 */
unsigned long bl_watch_events(void)
{
	/* the count first, then all of the get */
	return smp_load_acquire(&nr_gone);
}

/**
 * bl_watch_add() - Be told when a device goes
 * @watch:  in what holds its pages; bl_watch_fn finds it
 * @events: bl_watch_events() from before it got them
 *
 * Return: true, or false when a device went meanwhile, perhaps its own: then the pages must be given back.
 */
bool bl_watch_add(struct list_head *watch, unsigned long events)
{
	bool same;

	mutex_lock(&watch_lock);
	same = nr_gone == events;
	if (same)
		list_add(watch, &watched);
	mutex_unlock(&watch_lock);
	return same;
}

/**
 * bl_watch_remove() - Undo bl_watch_add()
 * @watch: what was given to it
 */
void bl_watch_remove(struct list_head *watch)
{
	mutex_lock(&watch_lock);
	list_del(watch);
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
