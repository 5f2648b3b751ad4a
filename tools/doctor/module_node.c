// SPDX-License-Identifier: MIT
/* Device node /dev/gdrdrv, which belongs to a module and not to the GPU driver: nothing about it is a failure. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "doctor/devnum.h"
#include "doctor/doctor.h"
#include "doctor/module.h"

#define NODE "/dev/gdrdrv"

static void add_absent(struct doctor *doctor)
{
	struct doctor_devnum num;
	char cure[256];

	if (doctor->standin || !doctor_module_loaded(&doctor->tree)) {
		doctor_add(doctor, DOCTOR_INFO, NODE, NULL, "does not exist; only provider gdrdrv needs it");
		return;
	}
	if (!doctor_devnum_find(&doctor->tree, &num))
		snprintf(cure, sizeof(cure),
			 "mknod -m 666 " NODE " c %u %u; in a container pass the node on (--device " NODE ")",
			 num.major, num.minor);
	else
		snprintf(cure, sizeof(cure),
			 "load the module again; in a container pass the node on (--device " NODE ")");
	doctor_add(doctor, DOCTOR_WARN, NODE, cure, "does not exist, although the module is loaded");
}

/* Return: whether the node is the module's as far as can be seen. */
static bool check_number(struct doctor *doctor, const struct stat *st)
{
	unsigned int major = major(st->st_rdev), minor = minor(st->st_rdev);
	struct doctor_devnum num;
	char cure[256];

	if (!S_ISCHR(st->st_mode)) {
		doctor_add(doctor, DOCTOR_WARN, NODE, "remove it and load the module again", "is no character device");
		return false;
	}
	if (doctor_devnum_find(&doctor->tree, &num) || (num.major == major && num.minor == minor))
		return true;
	snprintf(cure, sizeof(cure), "rm " NODE " and mknod -m 666 " NODE " c %u %u; in a container pass it on again",
		 num.major, num.minor);
	doctor_add(doctor, DOCTOR_WARN, NODE, cure, "has number %u:%u, but the module's is %u:%u", major, minor,
		   num.major, num.minor);
	return false;
}

static const char *cure_of(int err)
{
	switch (err) {
	case EACCES:
		return "chmod 666 the node, run as a member of its group, or load the module with node_mode=0666";
	case EPERM:
		return "the container's device list must allow it to be read and written (--device " NODE ")";
	case EMFILE:
		return "raise the limit of open files (ulimit -n)";
	default:
		return "load the module again; dmesg says why it does not answer";
	}
}

void doctor_check_module_node(struct doctor *doctor)
{
	char mode[64] = "stand-in";
	struct stat st;
	int ret;

	/* a stand-in has no inode: what counts is whether it opens */
	ret = doctor->standin ? 0 : tool_tree_stat(&doctor->tree, &st, NODE);
	if (!ret && !doctor->standin) {
		if (!check_number(doctor, &st))
			return;
		snprintf(mode, sizeof(mode), "mode %03o, owner %u:%u", st.st_mode & 0777, st.st_uid, st.st_gid);
	}
	if (!ret)
		ret = tool_tree_try(&doctor->tree, O_RDWR, NODE);
	if (ret == -ENOENT)
		add_absent(doctor);
	else if (!doctor->standin && (ret == -ENXIO || ret == -ENODEV) && !doctor_module_loaded(&doctor->tree))
		doctor_add(doctor, DOCTOR_INFO, NODE, "modprobe gdrdrv, or remove the node",
			   "%s: is left over, the module is not loaded", mode);
	else if (ret)
		doctor_add(doctor, DOCTOR_WARN, NODE, cure_of(-ret), "%s: cannot be opened by user %u: %s", mode,
			   geteuid(), strerror(-ret));
	else
		doctor_add(doctor, DOCTOR_OK, NODE, NULL, "%s, opens", mode);
}
