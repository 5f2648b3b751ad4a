// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * RDMA addresses and keys of maps: user space registers GPU memory with its NIC and tells here under which key; a file
 * system that has its server move the bytes asks for them. They are those of the calling process' shadows: another one
 * cannot name them.
 */
#include "core.h"
#include "nvfs_ops.h"
#include "rdma.h"
#include "rq.h"

#include <linux/file.h>
#include <linux/scatterlist.h>
#include <linux/uaccess.h>

static int set(struct bl_map *map, const struct nvidia_fs_set_rdma *arg)
{
	struct nvidia_fs_rdma_info info;
	unsigned long flags;
	int ret = bl_rdma_fill(&info, arg, map->va + map->head, map->size);

	/* what cannot be understood also ends what was said before */
	spin_lock_irqsave(&map->lock, flags);
	memcpy(&map->rdma, &info, sizeof(info));
	spin_unlock_irqrestore(&map->lock, flags);
	if (ret)
		return refuse(EINVAL, "va 0x%llx: RDMA information of version %u with %u keys", map->va, arg->version,
			      arg->nkeys);
	return 0;
}

static void get(struct bl_map *map, struct nvidia_fs_rdma_info *info)
{
	unsigned long flags;

	spin_lock_irqsave(&map->lock, flags);
	memcpy(info, &map->rdma, sizeof(*info));
	spin_unlock_irqrestore(&map->lock, flags);
}

static void clear(struct bl_map *map)
{
	unsigned long flags;

	spin_lock_irqsave(&map->lock, flags);
	memset(&map->rdma, 0, sizeof(map->rdma));
	spin_unlock_irqrestore(&map->lock, flags);
}

static long run(unsigned int cmd, struct bl_map *map, union nvidia_fs_arg *arg, void __user *user)
{
	switch (cmd) {
	case NVIDIA_FS_IOC_SET_RDMA_INFO:
		return set(map, &arg->set_rdma);
	case NVIDIA_FS_IOC_GET_RDMA_INFO:
		get(map, &arg->get_rdma.info);
		return copy_to_user(user, arg, sizeof(*arg)) ? -EFAULT : 0;
	default:
		clear(map);
		return 0;
	}
}

/**
 * bl_rdma_run() - Serve SET, GET and CLEAR
 * @f:    file of a node
 * @cmd:  which of them
 * @arg:  its argument
 * @user: where that lies in user space
 *
 * Context: may sleep.
 * Return: 0, or -EINVAL (no memory is bound to such a shadow of this process; of CLEAR, that is -1; version, number of
 * keys), -EFAULT (the argument cannot be written).
 */
long bl_rdma_run(struct file *f, unsigned int cmd, union nvidia_fs_arg *arg, void __user *user)
{
	/* the address is the first member of all three */
	u64 addr = arg->clear_rdma.cpuvaddr;
	struct file *file = bl_mmap_file(f, addr);
	struct bl_map *map = NULL;
	long ret;

	if (file)
		map = bl_map_use(bl_shadow_of(file));
	if (map) {
		ret = run(cmd, map, arg, user);
		bl_map_unuse(bl_shadow_of(file));
	} else {
		ret = refuse(EINVAL, "RDMA information: no memory of this process is bound at 0x%llx", addr);
		if (cmd == NVIDIA_FS_IOC_CLEAR_RDMA_INFO)
			ret = -1;
	}
	if (file)
		fput(file);
	return ret;
}

/* Where in the map a slot's GPU page is. */
static bool offset_of(const struct bl_map *map, const struct bl_slot *slot, u64 *off_p)
{
	u32 i;

	for (i = 0; i < map->chunks.nr; i++) {
		const struct bl_chunk *chunk = &map->chunks.chunk[i];

		if (slot->pa - chunk->pa < chunk->len) {
			*off_p = chunk->off + (slot->pa - chunk->pa);
			return true;
		}
	}
	return false;
}

/* Takes one entry in. @map_p: the map of those before it, or NULL. */
static bool take(const struct scatterlist *sg, struct bl_map **map_p, struct bl_rdma_span *span)
{
	u32 at = sg->offset, left = sg->length, off, len;

	while (left) {
		struct bl_slot *slot = bl_shadow_find(sg_page((struct scatterlist *)sg) + (at >> PAGE_SHIFT), &off, &len);
		u64 start;

		if (!slot || (*map_p && slot->peer->map != *map_p) || !offset_of(slot->peer->map, slot, &start))
			return false;
		*map_p = slot->peer->map;
		off += offset_in_page(at);
		len = min(len - offset_in_page(at), left);
		if (!bl_rdma_add(span, start + off, len))
			return false;
		bl_rq_see(slot, off, len);
		at += len;
		left -= len;
	}
	return true;
}

/**
 * bl_rdma_of_list() - Tell how a server reaches the memory that a list of pages stands for
 * @sgl:   list
 * @nents: entries of it
 * @out:   receives it; not written on error
 *
 * Context: any; a piece waits for the list.
 * Return: entries; NVFS_CPU_REQ (none); NVFS_IO_ERR (user space has told nothing, the list is not of one map, or not of
 * bytes that follow each other).
 */
int bl_rdma_of_list(struct scatterlist *sgl, int nents, struct nvfs_rdma_info *out)
{
	struct bl_rdma_span span = { 0 };
	struct nvidia_fs_rdma_info info;
	struct bl_map *map = NULL;
	struct scatterlist *sg;
	int ret = nents, i;

	if (nents <= 0)
		return NVFS_CPU_REQ;
	rcu_read_lock();
	for_each_sg(sgl, sg, nents, i) {
		if (!take(sg, &map, &span)) {
			ret = NVFS_IO_ERR;
			break;
		}
	}
	rcu_read_unlock();
	if (ret == NVFS_IO_ERR)
		return ret;
	get(map, &info);
	if (!bl_rdma_narrow(&info, map->va, &span))
		return NVFS_IO_ERR;
	/* the driver's structure has the same members at the same places */
	memcpy(out, &info, sizeof(info));
	return nents;
}
