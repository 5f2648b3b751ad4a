// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* /dev/barlane-card: one open file is one address space of the GPU. */
#define pr_fmt(fmt) "bl_card: " fmt
#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "card.h"

static int node_open(struct inode *inode, struct file *file)
{
	struct bl_space *space;
	int ret = 0;

	mutex_lock(&bl_rm);
	space = bl_card ? bl_space_new(bl_card, file) : ERR_PTR(-ENODEV);
	mutex_unlock(&bl_rm);
	if (IS_ERR(space))
		ret = PTR_ERR(space);
	else
		file->private_data = space;
	return ret;
}

static bool is_owner(const struct bl_space *space)
{
	return task_tgid(current) == space->owner;
}

/*
 * The last thread is on its way out: a child that still has the descriptor does not keep the memory
 * of a process that has ended.
 */
static int node_flush(struct file *file, fl_owner_t id)
{
	struct bl_space *space = file->private_data;

	if (atomic_read(&current->signal->live) || !is_owner(space))
		return 0;
	mutex_lock(&bl_rm);
	bl_space_clear(space);
	mutex_unlock(&bl_rm);
	return 0;
}

static int node_release(struct inode *inode, struct file *file)
{
	mutex_lock(&bl_rm);
	bl_space_destroy(file->private_data);
	mutex_unlock(&bl_rm);
	return 0;
}

static int node_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct bl_space *space = file->private_data;

	return is_owner(space) ? bl_view_mmap(space, vma) : -EACCES;
}

static int do_info(struct bl_space *space, void *argp)
{
	struct bl_card_info *arg = argp;
	const struct bl_card *card = space->card;
	struct pci_dev *pdev = card->pdev;

	*arg = (struct bl_card_info){
		.size = card->size,
		.p2p_token = space->token,
		.va_space = space->va_space,
		.domain = pci_domain_nr(pdev->bus),
		.bus = pdev->bus->number,
		.devfn = pdev->devfn,
		.pages_off = (u64)card->slice.first * BL_CARD_BLOCK_SIZE,
		.pages_size = (u64)card->slice.nr * BL_CARD_BLOCK_SIZE,
	};
	return 0;
}

static int do_alloc(struct bl_space *space, void *argp)
{
	struct bl_card_alloc *arg = argp;
	struct bl_mem *mem;
	int ret;

	ret = bl_mem_new(space, arg->size, arg->flags, &mem);
	if (ret)
		return ret;
	ret = xa_alloc(&space->mems, &arg->handle, mem, xa_limit_31b, GFP_KERNEL);
	if (ret) {
		bl_mem_disown(mem);
		return ret;
	}
	arg->size = bl_mem_size(mem);
	arg->offset = (u64)mem->block * BL_CARD_BLOCK_SIZE;
	return 0;
}

static int do_free(struct bl_space *space, void *argp)
{
	struct bl_card_free *arg = argp;
	struct bl_mem *mem;

	if (arg->reserved)
		return -EINVAL;
	mem = xa_erase(&space->mems, arg->handle);
	if (!mem)
		return -ENOENT;
	bl_mem_disown(mem);
	return 0;
}

static int do_bind(struct bl_space *space, void *argp)
{
	return bl_bind(space, argp);
}

static int do_unbind(struct bl_space *space, void *argp)
{
	struct bl_card_range *arg = argp;

	return bl_unbind(space, arg->va, arg->len);
}

static int do_freed(struct bl_space *space, void *argp)
{
	struct bl_card_range *arg = argp;

	return bl_freed(space, arg->va, arg->len);
}

static int do_counters(struct bl_space *space, void *argp)
{
	struct bl_card_counters *arg = argp;

	if (arg->flags & ~BL_CARD_COUNTERS_VERIFY)
		return -EINVAL;
	return bl_counters_read(arg, arg->flags);
}

struct request {
	unsigned int cmd;
	int (*serve)(struct bl_space *space, void *arg);
};

static const struct request requests[] = {
	{ BL_CARD_IOC_INFO, do_info },	     { BL_CARD_IOC_ALLOC, do_alloc },
	{ BL_CARD_IOC_FREE, do_free },	     { BL_CARD_IOC_BIND, do_bind },
	{ BL_CARD_IOC_UNBIND, do_unbind },     { BL_CARD_IOC_FREED, do_freed },
	{ BL_CARD_IOC_COUNTERS, do_counters },
};

union any_arg {
	struct bl_card_info info;
	struct bl_card_alloc alloc;
	struct bl_card_free free;
	struct bl_card_bind bind;
	struct bl_card_range range;
	struct bl_card_export export;
	struct bl_card_counters counters;
};

/* The descriptor becomes visible last: an answer that cannot be delivered leaves none. */
static int do_export(struct bl_space *space, struct bl_card_export *arg, void __user *uarg)
{
	struct bl_card_export __user *out = uarg;
	int fd = get_unused_fd_flags(O_CLOEXEC);
	struct dma_buf *dmabuf;
	int ret;

	if (fd < 0)
		return fd;
	dmabuf = bl_dmabuf_export(space, arg);
	if (IS_ERR(dmabuf)) {
		ret = PTR_ERR(dmabuf);
		goto put_fd;
	}
	ret = put_user(fd, &out->fd);
	if (ret)
		goto put_dmabuf;
	fd_install(fd, dmabuf->file);
	return 0;
put_dmabuf:
	dma_buf_put(dmabuf);
put_fd:
	put_unused_fd(fd);
	return ret;
}

static int serve(struct bl_space *space, unsigned int cmd, void *arg)
{
	int ret = -ENOTTY;

	mutex_lock(&bl_rm);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		if (requests[i].cmd == cmd)
			ret = space->card->pdev ? requests[i].serve(space, arg) : -ENODEV;
	}
	mutex_unlock(&bl_rm);
	return ret;
}

static long node_ioctl(struct file *file, unsigned int cmd, unsigned long param)
{
	struct bl_space *space = file->private_data;
	void __user *uarg = (void __user *)param;
	union any_arg arg = {};
	int ret;

	if (!is_owner(space))
		return -EACCES;
	if (_IOC_TYPE(cmd) != BL_CARD_IOC_TYPE || _IOC_SIZE(cmd) > sizeof(arg))
		return -ENOTTY;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(&arg, uarg, _IOC_SIZE(cmd)))
		return -EFAULT;
	if (cmd == BL_CARD_IOC_EXPORT)
		return do_export(space, &arg.export, uarg);
	ret = serve(space, cmd, &arg);
	if (!ret && _IOC_DIR(cmd) & _IOC_READ && copy_to_user(uarg, &arg, _IOC_SIZE(cmd)))
		ret = -EFAULT;
	return ret;
}

static const struct file_operations node_ops = {
	.owner = THIS_MODULE,
	.open = node_open,
	.flush = node_flush,
	.release = node_release,
	.mmap = node_mmap,
	.unlocked_ioctl = node_ioctl,
};

static struct miscdevice node = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "barlane-card",
	.fops = &node_ops,
	.mode = 0666,
};

int bl_card_node_register(void)
{
	return misc_register(&node);
}

void bl_card_node_deregister(void)
{
	misc_deregister(&node);
}
