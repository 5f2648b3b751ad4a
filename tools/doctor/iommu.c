// SPDX-License-Identifier: MIT
/* The IOMMU, which decides whether devices reach each other directly. The CPU's own mappings do not pass it. */
#include "doctor/iommu.h"

#include <ctype.h>
#include <string.h>

#include "doctor/doctor.h"

static int is_iommu_word(const char *word, size_t len)
{
	static const char *const keys[] = {
		"iommu=", "intel_iommu=", "amd_iommu=", "iommu.passthrough=", "iommu.strict=", "arm-smmu."};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (len >= strlen(keys[i]) && !strncmp(word, keys[i], strlen(keys[i])))
			return 1;
	}
	return 0;
}

void doctor_iommu_words(const char *cmdline, char *words, size_t size)
{
	size_t used = 0;

	words[0] = '\0';
	while (*cmdline) {
		size_t len = 0;

		while (cmdline[len] && !isspace((unsigned char)cmdline[len]))
			len++;
		if (is_iommu_word(cmdline, len) && used + len + 2 <= size) {
			if (used)
				words[used++] = ' ';
			memcpy(words + used, cmdline, len);
			used += len;
			words[used] = '\0';
		}
		cmdline += len;
		while (isspace((unsigned char)*cmdline))
			cmdline++;
	}
}

void doctor_iommu_gpu(struct doctor *doctor, const char *subject, const char *bus_id)
{
	char link[512], type[32];
	const char *group;

	if (tool_tree_link(&doctor->tree, link, sizeof(link), "/sys/bus/pci/devices/%s/iommu_group", bus_id) < 0) {
		doctor_add(doctor, DOCTOR_OK, subject, NULL, "in no IOMMU group: its DMA is not translated");
		return;
	}
	group = strrchr(link, '/');
	group = group ? group + 1 : link;
	if (tool_tree_read(&doctor->tree, type, sizeof(type), "/sys/kernel/iommu_groups/%.32s/type", group) < 0)
		snprintf(type, sizeof(type), "unknown");
	if (!strcmp(type, "identity"))
		doctor_add(doctor, DOCTOR_OK, subject, NULL, "IOMMU group %.32s, passed through", group);
	else
		doctor_add(doctor, DOCTOR_INFO, subject,
			   "kernel parameter iommu=pt, if a network card or drive is to reach GPU memory directly",
			   "IOMMU group %.32s, type %s: traffic between devices is translated and "
			   "goes by the root port; CPU copies are not concerned",
			   group, type);
}

void doctor_check_iommu(struct doctor *doctor)
{
	char cmdline[4096], words[256] = "", subject[32];
	int groups, units;

	groups = tool_tree_each(&doctor->tree, "/sys/kernel/iommu_groups", NULL, NULL);
	units = tool_tree_each(&doctor->tree, "/sys/class/iommu", NULL, NULL);
	if (tool_tree_read(&doctor->tree, cmdline, sizeof(cmdline), "/proc/cmdline") > 0)
		doctor_iommu_words(cmdline, words, sizeof(words));
	doctor_add(doctor, DOCTOR_INFO, "machine", NULL, "%d IOMMU units, %d groups; kernel command line: %s",
		   units > 0 ? units : 0, groups > 0 ? groups : 0, *words ? words : "nothing about it");
	for (int i = 0; i < doctor->nr_gpus; i++) {
		struct doctor_gpu *gpu = &doctor->gpus[i];

		snprintf(subject, sizeof(subject), "GPU %d", gpu->device.ordinal);
		if (!gpu->device.emulated)
			doctor_iommu_gpu(doctor, subject, gpu->bus_id);
	}
}
