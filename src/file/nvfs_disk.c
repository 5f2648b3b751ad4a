// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "nvfs_place.h"
#include "nvfs_text.h"

#define MAX_MEMBERS 256L

/* A folder of a disk or of a part of one in /sys. */
struct node {
	char path[128];
	char name[64];
};

static int refuse(char *why, size_t size, const char *name, const char *text)
{
	snprintf(why, size, "%s %s", name, text);
	return -EOPNOTSUPP;
}

/* Read PATH/uevent: the name of what lies there, and whether it is a part of a disk. */
static bool look_at(struct node *node, bool *part_p)
{
	char path[160], kind[32] = "", *text = NULL;
	bool found;

	snprintf(path, sizeof(path), "%s/uevent", node->path);
	if (bl_nvfs_text_read(path, &text))
		return false;
	found = bl_nvfs_text_value(text, "DEVNAME=", node->name, sizeof(node->name));
	bl_nvfs_text_value(text, "DEVTYPE=", kind, sizeof(kind));
	*part_p = !strcmp(kind, "partition");
	free(text);
	return found;
}

/* The disk at a folder of /sys; a partition's folder lies in its disk's. */
static bool find_disk(struct node *node)
{
	bool part = false;
	size_t len;

	if (!look_at(node, &part))
		return false;
	if (!part)
		return true;
	len = strlen(node->path);
	snprintf(node->path + len, sizeof(node->path) - len, "/..");
	return look_at(node, &part) && !part;
}

/* The first line of a file below the disk; "" when there is none. */
static const char *attr(const struct node *node, const char *name, char *line, size_t size)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", node->path, name);
	if (bl_nvfs_text_line(path, line, size))
		*line = '\0';
	return line;
}

/* Protection information travels beside the data, in memory that the module does not know. */
static bool has_metadata(const struct node *node)
{
	char line[32];

	return !strcmp(attr(node, "integrity/device_is_integrity_capable", line, sizeof(line)), "1") ||
	       atol(attr(node, "metadata_bytes", line, sizeof(line))) > 0;
}

static int nvme_supported(const struct node *node, const char **hook_p, char *why, size_t size)
{
	char transport[32];

	if (has_metadata(node))
		return refuse(why, size, node->name,
			      "has integrity metadata: format the namespace without (nvme format -m 0)");
	attr(node, "device/transport", transport, sizeof(transport));
	if (!strcmp(transport, "pcie")) {
		*hook_p = "nvme";
		return 0;
	}
	if (!strcmp(transport, "rdma")) {
		*hook_p = "nvme_rdma";
		return 0;
	}
	if (!*transport)
		return refuse(why, size, node->name,
			      "does not say how its drive is connected, as with NVMe multipath: nvme_core.multipath=N");
	snprintf(why, size, "%s is connected by %s: only pcie and rdma are served", node->name, transport);
	return -EOPNOTSUPP;
}

static int member_supported(const struct node *raid, long nr, const char **hook_p, char *why, size_t size)
{
	struct node node;
	const char *hook;
	int ret;

	if (snprintf(node.path, sizeof(node.path), "%s/md/rd%ld/block", raid->path, nr) >= (int)sizeof(node.path) ||
	    !find_disk(&node)) {
		snprintf(why, size, "%s: its member %ld cannot be found in /sys", raid->name, nr);
		return -EOPNOTSUPP;
	}
	if (strncmp(node.name, "nvme", 4)) {
		snprintf(why, size, "%s has the member %s: only NVMe drives are served", raid->name, node.name);
		return -EOPNOTSUPP;
	}
	ret = nvme_supported(&node, &hook, why, size);
	if (ret)
		return ret;
	if (nr && strcmp(hook, *hook_p))
		return refuse(why, size, raid->name, "has members that are connected in different ways");
	*hook_p = hook;
	return 0;
}

static int raid_supported(const struct node *node, const char **hook_p, char *why, size_t size)
{
	char level[32], disks[32];
	long nr;

	if (strcmp(attr(node, "md/level", level, sizeof(level)), "raid0")) {
		snprintf(why, size, "%s is %s: of RAID only raid0 is served", node->name,
			 *level ? level : "of no known level");
		return -EOPNOTSUPP;
	}
	nr = atol(attr(node, "md/raid_disks", disks, sizeof(disks)));
	if (nr < 1 || nr > MAX_MEMBERS)
		return refuse(why, size, node->name, "does not say how many members it has");
	for (long i = 0; i < nr; i++) {
		int ret = member_supported(node, i, hook_p, why, size);

		if (ret)
			return ret;
	}
	return 0;
}

int bl_nvfs_disk_supported(dev_t dev, const char **hook_p, char *why, size_t size)
{
	struct node node = {0};

	snprintf(node.path, sizeof(node.path), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	if (!find_disk(&node)) {
		snprintf(why, size, "device %u:%u is not in /sys/dev/block: no drive, or /sys is not mounted",
			 major(dev), minor(dev));
		return -EOPNOTSUPP;
	}
	if (!strncmp(node.name, "nvme", 4))
		return nvme_supported(&node, hook_p, why, size);
	if (!strncmp(node.name, "md", 2))
		return raid_supported(&node, hook_p, why, size);
	if (!strncmp(node.name, "dm-", 3))
		return refuse(why, size, node.name,
			      "is a device mapper's (LVM, dm-crypt): drives and raid0 of md are served without one");
	return refuse(why, size, node.name, "is no NVMe drive, and no other is served");
}
