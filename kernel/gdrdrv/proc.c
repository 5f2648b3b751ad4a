// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * /proc/driver/gdrdrv: params, and with dbg_enabled nv_get_pages_refcount. Names and lines are those of GDRCopy's module.
 */
#include "core.h"

#include <linux/proc_fs.h>
#include <linux/seq_file.h>

static struct proc_dir_entry *dir;

static int show_params(struct seq_file *s, void *unused)
{
	seq_printf(s, "Version: %s\n", BL_VERSION);
	seq_printf(s, "Built for NVIDIA driver flavor: %s\n", bl_nvp2p_flavor);
	seq_printf(s, "Use persistent mapping: %s\n", bl_use_persistent ? "yes" : "no");
	seq_printf(s, "dbg_enabled: %d\n", bl_dbg_enabled);
	seq_printf(s, "info_enabled: %d\n", bl_info_enabled);
	return 0;
}

static int show_refcount(struct seq_file *s, void *unused)
{
	seq_printf(s, "%d\n", atomic_read(&bl_nr_pins));
	return 0;
}

/**
 * bl_proc_init() - Make the files
 *
 * Return: 0, or -ENOMEM.
 */
int bl_proc_init(void)
{
	dir = proc_mkdir("driver/gdrdrv", NULL);
	if (!dir)
		return -ENOMEM;
	if (!proc_create_single("params", 0444, dir, show_params))
		goto remove;
	if (bl_dbg_enabled && !proc_create_single("nv_get_pages_refcount", 0440, dir, show_refcount))
		goto remove;
	return 0;
remove:
	proc_remove(dir);
	return -ENOMEM;
}

/**
 * bl_proc_exit() - Take the files away
 */
void bl_proc_exit(void)
{
	proc_remove(dir);
}
