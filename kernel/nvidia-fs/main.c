// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * nvidia-fs.ko - files to GPU memory and back, by the DMA of their drive
 *
 * Stands in for the module of GPUDirect Storage: same nodes, requests, files and parameters. core.h says how it works.
 */
#include "core.h"
#include "topo_pci.h"

#include <linux/init.h>
#include <linux/module.h>
#include <linux/workqueue.h>

int bl_max_devices = NVIDIA_FS_MAX_NODES;
module_param_named(max_devices, bl_max_devices, int, 0444);
MODULE_PARM_DESC(max_devices, "how many nodes there are, at most 16 (default 16, 0 is 16)");

int bl_dbg_enabled;
module_param_named(dbg_enabled, bl_dbg_enabled, int, 0644);
MODULE_PARM_DESC(dbg_enabled, "report every binding (default 0)");

int bl_info_enabled = 1;
module_param_named(info_enabled, bl_info_enabled, int, 0644);
MODULE_PARM_DESC(info_enabled, "say why a request is refused (default 1)");

int bl_rw_stats_enabled;
module_param_named(rw_stats_enabled, bl_rw_stats_enabled, int, 0644);
MODULE_PARM_DESC(rw_stats_enabled, "count reads and writes (default 0)");

int bl_peer_stats_enabled;
module_param_named(peer_stats_enabled, bl_peer_stats_enabled, int, 0644);
MODULE_PARM_DESC(peer_stats_enabled, "count requests of each pair of a GPU and a peer (default 0)");

int bl_use_legacy;
module_param_named(use_legacy_p2p_allocation, bl_use_legacy, int, 0644);
MODULE_PARM_DESC(use_legacy_p2p_allocation,
		 "let the owner of GPU memory free it while it is bound (default 0: it stays, if the GPU driver can)");

ushort bl_node_mode = 0666;
module_param_named(node_mode, bl_node_mode, ushort, 0444);
MODULE_PARM_DESC(node_mode, "mode of /dev/nvidia-fs0 and following (default 0666)");

/* what has to be done at the end of a piece, and may not be done in an interrupt */
struct workqueue_struct *bl_queue;

static int __init nvfs_init(void)
{
	int ret;

	if (bl_node_mode & ~0777) {
		pr_err("parameter node_mode 0%o: more than permissions\n", bl_node_mode);
		return -EINVAL;
	}
	if (bl_max_devices < 0) {
		pr_err("parameter max_devices %d: less than none\n", bl_max_devices);
		return -EINVAL;
	}
	/* the end of I/O must not wait for memory */
	bl_queue = alloc_workqueue("nvidia-fs", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!bl_queue)
		return -ENOMEM;
	ret = bl_watch_init(bl_device_lose);
	if (ret) {
		pr_err("listen for devices that go: %pe\n", ERR_PTR(ret));
		goto queue;
	}
	ret = bl_topo_init();
	if (ret) {
		pr_err("look at the devices on PCI Express: %pe\n", ERR_PTR(ret));
		goto watch;
	}
	ret = bl_proc_init();
	if (ret) {
		pr_err("make /proc/driver/nvidia-fs: %pe\n", ERR_PTR(ret));
		goto topo;
	}
	ret = bl_node_init();
	if (ret) {
		pr_err("make /dev/nvidia-fs0 and following: %pe\n", ERR_PTR(ret));
		goto proc;
	}
	pr_info("version %s, %u nodes\n", BL_VERSION, bl_node_count());
	return 0;
proc:
	bl_proc_exit();
topo:
	bl_topo_exit();
watch:
	bl_watch_exit();
queue:
	destroy_workqueue(bl_queue);
	return ret;
}

/* No file is open now, of a node or of a shadow, so nothing is bound and no driver knows us. */
static void __exit nvfs_exit(void)
{
	bl_node_exit();
	bl_proc_exit();
	bl_watch_exit();
	bl_topo_exit();
	bl_shadow_exit();
	destroy_workqueue(bl_queue);
}

module_init(nvfs_init);
module_exit(nvfs_exit);

MODULE_AUTHOR("Barlane authors");
MODULE_DESCRIPTION("Files to GPU memory by DMA, compatible with the module of GPUDirect Storage");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(BL_VERSION);
