// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The device node when linked to the closed GPU driver: device classes are for GPL use only, misc devices are not. Its
 * major number is that of all misc devices.
 */
#include "core.h"

#include <linux/miscdevice.h>

static struct miscdevice node = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "gdrdrv",
	.fops = &bl_fops,
};

/**
 * bl_node_init() - Make the device node
 *
 * Return: 0 or -errno.
 */
int bl_node_init(void)
{
	node.mode = bl_node_mode;
	return misc_register(&node);
}

/**
 * bl_node_exit() - Take the device node away
 */
void bl_node_exit(void)
{
	misc_deregister(&node);
}
