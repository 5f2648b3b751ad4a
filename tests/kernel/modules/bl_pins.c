// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * bl_pins.c - what the GPU driver takes for a pin and its release, without anybody in between
 *
 * BL_PINS_PATH has a system call for each of the two, which does nothing else: the least that a caller from user space can
 * do. A third one pins and releases inside of the kernel, and tells what that took. Pins are persistent. The thread that
 * pins gives back; a file has one pin, and no lock.
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "bl_pins.h"
#include "nv_p2p.h"

static typeof(&nvidia_p2p_get_pages_persistent) get;
static typeof(&nvidia_p2p_put_pages_persistent) put;

/**
 * struct held - the pin of an open file
 * @va:    its address
 * @table: its table; NULL: there is none
 */
struct held {
	u64 va;
	struct nv_p2p_page_table *table;
};

static int pins_open(struct inode *inode, struct file *f)
{
	f->private_data = kzalloc(sizeof(struct held), GFP_KERNEL);
	return f->private_data ? 0 : -ENOMEM;
}

static int pins_release(struct inode *inode, struct file *f)
{
	struct held *held = f->private_data;

	if (held->table)
		put(held->va, held->table, 0);
	kfree(held);
	return 0;
}

static long call_pin(struct held *held, const void __user *user)
{
	struct bl_pins_pin arg;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (held->table)
		return -EBUSY;
	held->va = arg.va;
	return get(arg.va, arg.len, &held->table, 0);
}

static long call_release(struct held *held, const void __user *user)
{
	struct nv_p2p_page_table *table = held->table;
	struct bl_pins_release arg;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (!table || arg.va != held->va)
		return -EINVAL;
	held->table = NULL;
	return put(arg.va, table, 0);
}

static long measure(void __user *user)
{
	struct nv_p2p_page_table *table;
	struct bl_pins_measure arg;
	u64 begin;
	int ret;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	begin = ktime_get_ns();
	ret = get(arg.va, arg.len, &table, 0);
	if (!ret)
		ret = put(arg.va, table, 0);
	arg.ns = ktime_get_ns() - begin;
	if (ret)
		return ret;
	return copy_to_user(user, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static long pins_ioctl(struct file *f, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case BL_PINS_IOC_PIN:
		return call_pin(f->private_data, (void __user *)arg);
	case BL_PINS_IOC_RELEASE:
		return call_release(f->private_data, (void __user *)arg);
	case BL_PINS_IOC_MEASURE:
		return measure((void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations pins_fops = {
	.owner = THIS_MODULE,
	.open = pins_open,
	.release = pins_release,
	.unlocked_ioctl = pins_ioctl,
};

static struct miscdevice pins_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "bl_pins",
	.fops = &pins_fops,
};

static void let_go(void)
{
	if (get)
		symbol_put(nvidia_p2p_get_pages_persistent);
	if (put)
		symbol_put(nvidia_p2p_put_pages_persistent);
}

static int __init pins_init(void)
{
	int ret = -ENODEV;

	get = symbol_get(nvidia_p2p_get_pages_persistent);
	put = symbol_get(nvidia_p2p_put_pages_persistent);
	if (get && put)
		ret = misc_register(&pins_misc);
	if (ret)
		let_go();
	return ret;
}

static void __exit pins_exit(void)
{
	misc_deregister(&pins_misc);
	let_go();
}

module_init(pins_init);
module_exit(pins_exit);

MODULE_AUTHOR("Barlane authors");
MODULE_DESCRIPTION("What a pin of GPU memory takes");
MODULE_LICENSE("Dual MIT/GPL");
