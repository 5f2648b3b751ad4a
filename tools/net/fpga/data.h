/* SPDX-License-Identifier: MIT */
/*
 * data.h - what a frame carries, and whether it comes back as it was
 *
 * A frame begins with a stamp, big-endian as all of the wire is; byte n behind it is (number + n) modulo 251, so that
 * no two packets of a frame, and no two frames in a row, have the same bytes at one place. An FPGA can make both.
 */
#ifndef TOOLS_NET_FPGA_DATA_H
#define TOOLS_NET_FPGA_DATA_H

#include <stdbool.h>
#include <stdint.h>

#define FPGA_STAMP_LEN 32U

/**
 * struct fpga_stamp - first bytes of a frame, in this order
 * @magic:   "BLFP"
 * @run:     number of the run that it belongs to
 * @number:  of the frame in its run
 * @sent_ns: time at which it was sent, of the sender's clock
 * @len:     bytes of the frame, this included
 * @zero:    0
 */
struct fpga_stamp {
	uint32_t magic;
	uint32_t run;
	uint64_t number;
	uint64_t sent_ns;
	uint32_t len;
	uint32_t zero;
};

/* Before any of the others. */
void fpga_data_begin(void);

/* Write bytes @off to @off + @len of a frame. The stamp is in one piece. */
void fpga_data_put(const struct fpga_stamp *stamp, uint32_t off, uint8_t *to, uint32_t len);

/**
 * struct fpga_check - a frame that comes in, packet by packet
 * @stamp: what it says
 * @len:   bytes so far
 * @right: so far
 */
struct fpga_check {
	struct fpga_stamp stamp;
	uint32_t len;
	bool right;
};

void fpga_check_begin(struct fpga_check *check);

/* The next bytes; the first part has the whole stamp, or is not right. */
void fpga_check_part(struct fpga_check *check, const uint8_t *from, uint32_t len);

/* Whether it is all there, and right. If not, its stamp means nothing. */
bool fpga_check_end(const struct fpga_check *check);

#endif
