// SPDX-License-Identifier: MIT
/* A topology as JSON: devices, and for each GPU how far each other device is, the nearest first. */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gpu/cuda.h"
#include "topology.h"

static const char *const kinds[] = {"gpus", "nvmes", "nics"};

static const char *relation_name(enum bl_pci_relation relation)
{
	switch (relation) {
	case BL_PCI_SAME_SWITCH:
		return "same switch";
	case BL_PCI_SAME_ROOT:
		return "same root port";
	case BL_PCI_SAME_HOST:
		return "same host bridge";
	case BL_PCI_SAME_NODE:
		return "same NUMA node";
	default:
		return "other NUMA node";
	}
}

/* json-c gives NULL when memory is short, and must not be given NULL to add to. */
static _Thread_local bool out_of_memory;

static void add(struct json_object *to, const char *key, struct json_object *value)
{
	if (to && value && !json_object_object_add(to, key, value))
		return;
	out_of_memory = true;
	json_object_put(value);
}

static void append(struct json_object *to, struct json_object *value)
{
	if (to && value && !json_object_array_add(to, value))
		return;
	out_of_memory = true;
	json_object_put(value);
}

static void add_text(struct json_object *to, const char *key, const char *text)
{
	add(to, key, json_object_new_string(text));
}

static void add_number(struct json_object *to, const char *key, int64_t number)
{
	add(to, key, json_object_new_int64(number));
}

static void add_hex(struct json_object *to, const char *key, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%04x", number);
	add_text(to, key, text);
}

/* What CUDA calls the GPU; nothing before the program has initialised it. */
static void add_cuda(struct json_object *to, const char *name)
{
	const struct bl_cuda *cuda = bl_cuda();
	char uuid[40] = "GPU-";
	CUdevice dev;
	CUuuid id;
	int nr = 0;

	if (!cuda || cuda->cuDeviceGetCount(&nr))
		return;
	for (int i = 0; i < nr; i++) {
		char bus[32];

		if (cuda->cuDeviceGet(&dev, i) || cuda->cuDeviceGetPCIBusId(bus, sizeof(bus), dev) || strcasecmp(bus, name))
			continue;
		add_number(to, "cuda_ordinal", i);
		if (!cuda->cuDeviceGetUuid || cuda->cuDeviceGetUuid(&id, dev))
			return;
		for (int byte = 0; byte < 16; byte++) {
			size_t len = strlen(uuid);

			snprintf(uuid + len, sizeof(uuid) - len, "%s%02x",
				 byte == 4 || byte == 6 || byte == 8 || byte == 10 ? "-" : "", (unsigned char)id.bytes[byte]);
		}
		add_text(to, "uuid", uuid);
		return;
	}
}

static struct json_object *device_object(const struct bl_pci_device *device)
{
	struct json_object *object = json_object_new_object(), *path = json_object_new_array();

	add_text(object, "pci", device->name);
	add_hex(object, "vendor", device->vendor);
	add_hex(object, "device", device->device);
	if (*device->label)
		add_text(object, "name", device->label);
	add_number(object, "numa_node", device->numa);
	if (*device->speed)
		add_text(object, "link_speed", device->speed);
	if (device->width)
		add_number(object, "link_width", device->width);
	add_text(object, "host_bridge", device->host);
	for (int i = 0; i < device->nr_path - 1; i++)
		append(path, json_object_new_string(device->path[i]));
	add(object, "ports", path);
	if (device->kind == BL_PCI_GPU)
		add_cuda(object, device->name);
	return object;
}

/* Distances of one GPU, in the order of relation and hops. */
struct neighbour {
	const struct bl_pci_device *device;
	enum bl_pci_relation relation;
	int hops;
};

static int compare(const void *left, const void *right)
{
	const struct neighbour *a = left, *b = right;

	if (a->relation != b->relation)
		return (int)a->relation - (int)b->relation;
	return a->hops != b->hops ? a->hops - b->hops : strcmp(a->device->name, b->device->name);
}

static struct json_object *distances(const struct bl_topology *topology, const struct bl_pci_device *gpu,
				     struct neighbour *neighbours)
{
	struct json_object *list = json_object_new_array();
	int nr = 0;

	for (int i = 0; i < topology->nr; i++) {
		const struct bl_pci_device *other = &topology->device[i];

		if (other != gpu)
			neighbours[nr++] = (struct neighbour){other, bl_pci_relation(gpu, other), bl_pci_hops(gpu, other)};
	}
	qsort(neighbours, (size_t)nr, sizeof(*neighbours), compare);
	for (int i = 0; i < nr; i++) {
		struct json_object *item = json_object_new_object();

		add_text(item, "pci", neighbours[i].device->name);
		add_text(item, "relation", relation_name(neighbours[i].relation));
		add_number(item, "hops", neighbours[i].hops);
		append(list, item);
	}
	return list;
}

char *bl_topology_text(const struct bl_topology *topology)
{
	struct neighbour *neighbours = calloc((size_t)topology->nr + 1, sizeof(*neighbours));
	struct json_object *root = json_object_new_object(), *far = json_object_new_object(), *lists[3];
	const char *text = NULL;
	char *copy;

	out_of_memory = !neighbours;
	add_number(root, "version", 1);
	for (int kind = 0; kind < 3; kind++) {
		lists[kind] = json_object_new_array();
		add(root, kinds[kind], lists[kind]);
	}
	/* a list that could not be added is gone: it is not touched any more */
	for (int i = 0; !out_of_memory && i < topology->nr; i++) {
		const struct bl_pci_device *device = &topology->device[i];

		append(lists[device->kind], device_object(device));
		if (device->kind == BL_PCI_GPU)
			add(far, device->name, distances(topology, device, neighbours));
	}
	add(root, "distances", far);
	if (!out_of_memory)
		text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
								    JSON_C_TO_STRING_NOSLASHESCAPE);
	copy = text ? strdup(text) : NULL;
	json_object_put(root);
	free(neighbours);
	return copy;
}
