// SPDX-License-Identifier: MIT
/* Whether this process is in a container, which explains much of what is missing. */
#include <string.h>

#include "doctor/container.h"
#include "doctor/doctor.h"

const char *doctor_container_of_cgroup(const char *text)
{
	static const char *const hints[][2] = {
		{"kubepods", "Kubernetes"},   {"libpod", "Podman"}, {"docker", "Docker"},
		{"containerd", "containerd"}, {"/lxc", "LXC"},
	};

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		if (strstr(text, hints[i][0]))
			return hints[i][1];
	}
	return NULL;
}

static const char *container(const struct tool_tree *tree)
{
	char cgroup[4096];
	struct stat st;

	if (!tool_tree_stat(tree, &st, "/.dockerenv"))
		return "Docker (/.dockerenv)";
	if (!tool_tree_stat(tree, &st, "/run/.containerenv"))
		return "Podman (/run/.containerenv)";
	if (tool_tree_read(tree, cgroup, sizeof(cgroup), "/proc/self/cgroup") <= 0)
		return NULL;
	return doctor_container_of_cgroup(cgroup);
}

static bool node_missing(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->nr; i++) {
		if (!strcmp(doctor->rows[i].check, "node") && doctor->rows[i].status == DOCTOR_FAIL)
			return true;
	}
	return false;
}

void doctor_check_container(struct doctor *doctor)
{
	const char *name = container(&doctor->tree);

	if (!name)
		doctor_add(doctor, DOCTOR_INFO, "container", NULL, "no sign of one");
	else if (doctor->driver.version.major && node_missing(doctor))
		doctor_add(doctor, DOCTOR_WARN, "container",
			   "start it with the NVIDIA container toolkit (--gpus all), or "
			   "pass /dev/nvidiactl, /dev/nvidia-uvm and /dev/nvidiaN on with --device",
			   "%s: the driver is loaded outside, but nodes are missing here", name);
	else
		doctor_add(doctor, DOCTOR_INFO, "container", NULL, "%s", name);
}
