// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <string.h>

#include "net/fpga/run.h"
#include "softnic/roce/link.h"

#define LINE                                                                                                           \
	"------------------------------------------------------------------------------------------------------------" \
	"---------------\n"

static const char *type_of(const struct fpga_options *options)
{
	return options->uc ? "uc" : "rc";
}

static void print_end(const struct fpga_port *port, const char *who, const struct bl_net_peer *end)
{
	char text[BL_ROCE_GID_TEXT];

	fprintf(port->options->out, "# %s %s qp 0x%06x psn 0x%06x\n", who, bl_roce_gid_text(end->gid, text), end->qpn,
		end->psn & BL_PSN_MASK);
}

void fpga_report_begin(const struct fpga_port *port)
{
	const struct fpga_options *options = port->options;
	FILE *out = options->out;

	fprintf(out, "# %s by %s sockets, GID index %u, %s, MTU %u, mode %s\n", options->nic,
		port->link->packet ? "packet" : "UDP", port->local.gid_index, type_of(options), port->mtu,
		options->imm ? "imm" : "send");
	print_end(port, "here ", &port->local);
	print_end(port, "there", &port->remote);
	if (port->to.slots && options->imm)
		fprintf(out, "# memory there: 0x%llx rkey 0x%x, %llu pages of %llu bytes\n",
			(unsigned long long)port->to.addr, port->to.key, (unsigned long long)port->to.slots,
			(unsigned long long)port->to.page);
	fprintf(out, LINE " %-8s %-10s %-7s %-7s %-7s %-7s %-10s %-10s %-10s %-11s %-11s %-8s\n" LINE, "#bytes",
		"#frames", "#lost", "#twice", "#late", "#wrong", "min[usec]", "p50[usec]", "p99[usec]", "p99.9[usec]",
		"max[usec]", "Gbit/s");
	fflush(out);
}

static double us(uint64_t ns)
{
	return (double)ns / 1000;
}

/* Of all frames, from the first to the last that left. */
static double gbps_of(const struct fpga_run *run)
{
	uint64_t frames = run->port->out.posted;

	return frames > 1 && run->end > run->begin
		       ? 8.0 * run->size * (double)(frames - 1) / (double)(run->end - run->begin)
		       : 0;
}

static void print_size(const struct fpga_run *run)
{
	const struct fpga_hist *hist = &run->hist;
	FILE *out = run->port->options->out;

	fprintf(out, " %-8u %-10llu %-7llu %-7llu %-7llu %-7llu %-10.3f %-10.3f %-10.3f %-11.3f %-11.3f %-8.3f\n",
		run->size, (unsigned long long)run->port->out.posted, (unsigned long long)fpga_run_lost(run),
		(unsigned long long)run->track.twice, (unsigned long long)run->track.reordered,
		(unsigned long long)run->corrupt, us(hist->nr ? hist->min : 0), us(fpga_hist_share(hist, 500)),
		us(fpga_hist_share(hist, 990)), us(fpga_hist_share(hist, 999)), us(hist->max), gbps_of(run));
	fpga_hist_print(hist, out);
	if (run->step_ns > 0)
		fprintf(out, "#   sent up to %.3f us later than due\n", us(run->late_ns));
	fflush(out);
}

static void add_times(const struct fpga_run *run, struct json_object *result)
{
	const struct fpga_hist *hist = &run->hist;

	tool_json_double(result, "min_us", us(hist->nr ? hist->min : 0));
	tool_json_double(result, "p50_us", us(fpga_hist_share(hist, 500)));
	tool_json_double(result, "p99_us", us(fpga_hist_share(hist, 990)));
	tool_json_double(result, "p999_us", us(fpga_hist_share(hist, 999)));
	tool_json_double(result, "max_us", us(hist->max));
	tool_json_double(result, "late_us", us(run->late_ns));
	tool_json_double(result, "gbps", gbps_of(run));
	tool_json_add(result, "histogram", fpga_hist_json(hist));
}

void fpga_report_size(const struct fpga_run *run, struct json_object *results)
{
	struct json_object *result = tool_json_object();

	print_size(run);
	tool_json_int(result, "bytes", run->size);
	tool_json_int(result, "sent", (int64_t)run->port->out.posted);
	tool_json_int(result, "lost", (int64_t)fpga_run_lost(run));
	tool_json_int(result, "twice", (int64_t)run->track.twice);
	tool_json_int(result, "reordered", (int64_t)run->track.reordered);
	tool_json_int(result, "wrong", (int64_t)run->corrupt);
	tool_json_int(result, "stale", (int64_t)run->stale);
	add_times(run, result);
	tool_json_append(results, result);
}

static void count(const struct fpga_port *port, struct json_object *object, const char *name, uint64_t value)
{
	if (value)
		fprintf(port->options->out, "# %s %llu\n", name, (unsigned long long)value);
	tool_json_int(object, name, (int64_t)value);
}

/* What the link dropped, by reason, and what this end made of the rest. */
static void count_all(const struct fpga_port *port, struct json_object *object)
{
	uint64_t counters[BL_SNIC_NR_COUNTERS] = {0};

	bl_snic_roce.counts(port->link, counters);
	for (int i = BL_SNIC_DROP_SHORT; i < BL_SNIC_NR_COUNTERS; i++)
		count(port, object, bl_snic_counter_name((enum bl_snic_counter)i), counters[i]);
	count(port, object, "psn_gaps", port->in.gaps);
	count(port, object, "broken_frames", port->in.broken);
	count(port, object, "strange_packets", port->in.strange);
	count(port, object, "resent_packets", port->rc.resent);
}

static void add_end(struct json_object *object, const char *prefix, const struct bl_net_peer *end)
{
	char text[BL_ROCE_GID_TEXT], key[24];

	snprintf(key, sizeof(key), "%s_gid", prefix);
	tool_json_string(object, key, bl_roce_gid_text(end->gid, text));
	snprintf(key, sizeof(key), "%s_qpn", prefix);
	tool_json_int(object, key, end->qpn);
	snprintf(key, sizeof(key), "%s_psn", prefix);
	tool_json_int(object, key, end->psn & BL_PSN_MASK);
}

int fpga_report_end(const struct fpga_port *port, struct json_object *results, int status)
{
	const struct fpga_options *options = port->options;
	struct json_object *object = tool_json_object();

	fprintf(options->out, LINE);
	tool_json_string(object, "program", "fpga_peer");
	tool_json_string(object, "version", BARLANE_VERSION);
	tool_json_string(object, "nic", options->nic);
	tool_json_string(object, "wire", port->link->packet ? "packet" : "udp");
	tool_json_string(object, "qp_type", type_of(options));
	tool_json_string(object, "mode", options->imm ? "imm" : "send");
	tool_json_int(object, "mtu", port->mtu);
	tool_json_int(object, "rate", (int64_t)options->rate);
	tool_json_double(object, "wanted_gbps", options->gbps);
	tool_json_int(object, "burst", options->burst);
	tool_json_int(object, "window", options->window);
	tool_json_bool(object, "spin", options->spin);
	add_end(object, "local", &port->local);
	add_end(object, "remote", &port->remote);
	count_all(port, object);
	tool_json_bool(object, "valid", status == FPGA_OK);
	tool_json_add(object, "results", json_object_get(results));
	if (!options->json) {
		json_object_put(object);
		return status;
	}
	return tool_json_write(object, options->json) ? FPGA_FAILED : status;
}
