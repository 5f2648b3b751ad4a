// SPDX-License-Identifier: MIT
/* Which files nvidia-fs can serve, on trees of /proc and /sys that the tests make. */
#include "file/file.h"
#include "file/nvfs.h"
#include "file/nvfs_place.h"
#include "nvfs_fixture.h"

#define MOUNTINFO "/proc/self/mountinfo"
#define DISK	  "/sys/dev/block/259:0"
#define PART	  "/sys/dev/block/259:1"

static char why[512];

static void node(const char *dir, const char *name, const char *type)
{
	char path[160], text[200];

	snprintf(path, sizeof(path), "%s/uevent", dir);
	snprintf(text, sizeof(text), "MAJOR=259\nMINOR=0\nDEVNAME=%s\nDEVTYPE=%s\nDISKSEQ=9\n", name, type);
	fake_nvfs_text(path, text);
}

static void attr(const char *dir, const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fake_nvfs_text(path, text);
}

/* An NVMe drive with one partition. */
static void drive(void)
{
	node(DISK, "nvme0n1", "disk");
	attr(DISK, "device/transport", "pcie\n");
	node(PART, "nvme0n1p1", "partition");
	node(PART "/..", "nvme0n1", "disk");
	attr(PART "/..", "device/transport", "pcie\n");
}

static int disk_is(unsigned int minor, const char *says)
{
	const char *hook = "none";
	int ret = bl_nvfs_disk_supported(makedev(259, minor), &hook, why, sizeof(why));

	if (ret)
		check_has(why, says);
	else
		check_str(hook, says);
	check(!ret || ret == -EOPNOTSUPP);
	return ret;
}

static void drives_and_their_partitions_are_served(void)
{
	fake_nvfs_begin();
	drive();
	check_eq(disk_is(0, "nvme"), 0);
	check_eq(disk_is(1, "nvme"), 0);
	attr(DISK, "device/transport", "rdma\n");
	check_eq(disk_is(0, "nvme_rdma"), 0);
	attr(DISK, "integrity/device_is_integrity_capable", "0\n");
	attr(DISK, "metadata_bytes", "0\n");
	check_eq(disk_is(0, "nvme_rdma"), 0);
	fake_nvfs_end();
}

static void other_drives_are_not_and_the_reason_is_said(void)
{
	fake_nvfs_begin();
	drive();
	attr(DISK, "device/transport", "tcp\n");
	check(disk_is(0, "nvme0n1 is connected by tcp"));
	attr(DISK, "device/transport", NULL);
	check(disk_is(0, "nvme_core.multipath=N"));
	attr(PART "/..", "integrity/device_is_integrity_capable", "1\n");
	check(disk_is(1, "integrity metadata"));
	attr(PART "/..", "integrity/device_is_integrity_capable", NULL);
	attr(PART "/..", "metadata_bytes", "8\n");
	check(disk_is(1, "integrity metadata"));
	node(DISK, "sda", "disk");
	check(disk_is(0, "sda is no NVMe drive"));
	node(DISK, "dm-3", "disk");
	check(disk_is(0, "device mapper"));
	check(disk_is(7, "259:7 is not in /sys"));
	/* a partition of nothing */
	node("/sys/dev/block/259:9", "nvme9n1p1", "partition");
	check(disk_is(9, "not in /sys"));
	attr("/sys/dev/block/259:8", "uevent", "garbage");
	check(disk_is(8, "not in /sys"));
	fake_nvfs_end();
}

static void raid_is_served_when_all_of_it_is(void)
{
	fake_nvfs_begin();
	node(DISK, "md0", "disk");
	attr(DISK, "md/level", "raid0\n");
	attr(DISK, "md/raid_disks", "2\n");
	node(DISK "/md/rd0/block", "nvme0n1", "disk");
	attr(DISK "/md/rd0/block", "device/transport", "pcie\n");
	check(disk_is(0, "member 1 cannot be found"));
	node(DISK "/md/rd1/block", "nvme1n1p1", "partition");
	node(DISK "/md/rd1/block/..", "nvme1n1", "disk");
	attr(DISK "/md/rd1/block/..", "device/transport", "pcie\n");
	check_eq(disk_is(0, "nvme"), 0);
	attr(DISK "/md/rd1/block/..", "device/transport", "rdma\n");
	check(disk_is(0, "different ways"));
	node(DISK "/md/rd1/block", "sdb", "disk");
	check(disk_is(0, "member sdb"));
	attr(DISK, "md/raid_disks", "100000\n");
	check(disk_is(0, "how many members"));
	attr(DISK, "md/level", "raid1\n");
	check(disk_is(0, "md0 is raid1"));
	attr(DISK, "md/level", NULL);
	check(disk_is(0, "no known level"));
	fake_nvfs_end();
}

static int mount_is(const char *line, const char *says)
{
	struct bl_nvfs_mount mount;
	const char *hook = "none";
	char text[4096];
	int ret;

	snprintf(text, sizeof(text), "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n%s\n", line);
	check(bl_nvfs_mount_find(text, makedev(259, 1), &mount));
	ret = bl_nvfs_mount_supported(&mount, &hook, why, sizeof(why));
	if (ret)
		check_has(why, says);
	else
		check_str(hook, says);
	return ret;
}

static void file_systems_are_served_by_type_and_options(void)
{
	check(!mount_is("30 1 259:1 / /d rw,relatime shared:1 - xfs /dev/x rw,noquota", ""));
	check(!mount_is("30 1 259:1 / /d rw - ext4 /dev/x rw,data=ordered", ""));
	check(!mount_is("30 1 259:1 / /d rw,data=ordered a:1 b:2 c - ext4 /dev/x rw", ""));
	check(mount_is("30 1 259:1 / /d rw - ext4 /dev/x rw", "-o data=ordered"));
	check(mount_is("30 1 259:1 / /d rw - ext4 /dev/x rw,data=ordered2,xdata=ordered", "without data=ordered"));
	check(mount_is("30 1 259:1 / /d rw - ext4 /dev/x rw,data=journal", "ext4 on /d"));
	check(!mount_is("30 1 259:1 / /d rw - nfs4 h:/x rw,proto=rdma,port=2", "rpcrdma"));
	check(mount_is("30 1 259:1 / /d rw - nfs4 h:/x rw,proto=tcp", "proto=rdma"));
	check(!mount_is("30 1 259:1 / /d rw - lustre x rw", "lnet"));
	check(!mount_is("30 1 259:1 / /d rw - wekafs x rw", "wekafsio"));
	check(mount_is("30 1 259:1 / /d\\040e rw - btrfs x rw", "does not serve btrfs, which is mounted on /d\\040e"));
	check(mount_is("30 1 259:1 / /d rw - overlay x rw", "overlay"));
	check(mount_is("30 1 259:1 / /d rw - ext x rw", "ext"));
}

static void lines_that_are_none_are_not_taken(void)
{
	struct bl_nvfs_mount mount;
	static const char *const texts[] = {
		"", "\n\n", "30", "30 1", "30 1 259:1", "30 1 259:1 / /d rw", "30 1 259:1 / /d rw -", "30 1 259:1 / /d rw a b c",
		"30 1 259:11 / /d rw - xfs x rw", "x y 25:1 / /d rw - xfs x rw", "30 1 :1 / /d rw - xfs x rw",
		"30 1 259:1 / /d rw\n- xfs x rw",
	};

	for (size_t i = 0; i < NR_OF(texts); i++)
		check(!bl_nvfs_mount_find(texts[i], makedev(259, 1), &mount));
	/* several on one device: the first */
	check(bl_nvfs_mount_find("1 1 259:1 / /a rw - xfs x rw\n2 1 259:1 / /b rw - xfs x rw", makedev(259, 1), &mount));
	check_str(mount.point, "/a");
}

/* A file of this machine's; where it is said to lie is up to the test. */
static struct bl_file file_at(int fd, dev_t dev)
{
	struct bl_file file = {.fd = fd, .dev = dev, .align = 512, .device = true};

	return file;
}

static int file_is(struct bl_file *file, const char *says)
{
	int ret = bl_nvfs_file_supported(file, why, sizeof(why));

	check_has(why, says);
	return ret;
}

static void the_one_condition_that_blocks_a_file_is_said(void)
{
	struct bl_file file;
	int fd;

	fake_nvfs_begin();
	fd = file_new(4096);
	drive();
	fake_nvfs_text(MOUNTINFO, "30 1 259:1 / /d rw - xfs /dev/nvme0n1p1 rw\n31 1 0:40 / /n rw - nfs h: rw,proto=rdma\n"
				  "32 1 0:41 / /t rw - tmpfs t rw\n");
	file = file_at(fd, makedev(259, 1));
	check_eq(file_is(&file, "driver nvme"), 0);
	/* the module is asked last */
	bl_nvfs_close();
	fake_nvfs_text("/proc/driver/nvidia-fs/modules", "");
	check(file_is(&file, "driver nvme has not taken the hooks"));
	fake_nvfs_text("/proc/driver/nvidia-fs/modules", NULL);
	check(file_is(&file, "driver nvme has not taken the hooks"));
	fake_nvfs_text("/proc/driver/nvidia-fs/modules", "nvme_rdma: 1\n");
	check(file_is(&file, "driver nvme has not taken the hooks"));
	bl_nvfs_close();
	fake_nvfs.nodes = 0;
	check(file_is(&file, "modprobe nvidia-fs"));
	attr(PART "/..", "device/transport", "tcp");
	check(file_is(&file, "connected by tcp"));
	file.dev = makedev(0, 40);
	check(file_is(&file, "modprobe nvidia-fs"));
	file.dev = makedev(0, 41);
	check(file_is(&file, "does not serve tmpfs"));
	file.dev = makedev(0, 42);
	check(file_is(&file, "no mount has"));
	fake_nvfs_text(MOUNTINFO, NULL);
	check(file_is(&file, MOUNTINFO));
	file.align = 0;
	check(file_is(&file, "no direct I/O"));
	file.align = 128 * 1024;
	check(file_is(&file, "64 KiB"));
	file.device = false;
	check(file_is(&file, "regular file"));
	file = file_at(-1, makedev(259, 1));
	check(file_is(&file, "Bad file descriptor"));
	bl_nvfs_close();
	close(fd);
	fake_nvfs_end();
}

static void long_texts_are_read_whole_or_cut(void)
{
	struct bl_file file;
	size_t len = 300000;
	char *text = malloc(len + 200);
	int fd;

	check(text);
	fake_nvfs_begin();
	fd = file_new(4096);
	drive();
	memset(text, 'x', len);
	for (size_t i = 0; i < len; i += 3000)
		text[i] = '\n';
	strcpy(text + len, "\n30 1 259:1 / /d rw - xfs /dev/nvme0n1p1 rw");
	fake_nvfs_text(MOUNTINFO, text);
	file = file_at(fd, makedev(259, 1));
	check_eq(file_is(&file, "driver nvme"), 0);
	bl_nvfs_close();
	close(fd);
	free(text);
	fake_nvfs_end();
}

static const struct tap_test tests[] = {
	{"drives_and_their_partitions_are_served", drives_and_their_partitions_are_served},
	{"other_drives_are_not_and_the_reason_is_said", other_drives_are_not_and_the_reason_is_said},
	{"raid_is_served_when_all_of_it_is", raid_is_served_when_all_of_it_is},
	{"file_systems_are_served_by_type_and_options", file_systems_are_served_by_type_and_options},
	{"lines_that_are_none_are_not_taken", lines_that_are_none_are_not_taken},
	{"the_one_condition_that_blocks_a_file_is_said", the_one_condition_that_blocks_a_file_is_said},
	{"long_texts_are_read_whole_or_cut", long_texts_are_read_whole_or_cut},
};

TAP_MAIN(tests)
