// SPDX-License-Identifier: MIT
/* GPUs: what CUDA finds, and what is on the PCI bus. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "doctor/doctor.h"
#include "doctor/pci.h"

/* As nvidia-smi writes it: bytes in groups of 4, 2, 2, 2 and 6. */
static void write_uuid(struct doctor_gpu *gpu, const CUuuid *uuid)
{
	const unsigned char *byte = (const unsigned char *)uuid->bytes;

	snprintf(gpu->uuid, sizeof(gpu->uuid),
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", byte[0], byte[1], byte[2], byte[3],
		 byte[4], byte[5], byte[6], byte[7], byte[8], byte[9], byte[10], byte[11], byte[12], byte[13], byte[14],
		 byte[15]);
}

static void describe(struct doctor_gpu *gpu)
{
	const struct tool_device *device = &gpu->device;
	char bus_id[sizeof(gpu->bus_id)] = "";
	size_t bytes = 0;
	CUuuid uuid;

	if (device->cu->cuDeviceGetPCIBusId(bus_id, sizeof(bus_id), device->dev))
		snprintf(bus_id, sizeof(bus_id), "%.28s.0", device->bus_id);
	for (size_t i = 0; i < sizeof(bus_id); i++)
		gpu->bus_id[i] = (char)tolower((unsigned char)bus_id[i]);
	if (!device->cu->cuDeviceTotalMem(&bytes, device->dev))
		gpu->size = bytes;
	if (device->cu->cuDeviceGetUuid && !device->cu->cuDeviceGetUuid(&uuid, device->dev))
		write_uuid(gpu, &uuid);
}

static void add_gpu(struct doctor *doctor, int ordinal)
{
	struct doctor_gpu *gpu = &doctor->gpus[doctor->nr_gpus];
	char subject[32];

	snprintf(subject, sizeof(subject), "GPU %d", ordinal);
	if (tool_device_open(ordinal, &gpu->device)) {
		doctor_add(doctor, DOCTOR_FAIL, subject,
			   "nvidia-smi and dmesg say more; another process may own the GPU "
			   "exclusively (compute mode), or it needs a reset",
			   "cannot be used: %s", tool_why());
		return;
	}
	gpu->open = true;
	describe(gpu);
	doctor->nr_gpus++;
	doctor_add(doctor, DOCTOR_OK, subject, NULL, "%s, PCI %s, %s, %llu MiB%s", gpu->device.name, gpu->bus_id,
		   *gpu->uuid ? gpu->uuid : "no UUID", (unsigned long long)gpu->size >> 20,
		   gpu->device.emulated ? "; emu: figures say nothing about hardware" : "");
}

static int count_gpu(const char *name, void *arg)
{
	struct doctor *doctor = ((void **)arg)[0];
	int *nr = ((void **)arg)[1];

	*nr += doctor_pci_is_gpu(&doctor->tree, name);
	return 0;
}

/* No GPU for CUDA: is there none, or is it hidden? */
static void add_none(struct doctor *doctor, const char *why)
{
	int nr = 0;
	void *arg[] = {doctor, &nr};

	tool_tree_each(&doctor->tree, "/sys/bus/pci/devices", count_gpu, arg);
	if (nr)
		doctor_add(doctor, DOCTOR_FAIL, "CUDA",
			   "install the driver's user-space part (libcuda.so.1) of the same "
			   "version; in a container start it with --gpus all; look at CUDA_VISIBLE_DEVICES",
			   "no GPU can be used, though %d of NVIDIA's are on the PCI bus: %s", nr, why);
	else
		doctor_add(doctor, DOCTOR_FAIL, "CUDA",
			   "use a machine with an NVIDIA GPU, or scripts/with-emu for the emulated one",
			   "no GPU: none of NVIDIA's is on the PCI bus; %s", why);
}

void doctor_check_gpus(struct doctor *doctor)
{
	int nr = tool_device_count(), version = 0;

	if (nr <= 0) {
		add_none(doctor, nr < 0 ? tool_why() : "the CUDA driver finds none");
		return;
	}
	if (bl_cuda()->cuDriverGetVersion(&version))
		version = 0;
	doctor_add(doctor, DOCTOR_OK, "CUDA", NULL, "version %d.%d, %d GPU%s%s%s", version / 1000, version % 1000 / 10,
		   nr, nr > 1 ? "s" : "", doctor->standin ? "; system calls go to " : "",
		   doctor->standin ? doctor->standin : "");
	for (int i = 0; i < nr && i < DOCTOR_GPUS; i++)
		add_gpu(doctor, i);
}
