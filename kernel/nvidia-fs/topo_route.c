// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Whether requests of a drive reach the memory of a GPU. A bridge that leads to both turns them around by itself,
 * unless the addresses are an IOMMU's or a port on the way sends them up to the root complex. That one may forward them
 * to another port, or to the one they came from; or may not, and what was to be written is lost without an error.
 * Nothing in configuration space says which: it is known of some root complexes, and of no other is it assumed.
 */
#ifdef __KERNEL__
#include <linux/kernel.h>
#else
#include <stdio.h>
#endif
#include <linux/pci_regs.h>

#include "topo.h"

/* Bits that send requests or completions of peers up. */
#define REDIRECT (PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_EC)

/**
 * struct root - a root complex that forwards
 * @vendor: of its host bridge
 * @device: likewise
 * @within: only among its own ports
 */
struct root {
	__u16 vendor;
	__u16 device;
	bool within;
};

static const struct root roots[] = {
	/* Intel Xeon E5 and E7, versions 1 to 3 */
	{ 0x8086, 0x3c00, true },
	{ 0x8086, 0x3c01, true },
	{ 0x8086, 0x2f00, true },
	{ 0x8086, 0x2f01, true },
	/* Intel Xeon Scalable, first and second generation */
	{ 0x8086, 0x2020, false },
	{ 0x8086, 0x2030, false },
	{ 0x8086, 0x2031, false },
	{ 0x8086, 0x2032, false },
	{ 0x8086, 0x2033, false },
	/* and later ones */
	{ 0x8086, 0x09a2, false },
};

static const struct root *find_root(const struct bl_topo_dev *host)
{
	size_t i;

	for (i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		if (roots[i].vendor == host->vendor && roots[i].device == host->device)
			return &roots[i];
	}
	return NULL;
}

/* The first device of the root bus that a device is below. */
static __s32 find_host(const struct bl_topo *topo, __u32 nr)
{
	const struct bl_topo_dev *dev = &topo->dev[nr];
	int i;

	for (i = 0; i < BL_TOPO_DEPTH && dev->up >= 0; i++)
		dev = &topo->dev[dev->up];
	return bl_topo_find(topo, dev->domain, dev->bus, 0);
}

static bool forwards(const struct bl_topo *topo, const struct bl_topo_route *route)
{
	const struct root *a, *b;

	if (route->host[0] < 0 || route->host[1] < 0)
		return false;
	a = find_root(&topo->dev[route->host[0]]);
	b = find_root(&topo->dev[route->host[1]]);
	if (!a || !b)
		return false;
	return route->host[0] == route->host[1] || (!a->within && !b->within);
}

/* Ports between a device and the bridge that both are below. */
static void look_at_ports(const struct bl_topo *topo, __u32 nr, __s32 common, struct bl_topo_route *route)
{
	__s32 at;

	for (at = topo->dev[nr].up; at >= 0 && at != common; at = topo->dev[at].up) {
		const struct bl_topo_dev *port = &topo->dev[at];

		if (port->acs < 0)
			route->unsure++;
		else if (port->acs & REDIRECT && route->port < 0)
			route->port = at;
	}
}

static enum bl_topo_why find_why(const struct bl_topo_env *env, __s32 common, const struct bl_topo_route *route)
{
	if (env->translated)
		return BL_TOPO_TRANSLATED;
	if (common < 0)
		return BL_TOPO_APART;
	return route->port >= 0 ? BL_TOPO_REDIRECTED : BL_TOPO_NEAR;
}

/**
 * bl_topo_route() - Find out how a peer reaches a GPU
 * @topo:  devices, linked
 * @gpu:   place of the GPU
 * @peer:  place of the peer
 * @env:   what else matters
 * @route: receives it
 */
void bl_topo_route(const struct bl_topo *topo, __u32 gpu, __u32 peer, const struct bl_topo_env *env,
		   struct bl_topo_route *route)
{
	__u32 gpu_depth, peer_depth;
	__s32 common = bl_topo_common(topo, gpu, peer, &gpu_depth, &peer_depth);

	*route = (struct bl_topo_route){ .way = BL_TOPO_NO_WAY, .port = -1, .host = { -1, -1 } };
	if (common == -2)
		return;
	route->host[0] = find_host(topo, peer);
	route->host[1] = find_host(topo, gpu);
	if (common >= 0) {
		look_at_ports(topo, peer, common, route);
		look_at_ports(topo, gpu, common, route);
	}
	route->why = find_why(env, common, route);
	route->way = route->why == BL_TOPO_NEAR ? BL_TOPO_SWITCH : BL_TOPO_ROOT;
	route->works = route->way == BL_TOPO_SWITCH || env->cpu_forwards || forwards(topo, route);
}

static void write_host(const struct bl_topo *topo, __s32 at, char *text, size_t size)
{
	if (at < 0)
		snprintf(text, size, "an unseen host bridge");
	else
		snprintf(text, size, "%04x:%04x", topo->dev[at].vendor, topo->dev[at].device);
}

static void write_why(const struct bl_topo *topo, const struct bl_topo_route *route, char *text, size_t size)
{
	char name[BL_TOPO_NAME];

	switch (route->why) {
	case BL_TOPO_TRANSLATED:
		snprintf(text, size, "an IOMMU translates");
		break;
	case BL_TOPO_APART:
		snprintf(text, size, "they are below different root ports");
		break;
	case BL_TOPO_REDIRECTED:
		bl_topo_name(&topo->dev[route->port], name);
		snprintf(text, size, "port %s redirects peer requests (ACS)", name);
		break;
	default:
		snprintf(text, size, "one switch or root port leads to both");
		break;
	}
}

/**
 * bl_topo_route_text() - Say it in words
 * @topo:  devices
 * @route: what bl_topo_route() found
 * @text:  receives them; 200 bytes suffice
 * @size:  bytes of @text, not 0
 */
void bl_topo_route_text(const struct bl_topo *topo, const struct bl_topo_route *route, char *text, size_t size)
{
	const char *not = route->works ? "" : "not ";
	char why[80], peer[32], gpu[32];

	if (route->way == BL_TOPO_NO_WAY) {
		snprintf(text, size, "bus numbers above them make no sense");
		return;
	}
	write_why(topo, route, why, sizeof(why));
	if (route->way == BL_TOPO_SWITCH) {
		snprintf(text, size, "direct: %s", why);
		return;
	}
	write_host(topo, route->host[0], peer, sizeof(peer));
	write_host(topo, route->host[1], gpu, sizeof(gpu));
	if (route->host[0] == route->host[1])
		snprintf(text, size, "through the root complex: %s; %s is %sknown to forward between ports", why, gpu, not);
	else
		snprintf(text, size, "through the root complex: %s; %s and %s are %sknown to forward between ports", why,
			 gpu, peer, not);
}
