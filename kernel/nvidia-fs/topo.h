/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * topo.h - devices of PCI Express, the ports between them, and how they reach each other
 *
 * What is decided here is decided from configuration space alone, whoever reads it: the module asks the kernel, user
 * space reads files of sysfs, tests make one up. topo_config.c understands the space of one function, topo.c what lies
 * between two, topo_route.c whether requests of one reach the other. Nothing here allocates, sleeps or takes a lock.
 */
#ifndef BL_NVFS_TOPO_H
#define BL_NVFS_TOPO_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#endif

/* bridges above a device that are looked at; more are taken for a loop */
#define BL_TOPO_DEPTH 32

/* no distance: one of them is not there, or has no way up */
#define BL_TOPO_NO_DISTANCE (~0U)

/* distances from here on lead through a root complex, and from there on to another node as well */
#define BL_TOPO_CROSS	   127U
#define BL_TOPO_OTHER_NODE 254U

#define BL_TOPO_NAME 24

enum bl_topo_kind {
	BL_TOPO_OTHER,
	BL_TOPO_HOST, /* host bridge, the first device of a root bus */
	BL_TOPO_BRIDGE,
	BL_TOPO_GPU,
	BL_TOPO_NVME,
	BL_TOPO_NETWORK,
	BL_TOPO_STORAGE, /* a storage controller other than NVMe */
};

/**
 * struct bl_topo_config - configuration space of one function
 * @read: 32 bits at an offset that is a multiple of 4, below @len
 * @arg:  for @read
 * @len:  bytes that can be read: 64 without rights, 256 without PCI Express, else 4096
 */
struct bl_topo_config {
	__u32 (*read)(const void *arg, __u32 off);
	const void *arg;
	__u32 len;
};

/**
 * struct bl_topo_dev - one function
 * @domain: of its address, which @bus and @devfn complete
 * @class:  base class, subclass, interface
 * @vendor: as in configuration space
 * @device: likewise
 * @bus:    see @domain
 * @devfn:  device and function
 * @first:  of a bridge: first bus below it; 0: none
 * @last:   of a bridge: last bus below it
 * @kind:   what it is
 * @port:   PCI_EXP_TYPE_*, or -1: no PCI Express capability, or it cannot be read
 * @acs:    access control bits that are on; 0 where there are none to set; -1: they cannot be read
 * @speed:  of the link now: 1 to 6 are 2.5 to 64 GT/s; 0: not known
 * @width:  lanes now; 0: not known
 * @node:   NUMA node, -1: not known
 * @up:     place of the bridge above it in the list, -1: it is on a root bus
 */
struct bl_topo_dev {
	__u32 domain;
	__u32 class;
	__u16 vendor;
	__u16 device;
	__u8 bus;
	__u8 devfn;
	__u8 first;
	__u8 last;
	__u8 kind;
	__s8 port;
	__s16 acs;
	__u8 speed;
	__u8 width;
	__s32 node;
	__s32 up;
};

/**
 * struct bl_topo - devices of a machine
 * @dev: they, in any order
 * @nr:  how many
 */
struct bl_topo {
	struct bl_topo_dev *dev;
	__u32 nr;
};

/* topo_config.c */
bool bl_topo_read(struct bl_topo_dev *dev, const struct bl_topo_config *config);
bool bl_topo_is_acs_on(const struct bl_topo_dev *dev);

/* topo.c */
void bl_topo_link(struct bl_topo *topo);
__s32 bl_topo_find(const struct bl_topo *topo, __u32 domain, __u8 bus, __u8 devfn);
__s32 bl_topo_common(const struct bl_topo *topo, __u32 a, __u32 b, __u32 *a_depth_p, __u32 *b_depth_p);
__u32 bl_topo_distance(const struct bl_topo *topo, __u32 gpu, __u32 peer);
__u32 bl_topo_rank(__u32 distance, const struct bl_topo_dev *peer);
void bl_topo_name(const struct bl_topo_dev *dev, char name[BL_TOPO_NAME]);
const char *bl_topo_class(const struct bl_topo_dev *dev);

static inline bool bl_topo_is_peer(const struct bl_topo_dev *dev)
{
	return dev->kind == BL_TOPO_NVME || dev->kind == BL_TOPO_NETWORK || dev->kind == BL_TOPO_STORAGE;
}

/* Which way requests of one device take to the other. */
enum bl_topo_way {
	BL_TOPO_NO_WAY, /* where they go cannot be told */
	BL_TOPO_SWITCH, /* a bridge below the root complex turns them around */
	BL_TOPO_ROOT,	/* the root complex has to forward them */
};

/* Why they go to the root complex. */
enum bl_topo_why {
	BL_TOPO_NEAR,	    /* they do not */
	BL_TOPO_TRANSLATED, /* the addresses are the IOMMU's */
	BL_TOPO_APART,	    /* no bridge leads to both */
	BL_TOPO_REDIRECTED, /* a port sends them up (ACS) */
};

/**
 * struct bl_topo_env - what configuration space does not tell
 * @translated:   the peer's addresses go through an IOMMU
 * @cpu_forwards: root complexes of this CPU forward requests between ports, all of them (AMD, family 17h and later)
 */
struct bl_topo_env {
	bool translated;
	bool cpu_forwards;
};

/**
 * struct bl_topo_route - how a peer reaches a GPU
 * @way:    which way
 * @why:    why through the root complex
 * @port:   the port that redirects, -1: none does
 * @host:   host bridges above peer and GPU, -1: not known
 * @works:  nothing speaks against it
 * @unsure: ports on the way whose access control bits cannot be read
 */
struct bl_topo_route {
	enum bl_topo_way way;
	enum bl_topo_why why;
	__s32 port;
	__s32 host[2];
	bool works;
	__u32 unsure;
};

/* topo_route.c */
void bl_topo_route(const struct bl_topo *topo, __u32 gpu, __u32 peer, const struct bl_topo_env *env,
		   struct bl_topo_route *route);
void bl_topo_route_text(const struct bl_topo *topo, const struct bl_topo_route *route, char *text, size_t size);

#endif
