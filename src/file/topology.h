/* SPDX-License-Identifier: MIT */
/* topology.h - GPUs, drives and network cards on PCI Express, and how near they are to each other */
#ifndef BL_FILE_TOPOLOGY_H
#define BL_FILE_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#define BL_PCI_NAME    24
#define BL_PCI_DEPTH   32
#define BL_PCI_DEVICES 1024

enum bl_pci_kind { BL_PCI_GPU, BL_PCI_NVME, BL_PCI_NIC };

/**
 * struct bl_pci_device - a device
 * @kind:     what it is
 * @name:     address, "dddd:bb:dd.f"
 * @vendor:   as in its configuration space
 * @device:   likewise
 * @numa:     node, -1: not known
 * @speed:    of its link now, as the kernel writes it: "16.0 GT/s PCIe"; "" not known
 * @width:    lanes now, 0: not known
 * @label:    name of its controller or interface: "nvme0", "eth0", "mlx5_0"; "" none
 * @host:     host bridge, "pci0000:00"
 * @nr_path:  addresses in @path
 * @path:     ports and switches from the root port down, the device itself last
 */
struct bl_pci_device {
	enum bl_pci_kind kind;
	char name[BL_PCI_NAME];
	unsigned int vendor;
	unsigned int device;
	int numa;
	char speed[32];
	int width;
	char label[64];
	char host[BL_PCI_NAME];
	int nr_path;
	char path[BL_PCI_DEPTH][BL_PCI_NAME];
};

/* How far two devices are apart, the nearest first. */
enum bl_pci_relation {
	BL_PCI_SAME_SWITCH,  /* a switch below the root port leads from one to the other */
	BL_PCI_SAME_ROOT,    /* the same root port, and no switch in common below it */
	BL_PCI_SAME_HOST,    /* the same host bridge */
	BL_PCI_SAME_NODE,    /* the same NUMA node */
	BL_PCI_OTHER_NODE,
};

/**
 * struct bl_topology - devices of a machine, sorted by kind and address
 * @nr:     how many
 * @device: they
 */
struct bl_topology {
	int nr;
	struct bl_pci_device device[BL_PCI_DEVICES];
};

/**
 * bl_topology_read() - Look at /sys/bus/pci, through the table of system calls
 * @topology: receives what is there; more than BL_PCI_DEVICES devices are left out, with a message
 *
 * Return: 0, or -errno when there is no such directory.
 */
int bl_topology_read(struct bl_topology *topology);

/* Understand where /sys/bus/pci/devices/NAME leads. Return: 0, or -EINVAL. */
int bl_pci_parse_path(const char *real, struct bl_pci_device *device);

enum bl_pci_relation bl_pci_relation(const struct bl_pci_device *a, const struct bl_pci_device *b);

/* Steps on the way from one to the other, up and down through the ports that lead there; the host bridge is one place. */
int bl_pci_hops(const struct bl_pci_device *a, const struct bl_pci_device *b);

/**
 * bl_topology_text() - As JSON
 * @topology: devices
 *
 * Return: text, to be given to free(); NULL: out of memory.
 */
char *bl_topology_text(const struct bl_topology *topology);

#endif
