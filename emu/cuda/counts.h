/* SPDX-License-Identifier: MIT */
/*
 * counts.h - counters of the emulator, and its complaints
 *
 * bl_emu_counts() gathers these and what the tables of the fake resource manager hold.
 */
#ifndef EMU_CUDA_COUNTS_H
#define EMU_CUDA_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint64_t emu_cuda_calls;	 /* CUDA functions called */
extern _Atomic uint64_t emu_ioctls;	 /* ioctls served */
extern _Atomic uint64_t emu_peer_direct; /* copies from the memory of a GPU to that of another */
extern _Atomic uint64_t emu_peer_staged; /* those by way of the host */

/* Prepare the page that the counters of broken rules share with forked children; safe to call more than once. */
void emu_violations_init(void);

/**
 * emu_violation() - A rule of the driver interface was broken
 * @fmt: which rule and by what; no trailing newline
 *
 * Counts, keeps the first text and writes "barlane-emu: violation: ..." to stderr; aborts when BARLANE_EMU_STRICT=1.
 * May be called with any lock held. What a forked child breaks is counted for its parent too.
 */
void emu_violation(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
