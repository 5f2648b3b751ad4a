/* SPDX-License-Identifier: MIT */
/*
 * hotplug.h - ways in which the emulated card goes, and comes back
 */
#ifndef BL_TESTS_KERNEL_HOTPLUG_H
#define BL_TESTS_KERNEL_HOTPLUG_H

#include <stdbool.h>

/* Learns where the card is; its driver is loaded. */
void card_locate(int gpu);

/**
 * struct way - how the card goes
 * @take: it goes; on return its driver has let go of it
 * @give: it comes back; on return its driver has it
 */
struct way {
	void (*take)(void);
	void (*give)(void);
};

/* The driver is unbound; the device is removed from its bus by hand. */
extern const struct way way_unbind;
extern const struct way way_remove;

/*
 * The emulator is asked to unplug it, and the kernel is asked before it does. And: the port cuts the power, so that the
 * device is away before any driver knows. A kernel that does not watch its slots is told by hand, afterwards.
 */
extern const struct way way_unplug;
extern const struct way way_surprise;

/* Whether the kernel watches its slots, and the guest has the time for it. */
bool slots_are_watched(void);

#endif
