// SPDX-License-Identifier: MIT
/* The NVIDIA kernel driver. */
#include "doctor/driver.h"

#include <errno.h>
#include <string.h>

#include "doctor/doctor.h"

#define VERSION_FILE "/proc/driver/nvidia/version"

const char *doctor_flavour_name(enum doctor_flavour flavour)
{
	static const char *const names[] = {"unknown", "open", "proprietary"};

	return names[flavour];
}

void doctor_driver_parse(const char *text, struct doctor_driver *driver)
{
	char line[256];

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	driver->flavour = DOCTOR_FLAVOUR_UNKNOWN;
	if (strstr(line, "Open Kernel Module"))
		driver->flavour = DOCTOR_FLAVOUR_OPEN;
	else if (strstr(line, "Kernel Module"))
		driver->flavour = DOCTOR_FLAVOUR_PROPRIETARY;
	bl_driver_version_parse(line, &driver->version);
}

static void add_missing(struct doctor *doctor, int err)
{
	struct stat st;

	if (err == ENOENT && tool_tree_stat(&doctor->tree, &st, "/dev/dxg") == 0)
		doctor_add(doctor, DOCTOR_FAIL, "nvidia",
			   "use Linux on the machine itself: WSL has no driver interface "
			   "through which GPU memory could be mapped",
			   "this is WSL: /dev/dxg, but no NVIDIA kernel driver");
	else
		doctor_add(doctor, DOCTOR_FAIL, "nvidia",
			   "install NVIDIA's driver and load it (modprobe nvidia); dmesg says why it does not load",
			   "no NVIDIA kernel driver: %s: %s", VERSION_FILE, strerror(err));
}

void doctor_check_driver(struct doctor *doctor)
{
	struct doctor_driver *driver = &doctor->driver;
	char text[1024];
	int ret;

	ret = tool_tree_read(&doctor->tree, text, sizeof(text), VERSION_FILE);
	if (ret < 0) {
		add_missing(doctor, -ret);
		return;
	}
	doctor_driver_parse(text, driver);
	if (!driver->version.major)
		doctor_add(doctor, DOCTOR_WARN, "nvidia",
			   "compare with docs/providers.md; report the text of this line",
			   "%s cannot be understood: \"%.200s\"", VERSION_FILE, text);
	else if (driver->version.major < 515)
		doctor_add(doctor, DOCTOR_FAIL, "nvidia", "install driver 515 or later, or load gdrdrv",
			   "version %s is too old for provider rm", driver->version.text);
	else
		doctor_add(doctor, DOCTOR_OK, "nvidia", NULL, "version %s, %s kernel modules", driver->version.text,
			   doctor_flavour_name(driver->flavour));
}
