// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Opening and closing of the device node.
 */
#include "core.h"

#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

/*
 * The process is told by its number and the time it began, which needs no reference: the number may be used again, both
 * together are not. A thread that executes a program on behalf of its process inherits both.
 */
static u64 start_of_current(void)
{
	return current->group_leader->start_boottime;
}

/**
 * bl_file_is_mine() - Whether the calling process opened the file
 * @file: the file
 *
 * Return: true if so.
 */
bool bl_file_is_mine(const struct bl_file *file)
{
	return file->owner_tgid == current->tgid && file->owner_start == start_of_current();
}

static int file_open(struct inode *inode, struct file *f)
{
	struct bl_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return -ENOMEM;
	file->owner_tgid = current->tgid;
	file->owner_start = start_of_current();
	bl_handles_init(file);
	address_space_init_once(&file->mapping);
	init_rwsem(&file->mapping.invalidate_lock);
	file->mapping.host = inode;
	file->mapping.a_ops = &empty_aops;
	f->private_data = file;
	f->f_mapping = &file->mapping;
	return nonseekable_open(inode, f);
}

/*
 * A descriptor may live on in another process, which can do nothing with it. So pins end with the last thread of their
 * owner and not only with the last descriptor. By then the owner's mappings are gone.
 */
static int file_flush(struct file *f, fl_owner_t id)
{
	struct bl_file *file = f->private_data;

	if (current->flags & PF_EXITING && !atomic_read(&current->signal->live) && bl_file_is_mine(file))
		bl_handles_end(file);
	return 0;
}

static int file_release(struct inode *inode, struct file *f)
{
	struct bl_file *file = f->private_data;

	bl_handles_end(file);
	xa_destroy(&file->pins);
	mutex_destroy(&file->lock);
	kfree(file);
	return 0;
}

const struct file_operations bl_fops = {
	.owner = THIS_MODULE,
	.open = file_open,
	.flush = file_flush,
	.release = file_release,
	.unlocked_ioctl = bl_ioctl,
	.mmap = bl_mmap,
};
