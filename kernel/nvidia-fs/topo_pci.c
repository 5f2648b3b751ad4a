// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The devices of this machine as the kernel has them now. Who may sleep has them read anew; for drivers that ask while
 * they may not, they are read a moment after a device has come or gone.
 */
#include "core.h"
#include "topo_pci.h"

#include <linux/device/bus.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

/* devices that may come while they are counted */
#define SPARE 16
#define DELAY (HZ / 5)

char *bl_gpu_ids = "";
module_param_named(gpu_ids, bl_gpu_ids, charp, 0444);
MODULE_PARM_DESC(gpu_ids, "vendor:device,... of GPUs besides NVIDIA's (default none)");

/**
 * struct snapshot - all devices
 * @rcu:  frees it
 * @topo: they
 * @dev:  its list
 */
struct snapshot {
	struct rcu_head rcu;
	struct bl_topo topo;
	struct bl_topo_dev dev[];
};

static DEFINE_MUTEX(topo_lock);
static struct snapshot __rcu *now;

static u32 read_config(const void *arg, u32 off)
{
	u32 value;

	if (pci_read_config_dword((struct pci_dev *)arg, off, &value))
		return ~0U;
	return value;
}

/* A parameter such as "1af4:1110,1002:740f". */
static bool is_listed(const struct pci_dev *pdev)
{
	const char *at = bl_gpu_ids;
	unsigned int vendor, device;

	for (; at && *at; at = strchr(at, ',')) {
		at += *at == ',';
		if (sscanf(at, "%x:%x", &vendor, &device) == 2 && vendor == pdev->vendor && device == pdev->device)
			return true;
	}
	return false;
}

/* What the kernel remembers is right for a device that sleeps, too. */
static void read_device(struct bl_topo_dev *dev, struct pci_dev *pdev)
{
	const struct bl_topo_config config = { .read = read_config, .arg = pdev, .len = pdev->cfg_size };

	if (!bl_topo_read(dev, &config))
		*dev = (struct bl_topo_dev){ .vendor = pdev->vendor, .device = pdev->device, .class = pdev->class,
					     .kind = pdev->subordinate ? BL_TOPO_BRIDGE : BL_TOPO_OTHER, .port = -1 };
	dev->domain = pci_domain_nr(pdev->bus);
	dev->bus = pdev->bus->number;
	dev->devfn = pdev->devfn;
	dev->node = dev_to_node(&pdev->dev);
	if (dev->kind != BL_TOPO_BRIDGE && is_listed(pdev))
		dev->kind = BL_TOPO_GPU;
}

/*
 * Which buses a bridge has below it, from a device that is on the first of them: that holds its bus, and the bus the
 * bridge. The way down, pci_dev.subordinate, may be freed while it is looked at.
 */
static void read_buses(struct bl_topo *topo, const struct pci_bus *bus)
{
	const struct pci_dev *bridge = bus->self;
	s32 i;

	if (!bridge)
		return;
	i = bl_topo_find(topo, pci_domain_nr(bridge->bus), bridge->bus->number, bridge->devfn);
	if (i < 0)
		return;
	topo->dev[i].first = bus->busn_res.start;
	topo->dev[i].last = bus->busn_res.end;
}

static void read_all_buses(struct bl_topo *topo)
{
	struct pci_dev *pdev = NULL;

	for_each_pci_dev(pdev) {
		/* the first one that the kernel has there; a second one would say the same */
		if (pdev == list_first_entry_or_null(&pdev->bus->devices, struct pci_dev, bus_list))
			read_buses(topo, pdev->bus);
	}
}

static u32 count_devices(void)
{
	struct pci_dev *pdev = NULL;
	u32 nr = 0;

	for_each_pci_dev(pdev)
		nr++;
	return nr;
}

static struct snapshot *take_snapshot(void)
{
	u32 room = count_devices() + SPARE;
	struct snapshot *snap = kvzalloc(struct_size(snap, dev, room), GFP_KERNEL);
	struct pci_dev *pdev = NULL;

	if (!snap)
		return NULL;
	snap->topo.dev = snap->dev;
	for_each_pci_dev(pdev) {
		if (snap->topo.nr == room) {
			pci_dev_put(pdev);
			break;
		}
		read_device(&snap->dev[snap->topo.nr++], pdev);
	}
	read_all_buses(&snap->topo);
	bl_topo_link(&snap->topo);
	return snap;
}

/* topo_lock is held. */
static int refresh(void)
{
	struct snapshot *snap = take_snapshot(), *old;

	if (!snap)
		return -ENOMEM;
	old = rcu_dereference_protected(now, lockdep_is_held(&topo_lock));
	rcu_assign_pointer(now, snap);
	if (old)
		kvfree_rcu(old, rcu);
	return 0;
}

/**
 * bl_topo_lock() - Read all devices, and keep what was read
 * @topo_p: receives them, good until bl_topo_unlock(); not written on error
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM.
 */
int bl_topo_lock(const struct bl_topo **topo_p)
{
	int ret;

	mutex_lock(&topo_lock);
	ret = refresh();
	if (ret)
		mutex_unlock(&topo_lock);
	else
		*topo_p = &rcu_dereference_protected(now, lockdep_is_held(&topo_lock))->topo;
	return ret;
}

/**
 * bl_topo_unlock() - End what bl_topo_lock() began
 */
void bl_topo_unlock(void)
{
	mutex_unlock(&topo_lock);
}

/**
 * bl_topo_priority() - How near a peer is to a GPU
 * @peer: peer
 * @gpu:  key of the GPU
 *
 * Context: any.
 * Return: a rank, lower is nearer; UINT_MAX: not known.
 */
u32 bl_topo_priority(const struct pci_dev *peer, u64 gpu)
{
	const struct snapshot *snap;
	u32 rank = UINT_MAX;
	s32 a, b;

	rcu_read_lock();
	snap = rcu_dereference(now);
	if (snap) {
		a = bl_topo_find(&snap->topo, gpu >> 16, gpu >> 8, gpu);
		b = bl_topo_find(&snap->topo, pci_domain_nr(peer->bus), peer->bus->number, peer->devfn);
		if (a >= 0 && b >= 0)
			rank = bl_topo_rank(bl_topo_distance(&snap->topo, a, b), &snap->topo.dev[b]);
	}
	rcu_read_unlock();
	return rank;
}

static void read_again(struct work_struct *work)
{
	mutex_lock(&topo_lock);
	/* without memory what was known before is still better than nothing */
	refresh();
	mutex_unlock(&topo_lock);
}

static DECLARE_DELAYED_WORK(again, read_again);

/* A device is announced before its bus has numbers: what comes of it is read a little later. */
static int bus_event(struct notifier_block *block, unsigned long event, void *data)
{
	if (event == BUS_NOTIFY_ADD_DEVICE || event == BUS_NOTIFY_REMOVED_DEVICE)
		schedule_delayed_work(&again, DELAY);
	return NOTIFY_DONE;
}

static struct notifier_block bus_block = {
	.notifier_call = bus_event,
};

/**
 * bl_topo_init() - Read all devices, and begin to listen for others
 *
 * Return: 0 or -errno.
 */
int bl_topo_init(void)
{
	int ret = bus_register_notifier(&pci_bus_type, &bus_block);

	if (ret)
		return ret;
	mutex_lock(&topo_lock);
	ret = refresh();
	mutex_unlock(&topo_lock);
	if (ret)
		bl_topo_exit();
	return ret;
}

/**
 * bl_topo_exit() - Listen no more, and forget all
 */
void bl_topo_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &bus_block);
	cancel_delayed_work_sync(&again);
	kvfree(rcu_dereference_protected(now, true));
	bl_pair_exit();
}
