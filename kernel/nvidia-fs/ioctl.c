// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Requests of user space. MAP and UNMAP read their own struct, all others the whole union, which some of them write. An
 * error of MAP, READ and WRITE is -1, and the reason lies in the argument; nvidia_fs.h says where. Reasons of a batch
 * lie in its entries.
 *
 * MAP and UNMAP are short, and so is what is around them: their structs are read member by member, in place of a copy
 * of bytes, and they have no room on the stack that the kernel would clear for them (CONFIG_INIT_STACK_ALL_ZERO).
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

static long do_unmap(struct file *f, const struct nvidia_fs_unmap *arg)
{
	struct file *file;
	long ret;

	if (arg->flags || arg->pad)
		return refuse(EINVAL, "unmap 0x%llx: flags 0x%x are not known", arg->cpuvaddr, arg->flags);
	/* who asks whether there is such a request */
	if (!arg->cpuvaddr)
		return 0;
	file = bl_mmap_file(f, arg->cpuvaddr);
	if (!file)
		return refuse(EINVAL, "unmap: no shadow of this process begins at 0x%llx", arg->cpuvaddr);
	ret = bl_map_unbind(bl_shadow_of(file));
	fput(file);
	return ret;
}

static long run_unmap(struct file *f, const struct nvidia_fs_unmap __user *user)
{
	u64 cpuvaddr;
	u32 flags, pad;

	if (!user_read_access_begin(user, sizeof(*user)))
		return -EFAULT;
	unsafe_get_user(cpuvaddr, &user->cpuvaddr, fault);
	unsafe_get_user(flags, &user->flags, fault);
	unsafe_get_user(pad, &user->pad, fault);
	user_read_access_end();
	return do_unmap(f, &(struct nvidia_fs_unmap){ .cpuvaddr = cpuvaddr, .flags = flags, .pad = pad });
fault:
	user_read_access_end();
	return -EFAULT;
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
static long map_and_tell(struct file *f, const struct nvidia_fs_map *arg, union nvidia_fs_arg __user *user)
{
	s64 ret = do_map(f, arg);

	if (!ret)
		return 0;
	return put_user(bl_io_user_error(ret), &user->io.ioctl_return) ? -EFAULT : -1;
}

static long run_map(struct file *f, union nvidia_fs_arg __user *user)
{
	const struct nvidia_fs_map __user *map = &user->map;
	u64 pdevinfo, cpuvaddr, gpuvaddr, fence;
	u8 pad[2];
	u32 block;
	u16 bounce;
	s64 size;

	if (!user_read_access_begin(map, sizeof(*map)))
		goto bad;
	unsafe_get_user(size, &map->size, fault);
	unsafe_get_user(pdevinfo, &map->pdevinfo, fault);
	unsafe_get_user(cpuvaddr, &map->cpuvaddr, fault);
	unsafe_get_user(gpuvaddr, &map->gpuvaddr, fault);
	unsafe_get_user(fence, &map->end_fence_addr, fault);
	unsafe_get_user(block, &map->sbuf_block, fault);
	unsafe_get_user(bounce, &map->is_bounce_buffer, fault);
	unsafe_get_user(pad[0], &map->pad[0], fault);
	unsafe_get_user(pad[1], &map->pad[1], fault);
	user_read_access_end();
	return map_and_tell(f,
			    &(struct nvidia_fs_map){
				    .size = size,
				    .pdevinfo = pdevinfo,
				    .cpuvaddr = cpuvaddr,
				    .gpuvaddr = gpuvaddr,
				    .end_fence_addr = fence,
				    .sbuf_block = block,
				    .is_bounce_buffer = bounce,
				    .pad = { pad[0], pad[1] },
			    },
			    user);
fault:
	user_read_access_end();
bad:
	/* the number that the interface has for it */
	return -ENOMEM;
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

/* All but MAP and UNMAP; a function of its own for the sake of these. */
static noinline long run_other(struct file *f, unsigned int cmd, void __user *user)
{
	union nvidia_fs_arg args;

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

	if (cmd == NVIDIA_FS_IOC_UNMAP)
		return run_unmap(f, user);
	if (cmd == NVIDIA_FS_IOC_MAP)
		return run_map(f, user);
	if (cmd < NVIDIA_FS_IOC_REMOVE || cmd > NVIDIA_FS_IOC_BATCH)
		return -ENOTTY;
	return run_other(f, cmd, user);
}
