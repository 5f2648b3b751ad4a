// SPDX-License-Identifier: MIT
/* "barlane stat": which processes count, what one of them has done by which path, and what it is doing. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "barlane.h"
#include "common/error.h"
#include "common/json.h"
#include "common/option.h"
#include "common/tree.h"
#ifdef HAVE_NET
#include "netstat/netstat.h"
#endif
#include "stat/stat.h"

static const char *const path_names[BL_PATH_NR] = { "nvfs", "devicepages", "mapped", "staged", "plain" };

struct options {
	pid_t pid;
	double interval;
	uint64_t count;
	bool json;
	bool net;
};

#ifndef HAVE_NET
static bool has_nics(pid_t pid)
{
	return false;
}

static int nics_of_all(struct json_object *object)
{
	return 0;
}

static int nics_of(const struct options *opt)
{
	tool_die("this was built without the network lane");
}
#else
static bool has_nics(pid_t pid)
{
	struct netstat_process process;
	int ret = netstat_open(pid, &process);

	if (!ret)
		netstat_close(&process);
	return !ret;
}

/* Behind the list of those that count storage; @object: the document, NULL: text. Return: how many, of text. */
static int nics_of_all(struct json_object *object)
{
	if (!object)
		return netstat_list_text();
	tool_json_add(object, "network", netstat_list_json());
	return 0;
}

static int nics_of(const struct options *opt)
{
	return netstat_stat(opt->pid, opt->interval, opt->count, opt->json);
}
#endif

static void usage(FILE *out)
{
	fputs("usage: barlane stat [--json]\n"
	      "       barlane stat PID [--net] [--json]\n"
	      "       barlane stat PID [--net] --interval SECONDS [--count N]\n",
	      out);
}

/* A process names itself as it likes, with bytes that a terminal would obey and JSON does not know. */
static const char *process_name(pid_t pid, char *buf, size_t size)
{
	if (tool_tree_read(&tool_tree_machine, buf, size, "/proc/%d/comm", (int)pid) <= 0)
		return "?";
	for (char *at = buf; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	return buf;
}

static void list_one(pid_t pid, void *arg)
{
	static struct stat_sample sample;
	struct json_object *list = arg, *object;
	const struct bl_stats_shm *shm;
	struct stat_flow flow[2] = { { 0 } };
	char name[64];

	if (bl_stats_shm_open(pid, &shm))
		return;
	stat_take(shm, &sample);
	bl_stats_shm_close(shm);
	for (int write = 0; write < 2; write++) {
		struct stat_flow single = stat_flow(&sample, false, BL_PATH_NR, write);
		struct stat_flow batch = stat_flow(&sample, true, BL_PATH_NR, write);

		flow[write].bytes = single.bytes + batch.bytes;
		flow[write].errors = single.errors + batch.errors;
	}
	if (!list) {
		printf("%8d  %-16s %5u %12.1f %12.1f %8" PRIu64 "\n", (int)pid, process_name(pid, name, sizeof(name)),
		       sample.level, (double)flow[0].bytes / (1 << 20), (double)flow[1].bytes / (1 << 20),
		       flow[0].errors + flow[1].errors);
		return;
	}
	object = tool_json_object();
	tool_json_int(object, "pid", pid);
	tool_json_string(object, "name", process_name(pid, name, sizeof(name)));
	tool_json_int(object, "level", sample.level);
	tool_json_int(object, "read_bytes", (int64_t)flow[0].bytes);
	tool_json_int(object, "written_bytes", (int64_t)flow[1].bytes);
	tool_json_int(object, "errors", (int64_t)(flow[0].errors + flow[1].errors));
	tool_json_append(list, object);
}

static void write_out(struct json_object *object)
{
	if (tool_json_write(object, "-"))
		tool_die("%s", tool_why());
}

static int list(const struct options *opt)
{
	struct json_object *object = opt->json ? tool_json_object() : NULL, *array = opt->json ? tool_json_array() : NULL;
	int nr;

	if (!opt->json)
		printf("%8s  %-16s %5s %12s %12s %8s\n", "PID", "NAME", "LEVEL", "READ_MIB", "WRITTEN_MIB", "ERRORS");
	nr = bl_stats_shm_each(list_one, array);
	nr = nr > 0 ? nr : 0;
	if (opt->json) {
		tool_json_string(object, "version", bl_version());
		tool_json_add(object, "processes", array);
		nics_of_all(object);
		write_out(object);
	} else if (nics_of_all(NULL) + nr <= 0) {
		printf("none counts, and none has a NIC; profile.cufile_stats of cufile.json is 1, 2 or 3 in those that count\n");
	}
	return EXIT_SUCCESS;
}

static void flow_text(const struct stat_sample *sample, bool batch, enum bl_path path, bool write)
{
	struct stat_flow flow = stat_flow(sample, batch, path, write);

	if (!flow.calls && !flow.errors)
		return;
	printf("%-11s %-6s %-6s %12" PRIu64 " %14" PRIu64 " %8" PRIu64 " %10.1f\n", path_names[path],
	       batch ? "batch" : "single",
	       write ? "write" : "read", flow.calls, flow.bytes, flow.errors, flow.us);
}

static const struct {
	const char *name;
	enum bl_op op;
} op_names[] = {
	{ "handle_register", BL_OP_HANDLE_REGISTER }, { "handle_deregister", BL_OP_HANDLE_DEREGISTER },
	{ "buf_register", BL_OP_BUF_REGISTER },	      { "buf_deregister", BL_OP_BUF_DEREGISTER },
	{ "batch_setup", BL_OP_BATCH_SETUP },	      { "batch_submit", BL_OP_BATCH_SUBMIT },
	{ "batch_complete", BL_OP_BATCH_COMPLETE },   { "batch_cancel", BL_OP_BATCH_CANCEL },
	{ "batch_destroy", BL_OP_BATCH_DESTROY },
};

#define NR_OPS (sizeof(op_names) / sizeof(op_names[0]))

static const struct {
	const char *name;
	enum bl_nvfs_count count;
} nvfs_names[] = {
	{ "requests", BL_NVFS_REQUESTS },
	{ "bytes", BL_NVFS_BYTES },
	{ "pieces", BL_NVFS_PIECES },
	{ "hole_bytes", BL_NVFS_HOLE_BYTES },
	{ "failed", BL_NVFS_FAILED },
	{ "timeouts", BL_NVFS_TIMEOUTS },
	{ "refused_file", BL_NVFS_REFUSED_FILE },
	{ "refused_memory", BL_NVFS_REFUSED_MEMORY },
	{ "refused_shortage", BL_NVFS_REFUSED_SHORTAGE },
	{ "refused_drive", BL_NVFS_REFUSED_DRIVE },
	{ "refused_module", BL_NVFS_REFUSED_MODULE },
	{ "refused_other", BL_NVFS_REFUSED_OTHER },
};

#define NR_NVFS (sizeof(nvfs_names) / sizeof(nvfs_names[0]))

/* What the module was asked for, and what became of it; nothing without it. */
static void nvfs_text(const struct stat_sample *sample)
{
	for (size_t i = 0; i < NR_NVFS; i++) {
		const bl_stats_number *nr = sample->sum.nvfs[nvfs_names[i].count];

		if (nr[0] || nr[1])
			printf("nvfs %-15s read %" PRIu64 ", write %" PRIu64 "\n", nvfs_names[i].name, (uint64_t)nr[0],
			       (uint64_t)nr[1]);
	}
}

static struct json_object *nvfs_json(const struct stat_sample *sample, bool write)
{
	struct json_object *object = tool_json_object();

	for (size_t i = 0; i < NR_NVFS; i++)
		tool_json_int(object, nvfs_names[i].name, (int64_t)sample->sum.nvfs[nvfs_names[i].count][write]);
	return object;
}

static const char *const stream_names[BL_STREAM_NR] = {
	[BL_STREAM_CPU] = "cpu",
	[BL_STREAM_CUDA] = "cuda",
	[BL_STREAM_KERNEL] = "kernel",
	[BL_STREAM_HELD] = "held",
};

/* Operations in the order of streams, which are also among the single ones, by the way that they went. */
static void streams_text(const struct stat_sample *sample)
{
	for (int i = 0; i < BL_STREAM_NR; i++) {
		const bl_stats_number *nr = sample->sum.streams[i];

		if (nr[0] || nr[1])
			printf("stream %-6s read %" PRIu64 ", write %" PRIu64 "\n", stream_names[i], (uint64_t)nr[0],
			       (uint64_t)nr[1]);
	}
}

static struct json_object *streams_json(const struct stat_sample *sample, bool write)
{
	struct json_object *object = tool_json_object();

	for (int i = 0; i < BL_STREAM_NR; i++)
		tool_json_int(object, stream_names[i], (int64_t)sample->sum.streams[i][write]);
	return object;
}

static void show_text(const struct options *opt, const struct stat_sample *sample)
{
	char name[64];

	printf("process %d (%s), level %u, counting for %.1f s\n", (int)opt->pid, process_name(opt->pid, name, sizeof(name)),
	       sample->level, (double)sample->ns / 1e9);
	printf("%-11s %-6s %-6s %12s %14s %8s %10s\n", "PATH", "KIND", "DIR", "CALLS", "BYTES", "ERRORS", "MEAN_US");
	for (enum bl_path path = 0; path < BL_PATH_NR; path++) {
		for (int kind = 0; kind < 4; kind++)
			flow_text(sample, kind >= 2, path, kind & 1);
	}
	for (size_t i = 0; i < NR_OPS; i++) {
		const bl_stats_number *op = sample->sum.ops[op_names[i].op];

		if (op[0] || op[1])
			printf("%-20s ok %" PRIu64 ", failed %" PRIu64 "\n", op_names[i].name, (uint64_t)op[0],
			       (uint64_t)op[1]);
	}
	streams_text(sample);
	nvfs_text(sample);
}

static struct json_object *flow_json(const struct stat_sample *sample, bool batch, enum bl_path path, bool write)
{
	struct stat_flow flow = stat_flow(sample, batch, path, write);
	struct json_object *object = tool_json_object();

	tool_json_string(object, "path", path_names[path]);
	tool_json_string(object, "kind", batch ? "batch" : "single");
	tool_json_string(object, "direction", write ? "write" : "read");
	tool_json_int(object, "calls", (int64_t)flow.calls);
	tool_json_int(object, "bytes", (int64_t)flow.bytes);
	tool_json_int(object, "errors", (int64_t)flow.errors);
	tool_json_double(object, "mean_us", flow.us);
	return object;
}

static void show_json(const struct options *opt, const struct stat_sample *sample)
{
	struct json_object *object = tool_json_object(), *flows = tool_json_array(), *ops = tool_json_object();
	struct json_object *nvfs = tool_json_object(), *streams = tool_json_object();
	char name[64];

	for (enum bl_path path = 0; path < BL_PATH_NR; path++) {
		for (int kind = 0; kind < 4; kind++)
			tool_json_append(flows, flow_json(sample, kind >= 2, path, kind & 1));
	}
	for (size_t i = 0; i < NR_OPS; i++) {
		struct json_object *op = tool_json_object();

		tool_json_int(op, "ok", (int64_t)sample->sum.ops[op_names[i].op][0]);
		tool_json_int(op, "failed", (int64_t)sample->sum.ops[op_names[i].op][1]);
		tool_json_add(ops, op_names[i].name, op);
	}
	tool_json_string(object, "version", bl_version());
	tool_json_int(object, "pid", opt->pid);
	tool_json_string(object, "name", process_name(opt->pid, name, sizeof(name)));
	tool_json_int(object, "level", sample->level);
	tool_json_double(object, "seconds", (double)sample->ns / 1e9);
	tool_json_add(object, "requests", flows);
	tool_json_add(object, "calls", ops);
	tool_json_add(streams, "read", streams_json(sample, false));
	tool_json_add(streams, "write", streams_json(sample, true));
	tool_json_add(object, "streams", streams);
	tool_json_add(nvfs, "read", nvfs_json(sample, false));
	tool_json_add(nvfs, "write", nvfs_json(sample, true));
	tool_json_add(object, "nvfs", nvfs);
	write_out(object);
}

/* Bytes per second of one path, single requests and batches. */
static double path_rate(const struct stat_sample *sample, enum bl_path path)
{
	double rate = 0;

	for (int kind = 0; kind < 4; kind++)
		rate += stat_flow(sample, kind >= 2, path, kind & 1).per_s;
	return rate;
}

static void live_row(const struct stat_sample *sample)
{
	double rates[2] = { 0 }, calls[2] = { 0 }, us[2] = { 0 };

	for (int kind = 0; kind < 4; kind++) {
		struct stat_flow flow = stat_flow(sample, kind >= 2, BL_PATH_NR, kind & 1);

		rates[kind & 1] += flow.per_s;
		calls[kind & 1] += (double)flow.calls;
		us[kind & 1] += flow.us * (double)flow.calls;
	}
	for (int write = 0; write < 2; write++)
		printf("%9.1f %9.0f %9.1f  ", rates[write] / 1e6, calls[write] * 1e9 / (double)sample->ns,
		       calls[write] > 0 ? us[write] / calls[write] : 0);
	for (enum bl_path path = 0; path < BL_PATH_NR; path++)
		printf(" %9.1f", path_rate(sample, path) / 1e6);
	putchar('\n');
}

/* One line per interval, until the process has ended. */
static int live(const struct options *opt, const struct bl_stats_shm *shm)
{
	static struct stat_sample before, now, change;
	const struct bl_stats_shm *again;

	stat_take(shm, &before);
	for (uint64_t i = 0; !opt->count || i < opt->count; i++) {
		if (i % 20 == 0)
			printf("%9s %9s %9s   %9s %9s %9s   %9s %9s %9s %9s\n", "rd_MB/s", "rd_op/s", "rd_us", "wr_MB/s",
			       "wr_op/s", "wr_us", "nvfs", "mapped", "staged", "plain");
		stat_wait(opt->interval);
		stat_take(shm, &now);
		change = now;
		stat_since(&change, &before);
		live_row(&change);
		if (fflush(stdout))
			break;
		before = now;
		if (bl_stats_shm_open(opt->pid, &again))
			break;
		bl_stats_shm_close(again);
	}
	return EXIT_SUCCESS;
}

static double interval(const char *text)
{
	double value = stat_seconds("--interval", text);

	if (!(value > 0))
		tool_die("option --interval: 0 is no time to count in");
	return value;
}

static void parse(int argc, char **argv, struct options *opt)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' },
					       { "json", no_argument, NULL, 'J' },
					       { "net", no_argument, NULL, 'N' },
					       { "interval", required_argument, NULL, 'i' },
					       { "count", required_argument, NULL, 'c' },
					       { NULL, 0, NULL, 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'J')
			opt->json = true;
		else if (c == 'N')
			opt->net = true;
		else if (c == 'i')
			opt->interval = interval(optarg);
		else if (c == 'c')
			opt->count = tool_number("--count", optarg, 1, UINT32_MAX);
		else {
			usage(c == 'h' ? stdout : stderr);
			exit(c == 'h' ? EXIT_SUCCESS : EXIT_FAILURE);
		}
	}
	if (optind < argc)
		opt->pid = stat_pid(argv[optind++]);
	if (optind < argc)
		tool_die("unexpected argument \"%s\"", argv[optind]);
	if (opt->interval > 0 && (!opt->pid || opt->json))
		tool_die("--interval needs a process, and is text");
	if (opt->net && !opt->pid)
		tool_die("--net needs a process");
	if (opt->count && !(opt->interval > 0))
		tool_die("--count needs --interval");
}

/* A process that has NICs and counts no storage is shown by its NICs; one that has both, too, when that is asked for. */
static bool is_of_net(const struct options *opt)
{
	const struct bl_stats_shm *shm;
	int ret;

	if (opt->net)
		return true;
	ret = bl_stats_shm_open(opt->pid, &shm);
	if (!ret)
		bl_stats_shm_close(shm);
	return (ret == -ENOENT || ret == -ESTALE) && has_nics(opt->pid);
}

int stat_main(int argc, char **argv)
{
	static struct stat_sample sample;
	struct options opt = { 0 };
	const struct bl_stats_shm *shm;
	int ret = EXIT_SUCCESS;

	parse(argc, argv, &opt);
	if (!opt.pid)
		return list(&opt);
	if (is_of_net(&opt))
		return nics_of(&opt);
	shm = stat_open(opt.pid);
	stat_take(shm, &sample);
	if (opt.interval > 0)
		ret = live(&opt, shm);
	else if (opt.json)
		show_json(&opt, &sample);
	else
		show_text(&opt, &sample);
	bl_stats_shm_close(shm);
	return ret;
}
