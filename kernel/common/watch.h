/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * watch.h - being told of devices that go
 */
#ifndef BL_COMMON_WATCH_H
#define BL_COMMON_WATCH_H

#include <linux/list.h>
#include <linux/pci.h>
#include <linux/types.h>

/**
 * typedef bl_watch_fn - A device goes
 * @watched: all that was given to bl_watch_add(); watch_lock is held, so it stays as it is
 * @pdev:    the device
 * @last:    its driver has given it up; before, it is about to
 *
 * Context: may sleep; the driver core has a lock of the device.
 */
typedef void bl_watch_fn(const struct list_head *watched, const struct pci_dev *pdev, bool last);

unsigned long bl_watch_events(void);
bool bl_watch_add(struct list_head *watch, unsigned long events);
void bl_watch_remove(struct list_head *watch);
int bl_watch_init(bl_watch_fn *fn);
void bl_watch_exit(void);

/**
 * bl_watch_covers() - Whether bytes lie in a memory BAR
 * @pdev: the device
 * @pa:   physical address of the first byte
 * @len:  how many; not beyond the end of the address space
 *
 * Return: true if all of them lie in one.
 */
static inline bool bl_watch_covers(const struct pci_dev *pdev, u64 pa, u64 len)
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

#endif
