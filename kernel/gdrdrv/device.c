// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Devices that go: unbound from their driver, removed, or unplugged. No provider tells the holder of a persistent pin, and
 * the addresses may be another device's the next moment. So the driver core is listened to, and pins on a device that
 * goes lose their mappings.
 *
 * A driver gives up its device between two notices. Before the first one its pins are good. From the second one on it gives
 * no pages any more. Pins that exist at either lose their mappings; a get that began before the second one and ends after
 * it is found out by the count of events, and done again.
 */
#include "core.h"

#include <linux/device/bus.h>
#include <linux/notifier.h>
#include <linux/pci.h>

static DEFINE_MUTEX(watch_lock);
static LIST_HEAD(watched);
/* drivers that have given up a device */
static unsigned long nr_gone;

/**
 * bl_device_has() - Whether bytes lie in a memory BAR
 * @pdev: the device
 * @pa:   physical address of the first byte
 * @len:  how many; not beyond the end of the address space
 *
 * Return: true if all of them lie in one.
 */
bool bl_device_has(const struct pci_dev *pdev, phys_addr_t pa, u64 len)
{
	int i;

	for (i = 0; i < PCI_STD_NUM_BARS; i++) {
		const struct resource *res = &pdev->resource[i];

		if (resource_type(res) == IORESOURCE_MEM && resource_size(res) && res->start <= pa &&
		    pa + len - 1 <= res->end)
			return true;
	}
	return false;
}

static bool lies_on(const struct bl_pin *pin, const struct pci_dev *pdev)
{
	size_t i;

	for (i = 0; i < pin->runs.nr; i++) {
		if (bl_device_has(pdev, pin->runs.run[i].pa, pin->runs.run[i].len))
			return true;
	}
	return false;
}

static int device_event(struct notifier_block *block, unsigned long event, void *data)
{
	const struct pci_dev *pdev = to_pci_dev((struct device *)data);
	struct bl_pin *pin;

	if (event != BUS_NOTIFY_UNBIND_DRIVER && event != BUS_NOTIFY_UNBOUND_DRIVER)
		return NOTIFY_DONE;
	mutex_lock(&watch_lock);
	/* pairs with bl_device_events(): a get that reads the new count is served by what comes after the driver */
	if (event == BUS_NOTIFY_UNBOUND_DRIVER)
		smp_store_release(&nr_gone, nr_gone + 1);
	list_for_each_entry(pin, &watched, watch) {
		if (!lies_on(pin, pdev))
			continue;
		pr_warn_ratelimited("va 0x%llx len 0x%llx: its device %s goes, and can be reached no more\n",
				    pin->va, pin->len, pci_name(pdev));
		bl_pin_lose(pin);
	}
	mutex_unlock(&watch_lock);
	return NOTIFY_OK;
}

static struct notifier_block device_block = {
	.notifier_call = device_event,
};

/**
 * bl_device_events() - Read the count of devices that went
 *
 * Return: what bl_device_watch() wants to know.
 */
unsigned long bl_device_events(void)
{
	/* the count first, then all of ops->get */
	return smp_load_acquire(&nr_gone);
}

/**
 * bl_device_watch() - Have a pin lose its mappings when its device goes
 * @pin:    a pin that holds its pages
 * @events: bl_device_events() from before it got them
 *
 * Return: true, or false when a device went meanwhile, perhaps this one: then the pages must be given back.
 */
bool bl_device_watch(struct bl_pin *pin, unsigned long events)
{
	bool same;

	mutex_lock(&watch_lock);
	same = nr_gone == events;
	if (same)
		list_add(&pin->watch, &watched);
	mutex_unlock(&watch_lock);
	return same;
}

/**
 * bl_device_unwatch() - Undo bl_device_watch()
 * @pin: a pin that is gone
 */
void bl_device_unwatch(struct bl_pin *pin)
{
	mutex_lock(&watch_lock);
	list_del(&pin->watch);
	mutex_unlock(&watch_lock);
}

/**
 * bl_device_init() - Begin to listen
 *
 * Return: 0 or -errno.
 */
int bl_device_init(void)
{
	return bus_register_notifier(&pci_bus_type, &device_block);
}

/**
 * bl_device_exit() - Listen no more
 */
void bl_device_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &device_block);
}
