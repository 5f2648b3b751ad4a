/* SPDX-License-Identifier: MIT */
/*
 * tune.h - the numbers on which ways and sizes are chosen, in one place
 *
 * BARLANE_FILE_TUNE=NAME=VALUE,... changes them, for measurements (bench/file_tune sweeps them). Sizes take a suffix K or M.
 */
#ifndef BL_FILE_TUNE_H
#define BL_FILE_TUNE_H

#include <stdint.h>

/* X(name, default, minimum, maximum) */
#define BL_TUNES(X)                                                                                                    \
	X(bounce, 64U << 10, 4096, 1U << 20)		/* mapped: bytes read at a time before they go to the GPU */  \
	X(straight_min, 0, 0, 1U << 30)			/* mapped: from here on read into the mapping itself ... */   \
	X(straight_max, 0, 0, 1U << 30)			/* ... up to here; 0: never */                                \
	X(mapped_max, 256U << 10, 0, 1U << 30)		/* largest request that is expected to be mapped's */         \
	X(piece, 512U << 10, 65536, 2U << 20)		/* staged: bytes per read and transfer of a large request */  \
	X(piece_small, 256U << 10, 16384, 2U << 20)	/* staged: the same for requests below four of the former */  \
	X(tail, 128U << 10, 16384, 2U << 20)		/* staged: the last transfer of a small one, waited for */    \
	X(direct_piece, 512U << 10, 65536, 2U << 20)	/* staged: bytes per direct read or write */                  \
	X(direct_one, 128U << 10, 4096, 2U << 20)	/* staged: direct requests up to here are one call */         \
	X(cpu_max, 32U << 10, 0, 1U << 20)		/* staged: up to here the CPU writes to the GPU's mapping */  \
	X(lanes, 64, 1, 4096)				/* staged: staging areas in all */                            \
	X(timeout_ms, 300000, 1, 86400000)		/* how long a disk may take to answer */

#define BL_TUNE_FIELD(name, initial, min, max) uint32_t name;

struct bl_file_tune {
	BL_TUNES(BL_TUNE_FIELD)
};

/* Read from the environment at the first call; valid for ever. */
const struct bl_file_tune *bl_file_tune(void);

#endif
