/* SPDX-License-Identifier: MIT */
/* push_bare.h - the exchange that engine push is made of, with nothing around it */
#ifndef BENCH_PUSH_BARE_H
#define BENCH_PUSH_BARE_H

#include <stdint.h>

#include "barlane.h"
#include "common/device.h"

/* Launch the kernel of engine push, with a doorbell and words of the benchmark's own; ends the program on an error. */
void bare_start(const struct tool_device *device, bl_ctx_t ctx);

/**
 * bare_read() - Ring, and poll the answer
 * @src: device address
 * @dst: device address of pinned memory, the same modulo 16
 * @len: bytes, at most BL_PUSH_MAX_LEN
 */
void bare_read(uint64_t src, uint64_t dst, size_t len);

/* See that the kernel is there, and launch it again where it left. */
void bare_ready(void);

/* Tell it to leave. */
void bare_stop(void);

#endif
