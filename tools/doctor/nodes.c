// SPDX-License-Identifier: MIT
/* Device nodes of the GPU driver: there, of the right kind, and open to this process. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "doctor/nodes.h"

/* Longest node name is "/dev/nvidia4294967295". */
#define NODE_SIZE 32

int doctor_minor_parse(const char *text, unsigned int *minor_p)
{
	static const char key[] = "Device Minor:";
	const char *at = strstr(text, key);
	unsigned int minor;
	int end = 0;

	if (!at || (at != text && at[-1] != '\n'))
		return -EINVAL;
	at += strlen(key);
	at += strspn(at, " \t");
	/* sscanf itself would skip any white space, and take a sign */
	if (!isdigit((unsigned char)*at) || sscanf(at, "%7u%n", &minor, &end) != 1 || (at[end] && at[end] != '\n'))
		return -EINVAL;
	*minor_p = minor;
	return 0;
}

/* A stand-in has no inode: what counts is whether it opens. */
static void check_node(struct doctor *doctor, const char *path)
{
	char mode[64] = "stand-in";
	struct stat st;
	int ret;

	ret = doctor->standin ? 0 : tool_tree_stat(&doctor->tree, &st, "%s", path);
	if (!ret && !doctor->standin) {
		if (!S_ISCHR(st.st_mode)) {
			doctor_add(doctor, DOCTOR_FAIL, path, "remove it and run nvidia-modprobe -u -c=0",
				   "is no character device");
			return;
		}
		snprintf(mode, sizeof(mode), "mode %03o, owner %u:%u", st.st_mode & 0777, st.st_uid, st.st_gid);
	}
	if (!ret)
		ret = tool_tree_try(&doctor->tree, O_RDWR, path);
	if (ret == -ENOENT)
		doctor_add(doctor, DOCTOR_FAIL, path,
			   "on the machine run nvidia-modprobe -u -c=0 or nvidia-smi once; in a "
			   "container pass the node on (--gpus all, or --device)",
			   "does not exist");
	else if (ret == -EACCES || ret == -EPERM)
		doctor_add(doctor, DOCTOR_FAIL, path,
			   ret == -EPERM ? "the container's device list must allow it to be read and written (--gpus "
					   "all, or --device)"
					 : "chmod 666 the node, or run as a member of its group (driver option "
					   "NVreg_DeviceFileMode)",
			   "%s: cannot be opened by user %u: %s", mode, geteuid(), strerror(-ret));
	else if (ret)
		doctor_add(doctor, DOCTOR_FAIL, path,
			   ret == -EMFILE ? "raise the limit of open files (ulimit -n)"
					  : "load the driver again; dmesg says why the GPU does not answer",
			   "%s: cannot be opened: %s", mode, strerror(-ret));
	else
		doctor_add(doctor, DOCTOR_OK, path, NULL, "%s, opens", mode);
}

static void check_gpu_node(struct doctor *doctor, const struct doctor_gpu *gpu)
{
	char text[2048], path[NODE_SIZE];
	unsigned int minor;

	/* where /proc is hidden the trial pin has to find out */
	if (tool_tree_read(&doctor->tree, text, sizeof(text), "/proc/driver/nvidia/gpus/%s/information", gpu->bus_id) <
	    0)
		return;
	if (doctor_minor_parse(text, &minor)) {
		doctor_add(doctor, DOCTOR_WARN, gpu->bus_id,
			   "compare /proc/driver/nvidia/gpus/*/information with ls -l /dev/nvidia*",
			   "the driver does not say which node is this GPU's");
		return;
	}
	snprintf(path, sizeof(path), "/dev/nvidia%u", minor);
	check_node(doctor, path);
}

void doctor_check_nodes(struct doctor *doctor)
{
	check_node(doctor, "/dev/nvidiactl");
	if (!doctor->standin)
		check_node(doctor, "/dev/nvidia-uvm");
	for (int i = 0; i < doctor->nr_gpus; i++)
		check_gpu_node(doctor, &doctor->gpus[i]);
	doctor_check_module_node(doctor);
}
