/* SPDX-License-Identifier: MIT */
/*
 * copy_trap.h - carries out the 64-byte stores and loads that this CPU lacks
 *
 * An instruction that the CPU does not know raises SIGILL. The handler decodes MOVDIR64B (x86-64) or ST64B and LD64B
 * (arm64), does what it would have done, and goes on behind it. So the routines that use them are run everywhere; what
 * it cannot show is that real hardware makes one bus write of them.
 */
#ifndef BL_TESTS_COPY_TRAP_H
#define BL_TESTS_COPY_TRAP_H

#include <stdbool.h>

#include "copy/cpu.h"

/* What the handler does with an access, memcpy of 64 bytes unless a test puts its own there. */
extern void (*copy_trap_store)(void *dst, const void *src);
extern void (*copy_trap_load)(void *dst, const void *src);

/* Instructions carried out so far. */
extern unsigned long copy_trap_count;

/* Handle SIGILL from now on. */
void copy_trap_install(void);

/**
 * copy_trap_runs() - Whether tests can run an instruction set here
 * @isa: the instruction set
 *
 * Return: true when this CPU has it, or the handler stands in for it.
 */
bool copy_trap_runs(const struct bl_cpu_isa *isa);

/* Whether the handler has to stand in. */
bool copy_trap_needed(const struct bl_cpu_isa *isa);

#endif
