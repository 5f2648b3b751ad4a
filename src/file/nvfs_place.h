/* SPDX-License-Identifier: MIT */
/*
 * nvfs_place.h - what lies below a file: its mount and its drive, and whether the module can reach that
 *
 * What the module serves must do its direct I/O with the pages that it is given, and end in a driver that has taken the
 * module's hooks. Anything between, such as a device mapper or a copy in the page cache, would get the shadow pages,
 * which hold nothing.
 */
#ifndef BL_FILE_NVFS_PLACE_H
#define BL_FILE_NVFS_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * struct bl_nvfs_mount - a line of /proc/self/mountinfo
 * @type:    of the file system
 * @point:   where it is mounted, as the kernel escapes it
 * @options: of the mount and of the file system, separated by commas
 */
struct bl_nvfs_mount {
	char type[64];
	char point[256];
	char options[1024];
};

/**
 * bl_nvfs_mount_find() - The mount of a device number
 * @text:  /proc/self/mountinfo
 * @dev:   st_dev of a file on it
 * @mount: receives the first that there is
 *
 * Return: whether there is one.
 */
bool bl_nvfs_mount_find(const char *text, dev_t dev, struct bl_nvfs_mount *mount);

/**
 * bl_nvfs_mount_supported() - Whether the module serves a file system
 * @mount:  where
 * @hook_p: receives the driver that must have the hooks; "": that of the block device
 * @why:    receives the condition that blocks
 * @size:   bytes of @why
 *
 * Return: 0 or -EOPNOTSUPP.
 */
int bl_nvfs_mount_supported(const struct bl_nvfs_mount *mount, const char **hook_p, char *why, size_t size);

/**
 * bl_nvfs_disk_supported() - Whether the module serves a block device
 * @dev:    its number; a partition counts as its disk
 * @hook_p: receives the driver that must have the hooks
 * @why:    receives the condition that blocks
 * @size:   bytes of @why
 *
 * Return: 0 or -EOPNOTSUPP.
 */
int bl_nvfs_disk_supported(dev_t dev, const char **hook_p, char *why, size_t size);

#endif
