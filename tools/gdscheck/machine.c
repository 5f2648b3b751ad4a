// SPDX-License-Identifier: MIT
/* What "barlane doctor" has found out, in gdscheck's words. */
#include <string.h>
#include <sys/utsname.h>

#include "gdscheck/gdscheck.h"

static const char *iommu_of(const struct doctor *doctor)
{
	return tool_tree_each(&doctor->tree, "/sys/class/iommu", NULL, NULL) > 0 ? "enabled" : "disabled";
}

/* Whether its memory could be pinned and mapped. */
static bool was_pinned(const struct doctor *doctor, int ordinal)
{
	char subject[32];

	snprintf(subject, sizeof(subject), "GPU %d", ordinal);
	for (size_t i = 0; i < doctor->nr; i++) {
		const struct doctor_row *row = &doctor->rows[i];

		if (!strcmp(row->check, "pin") && !strcmp(row->subject, subject))
			return row->status == DOCTOR_OK;
	}
	return false;
}

void gdscheck_gpus(const struct doctor *doctor)
{
	gdscheck_heading("GPU INFO:");
	for (int i = 0; i < doctor->nr_gpus; i++) {
		const struct doctor_gpu *gpu = &doctor->gpus[i];

		printf(" GPU index %d %s bar:1 bar size (MiB):%llu %s, IOMMU State: %s\n", gpu->device.ordinal,
		       gpu->device.name, (unsigned long long)gpu->bar1_size >> 20,
		       was_pinned(doctor, gpu->device.ordinal) ? "supports GDS" : "cannot be mapped: copies by CUDA alone",
		       strcmp(iommu_of(doctor), "enabled") ? "Disabled" : "Enabled");
	}
	if (!doctor->nr_gpus)
		printf(" none\n");
}

void gdscheck_platform(const struct doctor *doctor)
{
	char product[128] = "";
	struct utsname machine;
	int version = 0;

	gdscheck_heading("PLATFORM INFO:");
	printf(" IOMMU: %s\n", iommu_of(doctor));
	if (doctor->driver.version.major)
		printf(" Nvidia Driver Info Status: Supported(Nvidia %s Driver Installed), version %s\n",
		       doctor->driver.flavour == DOCTOR_FLAVOUR_OPEN ? "Open" : "Proprietary",
		       doctor->driver.version.text);
	else
		printf(" Nvidia Driver Info Status: not known\n");
	if (bl_cuda() && !bl_cuda()->cuDriverGetVersion(&version))
		printf(" Cuda Driver Version Installed:  %d\n", version);
	tool_tree_read(&doctor->tree, product, sizeof(product), "/sys/class/dmi/id/product_name");
	if (!uname(&machine))
		printf(" Platform: %s, Arch: %s(%s %s)\n", *product ? product : "unknown", machine.machine,
		       machine.sysname, machine.release);
}
