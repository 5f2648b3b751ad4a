// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What configuration space says of one function. It may be that of a device that has just gone, which reads as all
 * ones, or be wrong on purpose: nothing in it is followed further than it can go.
 */
#include <linux/pci_regs.h>

#include "topo.h"

#define CLASS_STORAGE	 0x01
#define CLASS_NVME	 0x010802
#define CLASS_ETHERNET	 0x0200
#define CLASS_INFINIBAND 0x0207
#define CLASS_VGA	 0x0300
#define CLASS_3D	 0x0302
#define CLASS_HOST	 0x0600
#define VENDOR_NVIDIA	 0x10de

/* capabilities that there is room for */
#define MAX_CAPS     48
#define MAX_EXT_CAPS 960

static __u32 read32(const struct bl_topo_config *config, __u32 off)
{
	return off + 4 <= config->len ? config->read(config->arg, off) : ~0U;
}

static __u32 read16(const struct bl_topo_config *config, __u32 off)
{
	return read32(config, off & ~3U) >> 8 * (off & 2) & 0xffff;
}

static __u32 read8(const struct bl_topo_config *config, __u32 off)
{
	return read32(config, off & ~3U) >> 8 * (off & 3) & 0xff;
}

/* Offset of a capability, 0: there is none. A chain that is longer than it can be bites its tail. */
static __u32 find_capability(const struct bl_topo_config *config, __u32 id)
{
	__u32 off = read8(config, PCI_CAPABILITY_LIST) & ~3U;
	int i;

	if (!(read16(config, PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return 0;
	for (i = 0; i < MAX_CAPS && off >= PCI_STD_HEADER_SIZEOF && off + 4 <= config->len; i++) {
		__u32 head = read32(config, off);

		if ((head & 0xff) == id)
			return off;
		off = head >> 8 & 0xfc;
	}
	return 0;
}

static __u32 find_extended(const struct bl_topo_config *config, __u32 id)
{
	__u32 off = PCI_CFG_SPACE_SIZE;
	int i;

	for (i = 0; i < MAX_EXT_CAPS && off >= PCI_CFG_SPACE_SIZE && off + 8 <= config->len; i++) {
		__u32 head = read32(config, off);

		if (head == ~0U)
			return 0;
		if (PCI_EXT_CAP_ID(head) == id)
			return off;
		off = PCI_EXT_CAP_NEXT(head);
	}
	return 0;
}

static __u8 kind_of(const struct bl_topo_dev *dev)
{
	switch (dev->class >> 8) {
	case CLASS_ETHERNET:
	case CLASS_INFINIBAND:
		return BL_TOPO_NETWORK;
	case CLASS_VGA:
	case CLASS_3D:
		return dev->vendor == VENDOR_NVIDIA ? BL_TOPO_GPU : BL_TOPO_OTHER;
	case CLASS_HOST:
		return BL_TOPO_HOST;
	}
	if (dev->class == CLASS_NVME)
		return BL_TOPO_NVME;
	return dev->class >> 16 == CLASS_STORAGE ? BL_TOPO_STORAGE : BL_TOPO_OTHER;
}

static void read_bridge(struct bl_topo_dev *dev, const struct bl_topo_config *config)
{
	__u32 buses = read32(config, PCI_PRIMARY_BUS);

	dev->kind = BL_TOPO_BRIDGE;
	dev->first = buses >> 8 & 0xff;
	dev->last = buses >> 16 & 0xff;
}

/* A bridge of the old bus has nothing to redirect with; what cannot be read may have. */
static void read_express(struct bl_topo_dev *dev, const struct bl_topo_config *config)
{
	__u32 off = find_capability(config, PCI_CAP_ID_EXP), status;

	dev->acs = config->len <= PCI_STD_HEADER_SIZEOF ? -1 : 0;
	if (!off)
		return;
	dev->port = (read16(config, off + PCI_EXP_FLAGS) & PCI_EXP_FLAGS_TYPE) >> 4;
	status = read16(config, off + PCI_EXP_LNKSTA);
	if (status != 0xffff) {
		dev->speed = status & PCI_EXP_LNKSTA_CLS;
		dev->width = (status & PCI_EXP_LNKSTA_NLW) >> PCI_EXP_LNKSTA_NLW_SHIFT;
	}
	if (config->len <= PCI_CFG_SPACE_SIZE) {
		dev->acs = -1;
		return;
	}
	off = find_extended(config, PCI_EXT_CAP_ID_ACS);
	if (off)
		dev->acs = read16(config, off + PCI_ACS_CTRL) & 0x7f;
}

/**
 * bl_topo_read() - Understand the configuration space of a function
 * @dev:    receives what it says; its address and node are the caller's to set
 * @config: the space
 *
 * Return: true, or false when there is no device.
 */
bool bl_topo_read(struct bl_topo_dev *dev, const struct bl_topo_config *config)
{
	__u32 id = read32(config, PCI_VENDOR_ID);

	if ((id & 0xffff) == 0xffff || !(id & 0xffff))
		return false;
	dev->vendor = id & 0xffff;
	dev->device = id >> 16;
	dev->class = read32(config, PCI_CLASS_REVISION) >> 8;
	dev->first = 0;
	dev->last = 0;
	dev->port = -1;
	dev->acs = 0;
	dev->speed = 0;
	dev->width = 0;
	dev->up = -1;
	dev->kind = kind_of(dev);
	if ((read8(config, PCI_HEADER_TYPE) & 0x7f) == PCI_HEADER_TYPE_BRIDGE)
		read_bridge(dev, config);
	read_express(dev, config);
	return true;
}

/**
 * bl_topo_is_acs_on() - Whether a device controls access between its peers in any way
 * @dev: device
 *
 * Return: true if it is known to.
 */
bool bl_topo_is_acs_on(const struct bl_topo_dev *dev)
{
	return dev->acs > 0;
}
