// SPDX-License-Identifier: MIT
#include "common/numa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpulist.h"

/* Longer than the list of any machine whose processors are numbered in ranges. */
#define LIST_SIZE 4096

struct search {
	const struct tool_tree *tree;
	unsigned int cpu;
	struct tool_numa *numa;
};

static int node_list(const struct tool_tree *tree, int node, char *list)
{
	return tool_tree_read(tree, list, LIST_SIZE, "/sys/devices/system/node/node%d/cpulist", node);
}

static int look_at_node(const char *name, void *arg)
{
	struct search *search = arg;
	char list[LIST_SIZE];
	int node, end = 0;

	if (sscanf(name, "node%4d%n", &node, &end) != 1 || name[end] || node < 0)
		return 0;
	search->numa->nr_nodes++;
	if (node_list(search->tree, node, list) >= 0 && tool_cpulist_has(list, search->cpu) == 1)
		search->numa->cpu_node = node;
	return 0;
}

static bool allowed_cpus(const struct tool_tree *tree, char *list)
{
	static const char key[] = "\nCpus_allowed_list:";
	char status[8192], *at;

	if (tool_tree_read(tree, status, sizeof(status), "/proc/self/status") < 0)
		return false;
	at = strstr(status, key);
	if (!at)
		return false;
	at += strlen(key);
	at += strspn(at, " \t");
	at[strcspn(at, "\n")] = '\0';
	snprintf(list, LIST_SIZE, "%s", at);
	return !tool_cpulist_check(list);
}

static enum tool_numa_place judge(const struct tool_tree *tree, const struct tool_numa *numa)
{
	char allowed[LIST_SIZE], local[LIST_SIZE];
	bool known;

	if (numa->nr_nodes == 1)
		return TOOL_NUMA_SINGLE;
	if (numa->gpu_node < 0 || numa->cpu_node < 0)
		return TOOL_NUMA_UNKNOWN;
	known = allowed_cpus(tree, allowed) && node_list(tree, numa->gpu_node, local) >= 0 &&
		!tool_cpulist_check(local);
	if (numa->gpu_node == numa->cpu_node)
		return known && tool_cpulist_within(allowed, local) == 1 ? TOOL_NUMA_HERE : TOOL_NUMA_LOOSE;
	return known && !tool_cpulist_overlaps(allowed, local) ? TOOL_NUMA_SHUT_OUT : TOOL_NUMA_REMOTE;
}

void tool_numa_read(const struct tool_tree *tree, const char *bus_id, unsigned int cpu, struct tool_numa *numa)
{
	struct search search = {tree, cpu, numa};
	long node = -1;

	*numa = (struct tool_numa){.gpu_node = -1, .cpu_node = -1};
	tool_tree_each(tree, "/sys/devices/system/node", look_at_node, &search);
	if (!tool_tree_number(tree, &node, "/sys/bus/pci/devices/%s/numa_node", bus_id) && node >= 0 && node < 10000)
		numa->gpu_node = (int)node;
	numa->place = judge(tree, numa);
}
