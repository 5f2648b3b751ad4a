// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Devices that go: pins whose pages lie on one lose their mappings, at either notice of common/watch.c.
 */
#include "core.h"

#include <linux/pci.h>

static bool lies_on(const struct bl_pin *pin, const struct pci_dev *pdev)
{
	size_t i;

	for (i = 0; i < pin->runs.nr; i++) {
		if (bl_watch_covers(pdev, pin->runs.run[i].pa, pin->runs.run[i].len))
			return true;
	}
	return false;
}

/**
 * bl_device_lose() - A device goes
 * @watched: struct bl_pin by @watch
 * @pdev:    the device
 * @last:    its driver has given it up
 */
void bl_device_lose(const struct list_head *watched, const struct pci_dev *pdev, bool last)
{
	struct bl_watch *watch;

	bl_watch_for_each(watch, watched) {
		struct bl_pin *pin = container_of(watch, struct bl_pin, watch);

		if (!lies_on(pin, pdev))
			continue;
		pr_warn_ratelimited("va 0x%llx len 0x%llx: its device %s goes, and can be reached no more\n",
				    pin->va, pin->len, pci_name(pdev));
		bl_pin_lose(pin);
	}
}
