/* SPDX-License-Identifier: MIT */
/* bind.h - warn of a benchmark that runs on another NUMA node than its GPU, or move it there */
#ifndef TOOLS_COMMON_BIND_H
#define TOOLS_COMMON_BIND_H

#include "common/device.h"
#include "common/numa.h"
#include "common/option.h"

enum tool_bind { TOOL_BIND_NONE, TOOL_BIND_AUTO };

/* "none", "auto" */
extern const struct tool_name tool_bind_names[];

/**
 * tool_bind() - Look at the NUMA nodes of a GPU and of this process
 * @device: the GPU
 * @bind:   TOOL_BIND_AUTO moves this thread to the GPU's node, where that is known; else a wrong node is warned of on
 *          stderr, with the cure
 * @out:    where it is said what was done
 * @numa:   receives the nodes as they are afterwards
 *
 * Before host memory is touched: pages stay on the node where they were first used.
 * Return: 0 or -errno with tool_why(): the thread could not be moved.
 */
int tool_bind(const struct tool_device *device, enum tool_bind bind, FILE *out, struct tool_numa *numa);

/**
 * tool_bind_warning() - What to say of a process on the wrong node
 * @numa: nodes
 * @text: receives it, with the cure; "" when nothing is wrong
 * @size: bytes of @text
 */
void tool_bind_warning(const struct tool_numa *numa, char *text, size_t size);

#endif
