// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "nvfs_place.h"
#include "nvfs_text.h"

/**
 * struct type - a file system that the module serves
 * @name:   as mountinfo has it
 * @hook:   driver that takes the hooks, "": the block device's
 * @option: that the mount must have, NULL: none
 * @cure:   what helps when it has not
 */
struct type {
	const char *name;
	const char *hook;
	const char *option;
	const char *cure;
};

static const struct type types[] = {
	{"ext4", "", "data=ordered", "mount with -o data=ordered, which must be said although it is the default"},
	{"xfs", "", NULL, NULL},
	{"nfs", "rpcrdma", "proto=rdma", "mount with -o proto=rdma"},
	{"nfs4", "rpcrdma", "proto=rdma", "mount with -o proto=rdma"},
	{"lustre", "lnet", NULL, NULL},
	{"beegfs", "beegfs", NULL, NULL},
	{"wekafs", "wekafsio", NULL, NULL},
	{"gpfs", "mmfslinux", NULL, NULL},
	{"scatefs", "scatefs", NULL, NULL},
};

/* The next word of a line; "" at its end. */
static const char *word(const char **at, const char *end, char *buf, size_t size)
{
	size_t len;

	while (*at < end && **at == ' ')
		(*at)++;
	len = strcspn(*at, " \n");
	if (len > (size_t)(end - *at))
		len = (size_t)(end - *at);
	snprintf(buf, size, "%.*s", (int)len, *at);
	*at += len;
	return buf;
}

/* "ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER-OPTIONS" */
static bool parse_line(const char *line, const char *end, dev_t dev, struct bl_nvfs_mount *mount)
{
	char buf[1024];
	unsigned int major_nr, minor_nr;
	size_t len;

	for (int i = 0; i < 2; i++)
		word(&line, end, buf, sizeof(buf));
	if (sscanf(word(&line, end, buf, sizeof(buf)), "%u:%u", &major_nr, &minor_nr) != 2 || major_nr != major(dev) ||
	    minor_nr != minor(dev))
		return false;
	word(&line, end, buf, sizeof(buf));
	word(&line, end, mount->point, sizeof(mount->point));
	word(&line, end, mount->options, sizeof(mount->options));
	do {
		if (!*word(&line, end, buf, sizeof(buf)))
			return false;
	} while (strcmp(buf, "-"));
	word(&line, end, mount->type, sizeof(mount->type));
	word(&line, end, buf, sizeof(buf));
	word(&line, end, buf, sizeof(buf));
	len = strlen(mount->options);
	snprintf(mount->options + len, sizeof(mount->options) - len, ",%s", buf);
	return *mount->type != '\0';
}

bool bl_nvfs_mount_find(const char *text, dev_t dev, struct bl_nvfs_mount *mount)
{
	while (*text) {
		const char *end = text + strcspn(text, "\n");

		if (parse_line(text, end, dev, mount))
			return true;
		text = end + (*end == '\n');
	}
	return false;
}

int bl_nvfs_mount_supported(const struct bl_nvfs_mount *mount, const char **hook_p, char *why, size_t size)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct type *type = &types[i];

		if (strcmp(type->name, mount->type))
			continue;
		if (type->option && !bl_nvfs_text_has(mount->options, type->option)) {
			snprintf(why, size, "%s on %s is mounted without %s: %s", mount->type, mount->point,
				 type->option, type->cure);
			return -EOPNOTSUPP;
		}
		*hook_p = type->hook;
		return 0;
	}
	snprintf(why, size, "nvidia-fs does not serve %s, which is mounted on %s: use ext4 or xfs on an NVMe drive",
		 mount->type, mount->point);
	return -EOPNOTSUPP;
}
