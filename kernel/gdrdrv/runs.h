/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * runs.h - where the bytes of a pin are: pieces that are contiguous in the CPU's physical address space
 */
#ifndef BL_GDRDRV_RUNS_H
#define BL_GDRDRV_RUNS_H

#include <linux/types.h>

/**
 * struct bl_run - one piece
 * @off: offset of its first byte in the pin
 * @pa:  physical address of that byte
 * @len: bytes
 */
struct bl_run {
	u64 off;
	phys_addr_t pa;
	u64 len;
};

/**
 * struct bl_runs - all pieces, by offset, without holes
 * @run: pieces
 * @nr:  how many
 * @cap: how many there is room for
 */
struct bl_runs {
	struct bl_run *run;
	size_t nr;
	size_t cap;
};

int bl_runs_add(struct bl_runs *runs, phys_addr_t pa, u64 len);
const struct bl_run *bl_runs_find(const struct bl_runs *runs, u64 off);
u64 bl_runs_len(const struct bl_runs *runs);
void bl_runs_free(struct bl_runs *runs);

#endif
