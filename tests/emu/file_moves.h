/* SPDX-License-Identifier: MIT */
/* file_moves.h - reads and writes at random places, each compared with what plain calls see */
#ifndef TESTS_EMU_FILE_MOVES_H
#define TESTS_EMU_FILE_MOVES_H

#include "file_world.h"

#define MOVES_FILE (12UL << 20)
#define MOVES_MEM  (10UL << 20)

/* Where this process' sequence of places is; SEED of the environment at first, else the time, printed. */
extern unsigned long moves_seed;
void moves_choose_seed(void);

/* The file of the next functions: half of it data, half a hole. */
void moves_make_file(struct tested *tested, const char *dir, int flags);

/* One read or write of up to MOVES_MEM / 2; the memory has MOVES_MEM bytes. End the test when a byte differs. */
void moves_read(const struct tested *tested, const struct memory *memory);
void moves_write(const struct tested *tested, const struct memory *memory);

#endif
