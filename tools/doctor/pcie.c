// SPDX-License-Identifier: MIT
/* The way from the root port to each GPU: links, and switches that send peer traffic up. */
#include <errno.h>
#include <string.h>

#include "doctor/doctor.h"
#include "doctor/pci.h"

static int least(int a, int b)
{
	return b && b < a ? b : a;
}

/* @up is the end of the link that the GPU is plugged into, where it is known. */
static void check_link(struct doctor *doctor, const char *subject, const struct doctor_link *gpu,
		       const struct doctor_link *up)
{
	int width = least(gpu->max_width, up->max_width), speed = least(gpu->max_speed, up->max_speed);

	if (!gpu->width || !gpu->speed) {
		doctor_add(doctor, DOCTOR_INFO, subject, NULL, "the system does not say how its link runs");
		return;
	}
	if (gpu->width < gpu->max_width)
		doctor_add(doctor, DOCTOR_WARN, subject,
			   width < gpu->max_width ? "move the GPU to a slot with more lanes"
						  : "seat the card, the riser and its cable again; look at lane "
						    "bifurcation in the firmware",
			   "link has x%d of the GPU's x%d lanes", gpu->width, gpu->max_width);
	if (gpu->speed < speed)
		doctor_add(doctor, DOCTOR_INFO, subject,
			   "look again while it copies; if it stays low, look at "
			   "dmesg | grep -i aer and the slot's speed in the firmware",
			   "link at %d.%d of %d.%d GT/s: idle GPUs lower it", gpu->speed / 10, gpu->speed % 10,
			   speed / 10, speed % 10);
	else
		doctor_add(doctor, gpu->width < gpu->max_width ? DOCTOR_INFO : DOCTOR_OK, subject, NULL,
			   "link x%d at %d.%d GT/s (GPU x%d, %d.%d GT/s; slot x%d, %d.%d GT/s)", gpu->width,
			   gpu->speed / 10, gpu->speed % 10, gpu->max_width, gpu->max_speed / 10, gpu->max_speed % 10,
			   up->max_width, up->max_speed / 10, up->max_speed % 10);
}

/* A word that does not fit is left out. */
static void append(char *text, size_t size, const char *word, const char *separator)
{
	size_t len = strlen(text);

	if (len + strlen(separator) + strlen(word) >= size)
		return;
	if (len)
		len = (size_t)(stpcpy(text + len, separator) - text);
	stpcpy(text + len, word);
}

/* Redirection matters at the ports of a switch: there it turns peers away from the short way. */
static void check_acs(struct doctor *doctor, const char *subject, char names[][DOCTOR_PCI_NAME], int nr)
{
	char redirecting[128] = "", cure[256] = "";
	int switches = 0, unreadable = 0;
	uint8_t config[DOCTOR_PCI_CONFIG];
	struct doctor_port port;

	for (int i = 0; i < nr - 1; i++) {
		int len = tool_tree_bytes(&doctor->tree, config, sizeof(config), "/sys/bus/pci/devices/%s/config",
					  names[i]);

		unreadable += len <= 256;
		doctor_pci_port(config, len < 0 ? 0 : (size_t)len, &port);
		if (port.kind != DOCTOR_PORT_DOWNSTREAM && port.kind != DOCTOR_PORT_UPSTREAM)
			continue;
		switches++;
		if (port.acs > 0 && port.acs & DOCTOR_ACS_REDIRECT)
			append(redirecting, sizeof(redirecting), names[i], ";");
	}
	if (*redirecting) {
		snprintf(cure, sizeof(cure),
			 "kernel parameter pci=disable_acs_redir=%s, unless virtual machines share the switch",
			 redirecting);
		doctor_add(doctor, DOCTOR_WARN, subject, cure,
			   "switch ports above it send peer traffic up to the root port: %s", redirecting);
	} else if (unreadable) {
		doctor_add(doctor, DOCTOR_INFO, subject,
			   "run as root to see whether switches redirect peer traffic (ACS)",
			   "configuration space of %d of %d bridges above it cannot be read in full", unreadable,
			   nr - 1);
	} else if (switches) {
		doctor_add(doctor, DOCTOR_OK, subject, NULL, "no switch above it redirects peer traffic (ACS)");
	}
}

void doctor_pcie_gpu(struct doctor *doctor, const char *subject, const char *bus_id)
{
	struct doctor_link gpu, up = {0};
	char names[DOCTOR_PCI_DEPTH][DOCTOR_PCI_NAME];
	char text[1024], way[DOCTOR_PCI_DEPTH * (DOCTOR_PCI_NAME + 4)] = "";
	int nr;

	nr = tool_tree_link(&doctor->tree, text, sizeof(text), "/sys/bus/pci/devices/%s", bus_id);
	if (nr < 0) {
		doctor_add(doctor, DOCTOR_INFO, subject, NULL, "%s is not in /sys/bus/pci: %s", bus_id, strerror(-nr));
		return;
	}
	nr = doctor_pci_path(text, names);
	if (nr < 0) {
		doctor_add(doctor, DOCTOR_WARN, subject, "report the text of this line",
			   "its place on the bus cannot be understood: \"%.300s\"", text);
		return;
	}
	for (int i = 0; i < nr; i++)
		append(way, sizeof(way), names[i], " > ");
	doctor_add(doctor, DOCTOR_INFO, subject, NULL, "path %s", way);
	doctor_pci_link(&doctor->tree, bus_id, &gpu);
	if (nr > 1)
		doctor_pci_link(&doctor->tree, names[nr - 2], &up);
	check_link(doctor, subject, &gpu, &up);
	if (nr > 1)
		check_acs(doctor, subject, names, nr);
}

void doctor_check_pcie(struct doctor *doctor)
{
	char subject[32];

	for (int i = 0; i < doctor->nr_gpus; i++) {
		struct doctor_gpu *gpu = &doctor->gpus[i];

		snprintf(subject, sizeof(subject), "GPU %d", gpu->device.ordinal);
		if (gpu->device.emulated)
			doctor_add(doctor, DOCTOR_INFO, subject, NULL, "emu: on no PCI bus");
		else
			doctor_pcie_gpu(doctor, subject, gpu->bus_id);
	}
}
