/* SPDX-License-Identifier: MIT */
/* object.h - kernels that are compiled for the CPU, in a file beside the program */
#ifndef TOOLS_COMMON_OBJECT_H
#define TOOLS_COMMON_OBJECT_H

#include "common/device.h"

/**
 * tool_object_load() - Load kernels for the emulated GPU
 * @device: GPU, its context is current
 * @name:   of the file, in the folder of the program
 * @why:    why the program's own code does not do, for the message
 * @module: receives them
 *
 * Return: 0, or -errno with tool_why().
 */
int tool_object_load(const struct tool_device *device, const char *name, const char *why, CUmodule *module);

#endif
