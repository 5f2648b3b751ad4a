// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * /proc/driver/nvidia-fs: devcount, version, modules, stats, bridges, peer_distance, peer_affinity. Names and lines are
 * those of GPUDirect Storage's module.
 */
#include "core.h"
#include "stats.h"
#include "topo_pci.h"

#include <linux/namei.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

static struct proc_dir_entry *dir;

/**
 * bl_proc_has() - Whether there is a file, for who reads one of ours
 * @path: its path
 *
 * Context: may sleep.
 * Return: true if there is.
 */
bool bl_proc_has(const char *path)
{
	struct path found;

	if (kern_path(path, LOOKUP_FOLLOW, &found))
		return false;
	path_put(&found);
	return true;
}

static int show_devcount(struct seq_file *s, void *unused)
{
	seq_printf(s, "%u\n", bl_node_count());
	return 0;
}

static int show_version(struct seq_file *s, void *unused)
{
	seq_printf(s, "version: %u.%u\n", BL_VERSION_MAJOR, BL_VERSION_MINOR);
	return 0;
}

static int show_modules(struct seq_file *s, void *unused)
{
	bl_hooks_show(s);
	return 0;
}

static int show_stats(struct seq_file *s, void *unused)
{
	bl_stats_show(s);
	return 0;
}

static int open_stats(struct inode *inode, struct file *f)
{
	return single_open(f, show_stats, NULL);
}

/* Whatever is written: begin to count anew. */
static ssize_t write_stats(struct file *f, const char __user *text, size_t len, loff_t *pos)
{
	bl_stats_reset();
	return len;
}

static const struct proc_ops stats_ops = {
	.proc_open = open_stats,
	.proc_read = seq_read,
	.proc_write = write_stats,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

/**
 * bl_proc_init() - Make the files
 *
 * Return: 0, or -ENOMEM.
 */
int bl_proc_init(void)
{
	dir = proc_mkdir("driver/nvidia-fs", NULL);
	if (!dir)
		return -ENOMEM;
	if (!proc_create_single("devcount", 0444, dir, show_devcount) ||
	    !proc_create_single("version", 0444, dir, show_version) ||
	    !proc_create_single("modules", 0444, dir, show_modules) ||
	    !proc_create_single("bridges", 0444, dir, bl_topo_show_bridges) ||
	    !proc_create_single("peer_distance", 0444, dir, bl_topo_show_distance) ||
	    !proc_create_single("peer_affinity", 0444, dir, bl_topo_show_affinity) ||
	    !proc_create("stats", 0444, dir, &stats_ops)) {
		proc_remove(dir);
		return -ENOMEM;
	}
	return 0;
}

/**
 * bl_proc_exit() - Take the files away
 */
void bl_proc_exit(void)
{
	proc_remove(dir);
}
