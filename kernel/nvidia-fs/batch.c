// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * BATCH: many requests by one call. All are checked before the first one is started, and all are started before one is
 * waited for. Each entry has its own result.
 */
#include "core.h"
#include "io.h"
#include "stats.h"

#include <linux/slab.h>
#include <linux/uaccess.h>

#define OP_MASK 7

/**
 * struct batch - a batch being carried out
 * @user: entries of user space
 * @arg:  a copy of them
 * @io:   a request for each
 * @nr:   how many
 */
struct batch {
	struct nvidia_fs_io __user *user;
	struct nvidia_fs_io *arg;
	struct bl_io **io;
	u32 nr;
};

static int check(const struct nvidia_fs_batch *arg)
{
	if (!arg->nents || arg->nents > NVIDIA_FS_MAX_BATCH)
		return refuse(EINVAL, "batch of %llu entries: 1 to %u", arg->nents, NVIDIA_FS_MAX_BATCH);
	return 0;
}

static int write_results(const struct batch *b)
{
	u32 i;

	for (i = 0; i < b->nr; i++) {
		if (put_user(b->arg[i].ioctl_return, &b->user[i].ioctl_return))
			return -EFAULT;
	}
	return 0;
}

/* Where results cannot be written nothing is begun. */
static int read_entries(struct batch *b)
{
	u32 i;

	if (copy_from_user(b->arg, b->user, b->nr * sizeof(b->arg[0])))
		return -EFAULT;
	for (i = 0; i < b->nr; i++)
		b->arg[i].ioctl_return = 0;
	return write_results(b);
}

static int make(struct file *node, struct batch *b, u32 i)
{
	unsigned int op = b->arg[i].flags >> NVIDIA_FS_IO_OP_SHIFT & OP_MASK;

	if (op > 1)
		return refuse(EINVAL, "entry %u of a batch: operation %u is neither read nor write", i, op);
	return bl_io_new(node, &b->arg[i], op, &b->io[i]);
}

/* All of them, or none: then those that nothing is wrong with are told that they were not begun. */
static int make_all(struct file *node, struct batch *b)
{
	int first = 0, ret;
	u32 i;

	for (i = 0; i < b->nr; i++) {
		ret = make(node, b, i);
		b->arg[i].ioctl_return = bl_io_user_error(ret);
		if (ret && !first)
			first = ret;
	}
	for (i = 0; first && i < b->nr; i++) {
		if (!b->io[i])
			continue;
		bl_io_cancel(b->io[i]);
		b->arg[i].ioctl_return = -ECANCELED;
	}
	return first;
}

static int run(struct file *node, struct batch *b)
{
	ktime_t begin = ktime_get();
	int ret;
	u32 i;

	ret = make_all(node, b);
	if (ret)
		return ret;
	for (i = 0; i < b->nr; i++)
		bl_io_start(b->io[i], false);
	bl_stats_batch_started(begin);
	for (i = 0; i < b->nr; i++)
		b->arg[i].ioctl_return = bl_io_end(b->io[i]);
	return 0;
}

static int run_and_tell(struct file *node, struct batch *b)
{
	int ret, told;

	ret = read_entries(b);
	if (ret)
		return ret;
	ret = run(node, b) ? -EPERM : 0;
	told = write_results(b);
	return told ? told : ret;
}

/**
 * bl_batch_run() - Serve BATCH
 * @node: the file that user space asks through
 * @arg:  the batch
 *
 * Context: may sleep, until those of its requests have ended that are to be waited for.
 * Return: 0 when all were started, with the result of each in its entry; -EPERM when none was, with the reasons in the
 * entries; -EINVAL (how many there are), -EFAULT (entries that cannot be read and written), -ENOMEM.
 */
int bl_batch_run(struct file *node, const struct nvidia_fs_batch *arg)
{
	struct batch b = { .user = u64_to_user_ptr(arg->io_entries) };
	int ret;

	bl_stats_batch_begin();
	ret = check(arg);
	if (ret)
		goto end;
	b.nr = arg->nents;
	b.arg = kvmalloc_array(b.nr, sizeof(b.arg[0]), GFP_KERNEL_ACCOUNT);
	b.io = kcalloc(b.nr, sizeof(b.io[0]), GFP_KERNEL_ACCOUNT);
	ret = b.arg && b.io ? run_and_tell(node, &b) : -ENOMEM;
	kfree(b.io);
	kvfree(b.arg);
end:
	bl_stats_batch_end(ret);
	return ret;
}
