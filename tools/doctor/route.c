// SPDX-License-Identifier: MIT
/*
 * What would happen to a file of each drive and the memory of each GPU: whether the drive reaches it by itself, and why
 * not. The rules are those of module nvidia-fs, by its own files; what the module itself knows comes from /proc.
 */
#include "doctor/route.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "doctor/doctor.h"
#include "doctor/pci.h"

#define PROC	 "/proc/driver/nvidia-fs"
#define ALLOW	 "/sys/module/nvidia_fs/parameters/allow_unknown_routes"
#define ROWS_MAX (1U << 20)

/**
 * struct routes - what holds for all pairs
 * @doctor:  examination
 * @topo:    devices
 * @cpu:     the CPU's root complexes forward
 * @rows:    text of peer_distance; NULL: the module is not loaded, or an older one
 * @loaded:  the module is loaded
 * @allowed: it tries what is not known to work
 */
struct routes {
	struct doctor *doctor;
	struct bl_topo topo;
	bool cpu;
	char *rows;
	bool loaded;
	bool allowed;
};

/* The line of a pair, or of a GPU with any peer when @peer is NULL. */
static bool find_row(const struct routes *routes, const char *gpu, const char *peer, struct doctor_pair *pair)
{
	for (const char *line = routes->rows; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (!doctor_pair_parse(line, pair) && !strcmp(pair->gpu, gpu) && (!peer || !strcmp(pair->peer, peer)))
			return true;
	}
	return false;
}

/* NVIDIA's, and those that the module was told of. */
static bool is_gpu(const struct routes *routes, const struct bl_topo_dev *dev)
{
	char name[BL_TOPO_NAME];
	struct doctor_pair pair;

	bl_topo_name(dev, name);
	return dev->kind == BL_TOPO_GPU || find_row(routes, name, NULL, &pair);
}

enum translation { TRANSLATION_NONE, TRANSLATION_ON, TRANSLATION_UNKNOWN };

static enum translation translation_of(const struct routes *routes, const char *name)
{
	const struct tool_tree *tree = &routes->doctor->tree;
	char link[512], type[32];
	const char *group;

	if (tool_tree_link(tree, link, sizeof(link), "/sys/bus/pci/devices/%s/iommu_group", name) < 0)
		return TRANSLATION_NONE;
	group = strrchr(link, '/');
	if (tool_tree_read(tree, type, sizeof(type), "/sys/kernel/iommu_groups/%.32s/type", group ? group + 1 : link) <= 0)
		return TRANSLATION_UNKNOWN;
	return strcmp(type, "identity") ? TRANSLATION_ON : TRANSLATION_NONE;
}

static int first_name(const char *name, void *arg)
{
	snprintf(arg, 16, "%.15s", name);
	return 1;
}

/* The drive's controller, "" when it has no driver. */
static void read_label(const struct routes *routes, const char *name, char label[16])
{
	char path[64];

	*label = '\0';
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/nvme", name);
	tool_tree_each(&routes->doctor->tree, path, first_name, label);
}

static const char *cure_of(const struct routes *routes, const struct bl_topo_route *route, char *cure, size_t size)
{
	char port[BL_TOPO_NAME];

	switch (route->why) {
	case BL_TOPO_TRANSLATED:
		return "kernel parameter iommu=pt; or, once what was read has been compared, allow_unknown_routes=1 of nvidia-fs";
	case BL_TOPO_REDIRECTED:
		bl_topo_name(&routes->topo.dev[route->port], port);
		snprintf(cure, size, "kernel parameter pci=disable_acs_redir=%s, unless virtual machines share the switch",
			 port);
		return cure;
	default:
		return "put the drive below the GPU's switch; or, once what was read has been compared, "
		       "allow_unknown_routes=1 of nvidia-fs";
	}
}

/* What follows from the way, for a machine as it is. */
static void add_verdict(const struct routes *routes, const char *subject, const struct bl_topo_route *route,
			const char *text, const char *numbers)
{
	struct doctor *doctor = routes->doctor;
	char cure[200];

	if (route->works && route->unsure)
		doctor_add(doctor, DOCTOR_INFO, subject, "run as root to see whether ports redirect peer requests (ACS)",
			   "%s, as far as can be seen%s", text, numbers);
	else if (route->works)
		doctor_add(doctor, routes->loaded ? DOCTOR_OK : DOCTOR_INFO, subject, NULL, "%s%s%s", text, numbers,
			   routes->loaded ? "" : "; nvidia-fs, which would use it, is not loaded");
	else if (routes->loaded && routes->allowed)
		doctor_add(doctor, DOCTOR_WARN, subject,
			   "compare what was read with the file once; without that, allow_unknown_routes=0",
			   "%s%s; tried all the same, and bytes that get lost are not noticed", text, numbers);
	else
		doctor_add(doctor, routes->loaded ? DOCTOR_WARN : DOCTOR_INFO, subject,
			   cure_of(routes, route, cure, sizeof(cure)), "%s%s; nvidia-fs %s it, and bytes are copied", text, numbers,
			   routes->loaded ? "refuses" : "would refuse");
}

static void write_numbers(const struct routes *routes, __u32 gpu, __u32 drive, const char *gpu_name, const char *name,
			  char *text, size_t size)
{
	struct doctor_pair pair = { .distance = bl_topo_distance(&routes->topo, gpu, drive) };
	bool known = find_row(routes, gpu_name, name, &pair);
	struct doctor_link link;
	char speed[48] = "";

	doctor_pci_link(&routes->doctor->tree, name, &link);
	if (link.width && link.speed)
		snprintf(speed, sizeof(speed), ", link x%d at %d.%d GT/s", link.width, link.speed / 10, link.speed % 10);
	if (known)
		snprintf(text, size, "; distance %u%s, %llu requests counted", pair.distance, speed, pair.ios);
	else
		snprintf(text, size, "; distance %u%s", pair.distance, speed);
}

static void check_pair(const struct routes *routes, __u32 gpu, __u32 drive)
{
	struct bl_topo_env env = { .cpu_forwards = routes->cpu };
	char gpu_name[BL_TOPO_NAME], name[BL_TOPO_NAME], label[16], subject[48], text[240], numbers[120];
	struct bl_topo_route route;
	enum translation translation;

	bl_topo_name(&routes->topo.dev[gpu], gpu_name);
	bl_topo_name(&routes->topo.dev[drive], name);
	read_label(routes, name, label);
	snprintf(subject, sizeof(subject), "%s %s", gpu_name, *label ? label : name);
	translation = translation_of(routes, name);
	env.translated = translation == TRANSLATION_ON;
	bl_topo_route(&routes->topo, gpu, drive, &env, &route);
	if (translation == TRANSLATION_UNKNOWN)
		route.unsure++;
	bl_topo_route_text(&routes->topo, &route, text, sizeof(text));
	write_numbers(routes, gpu, drive, gpu_name, name, numbers, sizeof(numbers));
	add_verdict(routes, subject, &route, text, numbers);
}

static void check_pairs(const struct routes *routes)
{
	int gpus = 0, drives = 0;

	for (__u32 gpu = 0; gpu < routes->topo.nr; gpu++) {
		if (!is_gpu(routes, &routes->topo.dev[gpu]))
			continue;
		gpus++;
		drives = 0;
		for (__u32 drive = 0; drive < routes->topo.nr; drive++) {
			if (routes->topo.dev[drive].kind != BL_TOPO_NVME)
				continue;
			drives++;
			check_pair(routes, gpu, drive);
		}
	}
	if (!gpus)
		doctor_add(routes->doctor, DOCTOR_INFO, "GPUs", NULL, "none of NVIDIA's is on the PCI bus");
	else if (!drives)
		doctor_add(routes->doctor, DOCTOR_INFO, "drives", NULL, "no NVMe drive is on the PCI bus");
}

void doctor_check_routes(struct doctor *doctor)
{
	struct routes routes = { .doctor = doctor };
	char version[64], *cpuinfo = malloc(4096);
	long allowed = 0;
	int ret;

	routes.rows = malloc(ROWS_MAX);
	if (!cpuinfo || !routes.rows)
		tool_die("out of memory");
	if (tool_tree_read(&doctor->tree, cpuinfo, 4096, "/proc/cpuinfo") > 0)
		routes.cpu = doctor_route_cpu(cpuinfo);
	routes.loaded = tool_tree_read(&doctor->tree, version, sizeof(version), PROC "/version") > 0;
	tool_tree_read(&doctor->tree, routes.rows, ROWS_MAX, PROC "/peer_distance");
	/* NVIDIA's has no such parameter, and tries everything */
	routes.allowed = tool_tree_number(&doctor->tree, &allowed, ALLOW) || allowed;
	ret = doctor_route_read(&doctor->tree, &routes.topo);
	if (ret)
		doctor_add(doctor, DOCTOR_INFO, "PCI", NULL, "/sys/bus/pci cannot be read: %s", strerror(-ret));
	else
		check_pairs(&routes);
	free(routes.topo.dev);
	free(routes.rows);
	free(cpuinfo);
}
