// SPDX-License-Identifier: MIT
#include "net/bw.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/json.h"
#include "net/kernel.h"
#include "net/nic_time.h"
#include "net/say.h"
#include "net/spans.h"
#include "net/wire.h"

#define LINE "--------------------------------------------------------------------------------------------------------------\n"

#define WARP 32U

static const struct net_bw_kind *bw_kind;

/**
 * struct client - the end whose kernel runs
 * @source: what is written, or where to what is read comes
 * @counters: where the NIC counts, of programs that have that
 * @region: the server's memory
 * @spans:  times
 * @us:     from the first start to the last end, of the size at hand
 */
struct client {
	struct net_bed *bed;
	const struct net_hello *hello;
	CUfunction fn;
	struct net_buffer source, counters;
	struct net_region region;
	struct net_spans spans;
	double us;
	struct json_object *results;
	bool wrong;
};

static uint64_t nr_spans(const struct net_hello *hello)
{
	return bw_kind->by_round ? hello->iters / hello->threads * hello->qps : hello->iters;
}

/*
 * One for each queue pair, or the largest ones, of whole warps, that are alike. A few threads that go each by itself have blocks
 * of their own: lanes of a warp wait for the last of them before the next round, so that nothing would be under way then.
 */
static unsigned int block_of(const struct net_options *options, const struct net_hello *hello)
{
	const struct net_program *program = options->program;
	unsigned int block = hello->threads < program->max_block ? hello->threads : program->max_block;

	if (program->block_has_qp)
		return hello->threads / hello->qps;
	if (!options->scope && hello->threads <= WARP)
		return 1;
	while (hello->threads % block)
		block -= WARP;
	return block;
}

static int launch(struct client *client, size_t size, uint64_t rounds)
{
	unsigned int block = block_of(client->bed->options, client->hello);
	struct bl_net_counter run = {
		/* what the other kernels take */
		.bw = {
			.nr_qps = client->hello->qps,
			.from = (uintptr_t)client->source.gpu,
			.to = client->region.addr,
			.from_key = htobe32(client->source.mr->lkey),
			.to_key = htobe32(client->region.key),
			.size = size,
			.rounds = rounds,
			.spans = client->spans.gpu,
			.state = client->bed->state_gpu,
		},
		.limit_ns = client->bed->options->timeout_s * 1000000000ULL,
	};

	memcpy(run.bw.qps, client->bed->qp_devs, client->hello->qps * sizeof(run.bw.qps[0]));
	if (bw_kind->counts) {
		memcpy(run.companions, client->bed->companions, client->hello->qps * sizeof(run.companions[0]));
		run.counters = (uintptr_t)client->counters.gpu;
		run.key = htobe32(client->counters.mr->lkey);
	}
	return net_run(client->bed, client->fn, client->hello->threads / block, block, &run);
}

/* Threads of NICs of this process, and what each write costs them. */
static void report_nic(const struct client *client, const struct net_nic_time *time, struct json_object *result)
{
	double iters = (double)client->hello->iters, ns = (double)time->ns;

	tool_json_int(result, "nic_threads", time->nr);
	if (!time->nr)
		return;
	fprintf(client->bed->options->out, "#   NIC threads: %u, %.3f ms of CPU time, %.3f us a %s\n", time->nr, ns / 1e6,
		ns / iters / 1e3, client->bed->options->program->reads ? "read" : "write");
	tool_json_double(result, "nic_cpu_ms", ns / 1e6);
	tool_json_double(result, client->bed->options->program->reads ? "nic_cpu_us_per_read" : "nic_cpu_us_per_write",
			 ns / iters / 1e3);
	tool_json_double(result, "mpps_per_nic_thread", iters / client->us / time->nr);
}

static void report(struct client *client, size_t size, bool valid, const struct net_nic_time *time)
{
	FILE *out = client->bed->options->out;
	struct json_object *result = tool_json_object();
	double iters = (double)client->hello->iters;
	struct tool_stats stats;
	double us = net_spans_summarize(&client->spans, 0, &stats);
	double gbps = (double)size * iters * 8 / us / 1000, mpps = iters / us;

	fprintf(out, " %-10zu %-12.0f %-20.6f %-16.6f %-17.3f %-12.3f %-12.3f\n", size, iters, gbps, mpps, us / 1000, stats.p50,
		stats.p99);
	client->us = us;
	report_nic(client, time, result);
	fflush(out);
	tool_json_int(result, "bytes", (int64_t)size);
	tool_json_int(result, "iterations", (int64_t)client->hello->iters);
	tool_json_double(result, "gbps", gbps);
	tool_json_double(result, "mpps", mpps);
	tool_json_double(result, "kernel_ms", us / 1000);
	tool_json_double(result, "min_us", stats.min);
	tool_json_double(result, "p50_us", stats.p50);
	tool_json_double(result, "p99_us", stats.p99);
	tool_json_double(result, "max_us", stats.max);
	tool_json_bool(result, "valid", valid);
	tool_json_append(client->results, result);
}

/* Who got the bytes looks at them, and tells the other. */
static int judge(struct client *client, unsigned int index, struct net_verdict *verdict)
{
	size_t len = client->hello->sizes[index] * client->hello->threads;
	unsigned int limit = client->bed->options->timeout_s;
	int ret;

	if (!client->bed->options->program->reads)
		return net_recv(client->bed->sock, NET_VERDICT, verdict, sizeof(*verdict), limit);
	ret = net_bw_validate(client->bed, &client->source, len, net_bw_value(index), verdict);
	return ret ? ret : net_send(client->bed->sock, NET_VERDICT, verdict, sizeof(*verdict), limit);
}

static int run_size(struct client *client, unsigned int index)
{
	size_t size = client->hello->sizes[index];
	unsigned int limit = client->bed->options->timeout_s;
	unsigned char value = client->bed->options->program->reads ? 0 : net_bw_value(index);
	struct net_nic_time before, after;
	struct net_verdict verdict;
	int ret = net_buffer_fill(client->bed, &client->source, size * client->hello->threads, value);

	if (!ret)
		ret = net_barrier(client->bed->sock, limit);
	/* the first one meets cold code and unknown pages */
	if (!ret)
		ret = launch(client, size, 1);
	if (!ret) {
		net_nic_time(&before);
		ret = launch(client, size, client->hello->iters / client->hello->threads);
		net_nic_time(&after);
	}
	if (!ret)
		ret = net_barrier(client->bed->sock, limit);
	if (!ret)
		ret = judge(client, index, &verdict);
	if (!ret)
		ret = net_spans_read(client->bed, &client->spans);
	if (ret)
		return ret;
	client->wrong |= verdict.bad;
	after.ns -= before.ns;
	report(client, size, !verdict.bad, &after);
	return 0;
}

/* For each queue pair a counter, and its old value. */
static int make_counters(struct client *client)
{
	size_t len = 16UL * client->hello->qps;
	int ret = net_buffer_alloc(client->bed, DOCA_GPU_MEM_TYPE_GPU, len, &client->counters);

	return ret ? ret : net_buffer_fill(client->bed, &client->counters, len, 0);
}

static int client_prepare(struct client *client)
{
	struct net_bed *bed = client->bed;
	size_t largest = 0;
	int ret;

	for (unsigned int i = 0; i < client->hello->nr_sizes; i++)
		largest = client->hello->sizes[i] > largest ? client->hello->sizes[i] : largest;
	ret = net_bed_kernel(bed, bw_kind->ptx,
			     (bed->options->inlined ? bw_kind->inlined : bw_kind->kernels)[bed->options->scope], &client->fn);
	if (!ret)
		ret = net_buffer_alloc(bed, DOCA_GPU_MEM_TYPE_GPU, largest * client->hello->threads, &client->source);
	if (!ret)
		ret = net_spans_alloc(bed, nr_spans(client->hello), &client->spans);
	if (!ret && bw_kind->counts)
		ret = make_counters(client);
	if (ret)
		return ret;
	ret = net_recv(bed->sock, NET_REGION, &client->region, sizeof(client->region), bed->options->timeout_s);
	if (!ret && client->region.len < largest * client->hello->threads)
		ret = tool_fail(EPROTO, "the server's buffer is too small");
	return ret;
}

static int client_run(struct client *client)
{
	FILE *out = client->bed->options->out;
	int ret = client_prepare(client);

	if (ret)
		return ret;
	net_say_path(client->bed);
	fprintf(out, LINE " %-10s %-12s %-20s %-16s %-17s %-12s %-12s\n" LINE, "#bytes", "#iterations", "BW average[Gbps]",
		"MsgRate[Mpps]", "CUDA Kernel[ms]", "p50[usec]", "p99[usec]");
	for (unsigned int i = 0; i < client->hello->nr_sizes && !ret; i++)
		ret = run_size(client, i);
	if (!ret) {
		fprintf(out, LINE);
		ret = net_session_end(client->bed);
	}
	if (!ret && client->wrong)
		fprintf(stderr, "%s: Validation failed! the %s has seen wrong bytes\n", client->bed->options->program->name,
			client->bed->options->program->reads ? "client" : "server");
	return ret ? ret : client->wrong ? NET_WRONG : NET_OK;
}

static int finish_json(struct client *client, int status)
{
	const struct net_options *options = client->bed->options;
	struct json_object *object = net_json(client->bed, "client");

	tool_json_string(object, "scope", options->scope ? "warp" : "thread");
	tool_json_int(object, "threads", client->hello->threads);
	tool_json_int(object, "queue_pairs", client->hello->qps);
	tool_json_bool(object, "inline", options->inlined);
	tool_json_string(object, "sample", bw_kind->by_round ? "round" : "write");
	tool_json_bool(object, "valid", status == NET_OK);
	tool_json_add(object, "results", client->results);
	client->results = NULL;
	return tool_json_write(object, options->json) ? NET_FAILED : status;
}

static int run(struct net_bed *bed, struct net_hello *hello)
{
	struct client client = { .bed = bed, .hello = hello };
	int ret;

	if (!net_is_client(bed->options))
		return net_bw_serve(bed, hello);
	client.results = tool_json_array();
	ret = client_run(&client);
	if (ret >= 0 && bed->options->json)
		ret = finish_json(&client, ret);
	json_object_put(client.results);
	net_session_leave(bed, ret);
	net_spans_free(bed, &client.spans);
	net_buffer_free(bed, &client.source);
	net_buffer_free(bed, &client.counters);
	return ret;
}

int net_bw_main(int argc, char **argv, const struct net_bw_kind *kind)
{
	const struct net_part part = { .program = &kind->program, .kind = kind->counts ? NET_BED_COUNTS : 0, .run = run };
	const struct net_part server = { .program = &kind->program, .run = run };
	struct net_options options;

	bw_kind = kind;
	net_options_parse(argc, argv, &kind->program, &options);
	return net_session_main(&options, net_is_client(&options) ? &part : &server, &server);
}
