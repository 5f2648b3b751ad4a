// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Opening and closing of the device nodes. The first open file registers with the storage drivers, later ones with
 * those that came meanwhile; the last one that is closed takes it back. A request holds the file that it came
 * through.
 */
#include "core.h"
#include "nvp2p.h"

#include <linux/module.h>

static DEFINE_MUTEX(files_lock);
static unsigned int nr_files;

/**
 * bl_file_count() - How many files of nodes are open
 *
 * Return: the count.
 */
unsigned int bl_file_count(void)
{
	return READ_ONCE(nr_files);
}

static int file_open(struct inode *inode, struct file *f)
{
	struct bl_shelf *shelf = bl_shelf_new();

	if (!shelf)
		return -ENOMEM;
	f->private_data = shelf;
	mutex_lock(&files_lock);
	WRITE_ONCE(nr_files, nr_files + 1);
	bl_hooks_register();
	mutex_unlock(&files_lock);
	return nonseekable_open(inode, f);
}

static int file_release(struct inode *inode, struct file *f)
{
	bl_shelf_close(f->private_data);
	bl_shelf_put(f->private_data);
	mutex_lock(&files_lock);
	WRITE_ONCE(nr_files, nr_files - 1);
	if (!nr_files) {
		bl_hooks_unregister();
		bl_nvp2p_trim();
	}
	mutex_unlock(&files_lock);
	return 0;
}

const struct file_operations bl_node_fops = {
	.owner = THIS_MODULE,
	.open = file_open,
	.release = file_release,
	.unlocked_ioctl = bl_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = bl_mmap,
};
