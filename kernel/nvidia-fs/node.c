// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The device nodes /dev/nvidia-fs0 and following: a major number of their own, and a class whose devnode() gives
 * them their mode. All are alike; there are many so that threads need not share one.
 */
#include "core.h"

#include "bl_compat.h"

#include <linux/cdev.h>
#include <linux/device.h>

#define NODE_NAME "nvidia-fs"

static dev_t node_dev;
static struct class *node_class;
static struct cdev node_cdev;

/**
 * bl_node_count() - How many nodes there are
 *
 * Return: 1 to NVIDIA_FS_MAX_NODES.
 */
unsigned int bl_node_count(void)
{
	return bl_max_devices ? min_t(unsigned int, bl_max_devices, NVIDIA_FS_MAX_NODES) : NVIDIA_FS_MAX_NODES;
}

static char *devnode(BL_DEVNODE_DEV *dev, umode_t *mode)
{
	if (mode)
		*mode = bl_node_mode;
	return NULL;
}

static void remove_nodes(unsigned int nr)
{
	while (nr--)
		device_destroy(node_class, MKDEV(MAJOR(node_dev), nr));
}

static int make_nodes(void)
{
	unsigned int i;

	for (i = 0; i < bl_node_count(); i++) {
		struct device *dev;

		dev = device_create(node_class, NULL, MKDEV(MAJOR(node_dev), i), NULL, NODE_NAME "%u", i);
		if (IS_ERR(dev)) {
			remove_nodes(i);
			return PTR_ERR(dev);
		}
	}
	return 0;
}

/**
 * bl_node_init() - Make the device nodes
 *
 * Return: 0 or -errno.
 */
int bl_node_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&node_dev, 0, bl_node_count(), NODE_NAME);
	if (ret)
		return ret;
	node_class = bl_class_create("nvidia-fs-class");
	if (IS_ERR(node_class)) {
		ret = PTR_ERR(node_class);
		goto unregister;
	}
	node_class->devnode = devnode;
	cdev_init(&node_cdev, &bl_node_fops);
	node_cdev.owner = THIS_MODULE;
	ret = cdev_add(&node_cdev, node_dev, bl_node_count());
	if (ret)
		goto destroy;
	ret = make_nodes();
	if (ret)
		goto delete;
	return 0;
delete:
	cdev_del(&node_cdev);
destroy:
	class_destroy(node_class);
unregister:
	unregister_chrdev_region(node_dev, bl_node_count());
	return ret;
}

/**
 * bl_node_exit() - Take the device nodes away
 */
void bl_node_exit(void)
{
	remove_nodes(bl_node_count());
	cdev_del(&node_cdev);
	class_destroy(node_class);
	unregister_chrdev_region(node_dev, bl_node_count());
}
