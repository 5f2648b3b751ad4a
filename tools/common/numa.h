/* SPDX-License-Identifier: MIT */
/* numa.h - which NUMA node a GPU and this process are on, and moving the process there */
#ifndef TOOLS_COMMON_NUMA_H
#define TOOLS_COMMON_NUMA_H

#include <stdbool.h>

#include "common/tree.h"

/* How a process lies to a GPU. */
enum tool_numa_place {
	TOOL_NUMA_SINGLE,   /* the machine has one node */
	TOOL_NUMA_UNKNOWN,  /* the system does not say */
	TOOL_NUMA_HERE,	    /* bound to the GPU's node */
	TOOL_NUMA_LOOSE,    /* on the GPU's node, but free to leave it */
	TOOL_NUMA_REMOTE,   /* on another node, may be moved */
	TOOL_NUMA_SHUT_OUT, /* on another node, and no processor of the GPU's node is allowed */
};

/**
 * struct tool_numa - nodes of a GPU and of this process
 * @place:    the verdict
 * @gpu_node: -1 unknown
 * @cpu_node: node of the processor that it runs on, -1 unknown
 * @nr_nodes: nodes of the machine, 0 unknown
 */
struct tool_numa {
	enum tool_numa_place place;
	int gpu_node;
	int cpu_node;
	int nr_nodes;
};

/**
 * tool_numa_read() - Compare the nodes of a GPU and of this process
 * @tree:   where /sys and /proc are
 * @bus_id: PCI address with function, lower case, such as "0000:01:00.0"
 * @cpu:    processor that the process runs on
 * @numa:   receives the answer
 *
 * Uses /proc/self/status for the processors that are allowed. What cannot be read counts as unknown.
 */
void tool_numa_read(const struct tool_tree *tree, const char *bus_id, unsigned int cpu, struct tool_numa *numa);

/**
 * tool_numa_bind() - Run this thread, and those that it starts, on a node, and take memory from there
 * @node: the node
 *
 * Return: 0; -EOPNOTSUPP (built without libnuma, or a kernel without NUMA), -EINVAL (no processor of the node is
 * allowed); tool_why() has the reason.
 */
int tool_numa_bind(int node);

#endif
