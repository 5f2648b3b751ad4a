// SPDX-License-Identifier: MIT
#include "net/bw.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/json.h"
#include "net/kernel.h"
#include "net/say.h"
#include "net/spans.h"
#include "net/wire.h"

#define LINE "--------------------------------------------------------------------------------------------------------------\n"

static const struct net_bw_kind *bw_kind;

/**
 * struct client - the end that writes
 * @source: what is written
 * @region: where to
 * @spans:  times
 */
struct client {
	struct net_bed *bed;
	const struct net_hello *hello;
	CUfunction fn;
	struct net_buffer source;
	struct net_region region;
	struct net_spans spans;
	struct json_object *results;
	bool wrong;
};

static uint64_t nr_spans(const struct net_hello *hello)
{
	return bw_kind->by_round ? hello->iters / hello->threads : hello->iters;
}

static int launch(struct client *client, size_t size, uint64_t rounds)
{
	unsigned int block = client->hello->threads < bw_kind->max_block ? client->hello->threads : bw_kind->max_block;
	struct bl_net_bw run = {
		.qp = client->bed->qp_dev,
		.from = (uintptr_t)client->source.gpu,
		.to = client->region.addr,
		.from_key = htobe32(client->source.mr->lkey),
		.to_key = htobe32(client->region.key),
		.size = size,
		.rounds = rounds,
		.spans = client->spans.gpu,
		.state = client->bed->state_gpu,
	};

	return net_run(client->bed, client->fn, client->hello->threads / block, block, &run);
}

static void report(struct client *client, size_t size, bool valid)
{
	FILE *out = client->bed->options->out;
	struct json_object *result = tool_json_object();
	double iters = (double)client->hello->iters;
	struct tool_stats stats;
	double us = net_spans_summarize(&client->spans, 0, &stats);
	double gbps = (double)size * iters * 8 / us / 1000, mpps = iters / us;

	fprintf(out, " %-10zu %-12.0f %-20.6f %-16.6f %-17.3f %-12.3f %-12.3f\n", size, iters, gbps, mpps, us / 1000, stats.p50,
		stats.p99);
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

static int write_size(struct client *client, unsigned int index)
{
	size_t size = client->hello->sizes[index];
	unsigned int limit = client->bed->options->timeout_s;
	struct net_verdict verdict;
	int ret = net_buffer_fill(client->bed, &client->source, size * client->hello->threads, net_bw_value(index));

	if (!ret)
		ret = net_barrier(client->bed->sock, limit);
	/* the first one meets cold code and unknown pages */
	if (!ret)
		ret = launch(client, size, 1);
	if (!ret)
		ret = launch(client, size, client->hello->iters / client->hello->threads);
	if (!ret)
		ret = net_barrier(client->bed->sock, limit);
	if (!ret)
		ret = net_recv(client->bed->sock, NET_VERDICT, &verdict, sizeof(verdict), limit);
	if (!ret)
		ret = net_spans_read(client->bed, &client->spans);
	if (ret)
		return ret;
	client->wrong |= verdict.bad;
	report(client, size, !verdict.bad);
	return 0;
}

static int client_prepare(struct client *client)
{
	struct net_bed *bed = client->bed;
	size_t largest = 0;
	int ret;

	for (unsigned int i = 0; i < client->hello->nr_sizes; i++)
		largest = client->hello->sizes[i] > largest ? client->hello->sizes[i] : largest;
	ret = net_bed_kernel(bed, *bw_kind->ptx, bw_kind->kernels[bed->options->scope], &client->fn);
	if (!ret)
		ret = net_buffer_alloc(bed, DOCA_GPU_MEM_TYPE_GPU, largest * client->hello->threads, &client->source);
	if (!ret)
		ret = net_spans_alloc(bed, nr_spans(client->hello), &client->spans);
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
		ret = write_size(client, i);
	if (!ret) {
		fprintf(out, LINE);
		ret = net_session_end(client->bed);
	}
	if (!ret && client->wrong)
		fprintf(stderr, "%s: Validation failed! the server has seen wrong bytes\n", client->bed->options->program->name);
	return ret ? ret : client->wrong ? NET_WRONG : NET_OK;
}

static int finish_json(struct client *client, int status)
{
	const struct net_options *options = client->bed->options;
	struct json_object *object = net_json(client->bed, "client");

	tool_json_string(object, "scope", options->scope ? "warp" : "thread");
	tool_json_int(object, "threads", client->hello->threads);
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

	if (!bed->options->server && !bed->options->self)
		return net_bw_serve(bed, hello);
	client.results = tool_json_array();
	ret = client_run(&client);
	if (ret >= 0 && bed->options->json)
		ret = finish_json(&client, ret);
	json_object_put(client.results);
	net_spans_free(bed, &client.spans);
	net_buffer_free(bed, &client.source);
	return ret;
}

int net_bw_main(int argc, char **argv, const struct net_bw_kind *kind)
{
	struct net_options options;

	bw_kind = kind;
	net_options_parse(argc, argv, &kind->program, &options);
	return net_session_main(&options, 0, run);
}
