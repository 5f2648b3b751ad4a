/* SPDX-License-Identifier: MIT */
/* track.h - which frames of a run have come back: once, again, in order */
#ifndef TOOLS_NET_FPGA_TRACK_H
#define TOOLS_NET_FPGA_TRACK_H

#include <stdbool.h>
#include <stdint.h>

/* Frames of a run at most: a bit for each. */
#define FPGA_MAX_FRAMES (1U << 28)

/**
 * struct fpga_track - frames of a run
 * @bits:      of those that are back
 * @nr:	       frames of the run
 * @returned:  that are back
 * @twice:     that came again
 * @reordered: that came behind one with a higher number
 * @next:      one more than the highest that is back
 */
struct fpga_track {
	uint64_t *bits;
	uint64_t nr;
	uint64_t returned;
	uint64_t twice;
	uint64_t reordered;
	uint64_t next;
};

/* Return: 0, or -ENOMEM with tool_why(). */
int fpga_track_open(struct fpga_track *track, uint64_t nr);
void fpga_track_close(struct fpga_track *track);

/* For the next run of as many frames. */
void fpga_track_begin(struct fpga_track *track);

/* Frame @number, below @nr, has come. Return: whether it is the first time. */
bool fpga_track_add(struct fpga_track *track, uint64_t number);

#endif
