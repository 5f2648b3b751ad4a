// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * gdrdrv.ko - CPU mappings of GPU memory
 *
 * Stands in for the module of GDRCopy 2.6: same device node, requests, files and parameters. core.h says how it works.
 */
#include "core.h"

#include <linux/init.h>
#include <linux/module.h>

int bl_dbg_enabled;
module_param_named(dbg_enabled, bl_dbg_enabled, int, 0);
MODULE_PARM_DESC(dbg_enabled, "report every pin and unpin, and show how many there are in /proc (default 0)");

int bl_info_enabled;
module_param_named(info_enabled, bl_info_enabled, int, 0);
MODULE_PARM_DESC(info_enabled, "accepted for compatibility (default 0)");

int bl_use_persistent = 1;
module_param_named(use_persistent_mapping, bl_use_persistent, int, 0);
MODULE_PARM_DESC(use_persistent_mapping, "pins keep GPU memory that its owner frees, if the GPU driver can (default 1)");

ushort bl_node_mode = 0666;
module_param_named(node_mode, bl_node_mode, ushort, 0444);
MODULE_PARM_DESC(node_mode, "mode of /dev/gdrdrv (default 0666)");

static int __init gdrdrv_init(void)
{
	int ret;

	if (bl_node_mode & ~0777) {
		pr_err("parameter node_mode 0%o: more than permissions\n", bl_node_mode);
		return -EINVAL;
	}
	bl_platform_init();
	ret = bl_dmabuf_init();
	if (ret) {
		pr_err("make a device for dma-bufs: %pe\n", ERR_PTR(ret));
		return ret;
	}
	ret = bl_watch_init(bl_device_lose);
	if (ret) {
		pr_err("listen for devices that go: %pe\n", ERR_PTR(ret));
		goto dmabuf;
	}
	ret = bl_proc_init();
	if (ret) {
		pr_err("make /proc/driver/gdrdrv: %pe\n", ERR_PTR(ret));
		goto watch;
	}
	ret = bl_node_init();
	if (ret) {
		pr_err("make /dev/gdrdrv: %pe\n", ERR_PTR(ret));
		goto proc;
	}
	pr_info("version %s for GPU drivers of flavor %s, persistent mappings %s\n", BL_VERSION, bl_nvp2p_flavor,
		bl_use_persistent ? "wanted" : "off");
	return 0;
proc:
	bl_proc_exit();
watch:
	bl_watch_exit();
dmabuf:
	bl_dmabuf_exit();
	return ret;
}

/* No file is open now, so nothing is pinned and no provider knows us. */
static void __exit gdrdrv_exit(void)
{
	bl_node_exit();
	bl_proc_exit();
	bl_watch_exit();
	bl_dmabuf_exit();
}

module_init(gdrdrv_init);
module_exit(gdrdrv_exit);

MODULE_AUTHOR("Barlane authors");
MODULE_DESCRIPTION("CPU mappings of GPU memory, compatible with the module of GDRCopy");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(BL_VERSION);
