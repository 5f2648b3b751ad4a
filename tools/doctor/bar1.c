// SPDX-License-Identifier: MIT
/* BAR1, the window through which the CPU sees video memory. */
#include "barlane.h"
#include "doctor/doctor.h"
#include "doctor/pci.h"
#include "gpu/edge.h"

#define MIB(bytes) ((unsigned long long)(bytes) >> 20)

/* Address space of a 64-bit BAR at register 1: what is left when the driver does not answer. */
static uint64_t size_on_bus(const struct doctor *doctor, const struct doctor_gpu *gpu)
{
	char resource[2048];

	if (gpu->device.emulated || tool_tree_read(&doctor->tree, resource, sizeof(resource),
						   "/sys/bus/pci/devices/%s/resource", gpu->bus_id) < 0)
		return 0;
	return doctor_pci_bar_size(resource, 1);
}

static void add_size(struct doctor *doctor, const struct doctor_gpu *gpu, const char *subject, uint64_t avail)
{
	if (avail < BL_GPU_PAGE_SIZE)
		doctor_add(doctor, DOCTOR_FAIL, subject,
			   "unmap or end what holds it (nvidia-smi -q -d MEMORY), or enable "
			   "Resizable BAR and \"Above 4G decoding\" in the firmware",
			   "%llu MiB, all in use", MIB(gpu->bar1_size));
	else if (gpu->bar1_size < gpu->size && avail < gpu->bar1_size / 8)
		doctor_add(doctor, DOCTOR_WARN, subject,
			   "unmap what is not needed (nvidia-smi -q -d MEMORY), or enable "
			   "Resizable BAR and \"Above 4G decoding\" in the firmware",
			   "%llu MiB, %llu MiB in use: little is left",
			   MIB(gpu->bar1_size), MIB(gpu->bar1_used));
	else if (gpu->bar1_size < gpu->size)
		doctor_add(doctor, DOCTOR_INFO, subject,
			   "Resizable BAR and \"Above 4G decoding\" in the firmware make it larger where the GPU can",
			   "%llu MiB, %llu MiB in use; smaller than video memory, which cannot all be mapped at once",
			   MIB(gpu->bar1_size), MIB(gpu->bar1_used));
	else
		doctor_add(doctor, DOCTOR_OK, subject, NULL,
			   "%llu MiB, %llu MiB in use by the driver's count; all of video memory fits",
			   MIB(gpu->bar1_size), MIB(gpu->bar1_used));
}

void doctor_check_bar1(struct doctor *doctor)
{
	uint64_t avail, size;
	char subject[32];

	for (int i = 0; i < doctor->nr_gpus; i++) {
		struct doctor_gpu *gpu = &doctor->gpus[i];

		snprintf(subject, sizeof(subject), "GPU %d", gpu->device.ordinal);
		if (!bl_gpu_bar1(gpu->device.ordinal, &size, &avail) && size && avail <= size) {
			gpu->bar1_size = size;
			gpu->bar1_used = size - avail;
			add_size(doctor, gpu, subject, avail);
			continue;
		}
		gpu->bar1_size = size_on_bus(doctor, gpu);
		if (gpu->bar1_size)
			doctor_add(doctor, DOCTOR_INFO, subject, NULL,
				   "%llu MiB; the driver does not say how much is in use: %s",
				   MIB(gpu->bar1_size), bl_last_error(NULL));
		else
			doctor_add(doctor, DOCTOR_WARN, subject, "see the lines of checks driver and node",
				   "size unknown: %s", bl_last_error(NULL));
	}
}
