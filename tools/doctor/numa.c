// SPDX-License-Identifier: MIT
/* NUMA nodes of the GPUs and of this process. */
#include "common/numa.h"

#include "doctor/doctor.h"

void doctor_numa_gpu(struct doctor *doctor, const char *subject, const char *bus_id)
{
	struct tool_numa numa = {0};
	char cure[160];

	tool_numa_read(&doctor->tree, bus_id, doctor->cpu, &numa);
	switch (numa.place) {
	case TOOL_NUMA_SINGLE:
		doctor_add(doctor, DOCTOR_OK, subject, NULL, "the machine has one node");
		break;
	case TOOL_NUMA_UNKNOWN:
		doctor_add(doctor, DOCTOR_INFO, subject, NULL,
			   "the system does not say: GPU's node %d, this process' node %d (-1: unknown), %d nodes",
			   numa.gpu_node, numa.cpu_node, numa.nr_nodes);
		break;
	case TOOL_NUMA_HERE:
		doctor_add(doctor, DOCTOR_OK, subject, NULL, "on node %d, and so is this process", numa.gpu_node);
		break;
	case TOOL_NUMA_LOOSE:
		doctor_add(doctor, DOCTOR_INFO, subject, NULL,
			   "on node %d, where this process runs now but may leave; numactl -N %d -m %d keeps it there",
			   numa.gpu_node, numa.gpu_node, numa.gpu_node);
		break;
	case TOOL_NUMA_REMOTE:
		snprintf(cure, sizeof(cure),
			 "numactl -N %d -m %d COMMAND; --bind auto of gdrcopy_copybw and gdrcopy_copylat",
			 numa.gpu_node, numa.gpu_node);
		doctor_add(doctor, DOCTOR_WARN, subject, cure,
			   "on node %d, but this process runs on node %d: its copies cross the link between the nodes",
			   numa.gpu_node, numa.cpu_node);
		break;
	case TOOL_NUMA_SHUT_OUT:
		doctor_add(doctor, DOCTOR_WARN, subject,
			   "allow processors of that node (cpuset of the container or job, taskset)",
			   "on node %d, but this process runs on node %d and may use no processor of the GPU's",
			   numa.gpu_node, numa.cpu_node);
		break;
	}
}

void doctor_check_numa(struct doctor *doctor)
{
	char subject[32];

	for (int i = 0; i < doctor->nr_gpus; i++) {
		struct doctor_gpu *gpu = &doctor->gpus[i];

		snprintf(subject, sizeof(subject), "GPU %d", gpu->device.ordinal);
		if (gpu->device.emulated)
			doctor_add(doctor, DOCTOR_INFO, subject, NULL, "emu: its memory is this process' own");
		else
			doctor_numa_gpu(doctor, subject, gpu->bus_id);
	}
}
