/* SPDX-License-Identifier: MIT */
/*
 * nic.h - RDMA devices as the kernel shows them in /sys/class/infiniband
 *
 * Nothing is opened but the device's node: what is said here is true for a program of this user that starts now.
 */
#ifndef TOOLS_DOCTOR_NIC_H
#define TOOLS_DOCTOR_NIC_H

#include <stdbool.h>
#include <stddef.h>

#include "common/tree.h"
#include "doctor/pci.h"

#define DOCTOR_NICS	64
#define DOCTOR_NIC_NAME 64
#define DOCTOR_GID_LEN	16

/* Kinds of an address, the better the greater. */
enum doctor_gid_kind { DOCTOR_GID_NONE, DOCTOR_GID_LINK, DOCTOR_GID_GLOBAL, DOCTOR_GID_IPV4 };

/**
 * struct doctor_gid - an address of a port
 * @index: its place in the table
 * @kind:  DOCTOR_GID_NONE: there is none
 * @v2:	   of RoCE v2, or of a network that has one kind only
 * @text:  as people write it
 */
struct doctor_gid {
	int index;
	enum doctor_gid_kind kind;
	bool v2;
	char text[48];
};

/**
 * struct doctor_nic - a device
 * @name:     such as "mlx5_0"
 * @pci:      PCI address, "": it is none of the bus, such as rxe
 * @netdev:   network interface of its first port, "": none is known
 * @verbs:    name of its node below /dev/infiniband, "": it has none
 * @node_err: 0, or why the node does not open
 * @mlx5:     its driver is mlx5_core
 * @devx:     0: it opens with DevX; else why not, a negative errno value
 * @ethernet: link layer of its first port
 * @active:   its first port is
 * @gid:      the address that the library would take
 */
struct doctor_nic {
	char name[DOCTOR_NIC_NAME];
	char pci[DOCTOR_PCI_NAME];
	char netdev[32];
	char verbs[32];
	int node_err;
	bool mlx5;
	int devx;
	bool ethernet;
	bool active;
	struct doctor_gid gid;
};

/**
 * doctor_gid_parse() - Understand an address of sysfs
 * @text: "0000:0000:0000:0000:0000:ffff:c000:0201"
 * @gid:  receives kind and text
 *
 * Return: 0 or -EINVAL.
 */
int doctor_gid_parse(const char *text, struct doctor_gid *gid);

/* The number in front of "4: ACTIVE", and the word; -1: there is none. */
int doctor_port_state(const char *text, const char **word_p);

/* Path MTU of RoCE over an interface of that MTU: 256 to 4096; 0: none fits. */
int doctor_path_mtu(long mtu);

/* How near two PCI devices are. */
enum doctor_near { DOCTOR_FAR, DOCTOR_SAME_ROOT, DOCTOR_SAME_PORT, DOCTOR_SAME_SWITCH };

/* From the texts of their symbolic links in /sys/bus/pci/devices. */
enum doctor_near doctor_pci_near(const char *link, const char *other);

/* Devices in order of their names, at most @nr. Return: how many there are. */
size_t doctor_nics(const struct tool_tree *tree, struct doctor_nic *nics, size_t nr);

struct doctor;

/* Rows of one device: its node, ports and address; where its first port is, and how large its packets are. */
void doctor_nic_ports(struct doctor *doctor, struct doctor_nic *nic);

/* Whether a provider is asked: BARLANE_NIC. */
bool doctor_nic_may(const char *provider);

/* Rows of devices of mlx5: who would serve them, and ring their doorbells; fills @devx of all. */
void doctor_nic_ways(struct doctor *doctor, struct doctor_nic *nics, size_t nr);

/* Rows about it and GPUs: how its packets get to their memory, how near they are, who may ring its doorbell. */
void doctor_nic_gpus(struct doctor *doctor, const struct doctor_nic *nics, size_t nr);

#endif
