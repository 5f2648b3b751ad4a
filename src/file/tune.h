/* SPDX-License-Identifier: MIT */
/*
 * tune.h - the numbers on which ways and sizes are chosen, in one place
 *
 * BARLANE_FILE_TUNE=NAME=VALUE,... changes them, for measurements (bench/cufile_tune.sh compares them), but not in
 * set-user-id programs. Sizes take a suffix K or M.
 */
#ifndef BL_FILE_TUNE_H
#define BL_FILE_TUNE_H

#include <stdint.h>

/* X(name, default, minimum, maximum) */
#define BL_TUNES(X)                                                                                                    \
	/* path mapped: bytes read at a time before they go to the GPU */                                              \
	X(bounce, 64U << 10, 4096, 1U << 20)                                                                           \
	/* requests of these sizes are read by the kernel into the mapping itself; 0: none */                          \
	X(straight_min, 0, 0, 1U << 30)                                                                                \
	X(straight_max, 1U << 30, 0, 1U << 30)                                                                         \
	/* what it takes: a call, and each KiB */                                                                      \
	X(mapped_call_ns, 700, 0, 1000000)                                                                             \
	X(mapped_kib_ns, 154, 0, 1000000)                                                                              \
	/* reads of these sizes to the mapping by two threads; pair_max 0: none. From pair_call on the second is woken */\
	X(pair_min, 48U << 10, 8192, 1U << 30)                                                                         \
	X(pair_max, 1U << 20, 0, 1U << 30)                                                                             \
	X(pair_call, 512U << 10, 8192, 1U << 30)                                                                       \
	/* how long it stays awake after a read that followed another one within that time */                          \
	X(pair_hot_us, 50, 0, 1000)                                                                                    \
	/* path staged through the page cache, likewise */                                                             \
	X(staged_call_ns, 12000, 0, 1000000)                                                                           \
	X(staged_kib_ns, 140, 0, 1000000)                                                                              \
	/* bytes per piece through the page cache: of requests of at least eight, and of smaller ones */               \
	X(piece, 1U << 20, 65536, 2U << 20)                                                                            \
	X(piece_small, 256U << 10, 65536, 2U << 20)                                                                    \
	/* bytes per piece past the page cache; requests up to direct_one are not cut */                               \
	X(direct_piece, 512U << 10, 65536, 2U << 20)                                                                   \
	X(direct_small, 512U << 10, 65536, 2U << 20)                                                                   \
	X(direct_one, 128U << 10, 0, 2U << 20)                                                                         \
	/* how much later than asked for a sleeping thread is back, about; 0: none sleeps while the GPU takes what a disk read */ \
	X(doze_late_us, 90, 0, 10000)                                                                                  \
	/* ... and what is allowed for where others keep disk and GPU busy meanwhile */                                \
	X(doze_late_many_us, 30, 0, 10000)                                                                             \
	/* of writes, likewise */                                                                                      \
	X(direct_write_small, 512U << 10, 32768, 2U << 20)                                                             \
	X(direct_write_one, 128U << 10, 0, 2U << 20)                                                                   \
	/* writes through the page cache that are cut: bytes that the GPU is to deliver first; 0: a piece */           \
	X(write_first, 32U << 10, 0, 1U << 20)                                                                         \
	/* ... and by how much each of the next ones is longer than the one before, up to a piece */                   \
	X(write_growth, 8, 1, 1024)                                                                                    \
	/* reads of up to this size go to the mapping by the CPU; writes leave the GPU by engine ce's short way */     \
	X(cpu_max, 32U << 10, 0, 1U << 20)                                                                             \
	X(land_max, 8U << 10, 0, 64U << 10)                                                                            \
	/* ... or, where the buffer is mapped, by loads of the CPU */                                                  \
	X(load_max, 4096, 0, 64U << 10)                                                                                \
	/* writes through the page cache up to this size are watched arriving; 0: none */                               \
	X(watch_max, 128U << 10, 0, 128U << 10)                                                                        \
	/* path devicepages: requests up to this size are one call, others pieces by io_uring */                         \
	X(pages_one, 128U << 10, 0, 1U << 30)                                                                          \
	X(pages_piece, 1U << 20, 65536, 1U << 30)                                                                      \
	/* path nvfs: entries of a batch that go by one call of Barlane's module, at most; 0: each by a call of its own */    \
	X(nvfs_batch, 128, 0, 256)                                                                                     \
	/* staging areas in all, of 4 MiB each, and 2 MiB more once a write was watched arriving */                     \
	X(lanes, 64, 1, 4096)                                                                                          \
	/* cached reads from this size on have one helper, whatever min_io_threshold_size_kb says, ... */              \
	X(help_from, 768U << 10, 65536, 1U << 30)                                                                      \
	/* ... unless as many of them are under way as this */                                                         \
	X(crowd, 3, 1, 65536)                                                                                          \
	/* helpers of a read of min_io_threshold_size_kb and more while other such are under way, at most */           \
	X(helpers_many, 2, 0, 31)                                                                                      \
	/* threads that read to the mapping at a time where the copy engine would be later, about */                   \
	X(straight_most, 65536, 0, 65536)                                                                              \
	/* how long a disk may take to answer */                                                                       \
	X(timeout_ms, 300000, 1, 86400000)

#define BL_TUNE_FIELD(name, initial, min, max) uint32_t name;

struct bl_file_tune {
	BL_TUNES(BL_TUNE_FIELD)
};

/* Read from the environment at the first call; valid for ever. */
const struct bl_file_tune *bl_file_tune(void);

#endif
