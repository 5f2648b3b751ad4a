/* SPDX-License-Identifier: MIT */
/*
 * pci.h - PCI devices as the kernel shows them in /sys/bus/pci
 *
 * An address is "dddd:bb:dd.f". Configuration space is read as bytes: what is past the first 64 only root can read.
 */
#ifndef TOOLS_DOCTOR_PCI_H
#define TOOLS_DOCTOR_PCI_H

#include <stdbool.h>
#include <stdint.h>

#include "common/tree.h"

#define DOCTOR_PCI_NAME	  24
#define DOCTOR_PCI_DEPTH  32
#define DOCTOR_PCI_CONFIG 4096

/* Kinds of a port, as the PCI Express capability has them. */
#define DOCTOR_PORT_ROOT       4
#define DOCTOR_PORT_UPSTREAM   5
#define DOCTOR_PORT_DOWNSTREAM 6

/**
 * struct doctor_link - state of a PCI Express link; 0 where it is not known
 * @speed:     now, in tenths of GT/s
 * @max_speed: of this end
 * @width:     lanes now
 * @max_width: of this end
 */
struct doctor_link {
	int speed;
	int max_speed;
	int width;
	int max_width;
};

/**
 * struct doctor_port - what configuration space says of a port
 * @kind: DOCTOR_PORT_*, another number, or -1 without a PCI Express capability or without the right to read it
 * @acs:  access control bits that are on, -1 when the device has none or they cannot be read
 */
struct doctor_port {
	int kind;
	int acs;
};

/* Access control bits that send peer traffic up to the root port: request redirect, completion redirect. */
#define DOCTOR_ACS_REDIRECT 0x0c

/* Whether a device is a display controller or a 3D controller of NVIDIA's. */
bool doctor_pci_is_gpu(const struct tool_tree *tree, const char *name);

/**
 * doctor_pci_path() - Devices from the root port down, of the symbolic link in /sys/bus/pci/devices
 * @link:  text of the link, such as "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0"
 * @names: receives at most DOCTOR_PCI_DEPTH addresses, the device itself last
 *
 * Return: how many, or -EINVAL (not such a link, or deeper).
 */
int doctor_pci_path(const char *link, char names[][DOCTOR_PCI_NAME]);

/* Tenths of GT/s in a text such as "16.0 GT/s PCIe"; 0 when it is something else. */
int doctor_pci_speed(const char *text);

void doctor_pci_link(const struct tool_tree *tree, const char *name, struct doctor_link *link);

/**
 * doctor_pci_port() - Understand configuration space
 * @config: its start
 * @len:    bytes of it
 * @port:   receives what it says
 */
void doctor_pci_port(const uint8_t *config, size_t len, struct doctor_port *port);

/* Size in bytes of one line of a device's "resource" file: "start end flags"; 0 when there is none. */
uint64_t doctor_pci_bar_size(const char *resource, int bar);

#endif
