/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rdma.h - what user space tells about how NICs reach the memory of a map, and file systems forward to their servers
 */
#ifndef BL_NVFS_RDMA_H
#define BL_NVFS_RDMA_H

#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "nvidia_fs.h"

#define BL_RDMA_VERSION 2

/**
 * bl_rdma_fill() - Understand what user space tells
 * @info: receives it, or zeroes
 * @set:  what it tells
 * @va:   GPU address of the memory
 * @len:  bytes of it
 *
 * Return: 0, or -EINVAL (version, number of keys): nothing is known then.
 */
static inline int bl_rdma_fill(struct nvidia_fs_rdma_info *info, const struct nvidia_fs_set_rdma *set, u64 va, u64 len)
{
	/* what lies between members is read by user space too */
	memset(info, 0, sizeof(*info));
	if (set->version < BL_RDMA_VERSION || set->nkeys != 1)
		return -EINVAL;
	info->version = set->version;
	info->flags = set->flags;
	info->lid = set->lid;
	info->qp_num = set->qp_num;
	info->rem_vaddr = va;
	info->size = len < U32_MAX ? (u32)len : U32_MAX;
	info->rkey = set->rkey[0];
	info->gid[0] = set->gid[0];
	info->gid[1] = set->gid[1];
	info->dc_key = set->dc_key;
	return 0;
}

/**
 * struct bl_rdma_span - memory of one map that a list of pages stands for, as it grows
 * @off: offset of its first byte in the map
 * @len: bytes; 0 when there are none yet
 */
struct bl_rdma_span {
	u64 off;
	u64 len;
};

/**
 * bl_rdma_add() - Take the next bytes of a list in
 * @span: memory so far
 * @off:  their offset in the map
 * @len:  bytes, not 0
 *
 * Return: true, or false when they do not follow, or are more than a server can be told of.
 */
static inline bool bl_rdma_add(struct bl_rdma_span *span, u64 off, u32 len)
{
	if (!span->len)
		span->off = off;
	else if (span->off + span->len != off)
		return false;
	span->len += len;
	return span->len <= U32_MAX;
}

/**
 * bl_rdma_narrow() - What to tell of a part of the memory
 * @info: what is known of all of it; becomes that of the part
 * @va:   GPU address where the map begins
 * @span: the part
 *
 * Return: true, or false when the part is not within what user space has told of.
 */
static inline bool bl_rdma_narrow(struct nvidia_fs_rdma_info *info, u64 va, const struct bl_rdma_span *span)
{
	u64 first = va + span->off;

	if (!info->version || !span->len || first < info->rem_vaddr || span->len > info->size ||
	    first - info->rem_vaddr > info->size - span->len)
		return false;
	info->rem_vaddr = first;
	info->size = (u32)span->len;
	return true;
}

#endif
