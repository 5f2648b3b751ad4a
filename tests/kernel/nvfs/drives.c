// SPDX-License-Identifier: MIT
#include "drives.h"

#include "host.h"
#include "hotplug.h"
#include "nvfs_lane.h"
#include "tap.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS 30000

static void make_fast(void)
{
	host_do("slow-drive 0");
}

/* The next program has a drive as it was, also after a test that failed. */
void drive_slow(unsigned long bytes)
{
	static bool registered;
	char request[64];

	if (!registered)
		registered = !atexit(make_fast);
	snprintf(request, sizeof(request), "slow-drive %lu", bytes);
	check(host_do(request));
}

unsigned long drive_slow_rate(void)
{
	const char *kernel = getenv("LAB_KERNEL");

	return kernel && strstr(kernel, "debug") ? 512 * KIB : 4 * MIB;
}

static bool read_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	bool ok;

	if (!file)
		return false;
	ok = fgets(text, (int)size, file);
	fclose(file);
	return ok;
}

int drive_load(const char *name)
{
	char path[64], text[256];
	int nr;

	snprintf(path, sizeof(path), "/sys/block/%s/stat", name);
	check(read_line(path, text, sizeof(text)));
	/* the ninth number */
	check_eq(sscanf(text, "%*u %*u %*u %*u %*u %*u %*u %*u %d", &nr), 1);
	return nr;
}

static bool is_second(const char *path)
{
	char file[300], text[64];

	snprintf(file, sizeof(file), "%s/serial", path);
	return read_line(file, text, sizeof(text)) && !strncmp(text, "lab1", 4);
}

/* Its folder in /sys/class/nvme. */
static bool find(char *path, size_t size)
{
	glob_t all;
	bool found = false;

	if (glob("/sys/class/nvme/nvme*", 0, NULL, &all))
		return false;
	for (size_t i = 0; i < all.gl_pathc && !found; i++) {
		found = is_second(all.gl_pathv[i]);
		if (found)
			snprintf(path, size, "%s", all.gl_pathv[i]);
	}
	globfree(&all);
	return found;
}

/* While an old disk is open, its name is taken. */
static bool find_disk(char *name)
{
	char path[128], pattern[160], device[64];
	struct stat st;
	glob_t all;

	if (!find(path, sizeof(path)))
		return false;
	snprintf(pattern, sizeof(pattern), "%s/nvme*n[0-9]*", path);
	if (glob(pattern, 0, NULL, &all))
		return false;
	snprintf(name, 32, "%.31s", strrchr(all.gl_pathv[0], '/') + 1);
	globfree(&all);
	snprintf(device, sizeof(device), "/dev/%s", name);
	return !stat(device, &st) && S_ISBLK(st.st_mode);
}

static void wait_until_gone(void)
{
	char path[128];

	for (int i = 0; i < WAIT_MS / 20 && find(path, sizeof(path)); i++)
		usleep(20000);
}

static void look_for_devices(void)
{
	int fd = open("/sys/bus/pci/rescan", O_WRONLY | O_CLOEXEC);

	check(fd >= 0);
	check_eq(write(fd, "1", 1), 1);
	close(fd);
}

/* The driver is not to be loaded anew while there are two: then the kernel would mix up their names. */
static void leave_as_found(void)
{
	char path[128];

	if (find(path, sizeof(path)) && host_do("unplug-drive"))
		wait_until_gone();
}

static void bring(char *name)
{
	static bool registered;

	check(host_do("plug-drive"));
	if (!registered)
		registered = !atexit(leave_as_found);
	for (int i = 0; i < WAIT_MS / 20 && !find_disk(name); i++)
		usleep(20000);
	check(find_disk(name));
}

void second_drive_needed(void)
{
	if (!slots_are_watched())
		skip("this kernel does not watch its slots");
}

bool second_drive_may_go(void)
{
	const char *kernel = getenv("LAB_KERNEL"), *iommu = getenv("LAB_IOMMU");

	return !kernel || !iommu || strcmp(kernel, "6.1") || strcmp(iommu, "on");
}

int second_drive_open(char *name)
{
	char device[64];
	int fd;

	if (!find_disk(name))
		bring(name);
	snprintf(device, sizeof(device), "/dev/%s", name);
	fd = open(device, O_RDWR | O_DIRECT | O_CLOEXEC);
	check(fd >= 0);
	return fd;
}

bool second_drive_bdf(char *bdf)
{
	char path[128], link[160], target[256];
	ssize_t len;

	if (!find(path, sizeof(path)))
		return false;
	snprintf(link, sizeof(link), "%s/device", path);
	len = readlink(link, target, sizeof(target) - 1);
	check(len > 0);
	target[len] = '\0';
	snprintf(bdf, 32, "%s", strrchr(target, '/') + 1);
	return true;
}

static void take_off_bus(void)
{
	char bdf[32], path[96];
	int fd;

	check(second_drive_bdf(bdf));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", bdf);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	check(fd >= 0);
	check_eq(write(fd, "1", 1), 1);
	close(fd);
}

void second_drive_unplug(void)
{
	char path[128];

	check(host_do("unplug-drive"));
	wait_until_gone();
	check(!find(path, sizeof(path)));
}

void second_drive_remove(void)
{
	char name[32];

	take_off_bus();
	wait_until_gone();
	look_for_devices();
	for (int i = 0; i < WAIT_MS / 20 && !find_disk(name); i++)
		usleep(20000);
	check(find_disk(name));
}
