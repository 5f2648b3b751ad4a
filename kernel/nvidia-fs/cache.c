// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The page cache in the way of a write. A file system that cannot throw its pages away writes through them instead,
 * which for us would be the stand-ins' bytes: so they have to go before.
 */
#include "core.h"
#include "stats.h"

#include <linux/delay.h>
#include <linux/pagemap.h>

#define TRIES 5

static int clear_once(struct file *file, loff_t first, loff_t last)
{
	struct address_space *mapping = file->f_mapping;
	int ret;

	ret = filemap_write_and_wait_range(mapping, first, last);
	if (ret) {
		atomic64_inc(&bl_stats.cache_fail);
		return ret;
	}
	return invalidate_inode_pages2_range(mapping, first >> PAGE_SHIFT, last >> PAGE_SHIFT);
}

/**
 * bl_cache_clear() - Have no page of a range in the page cache
 * @file: file
 * @pos:  first byte
 * @len:  bytes, not 0
 *
 * Others may bring pages back at once; then the write fails after the fact.
 *
 * Context: may sleep.
 * Return: 0, or -EIO (they do not go), or why they cannot be written back.
 */
int bl_cache_clear(struct file *file, loff_t pos, u64 len)
{
	struct inode *inode = file->f_mapping->host;
	loff_t last = pos + len - 1;
	int ret = 0, i;

	if (!filemap_range_has_page(file->f_mapping, pos, last))
		return 0;
	for (i = 0; i < TRIES; i++) {
		atomic64_inc(&bl_stats.cache);
		inode_lock(inode);
		ret = clear_once(file, pos, last);
		inode_unlock(inode);
		if (ret != -EBUSY)
			break;
		usleep_range(1000, 2000);
	}
	if (ret) {
		atomic64_inc(&bl_stats.cache_eio);
		refuse(-ret, "inode %llu: its page cache does not go", (u64)inode->i_ino);
		return ret == -EBUSY ? -EIO : ret;
	}
	return 0;
}
