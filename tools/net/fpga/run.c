// SPDX-License-Identifier: MIT
#include "net/fpga/run.h"

#include <errno.h>
#include <sched.h>

#include "common/error.h"
#include "common/stats.h"
#include "net/wire.h"

#define LOOK_NS	   50000000ULL /* between two looks at the server and at signals */
#define MAX_NAP_NS 10000000ULL
#define YIELDS	   1

static void arrived(void *arg, const struct fpga_check *check, bool right, uint64_t now)
{
	struct fpga_run *run = arg;
	const struct fpga_stamp *stamp = &check->stamp;

	if (!right || stamp->number >= run->track.nr) {
		run->corrupt++;
		return;
	}
	if (stamp->run != run->number) {
		run->stale++;
		return;
	}
	/* never sent, or of other bytes than were sent */
	if (stamp->number >= run->port->out.posted || stamp->len != run->size || stamp->sent_ns > now) {
		run->corrupt++;
		return;
	}
	if (!fpga_track_add(&run->track, stamp->number))
		return;
	fpga_hist_add(&run->hist, now - stamp->sent_ns);
	run->last_ns = now;
}

static uint64_t under_way(const struct fpga_run *run)
{
	uint64_t over = run->track.returned + run->lost_before;

	return run->port->out.posted > over ? run->port->out.posted - over : 0;
}

/* When the next burst is due. */
static uint64_t due_at(const struct fpga_run *run)
{
	uint64_t bursts = run->port->out.posted / run->port->options->burst;

	return run->begin + (uint64_t)((double)bursts * run->step_ns);
}

/* Of a reliable connection no more than it remembers. */
static bool has_room(const struct fpga_run *run, uint32_t nr)
{
	const struct fpga_options *options = run->port->options;
	const struct fpga_out *out = &run->port->out;

	if (!options->uc && out->posted - out->acked / out->nr + nr > FPGA_STAMPS)
		return false;
	/* what was posted and has not left would be stamped late */
	if (out->posted * out->nr != out->next)
		return false;
	return !options->window || options->one_way || under_way(run) + nr <= options->window || !under_way(run);
}

/* Return: whether a burst was posted. */
static bool post(struct fpga_run *run, uint64_t now)
{
	const struct fpga_options *options = run->port->options;
	struct fpga_out *out = &run->port->out;
	uint64_t left = run->track.nr - out->posted, due = due_at(run);
	uint32_t nr = left < options->burst ? (uint32_t)left : options->burst;

	if (!left || now < due || !has_room(run, nr))
		return false;
	if (!under_way(run))
		run->last_ns = now;
	if (run->step_ns > 0 && now - due > run->late_ns)
		run->late_ns = now - due;
	out->posted += nr;
	run->end = now;
	return true;
}

/* Nothing has come back for long: what is under way is lost. */
static void give_up(struct fpga_run *run, uint64_t now)
{
	const struct fpga_options *options = run->port->options;

	if (options->one_way || !options->uc || !under_way(run) || now < run->last_ns + options->wait_ms * 1000000ULL)
		return;
	run->lost_before += under_way(run);
	run->last_ns = now;
}

static bool is_over(const struct fpga_run *run)
{
	if (run->port->out.posted < run->track.nr || !fpga_port_idle(run->port))
		return false;
	return run->port->options->one_way || !under_way(run);
}

static int look_around(const struct fpga_run *run)
{
	if (net_signal())
		return net_interrupted();
	return run->sock < 0 ? 0 : net_peer_check(run->sock);
}

/* Until a packet comes, or something is due. */
static void rest(const struct fpga_run *run, uint64_t now, uint32_t *turns)
{
	uint64_t nap = MAX_NAP_NS, due;

	if (run->port->options->spin) {
		/* the other side may need this CPU */
		if (!(++*turns % YIELDS))
			sched_yield();
		return;
	}
	due = due_at(run);
	if (run->step_ns > 0 && run->port->out.posted < run->track.nr && due < now + nap)
		nap = due > now ? due - now : 0;
	if (nap)
		fpga_port_wait(run->port, nap);
}

/* Packets that do not get onto the wire at all, for want of a neighbour or of room. */
static int check_stuck(const struct fpga_run *run, uint64_t now, uint64_t moved)
{
	if (fpga_port_idle(run->port) || now < moved + run->port->options->timeout_s * 1000000000ULL)
		return 0;
	return tool_fail(EHOSTUNREACH, "frames do not leave: %s", fpga_port_why(run->port));
}

static int play(struct fpga_run *run)
{
	struct fpga_port *port = run->port;
	uint64_t looked = run->begin, moved = looked, sent = 0;
	uint32_t turns = 0;
	int ret;

	while (!is_over(run)) {
		bool busy = post(run, tool_now_ns());

		busy |= fpga_port_pass(port);
		if (*port->error)
			return tool_fail(EIO, "%s", port->error);
		if (port->out.next != sent)
			moved = port->now;
		sent = port->out.next;
		give_up(run, port->now);
		if (port->now >= looked + LOOK_NS) {
			looked = port->now;
			ret = look_around(run);
			if (!ret)
				ret = check_stuck(run, looked, moved);
			if (ret)
				return ret;
		}
		if (!busy && !is_over(run))
			rest(run, port->now, &turns);
	}
	return 0;
}

int fpga_run_size(struct fpga_run *run, uint32_t size)
{
	const struct fpga_options *options = run->port->options;
	int ret;

	run->number++;
	run->size = size;
	run->step_ns = 0;
	if (options->rate)
		run->step_ns = 1e9 * options->burst / (double)options->rate;
	else if (options->gbps > 0)
		run->step_ns = 8.0 * size * options->burst / options->gbps;
	run->lost_before = run->late_ns = run->corrupt = run->stale = 0;
	fpga_track_begin(&run->track);
	fpga_hist_begin(&run->hist);
	fpga_port_begin(run->port, run->number, size);
	run->port->arrived = arrived;
	run->port->arg = run;
	run->begin = run->end = run->last_ns = tool_now_ns();
	ret = play(run);
	if (ret)
		return ret;
	if (!options->one_way && !run->track.returned && !run->corrupt)
		return tool_fail(EHOSTUNREACH, "no frame of %u bytes came back: %s", size, fpga_port_why(run->port));
	return 0;
}
