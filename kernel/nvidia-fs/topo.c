// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What lies between two devices: bridges, and the distance that follows from them. Numbers and words are those of
 * GPUDirect Storage's module, for its tools and file systems compare them.
 */
#ifdef __KERNEL__
#include <linux/kernel.h>
#else
#include <stdio.h>
#endif
#include <linux/pci_regs.h>

#include "topo.h"

/* bandwidths above this make no difference */
#define MAX_BANDWIDTH 160U

/**
 * struct path - bridges above a device
 * @nr: how many
 * @at: their places, the nearest first
 */
struct path {
	__u32 nr;
	__s32 at[BL_TOPO_DEPTH];
};

static bool is_above(const struct bl_topo_dev *bridge, const struct bl_topo_dev *dev)
{
	return bridge->kind == BL_TOPO_BRIDGE && bridge->domain == dev->domain && bridge->first &&
	       bridge->first <= dev->bus && dev->bus <= bridge->last;
}

/* A virtual function may be on a bus that no bridge begins with: the narrowest range that holds it is the way up. */
static __s32 find_up(const struct bl_topo *topo, __u32 nr)
{
	const struct bl_topo_dev *dev = &topo->dev[nr];
	__u32 best = 256, i;
	__s32 up = -1;

	for (i = 0; i < topo->nr; i++) {
		const struct bl_topo_dev *bridge = &topo->dev[i];

		if (i == nr || !is_above(bridge, dev) || (__u32)bridge->last - bridge->first >= best)
			continue;
		best = bridge->last - bridge->first;
		up = i;
	}
	return up;
}

/**
 * bl_topo_link() - Find out which bridge is above each device
 * @topo: devices that have been read
 */
void bl_topo_link(struct bl_topo *topo)
{
	__u32 i;

	for (i = 0; i < topo->nr; i++)
		topo->dev[i].up = find_up(topo, i);
}

/**
 * bl_topo_find() - Find a device by its address
 * @topo:   devices
 * @domain: address
 * @bus:    address
 * @devfn:  address
 *
 * Return: its place, or -1.
 */
__s32 bl_topo_find(const struct bl_topo *topo, __u32 domain, __u8 bus, __u8 devfn)
{
	__u32 i;

	for (i = 0; i < topo->nr; i++) {
		const struct bl_topo_dev *dev = &topo->dev[i];

		if (dev->domain == domain && dev->bus == bus && dev->devfn == devfn)
			return i;
	}
	return -1;
}

/* False when it does not end: bus numbers that make no sense. */
static bool find_path(const struct bl_topo *topo, __u32 nr, struct path *path)
{
	__s32 at;

	path->nr = 0;
	for (at = topo->dev[nr].up; at >= 0; at = topo->dev[at].up) {
		if (path->nr == BL_TOPO_DEPTH)
			return false;
		path->at[path->nr++] = at;
	}
	return true;
}

/**
 * bl_topo_common() - Find the lowest bridge that leads to two devices
 * @topo:      devices, linked
 * @a:         place of one
 * @b:         place of the other
 * @a_depth_p: receives the number of bridges between @a and it, or of all above @a when there is none
 * @b_depth_p: the same for @b
 *
 * Return: its place; -1: there is none; -2: the way up of one of them does not end.
 */
__s32 bl_topo_common(const struct bl_topo *topo, __u32 a, __u32 b, __u32 *a_depth_p, __u32 *b_depth_p)
{
	struct path up_a, up_b;
	__u32 i, j;

	if (!find_path(topo, a, &up_a) || !find_path(topo, b, &up_b))
		return -2;
	for (i = 0; i < up_a.nr; i++) {
		for (j = 0; j < up_b.nr; j++) {
			if (up_a.at[i] != up_b.at[j])
				continue;
			*a_depth_p = i;
			*b_depth_p = j;
			return up_a.at[i];
		}
	}
	*a_depth_p = up_a.nr;
	*b_depth_p = up_b.nr;
	return -1;
}

/* Bridges from this one up to the root bus, itself included. */
static __u32 height(const struct bl_topo *topo, __s32 at)
{
	__u32 nr = 0;

	for (; at >= 0; at = topo->dev[at].up)
		nr++;
	return nr;
}

/**
 * bl_topo_distance() - How far a peer is from a GPU
 * @topo: devices, linked
 * @gpu:  place of the GPU
 * @peer: place of the peer
 *
 * One more than the bridges below the lowest one that leads to both; that one's own way up is added when it controls
 * access and is not the GPU's port. From BL_TOPO_CROSS on when no bridge leads to both.
 *
 * Return: the distance, or BL_TOPO_NO_DISTANCE.
 */
__u32 bl_topo_distance(const struct bl_topo *topo, __u32 gpu, __u32 peer)
{
	__u32 gpu_depth, peer_depth, base = 0;
	__s32 common = bl_topo_common(topo, gpu, peer, &gpu_depth, &peer_depth);

	if (common == -2)
		return BL_TOPO_NO_DISTANCE;
	if (common == -1)
		base = topo->dev[gpu].node == topo->dev[peer].node ? BL_TOPO_CROSS : BL_TOPO_OTHER_NODE;
	else if (bl_topo_is_acs_on(&topo->dev[common]) && common != topo->dev[gpu].up)
		base = height(topo, common);
	return base + gpu_depth + peer_depth + 1;
}

/**
 * bl_topo_rank() - Compare peers of one GPU
 * @distance: the peer's
 * @peer:     peer
 *
 * Return: a number that is lower the nearer the peer, and of equally near ones the faster its link.
 */
__u32 bl_topo_rank(__u32 distance, const struct bl_topo_dev *peer)
{
	__u32 bandwidth = (__u32)peer->width * peer->speed;

	if (distance == BL_TOPO_NO_DISTANCE)
		return distance;
	if (bandwidth > MAX_BANDWIDTH)
		bandwidth = MAX_BANDWIDTH;
	return distance << 16 | (MAX_BANDWIDTH - bandwidth);
}

/**
 * bl_topo_name() - Write the address of a device
 * @dev:  device
 * @name: receives it, as "dddd:bb:dd.f"
 */
void bl_topo_name(const struct bl_topo_dev *dev, char name[BL_TOPO_NAME])
{
	snprintf(name, BL_TOPO_NAME, "%04x:%02x:%02x.%u", dev->domain, dev->bus, dev->devfn >> 3, dev->devfn & 7);
}

/**
 * bl_topo_class() - Word for a kind of peer
 * @dev: peer
 *
 * Return: the word.
 */
const char *bl_topo_class(const struct bl_topo_dev *dev)
{
	switch (dev->kind) {
	case BL_TOPO_NETWORK:
		return "network";
	case BL_TOPO_NVME:
		return "nvme";
	default:
		return "x";
	}
}
