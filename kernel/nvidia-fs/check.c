// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What can be wrong with a READ or WRITE before its first piece, in the order of the interface.
 */
#include "core.h"
#include "io.h"

#include <linux/blkdev.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/kdev_t.h>

static int check_range(const struct nvidia_fs_io *arg)
{
	u64 end = (u64)arg->offset + arg->size;

	if (arg->offset < 0 || arg->offset % BL_BLOCK || arg->size % BL_BLOCK)
		return refuse(EINVAL, "offset %lld size 0x%llx: not whole blocks of a file", arg->offset, arg->size);
	if (end < arg->size || end > S64_MAX)
		return refuse(EINVAL, "offset %lld size 0x%llx: no such range", arg->offset, arg->size);
	return 0;
}

/* The interface lets a descriptor for writing read. Only who could open the file for reading gets that. */
static int reopen(struct file **file_p)
{
	struct file *file;
	int ret;

	/* opening by path checks this, and opening what is found already does not */
	ret = file_permission(*file_p, MAY_READ);
	if (ret)
		return refuse(EBADF, "read: the descriptor is for writing, and the file may not be read (%d)", ret);
	file = dentry_open(&(*file_p)->f_path, O_RDONLY | O_DIRECT | O_LARGEFILE, current_cred());
	if (IS_ERR(file))
		return refuse(EBADF, "read: the descriptor is for writing, and the file does not open (%pe)", file);
	fput(*file_p);
	*file_p = file;
	return 0;
}

static int check_mode(struct file **file_p, const struct nvidia_fs_io *arg, bool write)
{
	struct file *file = *file_p;

	if (write) {
		if (!(file->f_mode & FMODE_CAN_WRITE))
			return refuse(EINVAL, "write: the descriptor has no way to write");
		return file->f_mode & FMODE_WRITE ? 0 : refuse(EBADF, "write: the descriptor is for reading");
	}
	if (!(file->f_mode & FMODE_READ)) {
		if (arg->flags & NVIDIA_FS_IO_ALLOWREADS && file->f_mode & FMODE_WRITE)
			return reopen(file_p);
		return refuse(EBADF, "read: the descriptor is for writing");
	}
	return file->f_mode & FMODE_CAN_READ ? 0 : refuse(EINVAL, "read: the descriptor has no way to read");
}

/* The descriptor's number may be another file's by now. */
static int check_identity(const struct file *file, const struct nvidia_fs_file *want)
{
	const struct inode *inode = file_inode(file);
	bool is_block = S_ISBLK(inode->i_mode);
	dev_t dev = is_block ? inode->i_rdev : inode->i_sb->s_dev;

	if (!want->inum || (is_block && !want->majdev))
		return refuse(EINVAL, "the request does not say which file it is about");
	if (want->generation && want->generation != inode->i_generation)
		return refuse(ESTALE, "inode %llu: of another generation", (u64)inode->i_ino);
	if (want->inum != (u64)inode->i_ino)
		return refuse(ESTALE, "inode %llu: the request is about inode %llu", (u64)inode->i_ino, want->inum);
	if (want->majdev != MAJOR(dev) || want->mindev != MINOR(dev))
		return refuse(ESTALE, "inode %llu on %u:%u: the request is about %u:%u", (u64)inode->i_ino, MAJOR(dev),
			      MINOR(dev), want->majdev, want->mindev);
	return 0;
}

static int check_kind(const struct file *file, bool write)
{
	umode_t mode = file_inode(file)->i_mode;

	if (!S_ISREG(mode) && !S_ISBLK(mode))
		return refuse(EINVAL, "inode %llu: neither a file nor a block device", (u64)file_inode(file)->i_ino);
	if (!(file->f_flags & O_DIRECT))
		return refuse(EINVAL, "inode %llu: the descriptor is not O_DIRECT", (u64)file_inode(file)->i_ino);
	if (write && file->f_flags & O_APPEND)
		return refuse(EINVAL, "inode %llu: the descriptor is O_APPEND", (u64)file_inode(file)->i_ino);
	return 0;
}

static int check_memory(struct bl_io *io, const struct nvidia_fs_io *arg)
{
	const struct bl_map *map = io->map;

	if (arg->file.devptroff > map->size || arg->size > map->size - arg->file.devptroff)
		return refuse(EINVAL, "va 0x%llx: 0x%llx bytes at 0x%llx are beyond its 0x%llx", map->va + map->head,
			      arg->size, arg->file.devptroff, map->size);
	io->goff = map->head + arg->file.devptroff;
	if (io->goff % BL_BLOCK)
		return refuse(EINVAL, "va 0x%llx: offset 0x%llx is no block of a GPU page", map->va + map->head,
			      arg->file.devptroff);
	return 0;
}

/**
 * bl_io_check_file() - Check what a request says of its file, and take that
 * @io:  request, with its direction; receives the file, also on error
 * @arg: what user space asks for
 *
 * Context: may sleep.
 * Return: 0 or -errno; the error was reported.
 */
int bl_io_check_file(struct bl_io *io, const struct nvidia_fs_io *arg)
{
	int ret;

	ret = check_range(arg);
	if (ret)
		return ret;
	io->file = fget(arg->fd);
	if (!io->file)
		return refuse(EINVAL, "descriptor %d: not open", arg->fd);
	ret = check_mode(&io->file, arg, io->write);
	if (!ret)
		ret = check_identity(io->file, &arg->file);
	return ret;
}

/* The device of the file reaches the memory. */
static int get_peer(struct bl_io *io)
{
	struct pci_dev *pdev;
	int ret;

	ret = bl_target_find(io->file, io->write, &pdev);
	if (ret)
		return ret;
	/* the peer has a reference of its own */
	ret = bl_peer_get(io->map, pdev, &io->peer);
	pci_dev_put(pdev);
	return ret;
}

/**
 * bl_io_check() - Check the rest, and set up what the first piece needs
 * @io:  request, with its file and its map
 * @arg: what user space asks for
 *
 * Context: may sleep.
 * Return: 0 or -errno; the error was reported.
 */
int bl_io_check(struct bl_io *io, const struct nvidia_fs_io *arg)
{
	int ret;

	ret = check_kind(io->file, io->write);
	if (ret)
		return ret;
	if (!(arg->flags & NVIDIA_FS_IO_SYNC) && !arg->end_fence_value)
		return refuse(EINVAL, "a request that is not waited for has to name its end");
	if (arg->flags & NVIDIA_FS_IO_USE_RKEYS)
		return refuse(EOPNOTSUPP, "RDMA keys are not served by this module");
	ret = check_memory(io, arg);
	if (ret)
		return ret;
	ret = get_peer(io);
	if (ret)
		return ret;
	io->pos = arg->offset;
	io->left = arg->size;
	return io->write && io->left ? bl_cache_clear(io->file, io->pos, io->left) : 0;
}
