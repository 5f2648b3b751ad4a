// SPDX-License-Identifier: MIT
/* RDMA devices and GPUs: how one gets at the other's memory, how near they are, and doorbells. */
#include <stdlib.h>
#include <string.h>

#include "doctor/doctor.h"
#include "doctor/nic.h"

static bool has_dmabuf(const struct doctor *doctor)
{
	return doctor->driver.flavour == DOCTOR_FLAVOUR_OPEN;
}

static bool has_peermem(const struct doctor *doctor)
{
	struct stat st;

	return !tool_tree_stat(&doctor->tree, &st, "/sys/module/nvidia_peermem") ||
	       !tool_tree_stat(&doctor->tree, &st, "/sys/module/nv_peer_mem");
}

/* Devices of the bus; others are software, whose memory is the CPU's. */
static void check_memory(struct doctor *doctor, bool any_pci, bool any_soft)
{
	bool dmabuf = has_dmabuf(doctor), peermem = has_peermem(doctor);

	if (any_soft)
		doctor_add(doctor, DOCTOR_INFO, "software devices", NULL,
			   "reach host memory only: GPU memory cannot be registered with them");
	if (!any_pci)
		return;
	if (dmabuf)
		doctor_add(doctor, DOCTOR_OK, "GPU memory", NULL,
			   "by dma-buf: the GPU driver's kernel modules are the open ones%s",
			   peermem ? "; nvidia-peermem is loaded too" : "");
	else if (peermem)
		doctor_add(doctor, DOCTOR_OK, "GPU memory", NULL, "by address: nvidia-peermem is loaded");
	else if (doctor->driver.version.major)
		doctor_add(doctor, DOCTOR_WARN, "GPU memory",
			   "modprobe nvidia-peermem, or install the open kernel modules of the GPU driver",
			   "no device can reach it: no dma-bufs without the open kernel modules, and nvidia-peermem is not loaded");
}

static void check_doorbell(struct doctor *doctor)
{
	char params[4096];

	if (tool_tree_read(&doctor->tree, params, sizeof(params), "/proc/driver/nvidia/params") <= 0)
		return;
	if (strstr(params, "PeerMappingOverride=1"))
		doctor_add(doctor, DOCTOR_INFO, "doorbells", NULL,
			   "GPUs may map those of devices (PeerMappingOverride=1); providers verbs and soft have them in memory");
	else
		doctor_add(doctor, DOCTOR_INFO, "doorbells", NULL,
			   "the driver may keep GPUs from mapping those of devices (nvidia option "
			   "NVreg_RegistryDwords=\"PeerMappingOverride=1;\"); providers verbs and soft have them in memory");
}

static const char *near_text(enum doctor_near near)
{
	switch (near) {
	case DOCTOR_SAME_SWITCH:
		return "behind one PCIe switch";
	case DOCTOR_SAME_PORT:
		return "behind one root port";
	case DOCTOR_SAME_ROOT:
		return "through the host bridge of both";
	default:
		return "through two host bridges, or the link between processors";
	}
}

static void check_distance(struct doctor *doctor, const struct doctor_nic *nic, const struct doctor_gpu *gpu)
{
	char link[512], other[512];
	enum doctor_near near;

	if (gpu->device.emulated ||
	    tool_tree_link(&doctor->tree, link, sizeof(link), "/sys/bus/pci/devices/%s", nic->pci) <= 0 ||
	    tool_tree_link(&doctor->tree, other, sizeof(other), "/sys/bus/pci/devices/%s", gpu->bus_id) <= 0)
		return;
	near = doctor_pci_near(link, other);
	doctor_add(doctor, near >= DOCTOR_SAME_PORT ? DOCTOR_OK : DOCTOR_INFO, nic->name,
		   near == DOCTOR_FAR ? "take a device that is nearer to the GPU, where there is one" : NULL, "GPU %d: %s",
		   gpu->device.ordinal, near_text(near));
}

void doctor_nic_gpus(struct doctor *doctor, const struct doctor_nic *nics, size_t nr)
{
	bool any_pci = false, any_soft = false;

	for (size_t i = 0; i < nr; i++) {
		any_pci |= *nics[i].pci != '\0';
		any_soft |= !*nics[i].pci;
	}
	check_memory(doctor, any_pci, any_soft);
	if (any_pci)
		check_doorbell(doctor);
	for (size_t i = 0; i < nr; i++) {
		for (int j = 0; *nics[i].pci && j < doctor->nr_gpus; j++)
			check_distance(doctor, &nics[i], &doctor->gpus[j]);
	}
}
