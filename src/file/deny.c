// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/deny: " fmt
#include "deny.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "config.h"
#include "error.h"
#include "util/log.h"

/* Spaces and the like are written as a backslash and three octal digits. */
static void copy_field(char *to, size_t size, const char *from, size_t len)
{
	size_t at = 0;

	for (size_t i = 0; i < len && at < size - 1; i++) {
		unsigned int code;

		if (from[i] == '\\' && i + 3 < len && sscanf(from + i + 1, "%3o", &code) == 1 && code && code < 256) {
			to[at++] = (char)code;
			i += 3;
		} else {
			to[at++] = from[i];
		}
	}
	to[at] = '\0';
}

/* Go on to the next field. Return: its length, 0 when there is none. */
static size_t next_field(const char **at)
{
	*at += strcspn(*at, " \n");
	*at += strspn(*at, " ");
	return strcspn(*at, " \n");
}

bool bl_mount_parse(const char *line, int *id_p, struct bl_mount *mount)
{
	const char *at = line, *rest = strstr(line, " - ");
	size_t len = 0;

	if (!rest || sscanf(line, "%d", id_p) != 1)
		return false;
	/* number, parent, device, root, point */
	for (int field = 1; field < 5; field++)
		len = next_field(&at);
	if (!len || at > rest)
		return false;
	copy_field(mount->point, sizeof(mount->point), at, len);
	at = rest + 3;
	len = strcspn(at, " \n");
	if (!len)
		return false;
	copy_field(mount->type, sizeof(mount->type), at, len);
	len = next_field(&at);
	copy_field(mount->source, sizeof(mount->source), at, len);
	return true;
}

static int mount_id(int fd)
{
	char path[64], line[128];
	int id = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && id < 0 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "mnt_id: %d", &id) != 1)
			id = -1;
	}
	if (file)
		fclose(file);
	return id;
}

static bool find_mount(int wanted, struct bl_mount *mount)
{
	FILE *file = wanted < 0 ? NULL : fopen("/proc/self/mountinfo", "re");
	bool found = false;
	char *line = NULL;
	size_t size = 0;
	int id;

	while (file && !found && getline(&line, &size, file) > 0)
		found = bl_mount_parse(line, &id, mount) && id == wanted;
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* The driver of a disk, of the disk of a partition, or of the controller that it hangs on. */
static bool find_driver(dev_t dev, char *name, size_t size)
{
	static const char *const places[] = {"device/driver", "device/device/driver", "../device/driver",
					     "../device/device/driver"};
	char path[128], real[PATH_MAX];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(dev), minor(dev), places[i]);
		if (realpath(path, real)) {
			snprintf(name, size, "%s", strrchr(real, '/') + 1);
			return true;
		}
	}
	return false;
}

static int refuse(int fd, const char *what, const char *name)
{
	return bl_fail(-BL_CUFILE(CU_FILE_IO_DISABLED), log_fmt("fd %d: %s %s is in the denylist"), fd, what, name);
}

static int check_mount(int fd)
{
	struct bl_mount *mount = malloc(sizeof(*mount));
	int ret = 0;

	if (!mount)
		return fail(ENOMEM, "fd %d: out of memory", fd);
	if (!find_mount(mount_id(fd), mount))
		log_info("fd %d: its mount is not known, and so not in the denylist", fd);
	else if (bl_config_denies(BL_DENY_MOUNTS, mount->point))
		ret = refuse(fd, "mount", mount->point);
	else if (bl_config_denies(BL_DENY_FILESYSTEMS, mount->type))
		ret = refuse(fd, "file system", mount->type);
	else if (bl_config_denies(BL_DENY_DEVICES, mount->source))
		ret = refuse(fd, "device", mount->source);
	free(mount);
	return ret;
}

static int check_driver(int fd)
{
	char name[256];
	struct stat st;

	if (fstat(fd, &st) || !find_driver(S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev, name, sizeof(name)))
		return 0;
	return bl_config_denies(BL_DENY_DRIVERS, name) ? refuse(fd, "driver", name) : 0;
}

int bl_deny_file(int fd)
{
	const struct bl_file_config *config = bl_file_config();
	int ret = 0;

	if (config->deny[BL_DENY_MOUNTS].nr || config->deny[BL_DENY_FILESYSTEMS].nr || config->deny[BL_DENY_DEVICES].nr)
		ret = check_mount(fd);
	if (!ret && config->deny[BL_DENY_DRIVERS].nr)
		ret = check_driver(fd);
	return ret;
}
