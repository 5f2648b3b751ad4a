// SPDX-License-Identifier: MIT
/* What sysfs says of RDMA devices; no rows. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/nic.h"

/* Headers of a packet of RoCE v2 over IPv6, as the kernel counts them, the interface's own left out. */
#define ROCE_HEADERS 72

int doctor_gid_parse(const char *text, struct doctor_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, none[DOCTOR_GID_LEN];
	uint8_t raw[DOCTOR_GID_LEN];

	if (inet_pton(AF_INET6, text, raw) != 1)
		return -EINVAL;
	if (!memcmp(raw, none, sizeof(none))) {
		gid->kind = DOCTOR_GID_NONE;
		return 0;
	}
	if (!memcmp(raw, mapped, sizeof(mapped))) {
		gid->kind = DOCTOR_GID_IPV4;
		inet_ntop(AF_INET, raw + sizeof(mapped), gid->text, sizeof(gid->text));
		return 0;
	}
	gid->kind = raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80 ? DOCTOR_GID_LINK : DOCTOR_GID_GLOBAL;
	inet_ntop(AF_INET6, raw, gid->text, sizeof(gid->text));
	return 0;
}

int doctor_port_state(const char *text, const char **word_p)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (end == text || end[0] != ':' || end[1] != ' ' || number < 0 || number > 255)
		return -1;
	*word_p = end + 2;
	return (int)number;
}

int doctor_path_mtu(long mtu)
{
	int path = 4096;

	while (path >= 256 && path + ROCE_HEADERS > mtu)
		path /= 2;
	return path >= 256 ? path : 0;
}

enum doctor_near doctor_pci_near(const char *link, const char *other)
{
	char names[DOCTOR_PCI_DEPTH][DOCTOR_PCI_NAME], others[DOCTOR_PCI_DEPTH][DOCTOR_PCI_NAME];
	int nr = doctor_pci_path(link, names), nr_others = doctor_pci_path(other, others), same = 0;
	const char *root = strstr(link, "pci"), *other_root = strstr(other, "pci");

	if (nr < 0 || nr_others < 0 || !root || !other_root)
		return DOCTOR_FAR;
	while (same < nr && same < nr_others && !strcmp(names[same], others[same]))
		same++;
	/* the first is the root port, and what follows it lies behind a switch */
	if (same > 1)
		return DOCTOR_SAME_SWITCH;
	if (same == 1)
		return DOCTOR_SAME_PORT;
	return strcspn(root, "/") == strcspn(other_root, "/") && !strncmp(root, other_root, strcspn(root, "/")) ?
		       DOCTOR_SAME_ROOT :
		       DOCTOR_FAR;
}

static const char *last_of(char *link)
{
	char *name = strrchr(link, '/');

	return name ? name + 1 : link;
}

struct search {
	const struct tool_tree *tree;
	const char *device;
	char *verbs;
	size_t size;
};

static int find_verbs(const char *name, void *arg)
{
	struct search *search = arg;
	char device[DOCTOR_NIC_NAME];

	if (strncmp(name, "uverbs", 6) != 0 ||
	    tool_tree_read(search->tree, device, sizeof(device), "/sys/class/infiniband_verbs/%s/ibdev", name) <= 0 ||
	    strcmp(device, search->device) != 0)
		return 0;
	snprintf(search->verbs, search->size, "%s", name);
	return 1;
}

static void find_node(const struct tool_tree *tree, struct doctor_nic *nic)
{
	struct search search = {tree, nic->name, nic->verbs, sizeof(nic->verbs)};
	char path[80];

	tool_tree_each(tree, "/sys/class/infiniband_verbs", find_verbs, &search);
	if (!*nic->verbs)
		return;
	snprintf(path, sizeof(path), "/dev/infiniband/%s", nic->verbs);
	nic->node_err = -tool_tree_try(tree, O_RDWR, path);
}

static void find_netdev(const struct tool_tree *tree, struct doctor_nic *nic)
{
	/* one of software names its interface; one of the bus has it with each address */
	if (tool_tree_read(tree, nic->netdev, sizeof(nic->netdev), "/sys/class/infiniband/%s/parent", nic->name) <= 0)
		tool_tree_read(tree, nic->netdev, sizeof(nic->netdev), "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0",
			       nic->name);
}

/* As the library chooses: RoCE v2 before v1, and of those what goes furthest. */
static bool is_better(const struct doctor_gid *gid, const struct doctor_gid *best)
{
	if (gid->kind == DOCTOR_GID_NONE || best->kind == DOCTOR_GID_NONE)
		return gid->kind > best->kind;
	return gid->v2 != best->v2 ? gid->v2 : gid->kind > best->kind;
}

struct gids {
	const struct tool_tree *tree;
	struct doctor_nic *nic;
};

static int look_at_gid(const char *name, void *arg)
{
	struct gids *gids = arg;
	struct doctor_nic *nic = gids->nic;
	struct doctor_gid gid = {.index = atoi(name)};
	char text[64], type[32];

	/* an entry that is empty cannot be read */
	if (tool_tree_read(gids->tree, text, sizeof(text), "/sys/class/infiniband/%s/ports/1/gids/%s", nic->name, name) <= 0 ||
	    doctor_gid_parse(text, &gid))
		return 0;
	if (tool_tree_read(gids->tree, type, sizeof(type), "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%s", nic->name,
			   name) <= 0)
		type[0] = '\0';
	gid.v2 = !nic->ethernet || !strcmp(type, "RoCE v2");
	if (is_better(&gid, &nic->gid) || (gid.kind == nic->gid.kind && gid.v2 == nic->gid.v2 && gid.index < nic->gid.index))
		nic->gid = gid;
	return 0;
}

static void read_nic(const struct tool_tree *tree, const char *name, struct doctor_nic *nic)
{
	struct gids gids = {tree, nic};
	char link[512], text[64], path[128];
	const char *word;

	memset(nic, 0, sizeof(*nic));
	snprintf(nic->name, sizeof(nic->name), "%s", name);
	if (tool_tree_link(tree, link, sizeof(link), "/sys/class/infiniband/%s/device", name) > 0 &&
	    strlen(last_of(link)) < sizeof(nic->pci))
		strcpy(nic->pci, last_of(link));
	if (tool_tree_link(tree, link, sizeof(link), "/sys/class/infiniband/%s/device/driver", name) > 0)
		nic->mlx5 = !strcmp(last_of(link), "mlx5_core");
	if (tool_tree_read(tree, text, sizeof(text), "/sys/class/infiniband/%s/ports/1/link_layer", name) > 0)
		nic->ethernet = !strcmp(text, "Ethernet");
	if (tool_tree_read(tree, text, sizeof(text), "/sys/class/infiniband/%s/ports/1/state", name) > 0)
		nic->active = doctor_port_state(text, &word) == 4;
	find_node(tree, nic);
	find_netdev(tree, nic);
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids", name);
	tool_tree_each(tree, path, look_at_gid, &gids);
}

struct names {
	char (*names)[DOCTOR_NIC_NAME];
	size_t nr;
};

static int add_name(const char *name, void *arg)
{
	struct names *names = arg;

	if (names->nr == DOCTOR_NICS || strlen(name) >= DOCTOR_NIC_NAME)
		return 0;
	strcpy(names->names[names->nr++], name);
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strverscmp(a, b);
}

size_t doctor_nics(const struct tool_tree *tree, struct doctor_nic *nics, size_t nr)
{
	char list[DOCTOR_NICS][DOCTOR_NIC_NAME];
	struct names names = {list, 0};

	tool_tree_each(tree, "/sys/class/infiniband", add_name, &names);
	qsort(list, names.nr, sizeof(list[0]), compare);
	for (size_t i = 0; i < names.nr && i < nr; i++)
		read_nic(tree, list[i], &nics[i]);
	return names.nr < nr ? names.nr : nr;
}
