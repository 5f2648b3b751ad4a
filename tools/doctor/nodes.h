/* SPDX-License-Identifier: MIT */
/* nodes.h - which device node is a GPU's */
#ifndef TOOLS_DOCTOR_NODES_H
#define TOOLS_DOCTOR_NODES_H

/**
 * doctor_minor_parse() - Find the number of a GPU's node
 * @text:    text of /proc/driver/nvidia/gpus/ADDRESS/information
 * @minor_p: receives N of /dev/nvidiaN
 *
 * Return: 0 or -EINVAL.
 */
int doctor_minor_parse(const char *text, unsigned int *minor_p);

#endif
