/* SPDX-License-Identifier: MIT */
/* driver.h - flavour and version of the NVIDIA kernel driver */
#ifndef TOOLS_DOCTOR_DRIVER_H
#define TOOLS_DOCTOR_DRIVER_H

#include "common/tree.h"
#include "gpu/driver_version.h"

enum doctor_flavour { DOCTOR_FLAVOUR_UNKNOWN, DOCTOR_FLAVOUR_OPEN, DOCTOR_FLAVOUR_PROPRIETARY };

/**
 * struct doctor_driver - what the driver says of itself
 * @flavour: open or proprietary kernel modules
 * @version: major 0 when it could not be understood
 */
struct doctor_driver {
	enum doctor_flavour flavour;
	struct bl_driver_version version;
};

/**
 * doctor_driver_parse() - Understand the text of /proc/driver/nvidia/version
 * @text:   the text; its first line counts
 * @driver: receives what it says
 */
void doctor_driver_parse(const char *text, struct doctor_driver *driver);

/* "open", "proprietary" or "unknown" */
const char *doctor_flavour_name(enum doctor_flavour flavour);

#endif
