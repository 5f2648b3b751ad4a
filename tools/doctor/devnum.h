/* SPDX-License-Identifier: MIT */
/* devnum.h - number that the kernel gave a module's device node */
#ifndef TOOLS_DOCTOR_DEVNUM_H
#define TOOLS_DOCTOR_DEVNUM_H

#include "common/tree.h"

struct doctor_devnum {
	unsigned int major;
	unsigned int minor;
};

/* The number in a text such as "240:0". Return: 0, or -EINVAL with *devnum as it was. */
int doctor_devnum_parse(const char *text, struct doctor_devnum *devnum);

/**
 * doctor_devnum_major() - Find the major number of a character device
 * @text: text of /proc/devices
 * @name: of the driver
 *
 * Return: the number, or -ENOENT.
 */
int doctor_devnum_major(const char *text, const char *name);

/* Number of /dev/gdrdrv, by its device in /sys/class or by /proc/devices. Return: 0 or -ENOENT. */
int doctor_devnum_find(const struct tool_tree *tree, struct doctor_devnum *devnum);

#endif
