// SPDX-License-Identifier: MIT
/* fpga_peer: plays the FPGA of a sensor on the wire, against gpunetio_forward or anything that sends frames back. */
#include <stdlib.h>
#include <sys/prctl.h>

#include "common/error.h"
#include "net/fpga/meet.h"
#include "net/fpga/run.h"
#include "net/wire.h"

/* Return: exit status, or -errno with tool_why(). */
static int play_all(struct fpga_run *run, struct json_object *results)
{
	const struct fpga_options *options = run->port->options;
	int status = FPGA_OK, ret = 0;

	fpga_report_begin(run->port);
	for (unsigned int i = 0; i < options->nr_sizes; i++) {
		ret = fpga_run_size(run, options->sizes[i]);
		if (ret)
			return ret;
		fpga_report_size(run, results);
		if (run->corrupt)
			status = FPGA_WRONG;
		else if (status == FPGA_OK && fpga_run_lost(run) > options->max_lost)
			status = FPGA_LOST;
	}
	if (status == FPGA_WRONG)
		fprintf(stderr, "fpga_peer: Validation failed! Frames came back with wrong bytes\n");
	if (status == FPGA_LOST)
		fprintf(stderr, "fpga_peer: more than %llu frames of a size are lost\n",
			(unsigned long long)options->max_lost);
	return fpga_report_end(run->port, results, status);
}

static int run_all(struct fpga_run *run)
{
	const struct fpga_options *options = run->port->options;
	struct json_object *results = tool_json_array();
	int ret, end;

	ret = options->server ? fpga_meet(run->port, &run->sock) : fpga_meet_nobody(run->port);
	if (!ret)
		ret = play_all(run, results);
	if (ret < 0)
		fprintf(stderr, "fpga_peer: %s\n", tool_why());
	end = fpga_leave(options, run->sock, ret);
	if (end < 0)
		fprintf(stderr, "fpga_peer: %s\n", tool_why());
	json_object_put(results);
	return ret < 0 || end < 0 ? FPGA_FAILED : ret;
}

int main(int argc, char **argv)
{
	static struct fpga_port port;
	static struct fpga_run run = {.port = &port, .sock = -1};
	struct fpga_options options;
	int ret;

	fpga_options_parse(argc, argv, &options);
	net_catch_signals();
	/* sleeps end when they are to, and not 50 us later; if that cannot be they are less exact */
	prctl(PR_SET_TIMERSLACK, 1UL);
	fpga_data_begin();
	ret = fpga_port_open(&port, &options);
	if (!ret)
		ret = fpga_track_open(&run.track, options.frames);
	if (ret)
		fprintf(stderr, "fpga_peer: %s\n", tool_why());
	ret = ret ? FPGA_FAILED : run_all(&run);
	fpga_track_close(&run.track);
	fpga_port_close(&port);
	return tool_finish(ret);
}
