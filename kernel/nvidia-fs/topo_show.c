// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Places of devices in /proc/driver/nvidia-fs: bridges, peer_distance, peer_affinity. Columns and their blanks are
 * those that tools of GPUDirect Storage read.
 */
#include "core.h"
#include "topo_pci.h"

#include <linux/seq_file.h>

static u64 key_of(const struct bl_topo_dev *dev)
{
	return bl_topo_key(dev->domain, dev->bus, dev->devfn);
}

/**
 * bl_topo_show_bridges() - Write the bridges that control access between their peers
 * @s:      where to
 * @unused: nothing
 *
 * Return: 0, or -ENOMEM.
 */
int bl_topo_show_bridges(struct seq_file *s, void *unused)
{
	const struct bl_topo *topo;
	char name[BL_TOPO_NAME];
	int ret = bl_topo_lock(&topo);
	u32 i;

	if (ret)
		return ret;
	for (i = 0; i < topo->nr; i++) {
		if (topo->dev[i].kind != BL_TOPO_BRIDGE || !bl_topo_is_acs_on(&topo->dev[i]))
			continue;
		bl_topo_name(&topo->dev[i], name);
		seq_printf(s, "%s\n", name);
	}
	bl_topo_unlock();
	return 0;
}

static void show_pair(struct seq_file *s, const struct bl_topo *topo, u32 gpu, u32 peer)
{
	const struct bl_topo_dev *dev = &topo->dev[peer];
	u32 distance = bl_topo_distance(topo, gpu, peer);
	char name[2][BL_TOPO_NAME];

	bl_topo_name(&topo->dev[gpu], name[0]);
	bl_topo_name(dev, name[1]);
	seq_printf(s, "%s \t%s \t0x%08x\t0x%04x\t0x%02x\t0x%02x\t0x%02x\t%llu\t%s\n", name[0], name[1],
		   bl_topo_rank(distance, dev), distance, dev->width, dev->speed, dev->node,
		   bl_pair_ios(key_of(&topo->dev[gpu]), key_of(dev)), bl_topo_class(dev));
}

/**
 * bl_topo_show_distance() - Write a line for each pair of a GPU and a peer
 * @s:      where to
 * @unused: nothing
 *
 * Return: 0, or -ENOMEM.
 */
int bl_topo_show_distance(struct seq_file *s, void *unused)
{
	const struct bl_topo *topo;
	int ret = bl_topo_lock(&topo);
	u32 gpu, peer;

	if (ret)
		return ret;
	seq_puts(s, "gpu\t\tpeer\t\tpeerrank\tp2pdist\tlink\tgen\tnuma\tnp2p\tclass\n");
	for (gpu = 0; gpu < topo->nr; gpu++) {
		if (topo->dev[gpu].kind != BL_TOPO_GPU)
			continue;
		for (peer = 0; peer < topo->nr; peer++) {
			if (bl_topo_is_peer(&topo->dev[peer]))
				show_pair(s, topo, gpu, peer);
		}
	}
	bl_topo_unlock();
	return 0;
}

static void show_gpu(struct seq_file *s, const struct bl_topo_dev *gpu)
{
	char name[BL_TOPO_NAME];
	u64 ios[33];
	int i;

	bl_pair_spread(key_of(gpu), ios);
	bl_topo_name(gpu, name);
	seq_printf(s, "GPU :%s :", name);
	for (i = 0; i < 32; i++)
		seq_printf(s, "%llu ", ios[i]);
	seq_printf(s, "%llu\n", ios[32]);
}

/**
 * bl_topo_show_affinity() - Write how often each GPU was reached over each distance
 * @s:      where to
 * @unused: nothing
 *
 * Return: 0, or -ENOMEM.
 */
int bl_topo_show_affinity(struct seq_file *s, void *unused)
{
	const struct bl_topo *topo;
	int ret;
	u32 i;

	if (!READ_ONCE(bl_peer_stats_enabled))
		return 0;
	ret = bl_topo_lock(&topo);
	if (ret)
		return ret;
	seq_puts(s, "GPU P2P DMA distribution based on pci-distance\n\n");
	seq_puts(s, "(last column indicates p2p via root complex)\n");
	for (i = 0; i < topo->nr; i++) {
		if (topo->dev[i].kind == BL_TOPO_GPU)
			show_gpu(s, &topo->dev[i]);
	}
	bl_topo_unlock();
	return 0;
}
