// SPDX-License-Identifier: MIT
/* Which path of libcufile the files of each mount would take, and what keeps them from a better one. */
#include "doctor/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "doctor/doctor.h"
#include "doctor/mounts.h"

#define MOUNTINFO_MAX (1UL << 20)
#define NVFS_PROC     "/proc/driver/nvidia-fs"

/**
 * struct lane - what holds for all mounts
 * @module: why nvidia-fs does not serve, NULL: it does
 * @uring:  0 or -errno
 * @pins:   GPU memory can be mapped
 * @pages:  of a GPU at least, with struct pages behind the mapping
 */
struct lane {
	const char *module;
	int uring;
	bool pins;
	bool pages;
};

static const char *check_module(struct doctor *doctor)
{
	char version[64], hooks[1024];
	int ret;

	if (tool_tree_read(&doctor->tree, version, sizeof(version), NVFS_PROC "/version") < 0) {
		doctor_add(doctor, DOCTOR_INFO, "nvidia-fs", NULL, "is not loaded: no DMA between drives and GPUs");
		return "nvidia-fs is not loaded";
	}
	ret = tool_tree_try(&doctor->tree, O_RDWR, "/dev/nvidia-fs0");
	if (ret) {
		doctor_add(doctor, DOCTOR_WARN, "nvidia-fs",
			   "let this user open /dev/nvidia-fs0; in a container pass /dev/nvidia-fs* on with --device",
			   "%s, but /dev/nvidia-fs0: %s", version, strerror(-ret));
		return "/dev/nvidia-fs0 cannot be opened";
	}
	tool_tree_read(&doctor->tree, hooks, sizeof(hooks), NVFS_PROC "/modules");
	for (char *at = hooks; *at; at++)
		*at = *at == '\n' ? ',' : *at;
	doctor_add(doctor, DOCTOR_OK, "nvidia-fs", NULL, "%s, node opens, storage drivers: %s", version,
		   *hooks ? hooks : "none");
	return NULL;
}

static int check_uring(struct doctor *doctor)
{
	long off = 0;
	int ret = doctor->trials ? doctor->trials->uring() : 0;

	if (tool_tree_number(&doctor->tree, &off, "/proc/sys/kernel/io_uring_disabled"))
		off = 0;
	if (!ret)
		doctor_add(doctor, DOCTOR_OK, "io_uring", NULL, "can be used%s",
			   off == 1 ? ", by this user (sysctl kernel.io_uring_disabled is 1)" : "");
	else if (ret == -ENOENT || ret == -ENOPKG)
		doctor_add(doctor, DOCTOR_WARN, "io_uring", "install liburing 2.2 or later (Debian: liburing2)",
			   "%s; threads do its work",
			   ret == -ENOENT ? "liburing.so.2 cannot be loaded" : "liburing.so.2 is older than 2.2");
	else if (off)
		doctor_add(doctor, DOCTOR_WARN, "io_uring", "sysctl kernel.io_uring_disabled=0, or 1 and a group",
			   "sysctl kernel.io_uring_disabled is %ld: %s; threads do its work", off, strerror(-ret));
	else if (ret == -ENOSYS)
		doctor_add(doctor, DOCTOR_WARN, "io_uring", "a kernel from 5.11 on that has CONFIG_IO_URING",
			   "this kernel has none; threads do its work");
	else
		doctor_add(doctor, DOCTOR_WARN, "io_uring",
			   "a seccomp profile that allows io_uring_setup, io_uring_enter and io_uring_register",
			   "a filter of system calls forbids it: %s; threads do its work", strerror(-ret));
	return ret;
}

/* Whether check "provider" has found one; where it did not run, nothing is known against it. */
static bool can_pin(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->nr; i++) {
		if (!strcmp(doctor->rows[i].check, "provider") && doctor->rows[i].status == DOCTOR_FAIL)
			return false;
	}
	return true;
}

static bool has_pages(const struct doctor *doctor)
{
	for (int i = 0; i < doctor->nr_gpus; i++) {
		if (doctor->gpus[i].pages)
			return true;
	}
	return false;
}

/* What path devicepages serves besides: what file system and disk can be told from here. */
static bool pages_serve(const struct lane *lane, const struct doctor_mount *mount, const char *disk)
{
	return lane->pages && !strncmp(disk, "nvme", 4) &&
	       (!strcmp(mount->type, "ext4") || !strcmp(mount->type, "xfs"));
}

/* The disk below a block device's number: its folder's name, or that of the disk that a partition lies in. */
static void find_disk(const struct doctor *doctor, const struct doctor_mount *mount, char *disk, size_t size)
{
	char link[512], *name;
	struct stat st;

	disk[0] = '\0';
	if (tool_tree_link(&doctor->tree, link, sizeof(link), "/sys/dev/block/%u:%u", mount->major, mount->minor) < 0)
		return;
	name = strrchr(link, '/');
	if (name && !tool_tree_stat(&doctor->tree, &st, "/sys/dev/block/%u:%u/partition", mount->major, mount->minor)) {
		*name = '\0';
		name = strrchr(link, '/');
	}
	if (name)
		snprintf(disk, size, "%s", name + 1);
}

static const char *said(enum doctor_can can, const char *yes, const char *no, const char *unknown)
{
	return can == DOCTOR_CAN ? yes : can == DOCTOR_CAN_NOT ? no : unknown;
}

/* What loading the module would not change comes first. */
static const char *blocked(const struct doctor *doctor, const struct lane *lane, const struct doctor_mount *mount,
			   char *disk, size_t size)
{
	const char *why;

	find_disk(doctor, mount, disk, size);
	why = doctor_nvfs_blocked(mount, disk);
	return why ? why : lane->module;
}

static void describe(struct doctor *doctor, const struct lane *lane, const struct doctor_mount *mount)
{
	enum doctor_fs kind = doctor_fs_kind(mount->type);
	struct doctor_fs_can can = { DOCTOR_CAN_UNKNOWN, DOCTOR_CAN_UNKNOWN };
	const char *nvfs, *paths = "mapped and staged", *why = NULL;
	char disk[64], better[400] = "";

	if (kind != DOCTOR_FS_REMOTE && doctor->trials)
		doctor->trials->fs(mount->point, &can);
	nvfs = blocked(doctor, lane, mount, disk, sizeof(disk));
	if (kind == DOCTOR_FS_MEMORY)
		can.nowait = DOCTOR_CAN;
	if (!lane->pins)
		why = "GPU memory cannot be mapped, see check provider";
	else if (can.nowait == DOCTOR_CAN_NOT)
		why = "the file system cannot say what it has in the page cache";
	if (why) {
		paths = "staged";
		snprintf(better, sizeof(better), "; not mapped: %s", why);
	} else if (nvfs) {
		snprintf(better, sizeof(better), "; not nvfs: %s", nvfs);
	} else {
		paths = "nvfs, mapped and staged";
	}
	doctor_add(doctor, DOCTOR_INFO, mount->point, NULL, "%s on %s: %s%s; %s, %s%s", mount->type,
		   *disk ? disk : mount->source, pages_serve(lane, mount, disk) ? "devicepages, " : "", paths,
		   said(can.direct, "O_DIRECT", "no O_DIRECT: all through the page cache", "O_DIRECT not tried"),
		   lane->uring ? "threads in place of io_uring" : "io_uring", better);
}

static bool is_folder(const struct doctor *doctor, const struct doctor_mount *mount)
{
	struct stat st;

	/* a server that does not answer must not hold the examination up */
	if (doctor_fs_kind(mount->type) == DOCTOR_FS_REMOTE)
		return true;
	return tool_tree_stat(&doctor->tree, &st, "%s", mount->point) || S_ISDIR(st.st_mode);
}

/* A later mount hides one at the same place. Bind mounts show a file system in several: the first is enough. */
static bool counts(const struct doctor *doctor, const struct doctor_mount *list, size_t nr, size_t at)
{
	for (size_t i = 0; i < nr; i++) {
		if (i > at && !strcmp(list[i].point, list[at].point))
			return false;
		if (i < at && list[i].major == list[at].major && list[i].minor == list[at].minor &&
		    !strcmp(list[i].type, list[at].type))
			return false;
	}
	return is_folder(doctor, &list[at]);
}

static size_t parse_mounts(const char *text, struct doctor_mount **list_p)
{
	struct doctor_mount *list = NULL, mount;
	size_t nr = 0;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (doctor_mount_parse(line, &mount) || doctor_fs_kind(mount.type) == DOCTOR_FS_PSEUDO)
			continue;
		/* what hides a part of these is there for the kernel's files as well */
		if (!strncmp(mount.point, "/proc/", 6) || !strncmp(mount.point, "/sys/", 5))
			continue;
		list = realloc(list, (nr + 1) * sizeof(*list));
		if (!list)
			tool_die("out of memory");
		list[nr++] = mount;
	}
	*list_p = list;
	return nr;
}

static void check_mounts(struct doctor *doctor, const struct lane *lane, const char *text)
{
	struct doctor_mount *list;
	size_t nr = parse_mounts(text, &list), left_out = 0;

	for (size_t i = 0; i < nr; i++) {
		if (counts(doctor, list, nr, i))
			describe(doctor, lane, &list[i]);
		else
			left_out++;
	}
	if (left_out)
		doctor_add(doctor, DOCTOR_INFO, "other mounts", NULL,
			   "%zu: hidden by another, a file system that is listed already, or a single file", left_out);
	free(list);
}

/* How much of a path a mount's place is: its length, or 0 when it is not above the path. */
static size_t covers(const char *point, const char *path)
{
	size_t len = strlen(point);

	if (!strcmp(point, "/"))
		return 1;
	return !strncmp(point, path, len) && (!path[len] || path[len] == '/') ? len : 0;
}

static char *read_mounts(const struct doctor *doctor)
{
	char *text = malloc(MOUNTINFO_MAX);

	if (!text)
		tool_die("out of memory");
	if (tool_tree_read(&doctor->tree, text, MOUNTINFO_MAX, "/proc/self/mountinfo") >= 0)
		return text;
	free(text);
	return NULL;
}

int doctor_storage_path(struct doctor *doctor, const char *path)
{
	struct lane lane = { .module = check_module(doctor), .uring = check_uring(doctor), .pins = can_pin(doctor),
			     .pages = has_pages(doctor) };
	struct doctor_mount *list, *best = NULL;
	char *text = read_mounts(doctor);
	size_t nr, longest = 0;

	if (!text)
		return -ENOENT;
	nr = parse_mounts(text, &list);
	/* of two at the same place the later one is seen */
	for (size_t i = 0; i < nr; i++) {
		if (covers(list[i].point, path) && covers(list[i].point, path) >= longest) {
			longest = covers(list[i].point, path);
			best = &list[i];
		}
	}
	if (best)
		describe(doctor, &lane, best);
	free(list);
	free(text);
	return best ? 0 : -ENOENT;
}

void doctor_check_storage(struct doctor *doctor)
{
	struct lane lane = { .module = check_module(doctor), .uring = check_uring(doctor), .pins = can_pin(doctor),
			     .pages = has_pages(doctor) };
	char *text = read_mounts(doctor);

	if (text)
		check_mounts(doctor, &lane, text);
	else
		doctor_add(doctor, DOCTOR_INFO, "mounts", NULL, "not shown here: /proc is hidden");
	free(text);
}
