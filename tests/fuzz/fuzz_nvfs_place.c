// SPDX-License-Identifier: MIT
/* Any text in /proc/self/mountinfo and in /sys, where it is said what lies below a file. */
#include <string.h>
#include <sys/sysmacros.h>

#include "file/nvfs_place.h"
#include "file/nvfs_text.h"
#include "fuzz.h"

static int has(const char *path)
{
	return fuzz_byte() % 4 ? 2 : 0;
}

static int reply(unsigned long request, void *arg)
{
	abort(); /* nothing here is a device */
}

static const char *const names[] = {"nvme0n1", "md0", "dm-1", "sda", "nvme1n1p1", "loop0"};
static const char *const values[] = {"pcie", "rdma", "tcp", "raid0", "raid1", "1", "0", "2", "300", "-1"};

/* What such files say, so that more than the first look is reached; or anything. */
static void text(const char *path, char *to, size_t size)
{
	uint8_t pick = fuzz_byte();

	if (pick % 8 == 7)
		fuzz_text(to, size);
	else if (strstr(path, "uevent"))
		snprintf(to, size, "MAJOR=1\nDEVNAME=%s\nDEVTYPE=%s\n", names[pick % 6U],
			 fuzz_byte() % 2 ? "disk" : "partition");
	else
		snprintf(to, size, "%s\n", values[pick % 10U]);
}

static const struct fuzz_driver driver = {has, reply, text};

static void ended(const char *why, size_t size)
{
	must(memchr(why, '\0', size));
}

static void look_at_disk(void)
{
	const char *hook = NULL;
	char why[64] = "";
	int ret = bl_nvfs_disk_supported(makedev(fuzz_byte(), fuzz_byte()), &hook, why, sizeof(why));

	ended(why, sizeof(why));
	must(ret ? *why != '\0' : hook && *hook);
}

static void look_at_mounts(void)
{
	struct bl_nvfs_mount mount = {0};
	const char *hook = NULL;
	char lines[4096], why[64] = "";
	int ret;

	fuzz_text(lines, sizeof(lines));
	if (!bl_nvfs_mount_find(lines, makedev(fuzz_byte(), fuzz_byte()), &mount))
		return;
	ended(mount.type, sizeof(mount.type));
	ended(mount.point, sizeof(mount.point));
	ended(mount.options, sizeof(mount.options));
	ret = bl_nvfs_mount_supported(&mount, &hook, why, sizeof(why));
	ended(why, sizeof(why));
	must(ret ? *why != '\0' : hook != NULL);
}

static void look_at_line(void)
{
	char lines[256], key[16], value[8];

	fuzz_text(lines, sizeof(lines));
	fuzz_text(key, sizeof(key));
	if (bl_nvfs_text_value(lines, key, value, sizeof(value)))
		ended(value, sizeof(value));
	must(!*key || strchr(key, ',') || bl_nvfs_text_has(key, key));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_begin(data, size);
	fuzz_sys(&driver);
	look_at_disk();
	look_at_line();
	look_at_mounts();
	fuzz_end();
	return 0;
}
