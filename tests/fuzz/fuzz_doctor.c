// SPDX-License-Identifier: MIT
/* Any text and any bytes where "barlane doctor" and the NUMA warning read those of the kernel. */
#include <string.h>

#include "common/cpulist.h"
#include "doctor/container.h"
#include "doctor/driver.h"
#include "doctor/iommu.h"
#include "doctor/nodes.h"
#include "doctor/pci.h"
#include "doctor/security.h"
#include "fuzz.h"

static void try_texts(const char *text)
{
	struct doctor_driver driver;
	unsigned int minor = 0;
	char words[48], mode[8];

	doctor_driver_parse(text, &driver);
	must(*doctor_flavour_name(driver.flavour));
	must(memchr(driver.version.text, '\0', sizeof(driver.version.text)));
	must(doctor_minor_parse(text, &minor) ? !minor : minor < 10000000);
	doctor_iommu_words(text, words, sizeof(words));
	must(strlen(words) < sizeof(words));
	must(doctor_lockdown_parse(text, mode, sizeof(mode)) ? !*mode : *mode && !strchr(mode, ']'));
	must(doctor_pci_speed(text) >= 0);
	doctor_pci_bar_size(text, 1);
	doctor_container_of_cgroup(text);
}

static void try_path(const char *text)
{
	char names[DOCTOR_PCI_DEPTH][DOCTOR_PCI_NAME];
	int nr = doctor_pci_path(text, names);

	must(nr < 0 || (nr > 0 && nr <= DOCTOR_PCI_DEPTH));
	for (int i = 0; i < nr; i++) {
		must(memchr(names[i], '\0', DOCTOR_PCI_NAME));
		must(strspn(names[i], "0123456789abcdefABCDEF:.") == strlen(names[i]));
		must(strstr(text, names[i]));
	}
}

/* The three questions have to agree with one another. */
static void try_lists(const char *list, const char *other)
{
	int good = !tool_cpulist_check(list), both = good && !tool_cpulist_check(other);
	int within = tool_cpulist_within(list, other), overlaps = tool_cpulist_overlaps(list, other);

	must(good == (tool_cpulist_has(list, 7) >= 0));
	must(both ? within >= 0 && overlaps >= 0 : within < 0 && overlaps < 0);
	if (!both)
		return;
	must(overlaps == tool_cpulist_overlaps(other, list));
	must(!within || overlaps);
	for (unsigned int cpu = 0; cpu < 16; cpu++) {
		int here = tool_cpulist_has(list, cpu), there = tool_cpulist_has(other, cpu);

		must(!(here && there) || overlaps);
		must(!(here && !there) || !within);
	}
}

static void try_config(const uint8_t *data, size_t size)
{
	struct doctor_port port;

	doctor_pci_port(data, size, &port);
	must(port.kind >= -1 && port.kind < 16);
	must(port.acs >= -1 && port.acs < 65536);
	must(port.kind >= 0 || port.acs < 0);
	doctor_secure_boot_parse(data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *half;

	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	try_texts(text);
	try_path(text);
	half = strchr(text, '\n');
	if (half)
		*half++ = '\0';
	try_lists(text, half ? half : "0-3");
	free(text);
	try_config(data, size);
	return 0;
}
