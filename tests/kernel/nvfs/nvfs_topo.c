// SPDX-License-Identifier: MIT
/*
 * Where card and drive are, as nvidia-fs.ko sees it: its files in /proc, which ways it refuses by name, and that those
 * which it takes work. What it has to say is worked out from the lab's settings and from sysfs.
 */
#include "host.h"
#include "hotplug.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROC	 "/proc/driver/nvidia-fs/"
#define DEVICES	 "/sys/bus/pci/devices"
#define ALLOW	 "/sys/module/nvidia_fs/parameters/allow_unknown_routes"
#define STRICT	 "allow_unknown_routes=0 "
#define CARD_ID	 "gpu_ids=1af4:1110"
#define HEADER	 "gpu\t\tpeer\t\tpeerrank\tp2pdist\tlink\tgen\tnuma\tnp2p\tclass\n"
#define MEM_SIZE (2 * MIB)

static char text[8192];
static int gpu, node, drive;
static struct gpu_mem mem;
static struct lane_map map;

static const char *read_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	check(fd >= 0);
	len = read(fd, text, sizeof(text) - 1);
	check(len >= 0);
	text[len] = '\0';
	close(fd);
	return text;
}

static void write_text(const char *path, const char *what)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	check(fd >= 0);
	check_eq(write(fd, what, strlen(what)), (long)strlen(what));
	close(fd);
}

static bool is_lab(const char *name, const char *value)
{
	const char *is = getenv(name);

	return is && !strcmp(is, value);
}

/* By the CPU's name alone: its root complexes are known to forward. */
static bool cpu_forwards(void)
{
	const char *family;

	read_text("/proc/cpuinfo");
	family = strstr(text, "cpu family\t: ");
	return strstr(text, "AuthenticAMD") && family && atoi(family + strlen("cpu family\t: ")) >= 0x17;
}

static bool goes_by_root(void)
{
	return is_lab("LAB_DRIVE", "root") || is_lab("LAB_IOMMU", "on");
}

static void begin(const char *parameters)
{
	lane_need_patched();
	lane_reload(parameters);
	lane_open_all(&gpu, &node, &drive);
	card_locate(gpu);
	mem = gpu_alloc(gpu, MEM_SIZE);
	map = lane_bind(node, mem.va, MEM_SIZE, MIB);
}

static void end(void)
{
	lane_unbind(&map);
	lane_close_all(gpu, node, drive);
}

static void names(char *card, char *disk)
{
	struct bl_card_info info = gpu_info(gpu);

	snprintf(card, 32, "%04x:%02x:%02x.%x", info.domain, info.bus, info.devfn >> 3, info.devfn & 7);
	lane_drive_bdf(disk, 32);
}

/* Its line of peer_distance, or NULL. */
static const char *find_row(const char *card, const char *disk)
{
	char key[80];
	const char *row;

	snprintf(key, sizeof(key), "\n%s \t%s \t", card, disk);
	row = strstr(read_text(PROC "peer_distance"), key);
	return row ? row + 1 : NULL;
}

struct row {
	unsigned int rank, distance, width, speed, node;
	unsigned long long ios;
	char class[16];
};

static struct row get_row(const char *card, const char *disk)
{
	const char *line = find_row(card, disk);
	struct row row;

	check(line);
	check_eq(sscanf(line, "%*s %*s 0x%x 0x%x 0x%x 0x%x 0x%x %llu %15s", &row.rank, &row.distance, &row.width, &row.speed,
			&row.node, &row.ios, row.class),
		 7);
	return row;
}

static long sysfs_number(const char *bdf, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), DEVICES "/%.32s/%s", bdf, file);
	return strtol(read_text(path), NULL, 0);
}

/* A kernel without NUMA does not say. */
static int node_of(const char *bdf)
{
	char path[128];

	snprintf(path, sizeof(path), DEVICES "/%.32s/numa_node", bdf);
	return access(path, R_OK) ? -1 : (int)sysfs_number(bdf, "numa_node");
}

static void the_pair_has_its_line(void)
{
	char card[32], disk[32];
	struct row row;

	begin(CARD_ID);
	names(card, disk);
	row = get_row(card, disk);
	check(!strncmp(text, HEADER, strlen(HEADER)));
	/* one switch: a port each; else three bridges and one, through the root */
	check_eq(row.distance, is_lab("LAB_DRIVE", "root") ? 127 + 3 + 1 + 1 : 3);
	check_eq(row.rank, row.distance << 16 | (160 - row.width * row.speed));
	check_str(row.class, "nvme");
	check_eq(row.ios, 0);
	check_eq(row.width, sysfs_number(disk, "current_link_width"));
	check_eq((int)row.node, node_of(disk));
	/* the card is no GPU unless it is said */
	end();
	begin("");
	check(!find_row(card, disk));
	end();
}

static void put_line(char *list, size_t size, const char *line)
{
	size_t len = strlen(list);

	snprintf(list + len, size - len, "%s\n", line);
}

/* Access control bits of a device, read here once more. */
static int acs_of(const char *bdf)
{
	char path[128];
	uint32_t head = 0;
	uint16_t control = 0;
	off_t at = 256;
	int fd;

	snprintf(path, sizeof(path), DEVICES "/%.32s/config", bdf);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0);
	for (int i = 0; i < 64 && at; i++) {
		if (pread(fd, &head, 4, at) != 4 || !head)
			break;
		if ((head & 0xffff) == PCI_EXT_CAP_ID_ACS) {
			check_eq(pread(fd, &control, 2, at + PCI_ACS_CTRL), 2);
			break;
		}
		at = head >> 20;
	}
	close(fd);
	return control & 0x7f;
}

static int compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void bridges_that_control_access_are_listed(void)
{
	char want[4096] = "";
	struct dirent **list;
	int nr;

	lane_reload("");
	nr = scandir(DEVICES, &list, NULL, compare);
	check(nr > 0);
	for (int i = 0; i < nr; i++) {
		const char *bdf = list[i]->d_name;

		if (*bdf != '.' && sysfs_number(bdf, "class") >> 8 == 0x0604 && acs_of(bdf))
			put_line(want, sizeof(want), bdf);
		free(list[i]);
	}
	free(list);
	check_str(read_text(PROC "bridges"), want);
	/* with an IOMMU the kernel turns it on */
	check_eq(!!*want, !is_lab("LAB_IOMMU", "off"));
}

static void moves(void)
{
	check(host_ask("fill-drive", 8 * MIB, MIB, "0123456789abcdef"));
	check_eq(lane_read(node, &map, drive, 8 * MIB, 0, MIB), MIB);
	check(host_ask("check", mem.offset, MIB, "0123456789abcdef"));
	check(host_ask("fill", mem.offset + MIB, MIB, "5aa5"));
	check_eq(lane_write(node, &map, drive, 16 * MIB, MIB, MIB), MIB);
	check(host_ask("check-drive", 16 * MIB, MIB, "5aa5"));
}

static void refused(const char *card, const char *disk)
{
	struct nvidia_fs_io io = lane_io(&map, drive, 8 * MIB, 0, MIB);

	printf("# host: expect device %s is not known to reach GPU %s: through the root complex: %s\n", disk, card,
	       is_lab("LAB_IOMMU", "on") ? "an IOMMU translates" : "they are below different root ports");
	fflush(stdout);
	check(host_ask("fill", mem.offset, MIB, "ee"));
	check(host_ask("fill-drive", 8 * MIB, MIB, "dd"));
	check_eq(try_io(node, false, &io), -EOPNOTSUPP);
	check_eq(try_io(node, true, &io), -EOPNOTSUPP);
	check(host_ask("check", mem.offset, MIB, "ee"));
	check(host_ask("check-drive", 8 * MIB, MIB, "dd"));
	check_eq(lane_stat("Reads", "err"), 1);
	check_eq(lane_stat("Writes", "err"), 1);
}

static void ways_that_are_not_known_are_refused_by_name(void)
{
	char card[32], disk[32];

	begin(STRICT "rw_stats_enabled=1");
	names(card, disk);
	if (goes_by_root() && !cpu_forwards()) {
		refused(card, disk);
		/* whoever knows his machine lets it */
		write_text(ALLOW, "1");
	}
	moves();
	end();
}

static void requests_of_the_pair_are_counted(void)
{
	char card[32], disk[32], want[160], *at;
	struct row row;
	int i;

	begin(CARD_ID " peer_stats_enabled=1");
	names(card, disk);
	check(strstr(read_text(PROC "stats"), "peer IO stats: Enabled\n"));
	moves();
	row = get_row(card, disk);
	check(row.ios >= 2);
	check_eq(lane_stat("GPU", "cross_root_port(%)"), row.distance >= 127 ? 100 : 0);
	snprintf(want, sizeof(want), "GPU P2P DMA distribution based on pci-distance\n\n"
		 "(last column indicates p2p via root complex)\nGPU :%s :", card);
	check(!strncmp(read_text(PROC "peer_affinity"), want, strlen(want)));
	at = text + strlen(want);
	for (i = 1; i <= 33; i++) {
		unsigned long long value = strtoull(at, &at, 10);

		check_eq(value, i == (row.distance >= 127 ? 33 : (int)row.distance) ? row.ios : 0);
	}
	check_str(at, "\n");
	write_text(PROC "stats", "1");
	check_eq(get_row(card, disk).ios, 0);
	write_text("/sys/module/nvidia_fs/parameters/peer_stats_enabled", "0");
	moves();
	check_eq(get_row(card, disk).ios, 0);
	check_str(read_text(PROC "peer_affinity"), "");
	check(strstr(read_text(PROC "stats"), "peer IO stats: Disabled\n"));
	check(!strstr(text, "cross_root_port"));
	end();
}

/* Folders of sysfs that others would make are made by hand, over what there is. */
static void other_modules_are_noticed(void)
{
	lane_reload("");
	check(strstr(read_text(PROC "stats"), "\nMellanox PeerDirect Supported: False\n"));
	check(!strstr(read_text(PROC "modules"), "wekafsio"));
	check_eq(mount("tmpfs", "/sys/kernel/mm", "tmpfs", 0, NULL), 0);
	check_eq(mount("tmpfs", "/sys/module", "tmpfs", 0, NULL), 0);
	check(!mkdir("/sys/kernel/mm/memory_peers", 0755) && !mkdir("/sys/kernel/mm/memory_peers/nv_mem", 0755));
	check(!mkdir("/sys/kernel/mm/memory_peers/nv_mem/version", 0755) && !mkdir("/sys/module/wekafsio", 0755));
	check(strstr(read_text(PROC "stats"), "\nMellanox PeerDirect Supported: True\n"));
	check_str(read_text(PROC "modules"), "wekafsio: 1\n");
	check_eq(umount("/sys/module"), 0);
	check_eq(umount("/sys/kernel/mm"), 0);
	check_str(read_text(PROC "modules"), "");
}

static void move_drive(const char *disk, bool remove)
{
	char path[128];

	snprintf(path, sizeof(path), DEVICES "/%s/remove", disk);
	write_text(remove ? path : "/sys/bus/pci/rescan", "1");
}

static void wait_for_drive(void)
{
	for (int i = 0; i < 500 && access(LANE_DRIVE, F_OK); i++)
		usleep(20000);
}

/* A drive that comes back is the kernel's own driver's, where that is built in. */
static void give_drive_to_patched(const char *disk)
{
	if (!access("/lib/modules/nvme.ko", R_OK))
		return;
	write_text("/sys/bus/pci/drivers/nvme/unbind", disk);
	write_text("/sys/bus/pci/drivers/nvme-nvfs/bind", disk);
	wait_for_drive();
}

static void a_driver_of_the_same_name_is_not_taken_for_the_patched_one(void)
{
	char card[32], disk[32];

	if (!access("/lib/modules/nvme.ko", R_OK))
		skip("the kernel's own driver is not there beside the patched one");
	begin("allow_unknown_routes=1");
	names(card, disk);
	close(drive);
	move_drive(disk, true);
	move_drive(disk, false);
	wait_for_drive();
	drive = open(LANE_DRIVE, O_RDWR | O_DIRECT | O_CLOEXEC);
	check(drive >= 0);
	check_eq(lane_read(node, &map, drive, 0, 0, 4096), -EOPNOTSUPP);
	check_eq(lane_write(node, &map, drive, 0, 0, 4096), -EOPNOTSUPP);
	end();
	give_drive_to_patched(disk);
}

static void devices_that_come_and_go_are_followed(void)
{
	char card[32], disk[32];

	begin(CARD_ID);
	names(card, disk);
	end();
	check(find_row(card, disk));
	move_drive(disk, true);
	check(!find_row(card, disk));
	move_drive(disk, false);
	check(find_row(card, disk));
	way_remove.take();
	check(!find_row(card, disk));
	way_remove.give();
	check(find_row(card, disk));
	/* and a drive that is back is reached as before */
	wait_for_drive();
	give_drive_to_patched(disk);
	begin(CARD_ID " allow_unknown_routes=1");
	moves();
	end();
	lane_use_patched(false);
}

static const struct tap_test tests[] = {
	{ "the_pair_has_its_line", the_pair_has_its_line },
	{ "bridges_that_control_access_are_listed", bridges_that_control_access_are_listed },
	{ "ways_that_are_not_known_are_refused_by_name", ways_that_are_not_known_are_refused_by_name },
	{ "requests_of_the_pair_are_counted", requests_of_the_pair_are_counted },
	{ "other_modules_are_noticed", other_modules_are_noticed },
	{ "a_driver_of_the_same_name_is_not_taken_for_the_patched_one",
	  a_driver_of_the_same_name_is_not_taken_for_the_patched_one },
	{ "devices_that_come_and_go_are_followed", devices_that_come_and_go_are_followed },
};

TAP_MAIN(tests)
