/* SPDX-License-Identifier: MIT */
/*
 * ioprio.h - io_priority of cufile.json: how urgent the kernel takes requests to be
 *
 * For threads of the crew and requests by io_uring. Threads of the program have the priority that they gave themselves.
 */
#ifndef BL_FILE_IOPRIO_H
#define BL_FILE_IOPRIO_H

#include <stdint.h>

/* As ioprio_set(2) has it; 0, the kernel's word for none of its own: default. */
uint16_t bl_ioprio(void);

/* Give it to the calling thread, which is the library's own; by default what the thread had at first. */
void bl_ioprio_adopt(void);

#endif
