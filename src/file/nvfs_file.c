// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "nvfs.h"
#include "nvfs_place.h"
#include "nvfs_text.h"

/* What makes a file system move the bytes itself, or forbid it, whatever the drive is. */
static const struct {
	uint64_t bit;
	const char *text;
} attributes[] = {
	{STATX_ATTR_COMPRESSED,
	 "the file is compressed: direct I/O of it goes through the CPU (chattr -c, then copy it)"},
	{STATX_ATTR_ENCRYPTED, "the file is encrypted: its bytes go through the CPU"},
	{STATX_ATTR_APPEND, "the file is append-only (chattr -a)"},
	{STATX_ATTR_IMMUTABLE, "the file is immutable (chattr -i)"},
	{STATX_ATTR_DAX, "the file is in memory that the CPU copies from (DAX): mount with dax=never"},
};

static int refuse(char *why, size_t size, const char *text)
{
	snprintf(why, size, "%s", text);
	return -EOPNOTSUPP;
}

static int file_itself(const struct bl_file *file, char *why, size_t size)
{
	struct statx stx;

	if (!file->device)
		return refuse(why, size, "neither a regular file nor a block device");
	if (!file->align)
		return refuse(why, size,
			      "the file system has no direct I/O for this file: use ext4 or xfs on an NVMe drive");
	if (file->align > NVIDIA_FS_GPU_PAGE)
		return refuse(why, size, "direct I/O wants more than 64 KiB of alignment here");
	if (statx(file->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &stx))
		return refuse(why, size, strerror(errno));
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (stx.stx_attributes & attributes[i].bit)
			return refuse(why, size, attributes[i].text);
	}
	return 0;
}

/* Found in a table of the process, since a file does not know its mount. */
static int find_mount(const struct bl_file *file, struct bl_nvfs_mount *mount, char *why, size_t size)
{
	char *text = NULL;
	bool found;
	int ret;

	ret = bl_nvfs_text_read("/proc/self/mountinfo", &text);
	if (ret) {
		snprintf(why, size, "read /proc/self/mountinfo: %s", strerror(-ret));
		return -EOPNOTSUPP;
	}
	found = bl_nvfs_mount_find(text, file->dev, mount);
	free(text);
	if (!found)
		return refuse(why, size, "no mount has the file's device number: a file system of many, such as btrfs");
	return 0;
}

static int place(const struct bl_file *file, const char **hook_p, char *why, size_t size)
{
	struct bl_nvfs_mount mount;
	struct stat st;
	int ret;

	if (fstat(file->fd, &st))
		return refuse(why, size, strerror(errno));
	if (S_ISBLK(st.st_mode))
		return bl_nvfs_disk_supported(st.st_rdev, hook_p, why, size);
	ret = find_mount(file, &mount, why, size);
	if (ret)
		return ret;
	ret = bl_nvfs_mount_supported(&mount, hook_p, why, size);
	return ret || **hook_p ? ret : bl_nvfs_disk_supported(file->dev, hook_p, why, size);
}

int bl_nvfs_file_dma(const struct bl_file *file, char *why, size_t size)
{
	struct bl_nvfs_mount mount = {0};
	const char *hook = "";
	struct stat st;
	int ret;

	ret = file_itself(file, why, size);
	if (ret)
		return ret;
	if (fstat(file->fd, &st))
		return refuse(why, size, strerror(errno));
	if (!S_ISBLK(st.st_mode)) {
		ret = find_mount(file, &mount, why, size);
		if (ret)
			return ret;
		if (strcmp(mount.type, "ext4") && strcmp(mount.type, "xfs")) {
			snprintf(why, size, "%s on %s is neither ext4 nor xfs", mount.type, mount.point);
			return -EOPNOTSUPP;
		}
	}
	ret = bl_nvfs_disk_supported(S_ISBLK(st.st_mode) ? st.st_rdev : file->dev, &hook, why, size);
	if (!ret && strcmp(hook, "nvme"))
		ret = refuse(why, size, "the drive is not in this machine");
	return ret;
}

int bl_nvfs_file_supported(const struct bl_file *file, char *why, size_t size)
{
	const char *hook = "", *blocked;
	int ret;

	ret = file_itself(file, why, size);
	if (!ret)
		ret = place(file, &hook, why, size);
	if (ret)
		return ret;
	blocked = bl_nvfs_blocked();
	if (blocked)
		return refuse(why, size, blocked);
	if (!bl_nvfs_hook(hook)) {
		snprintf(why, size,
			 "driver %s has not taken the hooks of nvidia-fs (" BL_NVFS_PROC "/modules): "
			 "install the one that comes with GPUDirect Storage, or a kernel that has them",
			 hook);
		return -EOPNOTSUPP;
	}
	snprintf(why, size, "by the hooks of driver %s", hook);
	return 0;
}
