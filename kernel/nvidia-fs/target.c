// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Which device does the DMA for a file. What could take another way than that device is refused before anything
 * begins, for a write that went by the page cache would put the stand-ins' bytes into the file.
 */
#include "core.h"

#include <linux/blkdev.h>
#include <linux/magic.h>
#include <linux/stat.h>

static bool is_known(const struct super_block *sb)
{
	return sb->s_magic == EXT4_SUPER_MAGIC || sb->s_magic == XFS_SUPER_MAGIC;
}

/* Whether this very file can be read and written without the page cache, in blocks of ours. */
static int check_direct(struct file *file, bool write)
{
	struct inode *inode = file_inode(file);
	struct kstat stat;
	int ret;

	if (!is_known(inode->i_sb))
		return refuse(EOPNOTSUPP, "file system %s: not one that is known to work", inode->i_sb->s_type->name);
	if (IS_DAX(inode))
		return refuse(EOPNOTSUPP, "inode %llu: the CPU copies it (DAX)", (u64)inode->i_ino);
	/* of a larger block the file system would zero the rest, in the same request */
	if (write && i_blocksize(inode) > NVIDIA_FS_BLOCK)
		return refuse(EOPNOTSUPP, "inode %llu: blocks of %u bytes", (u64)inode->i_ino, i_blocksize(inode));
	ret = vfs_getattr(&file->f_path, &stat, STATX_DIOALIGN, AT_STATX_SYNC_AS_STAT);
	if (ret)
		return ret;
	if (stat.result_mask & STATX_DIOALIGN &&
	    (!stat.dio_offset_align || stat.dio_offset_align > NVIDIA_FS_BLOCK))
		return refuse(EOPNOTSUPP, "inode %llu: not without the page cache (align %u)", (u64)inode->i_ino,
			      stat.dio_offset_align);
	return 0;
}

static struct block_device *device_of(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	if (S_ISBLK(inode->i_mode))
		return I_BDEV(file->f_mapping->host);
	return inode->i_sb->s_bdev;
}

/**
 * bl_target_find() - Find the PCI device behind a file
 * @file:   a regular file or a block device
 * @write:  whether it is to be written
 * @pdev_p: receives the device with a reference for the caller; not written on error
 *
 * Context: may sleep. Return: 0, or -EOPNOTSUPP (the file's bytes may take another way), or what the file system
 * says; the error was reported.
 */
int bl_target_find(struct file *file, bool write, struct pci_dev **pdev_p)
{
	struct block_device *bdev = device_of(file);
	struct device *dev;
	int ret;

	if (!bdev)
		return refuse(EOPNOTSUPP, "inode %llu: on no block device", (u64)file_inode(file)->i_ino);
	if (!S_ISBLK(file_inode(file)->i_mode)) {
		ret = check_direct(file, write);
		if (ret)
			return ret;
	}
	/* what is made of other devices (mapper, md, loop, multipath) has no PCI device above it */
	for (dev = disk_to_dev(bdev->bd_disk)->parent; dev && !dev_is_pci(dev);)
		dev = dev->parent;
	if (!dev)
		return refuse(EOPNOTSUPP, "disk %s: no single PCI device is behind it", bdev->bd_disk->disk_name);
	*pdev_p = pci_dev_get(to_pci_dev(dev));
	return 0;
}
