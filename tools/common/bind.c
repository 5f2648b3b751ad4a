// SPDX-License-Identifier: MIT
#include "common/bind.h"

#include <errno.h>
#include <sched.h>

#include "common/error.h"

const struct tool_name tool_bind_names[] = {
	{"none", TOOL_BIND_NONE},
	{"auto", TOOL_BIND_AUTO},
	{NULL, 0},
};

void tool_bind_warning(const struct tool_numa *numa, char *text, size_t size)
{
	text[0] = '\0';
	if (numa->place == TOOL_NUMA_SHUT_OUT)
		snprintf(text, size,
			 "runs on NUMA node %d, the GPU is on node %d, none of whose processors this process may "
			 "use; allow them (cpuset, taskset)",
			 numa->cpu_node, numa->gpu_node);
	else if (numa->place == TOOL_NUMA_REMOTE)
		snprintf(text, size,
			 "runs on NUMA node %d, the GPU is on node %d; \"--bind auto\" or \"numactl -N %d -m %d\" "
			 "runs it there",
			 numa->cpu_node, numa->gpu_node, numa->gpu_node, numa->gpu_node);
}

/* The emulated GPU's address may be that of some other device here. */
static void look(const struct tool_device *device, struct tool_numa *numa)
{
	int cpu = sched_getcpu();
	char bus_id[40];

	snprintf(bus_id, sizeof(bus_id), "%s.0", device->emulated ? "none" : device->bus_id);
	tool_numa_read(&tool_tree_machine, bus_id, cpu < 0 ? 0 : (unsigned int)cpu, numa);
}

int tool_bind(const struct tool_device *device, enum tool_bind bind, FILE *out, struct tool_numa *numa)
{
	char text[256];
	int ret;

	look(device, numa);
	if (bind == TOOL_BIND_AUTO && numa->gpu_node < 0) {
		fprintf(out, "bind: NUMA node of GPU %d is not known, nothing to bind to\n", device->ordinal);
	} else if (bind == TOOL_BIND_AUTO) {
		ret = tool_numa_bind(numa->gpu_node);
		if (ret)
			return ret;
		fprintf(out, "bind: NUMA node %d\n", numa->gpu_node);
		look(device, numa);
	}
	tool_bind_warning(numa, text, sizeof(text));
	if (*text)
		fprintf(stderr, "WARNING: %s %s\n", program_invocation_short_name, text);
	return 0;
}
