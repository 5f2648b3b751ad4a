/* SPDX-License-Identifier: MIT */
/* hist.h - a histogram of times, of the same size however many there are */
#ifndef TOOLS_NET_FPGA_HIST_H
#define TOOLS_NET_FPGA_HIST_H

#include <stdint.h>
#include <stdio.h>

#include "common/json.h"

/* Each power of two is cut into so many parts: a percentile is at most 1/64 too large. */
#define FPGA_HIST_SHIFT 6
#define FPGA_HIST_PARTS (1U << FPGA_HIST_SHIFT)
#define FPGA_HIST_CELLS ((64 - FPGA_HIST_SHIFT + 1) * FPGA_HIST_PARTS)

/**
 * struct fpga_hist - times in nanoseconds
 * @cells: how many are in each part
 * @nr:	   all of them
 * @min, @max: exact; of none, UINT64_MAX and 0
 */
struct fpga_hist {
	uint64_t cells[FPGA_HIST_CELLS];
	uint64_t nr;
	uint64_t min;
	uint64_t max;
};

void fpga_hist_begin(struct fpga_hist *hist);
void fpga_hist_add(struct fpga_hist *hist, uint64_t ns);

/**
 * fpga_hist_share() - A time that a share of all does not exceed
 * @hist: times
 * @per_mille: of 1000, above 0
 *
 * Return: the largest time of the part that it is in, but no more than the maximum; 0 if there are none.
 */
uint64_t fpga_hist_share(const struct fpga_hist *hist, unsigned int per_mille);

/* Lines with bars, two for each power of two of nanoseconds that has any. */
void fpga_hist_print(const struct fpga_hist *hist, FILE *out);

/* An array of {below_ns, count}, without the empty ones. */
struct json_object *fpga_hist_json(const struct fpga_hist *hist);

#endif
