// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Pairs of a GPU and a peer: whether the peer may reach the GPU is decided before it does for the first time, and how
 * often it did is counted.
 */
#include "core.h"
#include "stats.h"
#include "topo_pci.h"

#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>

#ifdef CONFIG_X86
#include <asm/processor.h>
#endif

#define TEXT_SIZE 200

int bl_allow_unknown_routes;
module_param_named(allow_unknown_routes, bl_allow_unknown_routes, int, 0644);
MODULE_PARM_DESC(allow_unknown_routes,
		 "let drives reach GPUs through root complexes of which nobody knows whether they forward (default 0)");

static DEFINE_MUTEX(pairs_lock);
static LIST_HEAD(pairs);
static u64 gpu_keys[BL_TOPO_GPUS];
static u32 nr_gpus;

/* pairs_lock is held. */
static u32 index_of(u64 gpu)
{
	u32 i;

	for (i = 0; i < nr_gpus; i++) {
		if (gpu_keys[i] == gpu)
			return i;
	}
	if (nr_gpus == BL_TOPO_GPUS)
		return UINT_MAX;
	gpu_keys[nr_gpus] = gpu;
	/* pairs with bl_pair_gpu(): who sees the number sees the key */
	smp_store_release(&nr_gpus, nr_gpus + 1);
	return nr_gpus - 1;
}

static struct bl_pair *find(u64 gpu, u64 peer)
{
	struct bl_pair *pair;

	list_for_each_entry(pair, &pairs, node) {
		if (pair->gpu == gpu && pair->peer == peer)
			return pair;
	}
	return NULL;
}

static struct bl_pair *add(u64 gpu, u64 peer)
{
	struct bl_pair *pair = kzalloc(sizeof(*pair), GFP_KERNEL);

	if (!pair)
		return NULL;
	pair->gpu = gpu;
	pair->peer = peer;
	pair->index = index_of(gpu);
	list_add_tail(&pair->node, &pairs);
	return pair;
}

static struct bl_pair *find_or_add(u64 gpu, u64 peer, u32 distance)
{
	struct bl_pair *pair;

	mutex_lock(&pairs_lock);
	pair = find(gpu, peer);
	if (!pair)
		pair = add(gpu, peer);
	if (pair)
		pair->distance = distance;
	mutex_unlock(&pairs_lock);
	return pair;
}

static bool cpu_forwards(void)
{
#ifdef CONFIG_X86
	return boot_cpu_data.x86_vendor == X86_VENDOR_AMD && boot_cpu_data.x86 >= 0x17;
#else
	return false;
#endif
}

/* The kernel may know of root complexes that we do not. What it says is about addresses that nobody translates. */
static bool kernel_knows(struct pci_dev *gpu, struct pci_dev *peer, bool translated)
{
	struct device *client = &peer->dev;

	return !translated && pci_p2pdma_distance_many(gpu, &client, 1, false) >= 0;
}

/* 0, -EOPNOTSUPP with a text that says why, or -ENOMEM. */
static int find_route(struct pci_dev *gpu, struct pci_dev *peer, bool translated, u32 *distance_p, char *text)
{
	const struct bl_topo_env env = { .translated = translated, .cpu_forwards = cpu_forwards() };
	struct bl_topo_route route;
	const struct bl_topo *topo;
	s32 a, b;
	int ret;

	*distance_p = BL_TOPO_NO_DISTANCE;
	ret = bl_topo_lock(&topo);
	if (ret)
		return ret;
	a = bl_topo_find(topo, pci_domain_nr(gpu->bus), gpu->bus->number, gpu->devfn);
	b = bl_topo_find(topo, pci_domain_nr(peer->bus), peer->bus->number, peer->devfn);
	if (a >= 0 && b >= 0) {
		*distance_p = bl_topo_distance(topo, a, b);
		bl_topo_route(topo, a, b, &env, &route);
		bl_topo_route_text(topo, &route, text, TEXT_SIZE);
	} else {
		route.works = false;
		strscpy(text, "one of them has just gone", TEXT_SIZE);
	}
	bl_topo_unlock();
	return route.works || kernel_knows(gpu, peer, translated) ? 0 : -EOPNOTSUPP;
}

static int admit(const struct bl_map *map, struct pci_dev *gpu, struct pci_dev *peer, u32 *distance_p)
{
	const struct iommu_domain *domain = iommu_get_domain_for_dev(&peer->dev);
	char text[TEXT_SIZE];
	int ret = -EOPNOTSUPP;

	if (domain && domain->type == IOMMU_DOMAIN_BLOCKED)
		return refuse(EOPNOTSUPP, "va 0x%llx: the IOMMU blocks device %s", map->va, pci_name(peer));
	if (!gpu)
		strscpy(text, "no device has that memory", sizeof(text));
	else
		ret = find_route(gpu, peer, domain && domain->type != IOMMU_DOMAIN_IDENTITY, distance_p, text);
	/* want of memory says nothing of the route */
	if (ret != -EOPNOTSUPP)
		return ret;
	if (READ_ONCE(bl_allow_unknown_routes))
		return 0;
	return refuse(EOPNOTSUPP, "va 0x%llx: device %s is not known to reach GPU %s: %s (allow_unknown_routes=1 tries it)",
		      map->va, pci_name(peer), gpu ? pci_name(gpu) : "?", text);
}

/**
 * bl_pair_admit() - Decide whether a device may reach the memory of a map
 * @map:    map
 * @peer:   the device
 * @pair_p: receives what is known of both, NULL when no device has the memory; not written on error
 *
 * Context: may sleep.
 * Return: 0, or -EOPNOTSUPP (it is not known to reach it), -ENOMEM; the former was reported.
 */
int bl_pair_admit(const struct bl_map *map, struct pci_dev *peer, struct bl_pair **pair_p)
{
	struct pci_dev *gpu = bl_device_of(map);
	struct bl_pair *pair = NULL;
	u32 distance = BL_TOPO_NO_DISTANCE;
	int ret;

	ret = admit(map, gpu, peer, &distance);
	if (!ret && gpu) {
		pair = find_or_add(bl_topo_key_of(gpu), bl_topo_key_of(peer), distance);
		if (!pair)
			ret = -ENOMEM;
	}
	pci_dev_put(gpu);
	if (!ret)
		*pair_p = pair;
	return ret;
}

/**
 * bl_pair_count() - A driver has asked for addresses for a request
 * @pair: pair, or NULL
 *
 * Context: any.
 */
void bl_pair_count(struct bl_pair *pair)
{
	if (pair && READ_ONCE(bl_peer_stats_enabled))
		atomic64_inc(&pair->ios);
}

/**
 * bl_pair_gpu() - Which GPU has a number
 * @index: number
 *
 * Context: any.
 * Return: its key, or U64_MAX.
 */
u64 bl_pair_gpu(u32 index)
{
	/* the number first, then the key */
	return index < smp_load_acquire(&nr_gpus) ? gpu_keys[index] : U64_MAX;
}

/**
 * bl_pair_ios() - How often a peer has reached a GPU
 * @gpu:  key
 * @peer: key
 *
 * Context: may sleep. Return: requests.
 */
u64 bl_pair_ios(u64 gpu, u64 peer)
{
	const struct bl_pair *pair;
	u64 ios;

	mutex_lock(&pairs_lock);
	pair = find(gpu, peer);
	ios = pair ? atomic64_read(&pair->ios) : 0;
	mutex_unlock(&pairs_lock);
	return ios;
}

/**
 * bl_pair_spread() - How often a GPU was reached over each distance
 * @gpu: key
 * @ios: receives requests for the distances 1 to 32, farther ones without a root complex with the last; and behind them
 *	 those through a root complex
 *
 * Context: may sleep.
 */
void bl_pair_spread(u64 gpu, u64 ios[33])
{
	const struct bl_pair *pair;

	memset(ios, 0, 33 * sizeof(*ios));
	mutex_lock(&pairs_lock);
	list_for_each_entry(pair, &pairs, node) {
		u32 at = pair->distance >= BL_TOPO_CROSS ? 32 : clamp(pair->distance, 1U, 32U) - 1;

		if (pair->gpu == gpu)
			ios[at] += atomic64_read(&pair->ios);
	}
	mutex_unlock(&pairs_lock);
}

/**
 * bl_pair_cross_percent() - How much of a GPU's requests came through a root complex
 * @gpu: key
 *
 * Context: may sleep. Return: percent.
 */
u32 bl_pair_cross_percent(u64 gpu)
{
	u64 ios[33], all = 0;
	size_t i;

	bl_pair_spread(gpu, ios);
	for (i = 0; i < ARRAY_SIZE(ios); i++)
		all += ios[i];
	return all ? div64_u64(ios[32] * 100, all) : 0;
}

/**
 * bl_pair_reset() - Begin to count anew
 */
void bl_pair_reset(void)
{
	struct bl_pair *pair;

	mutex_lock(&pairs_lock);
	list_for_each_entry(pair, &pairs, node)
		atomic64_set(&pair->ios, 0);
	mutex_unlock(&pairs_lock);
}

/**
 * bl_pair_exit() - Forget all pairs; no map is left that knows one
 */
void bl_pair_exit(void)
{
	struct bl_pair *pair, *next;

	list_for_each_entry_safe(pair, next, &pairs, node)
		kfree(pair);
}
