// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * bl_pins.c - what the GPU driver takes for a pin and its release, without anybody in between
 *
 * Loading it with va=, len= and rounds= measures, in the process that loads: that much memory is pinned and released so
 * often, persistently unless persistent=0. Parameters min_ns, p50_ns and p99_ns have the result.
 *
 * While it is loaded, BL_PINS_PATH has a system call for each of the two, which does nothing else: the least that a
 * caller from user space can do. The thread that pins gives back; a file has one pin, and no lock.
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include "bl_pins.h"
#include "nv_p2p.h"

#define MAX_ROUNDS 10000

static unsigned long va, len, rounds;
static bool persistent = true;
static unsigned long min_ns, p50_ns, p99_ns;
module_param(va, ulong, 0444);
module_param(len, ulong, 0444);
module_param(rounds, ulong, 0444);
module_param(persistent, bool, 0444);
module_param(min_ns, ulong, 0444);
module_param(p50_ns, ulong, 0444);
module_param(p99_ns, ulong, 0444);

static typeof(&nvidia_p2p_get_pages) get;
static typeof(&nvidia_p2p_put_pages) put;
static typeof(&nvidia_p2p_get_pages_persistent) get_persistent;
static typeof(&nvidia_p2p_put_pages_persistent) put_persistent;

/* The benchmark's process frees nothing meanwhile. */
static void freed(void *unused)
{
	pr_err("bl_pins: the memory went while it was measured\n");
}

static int pin_once(void)
{
	struct nv_p2p_page_table *table;
	int ret;

	if (persistent) {
		ret = get_persistent(va, len, &table, 0);
		return ret ? ret : put_persistent(va, table, 0);
	}
	ret = get(0, 0, va, len, &table, freed, NULL);
	return ret ? ret : put(0, 0, va, table);
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int measure(void)
{
	u64 *samples = kvmalloc_array(rounds, sizeof(*samples), GFP_KERNEL);
	unsigned long i;
	int ret = 0;

	if (!samples)
		return -ENOMEM;
	for (i = 0; i < rounds && !ret; i++) {
		u64 begin = ktime_get_ns();

		ret = pin_once();
		samples[i] = ktime_get_ns() - begin;
		cond_resched();
	}
	sort(samples, rounds, sizeof(*samples), compare, NULL);
	min_ns = samples[0];
	p50_ns = samples[rounds / 2];
	p99_ns = samples[rounds - 1 - rounds / 100];
	kvfree(samples);
	return ret;
}

static void release(void)
{
	if (get_persistent)
		symbol_put(nvidia_p2p_get_pages_persistent);
	if (put_persistent)
		symbol_put(nvidia_p2p_put_pages_persistent);
	if (get)
		symbol_put(nvidia_p2p_get_pages);
	if (put)
		symbol_put(nvidia_p2p_put_pages);
}

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
		put_persistent(held->va, held->table, 0);
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
	return get_persistent(arg.va, arg.len, &held->table, 0);
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
	return put_persistent(arg.va, table, 0);
}

static long pins_ioctl(struct file *f, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case BL_PINS_IOC_PIN:
		return call_pin(f->private_data, (void __user *)arg);
	case BL_PINS_IOC_RELEASE:
		return call_release(f->private_data, (void __user *)arg);
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

static int __init pins_init(void)
{
	int ret = -ENODEV;

	if (!rounds || rounds > MAX_ROUNDS)
		return -EINVAL;
	get = symbol_get(nvidia_p2p_get_pages);
	put = symbol_get(nvidia_p2p_put_pages);
	get_persistent = symbol_get(nvidia_p2p_get_pages_persistent);
	put_persistent = symbol_get(nvidia_p2p_put_pages_persistent);
	if (get && put && get_persistent && put_persistent)
		ret = measure();
	if (!ret)
		ret = misc_register(&pins_misc);
	if (ret)
		release();
	return ret;
}

static void __exit pins_exit(void)
{
	misc_deregister(&pins_misc);
	release();
}

module_init(pins_init);
module_exit(pins_exit);

MODULE_AUTHOR("Barlane authors");
MODULE_DESCRIPTION("What a pin of GPU memory takes");
MODULE_LICENSE("Dual MIT/GPL");
