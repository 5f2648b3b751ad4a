/* SPDX-License-Identifier: MIT */
/* run.h - frames of one size after the other, and what became of them */
#ifndef TOOLS_NET_FPGA_RUN_H
#define TOOLS_NET_FPGA_RUN_H

#include "net/fpga/hist.h"
#include "net/fpga/port.h"
#include "net/fpga/track.h"

/* Exit statuses: done; could not be done; frames came back with wrong bytes; too many did not come back. */
enum { FPGA_OK = 0, FPGA_FAILED = 1, FPGA_WRONG = 2, FPGA_LOST = 3 };

/**
 * struct fpga_run - frames of one size
 * @port:    the end
 * @sock:    to the server, or -1
 * @number:  of the run
 * @size:    bytes of a frame
 * @step_ns: from one burst to the next; 0: as answers come
 * @begin, @end: time of the first frame, and of the last that left
 * @lost_before: frames that were given up, so that the next ones could be sent
 * @last_ns: time of the last answer, or of the first frame that waits for one
 * @late_ns: how much later than due a burst was sent at most
 * @corrupt: frames that came back with wrong bytes
 * @stale:   frames of an earlier run, which came late
 * @track, @hist: those that came back
 */
struct fpga_run {
	struct fpga_port *port;
	int sock;
	uint32_t number;
	uint32_t size;
	double step_ns;
	uint64_t begin, end;
	uint64_t lost_before;
	uint64_t last_ns;
	uint64_t late_ns;
	uint64_t corrupt;
	uint64_t stale;
	struct fpga_track track;
	struct fpga_hist hist;
};

/* The next size. Return: 0, or -errno with tool_why(). */
int fpga_run_size(struct fpga_run *run, uint32_t size);

/* Frames that did not come back. */
static inline uint64_t fpga_run_lost(const struct fpga_run *run)
{
	return run->port->options->one_way ? 0 : run->port->out.posted - run->track.returned;
}

/* report.c */
void fpga_report_begin(const struct fpga_port *port);
void fpga_report_size(const struct fpga_run *run, struct json_object *results);
/* Return: exit status, @status unless the file cannot be written. */
int fpga_report_end(const struct fpga_port *port, struct json_object *results, int status);

#endif
