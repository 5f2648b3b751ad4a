/* SPDX-License-Identifier: MIT */
/* driver_version.h - version of the NVIDIA kernel driver, which decides the layout of its interface */
#ifndef BL_GPU_DRIVER_VERSION_H
#define BL_GPU_DRIVER_VERSION_H

#include <stddef.h>

/**
 * struct bl_driver_version - what the kernel says
 * @major: branch, such as 580; 0 when the text could not be understood
 * @minor: second number
 * @text:  as read, such as "580.159.04"
 */
struct bl_driver_version {
	unsigned int major;
	unsigned int minor;
	char text[64];
};

/**
 * bl_driver_version_parse() - Find a version in a text
 * @text:    "580.159.04", or a line of words of which one looks like that
 * @version: receives it; all zero when there is none
 *
 * Visible to this project's tools.
 * Return: 0 or -EINVAL.
 */
__attribute__((visibility("default"))) int bl_driver_version_parse(const char *text,
								   struct bl_driver_version *version);

/**
 * bl_driver_version_read() - Ask the kernel
 * @version: receives the answer
 *
 * Reads /sys/module/nvidia/version, else /proc/driver/nvidia/version.
 * Return: 0, or -ENOENT when neither can be read; a text that cannot be understood gives 0 and major 0.
 */
int bl_driver_version_read(struct bl_driver_version *version);

#endif
