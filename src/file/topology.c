// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/topology: " fmt
#include "topology.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/sys.h"
#include "util/log.h"

#define DEVICES "/sys/bus/pci/devices"

/* Class codes, base class and subclass. */
#define CLASS_NVME	 0x0108
#define CLASS_ETHERNET	 0x0200
#define CLASS_INFINIBAND 0x0207
#define CLASS_VGA	 0x0300
#define CLASS_3D	 0x0302
#define VENDOR_NVIDIA	 0x10de

static int read_text(const char *name, const char *file, char *text, size_t size)
{
	char path[256];

	*text = '\0';
	if (snprintf(path, sizeof(path), DEVICES "/%s/%s", name, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return bl_sys_read_file(path, text, size);
}

static long read_number(const char *name, const char *file, long otherwise)
{
	char text[32], *end;
	long value;

	if (read_text(name, file, text, sizeof(text)) <= 0)
		return otherwise;
	value = strtol(text, &end, 0);
	return *end ? otherwise : value;
}

/* A directory that is opened through the table. */
static DIR *open_dir(const char *path)
{
	const struct bl_sys *sys = bl_sys();
	int fd = sys->open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir;

	if (fd < 0)
		return NULL;
	dir = fdopendir(fd);
	if (!dir)
		sys->close(fd);
	return dir;
}

/* The first name in a directory of the device. */
static bool first_entry(const char *name, const char *sub, char *label, size_t size)
{
	struct dirent *entry;
	char path[256];
	DIR *dir;

	snprintf(path, sizeof(path), DEVICES "/%s/%s", name, sub);
	dir = open_dir(path);
	if (!dir)
		return false;
	*label = '\0';
	while ((entry = readdir(dir))) {
		if (*entry->d_name != '.' && (!*label || strcmp(entry->d_name, label) < 0))
			snprintf(label, size, "%.60s", entry->d_name);
	}
	closedir(dir);
	return *label;
}

/* Length of an address at the start of a text that goes on with "/" or ends, 0 when there is none. */
static size_t address_length(const char *text)
{
	static const char shape[] = ":xx:xx.x";
	size_t domain = strspn(text, "0123456789abcdef"), at = domain;

	if (domain < 4 || domain > 8)
		return 0;
	for (size_t i = 0; shape[i]; i++, at++) {
		if (shape[i] == 'x' ? !isxdigit((unsigned char)text[at]) : text[at] != shape[i])
			return 0;
	}
	return text[at] && text[at] != '/' ? 0 : at;
}

int bl_pci_parse_path(const char *real, struct bl_pci_device *device)
{
	const char *at = strstr(real, "/devices/pci");
	size_t len;

	device->nr_path = 0;
	if (!at)
		return -EINVAL;
	at += strlen("/devices/");
	len = strcspn(at, "/");
	if (len >= sizeof(device->host))
		return -EINVAL;
	memcpy(device->host, at, len);
	device->host[len] = '\0';
	for (at += len; *at == '/'; at += strcspn(at, "/")) {
		len = address_length(++at);
		if (!len)
			continue; /* a virtual bridge has directories of its own between the devices */
		if (device->nr_path == BL_PCI_DEPTH || len >= BL_PCI_NAME)
			return -EINVAL;
		memcpy(device->path[device->nr_path], at, len);
		device->path[device->nr_path++][len] = '\0';
	}
	return device->nr_path ? 0 : -EINVAL;
}

/* The entry is a symbolic link; what it leads to says what is above the device. */
static int read_path(struct bl_pci_device *device)
{
	const struct bl_sys *sys = bl_sys();
	char path[256], link[64], real[4096];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), DEVICES "/%s", device->name);
	fd = sys->open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, real, sizeof(real) - 1);
	sys->close(fd);
	if (len < 0)
		return -EINVAL;
	real[len] = '\0';
	return bl_pci_parse_path(real, device);
}

static bool kind_of(unsigned int class, unsigned int vendor, enum bl_pci_kind *kind_p)
{
	switch (class >> 8) {
	case CLASS_NVME:
		*kind_p = BL_PCI_NVME;
		return true;
	case CLASS_ETHERNET:
	case CLASS_INFINIBAND:
		*kind_p = BL_PCI_NIC;
		return true;
	case CLASS_VGA:
	case CLASS_3D:
		*kind_p = BL_PCI_GPU;
		return vendor == VENDOR_NVIDIA;
	default:
		return false;
	}
}

/* Return: whether it is one of those that matter. */
static bool read_device(const char *name, struct bl_pci_device *device)
{
	unsigned int class = (unsigned int)read_number(name, "class", 0);

	memset(device, 0, sizeof(*device));
	device->vendor = (unsigned int)read_number(name, "vendor", 0);
	if (!kind_of(class, device->vendor, &device->kind) || strlen(name) >= sizeof(device->name))
		return false;
	strcpy(device->name, name);
	device->device = (unsigned int)read_number(name, "device", 0);
	device->numa = (int)read_number(name, "numa_node", -1);
	device->width = (int)read_number(name, "current_link_width", 0);
	if (read_text(name, "current_link_speed", device->speed, sizeof(device->speed)) < 0)
		*device->speed = '\0';
	if (device->kind == BL_PCI_NVME)
		first_entry(name, "nvme", device->label, sizeof(device->label));
	else if (device->kind == BL_PCI_NIC && !first_entry(name, "infiniband", device->label, sizeof(device->label)))
		first_entry(name, "net", device->label, sizeof(device->label));
	if (read_path(device)) {
		log_info("%s: its place on the bus is not known; left out", name);
		return false;
	}
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct bl_pci_device *a = left, *b = right;

	return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->name, b->name);
}

int bl_topology_read(struct bl_topology *topology)
{
	DIR *dir = open_dir(DEVICES);
	struct dirent *entry;
	int more = 0;

	topology->nr = 0;
	if (!dir)
		return fail(errno, DEVICES ": %s", strerror(errno));
	while ((entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		if (topology->nr == BL_PCI_DEVICES)
			more++;
		else if (read_device(entry->d_name, &topology->device[topology->nr]))
			topology->nr++;
	}
	closedir(dir);
	if (more)
		log_warn("only the first %d devices are looked at, %d are left out", BL_PCI_DEVICES, more);
	qsort(topology->device, (size_t)topology->nr, sizeof(topology->device[0]), compare);
	return 0;
}

/* Ports that both ways have in common. */
static int common(const struct bl_pci_device *a, const struct bl_pci_device *b)
{
	int nr = 0;

	if (strcmp(a->host, b->host))
		return 0;
	while (nr < a->nr_path && nr < b->nr_path && !strcmp(a->path[nr], b->path[nr]))
		nr++;
	return nr;
}

enum bl_pci_relation bl_pci_relation(const struct bl_pci_device *a, const struct bl_pci_device *b)
{
	int shared = common(a, b);

	/* a root port, the upstream port of a switch: from there on a switch leads on */
	if (shared >= 2)
		return BL_PCI_SAME_SWITCH;
	if (shared == 1)
		return BL_PCI_SAME_ROOT;
	if (!strcmp(a->host, b->host))
		return BL_PCI_SAME_HOST;
	return a->numa == b->numa && a->numa >= 0 ? BL_PCI_SAME_NODE : BL_PCI_OTHER_NODE;
}

int bl_pci_hops(const struct bl_pci_device *a, const struct bl_pci_device *b)
{
	int shared = common(a, b);

	return a->nr_path - shared + b->nr_path - shared;
}
