/* SPDX-License-Identifier: MIT */
/*
 * route.h - how drives reach GPUs, by the same rules as module nvidia-fs
 */
#ifndef TOOLS_DOCTOR_ROUTE_H
#define TOOLS_DOCTOR_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/tree.h"
#include "topo.h"

/**
 * struct doctor_pair - a line of /proc/driver/nvidia-fs/peer_distance
 * @gpu:      address
 * @peer:     address
 * @distance: between them
 * @ios:      requests that the peer has made to the GPU
 */
struct doctor_pair {
	char gpu[BL_TOPO_NAME];
	char peer[BL_TOPO_NAME];
	unsigned int distance;
	unsigned long long ios;
};

/* Understand such a line. Return: 0, or -EINVAL. */
int doctor_pair_parse(const char *line, struct doctor_pair *pair);

/* An address such as "0000:03:00.0". Return: 0, or -EINVAL. */
int doctor_route_address(const char *name, struct bl_topo_dev *dev);

/* Whether root complexes of a CPU forward requests between ports; @cpuinfo is the start of /proc/cpuinfo. */
bool doctor_route_cpu(const char *cpuinfo);

/**
 * doctor_route_read() - Read the devices of a machine
 * @tree: files of the machine
 * @topo: receives them, linked; its list is to be given to free()
 *
 * Return: 0, or -errno when there is no PCI bus.
 */
int doctor_route_read(const struct tool_tree *tree, struct bl_topo *topo);

#endif
