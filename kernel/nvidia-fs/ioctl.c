// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Requests of user space. MAP and UNMAP read their own struct, all others the whole union, which some of them write. An
 * error of MAP, READ and WRITE is -1, and the reason lies in the argument; nvidia_fs.h says where. Reasons of a batch
 * lie in its entries.
 */
#include "core.h"
#include "io.h"
#include "stats.h"

#include <linux/file.h>
#include <linux/uaccess.h>

static s64 do_map(struct file *f, const struct nvidia_fs_map *arg)
{
	struct file *file = bl_mmap_file(f, arg->cpuvaddr);
	s64 ret;

	if (!file)
		return refuse(EINVAL, "map va 0x%llx: no shadow of this process begins at 0x%llx", arg->gpuvaddr,
			      arg->cpuvaddr);
	ret = bl_map_bind(bl_shadow_of(file), arg);
	if (ret)
		atomic64_inc(&bl_stats.map_err);
	fput(file);
	return ret;
}

static long do_unmap(struct file *f, const void __user *user)
{
	struct nvidia_fs_unmap arg;
	struct file *file;
	long ret;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (arg.flags || arg.pad)
		return refuse(EINVAL, "unmap 0x%llx: flags 0x%x are not known", arg.cpuvaddr, arg.flags);
	/* who asks whether there is such a request */
	if (!arg.cpuvaddr)
		return 0;
	file = bl_mmap_file(f, arg.cpuvaddr);
	if (!file)
		return refuse(EINVAL, "unmap: no shadow of this process begins at 0x%llx", arg.cpuvaddr);
	ret = bl_map_unbind(bl_shadow_of(file));
	fput(file);
	return ret;
}

static s64 do_transfer(struct file *f, const struct nvidia_fs_io *arg, bool write)
{
	struct bl_io *io;
	int ret;

	ret = bl_io_new(f, arg, write, &io);
	if (ret)
		return bl_io_user_error(ret);
	bl_io_start(io, true);
	return bl_io_end(io);
}

/* What MAP has bound stays bound whatever becomes of its argument, which a success leaves alone. */
static long run_map(struct file *f, union nvidia_fs_arg __user *user)
{
	struct nvidia_fs_map arg;
	s64 ret;

	/* the number that the interface has for it */
	if (copy_from_user(&arg, user, sizeof(arg)))
		return -ENOMEM;
	ret = do_map(f, &arg);
	if (!ret)
		return 0;
	return put_user(bl_io_user_error(ret), &user->io.ioctl_return) ? -EFAULT : -1;
}

/* READ, WRITE */
static long run(struct file *f, unsigned int cmd, union nvidia_fs_arg *arg, void __user *user)
{
	s64 ret = do_transfer(f, &arg->io, cmd == NVIDIA_FS_IOC_WRITE);

	arg->io.ioctl_return = ret;
	if (copy_to_user(user, arg, sizeof(*arg)))
		return -EFAULT;
	return ret < 0 ? -1 : 0;
}

/**
 * bl_ioctl() - Serve a request
 * @f:   file of a node
 * @cmd: NVIDIA_FS_IOC_*
 * @arg: address of a union nvidia_fs_arg; of MAP and UNMAP, of their struct
 *
 * Return: 0; of UNMAP an error as it is; of others -1 with the reason in the argument; -ENOTTY (unknown request),
 * -ENOMEM (the argument cannot be read), -EFAULT (it cannot be written), or what bl_batch_run() and bl_rdma_run() say.
 */
long bl_ioctl(struct file *f, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	union nvidia_fs_arg args;

	if (cmd == NVIDIA_FS_IOC_UNMAP)
		return do_unmap(f, user);
	if (cmd == NVIDIA_FS_IOC_MAP)
		return run_map(f, user);
	if (cmd < NVIDIA_FS_IOC_REMOVE || cmd > NVIDIA_FS_IOC_BATCH)
		return -ENOTTY;
	/* the number that the interface has for it */
	if (copy_from_user(&args, user, sizeof(args)))
		return -ENOMEM;
	switch (cmd) {
	case NVIDIA_FS_IOC_REMOVE:
		return 0;
	case NVIDIA_FS_IOC_READ:
	case NVIDIA_FS_IOC_WRITE:
		return run(f, cmd, &args, user);
	case NVIDIA_FS_IOC_BATCH:
		return bl_batch_run(f, &args.batch);
	case NVIDIA_FS_IOC_SET_RDMA_INFO:
	case NVIDIA_FS_IOC_GET_RDMA_INFO:
	case NVIDIA_FS_IOC_CLEAR_RDMA_INFO:
		return bl_rdma_run(f, cmd, &args, user);
	default:
		return -ENOTTY;
	}
}
