/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * watch.h - being told of devices that go
 */
#ifndef BL_COMMON_WATCH_H
#define BL_COMMON_WATCH_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/pci.h>
#include <linux/types.h>

/**
 * struct bl_watch - what is told, in something that holds pages of a GPU
 * @node:  in the list of all
 * @state: enum bl_watch_state
 */
struct bl_watch {
	struct list_head node;
	atomic_t state;
};

/**
 * enum bl_watch_state - whether there are pages
 * @BL_WATCH_NONE:  no
 * @BL_WATCH_GET:   they are being got
 * @BL_WATCH_AGAIN: the same, and a device has gone since: perhaps theirs
 * @BL_WATCH_HOLD:  yes
 * @BL_WATCH_TOLD:  yes, and a bl_watch_fn is called, or about to be, which they stay for
 */
enum bl_watch_state { BL_WATCH_NONE, BL_WATCH_GET, BL_WATCH_AGAIN, BL_WATCH_HOLD, BL_WATCH_TOLD };

/* For each bl_watch that is to be told, inside of a bl_watch_fn */
#define bl_watch_for_each(watch, watched)                                                          \
	list_for_each_entry(watch, watched, node)                                                  \
		if (atomic_read(&(watch)->state) != BL_WATCH_TOLD) {                               \
		} else

/**
 * typedef bl_watch_fn - A device goes
 * @watched: for bl_watch_for_each(); watch_lock is held, so those that are told stay as they are
 * @pdev:    the device
 * @last:    its driver has given it up; before, it is about to
 *
 * Context: may sleep; the driver core has a lock of the device.
 */
typedef void bl_watch_fn(const struct list_head *watched, const struct pci_dev *pdev, bool last);

unsigned long bl_watch_events(void);
void bl_watch_init_one(struct bl_watch *watch);
void bl_watch_add(struct bl_watch *watch);
void bl_watch_end_slow(struct bl_watch *watch);
void bl_watch_remove(struct bl_watch *watch);
int bl_watch_init(bl_watch_fn *fn);
void bl_watch_exit(void);

/**
 * bl_watch_begin() - Pages will be got
 * @watch: one that has none
 *
 * Context: may sleep.
 */
static inline void bl_watch_begin(struct bl_watch *watch)
{
	if (list_empty(&watch->node))
		bl_watch_add(watch);
	/* the state first, then the get: when a driver goes either this is seen, or the get sees that it has gone */
	atomic_xchg(&watch->state, BL_WATCH_GET);
}

/**
 * bl_watch_hold() - Pages were got: be told when a device goes
 * @watch: after bl_watch_begin()
 *
 * Return: true, or false when a device went meanwhile, perhaps theirs: then bl_watch_end() is due, and they must be
 * given back.
 */
static inline bool bl_watch_hold(struct bl_watch *watch)
{
	return atomic_cmpxchg(&watch->state, BL_WATCH_GET, BL_WATCH_HOLD) == BL_WATCH_GET;
}

/**
 * bl_watch_end() - Be told no more
 * @watch: after bl_watch_begin(), whatever came of it
 *
 * On return no bl_watch_fn looks at it.
 *
 * Context: may sleep, and wait for a bl_watch_fn.
 */
static inline void bl_watch_end(struct bl_watch *watch)
{
	if (atomic_cmpxchg(&watch->state, BL_WATCH_HOLD, BL_WATCH_NONE) != BL_WATCH_HOLD)
		bl_watch_end_slow(watch);
}

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
