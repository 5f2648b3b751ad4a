// SPDX-License-Identifier: MIT
#include "doctor/mounts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Blanks and the like are \040: three octal digits. */
static int escaped(const char *at)
{
	int value = 0;

	for (int i = 1; i <= 3; i++) {
		if (at[i] < '0' || at[i] > '7')
			return -1;
		value = value * 8 + (at[i] - '0');
	}
	return value > 0 && value < 256 ? value : -1;
}

/* The next word, into @buf as far as there is room. Return: what is behind it, or NULL: there is none. */
static const char *word(const char *at, char *buf, size_t size)
{
	size_t len = 0;
	int code;

	while (*at == ' ')
		at++;
	if (!*at || *at == '\n')
		return NULL;
	while (*at && *at != ' ' && *at != '\n') {
		code = *at == '\\' ? escaped(at) : -1;
		if (len + 1 < size)
			buf[len++] = code > 0 ? (char)code : *at;
		at += code > 0 ? 4 : 1;
	}
	buf[len] = '\0';
	return at;
}

int doctor_mount_parse(const char *line, struct doctor_mount *mount)
{
	char buf[1024];
	int end = 0;

	memset(mount, 0, sizeof(*mount));
	for (int i = 0; i < 3; i++) {
		line = word(line, buf, sizeof(buf));
		if (!line)
			return -EINVAL;
	}
	if (!isdigit((unsigned char)buf[0]) || sscanf(buf, "%7u:%7u%n", &mount->major, &mount->minor, &end) != 2 ||
	    buf[end])
		return -EINVAL;
	line = word(line, buf, sizeof(buf));
	line = line ? word(line, mount->point, sizeof(mount->point)) : NULL;
	line = line ? word(line, buf, sizeof(buf)) : NULL;
	if (!line)
		return -EINVAL;
	mount->read_only = doctor_option_has(buf, "ro");
	do {
		line = word(line, buf, sizeof(buf));
	} while (line && strcmp(buf, "-"));
	line = line ? word(line, mount->type, sizeof(mount->type)) : NULL;
	line = line ? word(line, mount->source, sizeof(mount->source)) : NULL;
	if (!line || mount->point[0] != '/')
		return -EINVAL;
	/* some file systems have none */
	if (word(line, mount->options, sizeof(mount->options)) && doctor_option_has(mount->options, "ro"))
		mount->read_only = true;
	return 0;
}

static bool is_one_of(const char *type, const char *const *list)
{
	for (; *list; list++) {
		if (!strcmp(type, *list))
			return true;
	}
	return false;
}

enum doctor_fs doctor_fs_kind(const char *type)
{
	static const char *const pseudo[] = {
		"autofs", "binder", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs",
		"efivarfs", "fusectl", "mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs",
		"tracefs", NULL,
	};
	static const char *const memory[] = { "hugetlbfs", "ramfs", "tmpfs", NULL };
	static const char *const remote[] = {
		"9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "nfs", "nfs4", "orangefs", "scatefs", "smb3",
		"virtiofs", "wekafs", NULL,
	};

	if (is_one_of(type, pseudo))
		return DOCTOR_FS_PSEUDO;
	if (is_one_of(type, memory))
		return DOCTOR_FS_MEMORY;
	/* behind FUSE there may be anything */
	return is_one_of(type, remote) || !strncmp(type, "fuse", 4) ? DOCTOR_FS_REMOTE : DOCTOR_FS_LOCAL;
}

bool doctor_option_has(const char *options, const char *option)
{
	size_t len = strlen(option);

	for (const char *at = options; *at;) {
		size_t this = strcspn(at, ",");

		if (this == len && !strncmp(at, option, len))
			return true;
		at += this + (at[this] == ',');
	}
	return false;
}

const char *doctor_nvfs_blocked(const struct doctor_mount *mount, const char *disk)
{
	static const char *const own[] = { "lustre", "beegfs", "wekafs", "gpfs", "scatefs", NULL };

	if (is_one_of(mount->type, own))
		return NULL;
	if (!strncmp(mount->type, "nfs", 3))
		return doctor_option_has(mount->options, "proto=rdma") ? NULL : "NFS is not mounted with -o proto=rdma";
	if (doctor_fs_kind(mount->type) == DOCTOR_FS_MEMORY)
		return "its files are in memory, there is no drive";
	if (strcmp(mount->type, "ext4") && strcmp(mount->type, "xfs"))
		return "nvidia-fs serves ext4 and xfs on NVMe, and some network file systems";
	/* a cure for the rest would not help */
	if (strncmp(disk, "nvme", 4))
		return "the disk is no NVMe drive";
	if (!strcmp(mount->type, "ext4") && !doctor_option_has(mount->options, "data=ordered"))
		return "ext4 is not mounted with -o data=ordered, which must be said although it is the default";
	return NULL;
}
