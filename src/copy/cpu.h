/* SPDX-License-Identifier: MIT */
/*
 * cpu.h - engine "cpu": copies between host memory and a mapping with CPU loads and stores
 *
 * Only the mapped side is aligned for; host memory may have any alignment. Naturally aligned 1, 2, 4 and 8 bytes are
 * one access of that width. No routine reads or writes a byte outside [dst, dst + len) or [src, src + len), and none
 * writes a mapped byte twice. No routine calls anything but libc's memcpy on cached mappings.
 */
#ifndef BL_COPY_CPU_H
#define BL_COPY_CPU_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A routine: @len > 0 bytes from @src to @dst. Returns 0, so that whoever resolved a handle ends in a jump to it (those
 * of GDRCOPY_ENGINE, which stand in for these in a mapping, may return -errno; gpu/copy.c sees to that): what is
 * on the way from a call to its store, the return addresses above all, counts in a copy of some bytes.
 */
typedef int (*bl_copy_fn)(void *dst, const void *src, size_t len);

/**
 * struct bl_cpu_isa - the routines of one instruction set
 * @name:      "sse4.1", "avx2", "avx512", "movdir64b", "neon", "ls64", "scalar"
 * @supported: whether this CPU can run them (instruction set and operating-system state)
 * @to:        store to a write-combining mapping, no fence
 * @from:      load from a write-combining mapping, no fence
 */
struct bl_cpu_isa {
	const char *name;
	bool (*supported)(void);
	bl_copy_fn to;
	bl_copy_fn from;
};

/* All instruction sets compiled for this architecture, NULL-terminated, least capable ("scalar") first. */
extern const struct bl_cpu_isa *const bl_cpu_isas[];

/**
 * bl_cpu_isa_find() - Instruction set by name
 * @name: as in struct bl_cpu_isa
 *
 * Return: the entry, or NULL when it is not compiled in. It may not be supported by this CPU.
 */
const struct bl_cpu_isa *bl_cpu_isa_find(const char *name);

/**
 * struct bl_cpu_copy - what a mapping copies with, fences included
 * @name: for messages and counters
 * @to:   host to mapping
 * @from: mapping to host
 */
struct bl_cpu_copy {
	const char *name;
	bl_copy_fn to;
	bl_copy_fn from;
};

/**
 * bl_cpu_copy_select() - Routines for a mapping, chosen once when it is mapped
 * @type: enum bl_map_type of the mapping, not BL_MAP_NONE
 *
 * BARLANE_CPU_ISA=NAME forces an instruction set for write-combining mappings; one that is unknown or not supported
 * here is warned about and ignored.
 * Return: routines, valid for ever.
 */
const struct bl_cpu_copy *bl_cpu_copy_select(unsigned int type);

/**
 * bl_cpu_fence_mixed() - Order accesses to mappings of different types
 *
 * The full fence that copies need while the process has live mappings of two types or more.
 */
void bl_cpu_fence_mixed(void);

#endif
