// SPDX-License-Identifier: MIT
/* Devices of PCI Express from sysfs, for the module's rules. */
#include "doctor/route.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define DEVICES "/sys/bus/pci/devices"
#define CONFIG	4096

/**
 * struct reader - what is being read
 * @tree: files
 * @topo: devices so far
 * @room: how many fit
 */
struct reader {
	const struct tool_tree *tree;
	struct bl_topo *topo;
	__u32 room;
};

static __u32 read_bytes(const void *arg, __u32 off)
{
	const unsigned char *at = (const unsigned char *)arg + off;

	return at[0] | (__u32)at[1] << 8 | (__u32)at[2] << 16 | (__u32)at[3] << 24;
}

int doctor_route_address(const char *name, struct bl_topo_dev *dev)
{
	unsigned int domain, bus, slot, function;
	int end = 0;

	if (sscanf(name, "%8x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) != 4 || name[end] || slot > 31 ||
	    function > 7)
		return -EINVAL;
	dev->domain = domain;
	dev->bus = (__u8)bus;
	dev->devfn = (__u8)(slot << 3 | function);
	return 0;
}

bool doctor_route_cpu(const char *cpuinfo)
{
	const char *family = strstr(cpuinfo, "cpu family\t: ");

	return strstr(cpuinfo, "vendor_id\t: AuthenticAMD") && family && atoi(family + strlen("cpu family\t: ")) >= 0x17;
}

int doctor_pair_parse(const char *line, struct doctor_pair *pair)
{
	struct bl_topo_dev dev;

	if (sscanf(line, "%23s %23s 0x%*x 0x%x 0x%*x 0x%*x 0x%*x %llu", pair->gpu, pair->peer, &pair->distance,
		   &pair->ios) != 4)
		return -EINVAL;
	return doctor_route_address(pair->gpu, &dev) || doctor_route_address(pair->peer, &dev) ? -EINVAL : 0;
}

/* Devices that cannot be understood are left out: they are on nobody's way. */
static int add(const char *name, void *arg)
{
	struct reader *reader = arg;
	struct bl_topo *topo = reader->topo;
	unsigned char bytes[CONFIG];
	struct bl_topo_config config = { .read = read_bytes, .arg = bytes };
	struct bl_topo_dev dev = { 0 };
	long node;
	int len;

	len = tool_tree_bytes(reader->tree, bytes, sizeof(bytes), DEVICES "/%s/config", name);
	config.len = len > 0 ? (__u32)len : 0;
	if (doctor_route_address(name, &dev) || !bl_topo_read(&dev, &config))
		return 0;
	dev.node = tool_tree_number(reader->tree, &node, DEVICES "/%s/numa_node", name) ? -1 : (__s32)node;
	if (topo->nr == reader->room) {
		reader->room = reader->room ? 2 * reader->room : 64;
		topo->dev = realloc(topo->dev, reader->room * sizeof(*topo->dev));
		if (!topo->dev)
			tool_die("out of memory");
	}
	topo->dev[topo->nr++] = dev;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct bl_topo_dev *a = left, *b = right;

	if (a->domain != b->domain)
		return a->domain < b->domain ? -1 : 1;
	return (a->bus << 8 | a->devfn) - (b->bus << 8 | b->devfn);
}

int doctor_route_read(const struct tool_tree *tree, struct bl_topo *topo)
{
	struct reader reader = { .tree = tree, .topo = topo };
	int ret;

	*topo = (struct bl_topo){ 0 };
	ret = tool_tree_each(tree, DEVICES, add, &reader);
	if (ret < 0)
		return ret;
	if (topo->nr)
		qsort(topo->dev, topo->nr, sizeof(*topo->dev), compare);
	bl_topo_link(topo);
	return 0;
}
