// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The device node: a major number of its own, minor 0, under the name that scripts look for in /proc/devices, and a class
 * whose devnode() gives the node its mode.
 */
#include "core.h"

#include "bl_compat.h"

#include <linux/cdev.h>
#include <linux/device.h>

#define NODE_NAME "gdrdrv"

static dev_t node_dev;
static struct class *node_class;
static struct cdev node_cdev;

static char *devnode(BL_DEVNODE_DEV *dev, umode_t *mode)
{
	if (mode)
		*mode = bl_node_mode;
	return NULL;
}

/**
 * bl_node_init() - Make the device node
 *
 * Return: 0 or -errno.
 */
int bl_node_init(void)
{
	struct device *dev;
	int ret;

	ret = alloc_chrdev_region(&node_dev, 0, 1, NODE_NAME);
	if (ret)
		return ret;
	node_class = bl_class_create(NODE_NAME);
	if (IS_ERR(node_class)) {
		ret = PTR_ERR(node_class);
		goto unregister;
	}
	node_class->devnode = devnode;
	cdev_init(&node_cdev, &bl_fops);
	node_cdev.owner = THIS_MODULE;
	ret = cdev_add(&node_cdev, node_dev, 1);
	if (ret)
		goto destroy;
	dev = device_create(node_class, NULL, node_dev, NULL, NODE_NAME);
	if (IS_ERR(dev)) {
		ret = PTR_ERR(dev);
		goto delete;
	}
	return 0;
delete:
	cdev_del(&node_cdev);
destroy:
	class_destroy(node_class);
unregister:
	unregister_chrdev_region(node_dev, 1);
	return ret;
}

/**
 * bl_node_exit() - Take the device node away
 */
void bl_node_exit(void)
{
	device_destroy(node_class, node_dev);
	cdev_del(&node_cdev);
	class_destroy(node_class);
	unregister_chrdev_region(node_dev, 1);
}
