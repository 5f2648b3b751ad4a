// SPDX-License-Identifier: MIT
#include "doctor/pci.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((PCI_ACS_RR | PCI_ACS_CR) == DOCTOR_ACS_REDIRECT, "access control bits");
_Static_assert(PCI_EXP_TYPE_ROOT_PORT == DOCTOR_PORT_ROOT, "root port");
_Static_assert(PCI_EXP_TYPE_UPSTREAM == DOCTOR_PORT_UPSTREAM, "upstream port");
_Static_assert(PCI_EXP_TYPE_DOWNSTREAM == DOCTOR_PORT_DOWNSTREAM, "downstream port");

bool doctor_pci_is_gpu(const struct tool_tree *tree, const char *name)
{
	char vendor[16], class[16];

	return tool_tree_read(tree, vendor, sizeof(vendor), "/sys/bus/pci/devices/%s/vendor", name) > 0 &&
	       tool_tree_read(tree, class, sizeof(class), "/sys/bus/pci/devices/%s/class", name) > 0 &&
	       !strcmp(vendor, "0x10de") && (!strncmp(class, "0x0300", 6) || !strncmp(class, "0x0302", 6));
}

/* Length of an address at the start of a text that ends in "/" or NUL, 0 when there is none. */
static size_t address_length(const char *text)
{
	static const char shape[] = "x:xx:xx.x";
	size_t domain = strspn(text, "0123456789abcdef"), at;

	if (domain < 4 || domain > 8)
		return 0;
	at = domain - 1;
	for (size_t i = 0; shape[i]; i++, at++) {
		if (shape[i] == 'x' ? !isxdigit((unsigned char)text[at]) : text[at] != shape[i])
			return 0;
	}
	return text[at] && text[at] != '/' ? 0 : at;
}

int doctor_pci_path(const char *link, char names[][DOCTOR_PCI_NAME])
{
	const char *at = strstr(link, "/pci");
	int nr = 0;

	if (!at)
		return -EINVAL;
	while ((at = strchr(at + 1, '/'))) {
		size_t len = address_length(at + 1);

		if (!len)
			continue; /* a virtual bridge has directories of its own between the devices */
		if (nr == DOCTOR_PCI_DEPTH || len >= DOCTOR_PCI_NAME)
			return -EINVAL;
		memcpy(names[nr], at + 1, len);
		names[nr++][len] = '\0';
	}
	return nr ? nr : -EINVAL;
}

int doctor_pci_speed(const char *text)
{
	unsigned int whole, tenth;
	int end = 0;

	if (!isdigit((unsigned char)*text) || sscanf(text, "%4u.%1u%n", &whole, &tenth, &end) != 2 ||
	    strncmp(text + end, " GT/s", 5))
		return 0;
	return (int)(whole * 10 + tenth);
}

static int read_speed(const struct tool_tree *tree, const char *name, const char *which)
{
	char text[32];

	if (tool_tree_read(tree, text, sizeof(text), "/sys/bus/pci/devices/%s/%s_link_speed", name, which) < 0)
		return 0;
	return doctor_pci_speed(text);
}

static int read_width(const struct tool_tree *tree, const char *name, const char *which)
{
	long value = 0;

	/* 255: the link is down or the device does not answer */
	if (tool_tree_number(tree, &value, "/sys/bus/pci/devices/%s/%s_link_width", name, which) || value < 0 ||
	    value > 32)
		return 0;
	return (int)value;
}

void doctor_pci_link(const struct tool_tree *tree, const char *name, struct doctor_link *link)
{
	link->speed = read_speed(tree, name, "current");
	link->max_speed = read_speed(tree, name, "max");
	link->width = read_width(tree, name, "current");
	link->max_width = read_width(tree, name, "max");
}

static unsigned int get16(const uint8_t *config, size_t off)
{
	return config[off] | (unsigned int)config[off + 1] << 8;
}

/* Capabilities form a chain; a chain that is longer than it can be bites its tail. */
static size_t find_capability(const uint8_t *config, size_t len, uint8_t id)
{
	size_t off = len > PCI_CAPABILITY_LIST ? config[PCI_CAPABILITY_LIST] & ~3U : 0;

	for (int i = 0; i < 48 && off >= 64 && off + 4 <= len; i++) {
		if (config[off] == id)
			return off;
		off = config[off + 1] & ~3U;
	}
	return 0;
}

static size_t find_extended(const uint8_t *config, size_t len, unsigned int id)
{
	size_t off = 256;

	for (int i = 0; i < 960 && off >= 256 && off + 8 <= len; i++) {
		if (get16(config, off) == id)
			return off;
		off = get16(config, off + 2) >> 4 & ~3U;
	}
	return 0;
}

void doctor_pci_port(const uint8_t *config, size_t len, struct doctor_port *port)
{
	size_t off = find_capability(config, len, PCI_CAP_ID_EXP);

	*port = (struct doctor_port){-1, -1};
	if (!off)
		return;
	port->kind = (int)(get16(config, off + PCI_EXP_FLAGS) & PCI_EXP_FLAGS_TYPE) >> 4;
	off = find_extended(config, len, PCI_EXT_CAP_ID_ACS);
	if (off)
		port->acs = (int)get16(config, off + PCI_ACS_CTRL);
}

uint64_t doctor_pci_bar_size(const char *resource, int bar)
{
	uint64_t start, end;

	for (int i = 0; i < bar; i++) {
		resource = strchr(resource, '\n');
		if (!resource)
			return 0;
		resource++;
	}
	if (sscanf(resource, "%18" SCNx64 " %18" SCNx64, &start, &end) != 2 || !start || end <= start)
		return 0;
	return end - start + 1;
}
