// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Devices that reach the memory of a map, and the addresses that they use: bus addresses without an IOMMU, addresses of
 * their own space with one. They are made before the first piece, where it is allowed to sleep, and kept.
 *
 * The kernel's own DMA interface makes them. The GPU driver has a function for it too, but that one waits for locks
 * which the driver holds while it calls back, and the callback has to wait for us.
 */
#include "core.h"
#include "stats.h"
#include "topo_pci.h"

#include <linux/dma-mapping.h>
#include <linux/ioport.h>
#include <linux/slab.h>

static void unmap_chunks(struct bl_map *map, struct bl_peer *peer, u32 nr)
{
	while (nr--)
		dma_unmap_resource(&peer->pdev->dev, peer->dma[nr], map->chunks.chunk[nr].len, DMA_BIDIRECTIONAL,
				   DMA_ATTR_SKIP_CPU_SYNC);
}

static int map_chunks(struct bl_map *map, struct bl_peer *peer)
{
	struct device *dev = &peer->pdev->dev;
	u32 i;

	for (i = 0; i < map->chunks.nr; i++) {
		const struct bl_chunk *chunk = &map->chunks.chunk[i];

		if (page_is_ram(PHYS_PFN(chunk->pa))) {
			unmap_chunks(map, peer, i);
			return refuse(EOPNOTSUPP, "va 0x%llx: its pages are memory of the system", map->va);
		}
		peer->dma[i] = dma_map_resource(dev, chunk->pa, chunk->len, DMA_BIDIRECTIONAL,
						DMA_ATTR_SKIP_CPU_SYNC);
		if (dma_mapping_error(dev, peer->dma[i])) {
			unmap_chunks(map, peer, i);
			return refuse(EIO, "va 0x%llx: device %s cannot reach it", map->va, dev_name(dev));
		}
	}
	return 0;
}

static struct bl_peer *find(struct bl_map *map, const struct pci_dev *pdev)
{
	struct bl_peer *peer;

	list_for_each_entry(peer, &map->peers, node) {
		if (peer->pdev == pdev)
			return peer;
	}
	return NULL;
}

static struct bl_peer *find_open(struct bl_map *map, const struct pci_dev *pdev)
{
	struct bl_peer *peer;

	spin_lock_irq(&map->lock);
	peer = find(map, pdev);
	if (peer && peer->gate.closed)
		peer = NULL;
	spin_unlock_irq(&map->lock);
	return peer;
}

/* One that is closed and has no addresses yet. */
static struct bl_peer *add(struct bl_map *map, struct pci_dev *pdev)
{
	struct bl_peer *peer = kvzalloc(struct_size(peer, dma, map->chunks.nr), GFP_KERNEL_ACCOUNT);

	if (!peer)
		return NULL;
	peer->map = map;
	peer->pdev = pci_dev_get(pdev);
	peer->gate.closed = true;
	spin_lock_irq(&map->lock);
	list_add(&peer->node, &map->peers);
	spin_unlock_irq(&map->lock);
	return peer;
}

static int check_device(const struct pci_dev *pdev)
{
	if (!pdev->dev.driver)
		return refuse(ENODEV, "device %s: has no driver any more", pci_name(pdev));
	if (!bl_hooks_serve(pdev->dev.driver))
		return refuse(EOPNOTSUPP, "device %s: driver %s does not reach GPU memory for us", pci_name(pdev),
			      pdev->dev.driver->name);
	return 0;
}

static bool is_closed(struct bl_map *map)
{
	bool closed;

	spin_lock_irq(&map->lock);
	closed = map->gate.closed;
	spin_unlock_irq(&map->lock);
	return closed;
}

/* The lock of the device and peers_lock are held. */
static int make(struct bl_map *map, struct pci_dev *pdev, struct bl_peer **peer_p)
{
	struct bl_peer *peer = find(map, pdev);
	int ret;

	if (is_closed(map))
		return -EIO;
	if (peer && peer->mapped) {
		/* open, or waited for by who closed it */
		*peer_p = peer;
		return 0;
	}
	if (!peer)
		peer = add(map, pdev);
	if (!peer)
		return -ENOMEM;
	ret = bl_pair_admit(map, pdev, &peer->pair);
	if (!ret)
		ret = map_chunks(map, peer);
	if (ret) {
		atomic64_inc(&bl_stats.dma_map);
		return ret;
	}
	peer->mapped = true;
	spin_lock_irq(&map->lock);
	bl_gate_reopen(&peer->gate);
	spin_unlock_irq(&map->lock);
	*peer_p = peer;
	return 0;
}

/**
 * bl_peer_get() - Have a device reach the memory of a map
 * @map:    map
 * @pdev:   device
 * @peer_p: receives the peer, which lives as long as the map; not written on error
 *
 * Context: may sleep. Return: 0, or -EOPNOTSUPP (the device's driver does not work with us, or the device is not known
 * to reach the memory), -ENODEV (it has none), -EIO (it cannot reach the memory, or that has gone), -ENOMEM, -EINTR;
 * the error was reported, unless the memory has gone.
 */
int bl_peer_get(struct bl_map *map, struct pci_dev *pdev, struct bl_peer **peer_p)
{
	struct bl_peer *peer = find_open(map, pdev);
	int ret;

	if (peer) {
		*peer_p = peer;
		return 0;
	}
	/* no driver comes or goes meanwhile */
	if (device_lock_interruptible(&pdev->dev))
		return -EINTR;
	ret = check_device(pdev);
	if (!ret) {
		mutex_lock(&map->peers_lock);
		ret = make(map, pdev, peer_p);
		mutex_unlock(&map->peers_lock);
	}
	device_unlock(&pdev->dev);
	return ret;
}

/**
 * bl_peer_enter() - Begin a piece of I/O
 * @map:  map
 * @peer: device that does the DMA
 *
 * Until bl_peer_leave() the memory and the device's addresses stay.
 *
 * Return: 0, or -EIO (the memory has gone), -ENODEV (the device has).
 */
int bl_peer_enter(struct bl_map *map, struct bl_peer *peer)
{
	int ret = 0;

	spin_lock_irq(&map->lock);
	if (map->gate.closed)
		ret = -EIO;
	else if (!bl_gate_enter(&peer->gate))
		ret = -ENODEV;
	else
		bl_gate_enter(&map->gate);
	spin_unlock_irq(&map->lock);
	return ret;
}

/**
 * bl_peer_leave() - End a piece of I/O
 * @map:  map
 * @peer: peer
 *
 * Context: any.
 */
void bl_peer_leave(struct bl_map *map, struct bl_peer *peer)
{
	unsigned long flags;
	bool wake;

	spin_lock_irqsave(&map->lock, flags);
	wake = bl_gate_leave(&map->gate);
	wake |= bl_gate_leave(&peer->gate);
	spin_unlock_irqrestore(&map->lock, flags);
	/* the map is still there: the request holds its shadow */
	if (wake)
		wake_up_all(&map->idle);
}

/**
 * bl_peer_dma() - Where a GPU page is
 * @map:  map
 * @peer: a peer that the caller has entered
 * @off:  offset of the page in the map
 * @pa_p: receives its physical address
 *
 * Return: the peer's address of it.
 */
dma_addr_t bl_peer_dma(const struct bl_map *map, const struct bl_peer *peer, u64 off, u64 *pa_p)
{
	u32 nr = bl_chunks_find(&map->chunks, off);
	const struct bl_chunk *chunk = &map->chunks.chunk[nr];

	*pa_p = chunk->pa + (off - chunk->off);
	return peer->dma[nr] + (off - chunk->off);
}

static bool close_peer(struct bl_map *map, struct bl_peer *peer)
{
	bool idle;

	spin_lock_irq(&map->lock);
	peer->gate.closed = true;
	idle = bl_gate_is_idle(&peer->gate);
	spin_unlock_irq(&map->lock);
	return idle;
}

static void unmap_peer(struct bl_map *map, struct bl_peer *peer)
{
	if (peer->mapped)
		unmap_chunks(map, peer, map->chunks.nr);
	peer->mapped = false;
}

/**
 * bl_peer_lose() - A device goes
 * @map:  map
 * @pdev: the device
 * @wait: how long to wait for pieces that are under way
 *
 * Context: may sleep; the lock of the device is held.
 * Return: true when the device has no addresses any more; false when pieces are still under way, and no new one begins.
 */
bool bl_peer_lose(struct bl_map *map, const struct pci_dev *pdev, unsigned long wait)
{
	struct bl_peer *peer;

	spin_lock_irq(&map->lock);
	peer = find(map, pdev);
	spin_unlock_irq(&map->lock);
	if (!peer)
		return true;
	if (!wait_event_timeout(map->idle, close_peer(map, peer), wait))
		return false;
	mutex_lock(&map->peers_lock);
	unmap_peer(map, peer);
	mutex_unlock(&map->peers_lock);
	return true;
}

/**
 * bl_peers_unmap() - Take the addresses of all devices away
 * @map: one that no piece is inside of, nor will be
 *
 * Context: may sleep.
 */
void bl_peers_unmap(struct bl_map *map)
{
	struct bl_peer *peer;

	mutex_lock(&map->peers_lock);
	list_for_each_entry(peer, &map->peers, node)
		unmap_peer(map, peer);
	mutex_unlock(&map->peers_lock);
}

/**
 * bl_peers_free() - Free all peers of a map
 * @map: one that ends
 */
void bl_peers_free(struct bl_map *map)
{
	struct bl_peer *peer, *next;

	list_for_each_entry_safe(peer, next, &map->peers, node) {
		list_del(&peer->node);
		pci_dev_put(peer->pdev);
		kvfree(peer);
	}
}
