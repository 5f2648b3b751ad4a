// SPDX-License-Identifier: MIT
/* Lists of processors, and the node of a GPU beside that of a process, on machines made of files. */
#include "common/numa.h"

#include "common/bind.h"
#include "common/cpulist.h"
#include "fake_tree.h"
#include "tap.h"

#define GPU "0000:01:00.0"

static void lists_have_what_they_say(void)
{
	check_eq(tool_cpulist_has("0-3,8,10-11", 0), 1);
	check_eq(tool_cpulist_has("0-3,8,10-11", 3), 1);
	check_eq(tool_cpulist_has("0-3,8,10-11", 4), 0);
	check_eq(tool_cpulist_has("0-3,8,10-11", 8), 1);
	check_eq(tool_cpulist_has("0-3,8,10-11", 9), 0);
	check_eq(tool_cpulist_has("0-3,8,10-11", 11), 1);
	check_eq(tool_cpulist_has("0-3,8,10-11", 12), 0);
	check_eq(tool_cpulist_has("", 0), 0);
}

static void malformed_lists_are_einval(void)
{
	static const char *const bad[] = {",",	  "0,",	  ",0",	   "0-",   "-3",	  "3-1", "0 1", "a",
					  "0-3x", "0--3", "1-2-3", "0,,1", "99999999999", "+1",	 " 1"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_eq(tool_cpulist_check(bad[i]), -EINVAL);
		check_eq(tool_cpulist_has(bad[i], 0), -EINVAL);
		check_eq(tool_cpulist_overlaps("0", bad[i]), -EINVAL);
		check_eq(tool_cpulist_within(bad[i], "0"), -EINVAL);
	}
}

static void overlap_and_containment_are_told_apart(void)
{
	check_eq(tool_cpulist_overlaps("0-3", "3-7"), 1);
	check_eq(tool_cpulist_overlaps("0-3", "4-7"), 0);
	check_eq(tool_cpulist_overlaps("0,2,4", "1,3,5"), 0);
	check_eq(tool_cpulist_overlaps("9,5", "0-3,5"), 1);
	check_eq(tool_cpulist_overlaps("", "0-3"), 0);
	check_eq(tool_cpulist_within("1-2", "0-3"), 1);
	check_eq(tool_cpulist_within("0-5", "0-2,3-7"), 1);
	check_eq(tool_cpulist_within("0-5", "3-7,0-2"), 1);
	check_eq(tool_cpulist_within("0-5", "0-2,4-7"), 0);
	check_eq(tool_cpulist_within("", "0-3"), 0);
	check_eq(tool_cpulist_within("0", ""), 0);
}

/* Two nodes of four processors; the GPU is on @gpu_node. */
static const struct tool_tree *machine(const char *gpu_node, const char *allowed)
{
	const struct tool_tree *tree = fake_tree_begin();
	char status[256];

	fake_tree_text("/sys/devices/system/node/node0/cpulist", "0-3\n");
	fake_tree_text("/sys/devices/system/node/node1/cpulist", "4-7\n");
	fake_tree_text("/sys/devices/system/node/online", "0-1\n");
	fake_tree_text("/sys/bus/pci/devices/" GPU "/numa_node", gpu_node);
	snprintf(status, sizeof(status), "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t%s\nMems_allowed:\t3\n",
		 allowed);
	fake_tree_text("/proc/self/status", status);
	return tree;
}

static enum tool_numa_place place(const char *gpu_node, const char *allowed, unsigned int cpu)
{
	struct tool_numa numa;

	tool_numa_read(machine(gpu_node, allowed), GPU, cpu, &numa);
	check_eq(numa.nr_nodes, 2);
	check_eq(numa.cpu_node, cpu / 4);
	return numa.place;
}

static void a_process_is_placed_by_where_it_runs_and_may_run(void)
{
	check_eq(place("1\n", "4-7", 5), TOOL_NUMA_HERE);
	check_eq(place("1\n", "0-7", 5), TOOL_NUMA_LOOSE);
	check_eq(place("1\n", "0-7", 2), TOOL_NUMA_REMOTE);
	check_eq(place("1\n", "0-3", 2), TOOL_NUMA_SHUT_OUT);
	check_eq(place("0\n", "0-3", 2), TOOL_NUMA_HERE);
}

static void an_unknown_node_is_no_wrong_node(void)
{
	check_eq(place("-1\n", "0-7", 2), TOOL_NUMA_UNKNOWN);
	check_eq(place("x\n", "0-7", 2), TOOL_NUMA_UNKNOWN);
	check_eq(place("", "0-7", 2), TOOL_NUMA_UNKNOWN);
	check_eq(place("99999999999999999999\n", "0-7", 2), TOOL_NUMA_UNKNOWN);
}

static void a_malformed_list_of_allowed_processors_shuts_nobody_out(void)
{
	check_eq(place("1\n", "0-", 2), TOOL_NUMA_REMOTE);
	check_eq(place("1\n", "4-7,", 5), TOOL_NUMA_LOOSE);
}

static void a_machine_of_one_node_has_no_wrong_one(void)
{
	const struct tool_tree *tree = fake_tree_begin();
	struct tool_numa numa;

	fake_tree_text("/sys/devices/system/node/node0/cpulist", "0-7\n");
	fake_tree_text("/sys/devices/system/node/nodes", "7\n");
	tool_numa_read(tree, GPU, 3, &numa);
	check_eq(numa.place, TOOL_NUMA_SINGLE);
	check_eq(numa.gpu_node, -1);
	check_eq(numa.nr_nodes, 1);
}

static void an_empty_machine_is_unknown(void)
{
	struct tool_numa numa;

	tool_numa_read(fake_tree_begin(), GPU, 0, &numa);
	check_eq(numa.place, TOOL_NUMA_UNKNOWN);
	check_eq(numa.nr_nodes, 0);
}

static void only_a_wrong_node_is_warned_of_and_the_cure_is_named(void)
{
	char text[256];
	struct tool_numa numa;

	tool_numa_read(machine("1\n", "0-7"), GPU, 2, &numa);
	tool_bind_warning(&numa, text, sizeof(text));
	check_has(text, "node 0, the GPU is on node 1");
	check_has(text, "--bind auto");
	check_has(text, "numactl -N 1 -m 1");
	tool_numa_read(machine("1\n", "0-3"), GPU, 2, &numa);
	tool_bind_warning(&numa, text, sizeof(text));
	check_has(text, "cpuset");
	tool_numa_read(machine("1\n", "0-7"), GPU, 5, &numa);
	tool_bind_warning(&numa, text, sizeof(text));
	check_str(text, "");
}

static void a_node_that_does_not_exist_cannot_be_bound_to(void)
{
	check(tool_numa_bind(4711) < 0);
}

static const struct tap_test tests[] = {
	{"lists_have_what_they_say", lists_have_what_they_say},
	{"malformed_lists_are_einval", malformed_lists_are_einval},
	{"overlap_and_containment_are_told_apart", overlap_and_containment_are_told_apart},
	{"a_process_is_placed_by_where_it_runs_and_may_run", a_process_is_placed_by_where_it_runs_and_may_run},
	{"an_unknown_node_is_no_wrong_node", an_unknown_node_is_no_wrong_node},
	{"a_malformed_list_of_allowed_processors_shuts_nobody_out",
	 a_malformed_list_of_allowed_processors_shuts_nobody_out},
	{"a_machine_of_one_node_has_no_wrong_one", a_machine_of_one_node_has_no_wrong_one},
	{"an_empty_machine_is_unknown", an_empty_machine_is_unknown},
	{"only_a_wrong_node_is_warned_of_and_the_cure_is_named", only_a_wrong_node_is_warned_of_and_the_cure_is_named},
	{"a_node_that_does_not_exist_cannot_be_bound_to", a_node_that_does_not_exist_cannot_be_bound_to},
};

TAP_MAIN(tests)
