/* SPDX-License-Identifier: MIT */
/*
 * device.h - list GPUs, choose one
 */
#ifndef TOOLS_COMMON_DEVICE_H
#define TOOLS_COMMON_DEVICE_H

#include <stdbool.h>
#include <stdio.h>

#include "gpu/cuda.h"

/**
 * struct tool_device - a GPU in use by this process
 * @cu:       the driver library
 * @dev:      its handle there
 * @ordinal:  its number
 * @ctx:      its primary context, retained
 * @name:     its name
 * @bus_id:   domain:bus:device, hexadecimal
 * @emulated: it is this project's emulated GPU
 */
struct tool_device {
	const struct bl_cuda *cu;
	CUdevice dev;
	int ordinal;
	CUcontext ctx;
	char name[128];
	char bus_id[32];
	bool emulated;
};

/**
 * tool_devices_print() - Print one line for each GPU
 * @out: where to
 *
 * Return: number of GPUs, or -errno.
 */
int tool_devices_print(FILE *out);

/**
 * tool_device_open() - Start using a GPU: its primary context becomes the calling thread's
 * @ordinal: which one
 * @device:  receives it
 *
 * Return: 0 or -errno.
 */
int tool_device_open(int ordinal, struct tool_device *device);

/* Give the primary context back. */
void tool_device_close(struct tool_device *device);

/* An attribute of the GPU, 0 where the driver does not know it. */
int tool_device_attr(const struct tool_device *device, int attr);

/* How many GPUs there are, or -errno. */
int tool_device_count(void);

#endif
