// SPDX-License-Identifier: MIT
#include "net/lat.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/json.h"
#include "net/kernel.h"
#include "net/say.h"
#include "net/spans.h"
#include "net/wire.h"

#define LINE "--------------------------------------------------------------------------------------------------------------\n"
#define WARM 16
#define WORD 8U

static const struct net_lat_kind *lat_kind;

/**
 * struct lat - one end
 * @first:  the client: it begins
 * @post:   message of this end
 * @seen:   where the peer's comes to
 * @region: where this end's goes to
 * @word:   bytes in front of the word that tells of messages, in either end's memory; of programs with signals
 * @rounds: those before the ones that count included
 */
struct lat {
	struct net_bed *bed;
	const struct net_hello *hello;
	bool first;
	CUfunction fn;
	struct net_buffer post, seen;
	struct net_region region;
	size_t word;
	uint64_t rounds;
	struct net_spans spans;
	struct json_object *results;
	bool wrong;
};

static int launch(struct lat *lat, size_t size)
{
	struct bl_net_lat run = {
		.qp = lat->bed->qp_devs[0],
		.from = (uintptr_t)lat->post.gpu,
		.to = lat->region.addr,
		.seen = (uintptr_t)lat->seen.gpu,
		.from_key = htobe32(lat->post.mr->lkey),
		.to_key = htobe32(lat->region.key),
		.size = size,
		.rounds = lat->rounds,
		.limit_ns = lat->bed->options->timeout_s * 1000000000ULL,
		.signal = (uintptr_t)lat->seen.gpu + lat->word,
		.to_signal = lat->region.addr + lat->word,
		.old = (uintptr_t)lat->post.gpu + lat->word,
		.first = lat->first,
		.inlined = lat->bed->options->inlined,
		.spans = lat->spans.gpu,
		.state = lat->bed->state_gpu,
	};

	return net_run(lat->bed, lat->fn, 1, 1, &run);
}

static void report(struct lat *lat, size_t size)
{
	uint64_t nr = lat->hello->iters;
	struct json_object *result = tool_json_object();
	struct tool_stats stats;
	double us = net_spans_summarize(&lat->spans, WARM, &stats);

	fprintf(lat->bed->options->out, " %-10zu %-12llu %-22.3f %-21.3f %-18.3f %-11.3f %-11.3f\n", size,
		(unsigned long long)nr, us / (double)nr / 2, us / (double)nr, us, stats.p50, stats.p99);
	fflush(lat->bed->options->out);
	tool_json_int(result, "bytes", (int64_t)size);
	tool_json_int(result, "iterations", (int64_t)nr);
	tool_json_double(result, "unidirectional_us", us / (double)nr / 2);
	tool_json_double(result, "bidirectional_us", us / (double)nr);
	tool_json_double(result, "kernel_us", us);
	tool_json_double(result, "min_us", stats.min);
	tool_json_double(result, "p50_us", stats.p50);
	tool_json_double(result, "p99_us", stats.p99);
	tool_json_double(result, "max_us", stats.max);
	tool_json_append(lat->results, result);
}

/* All bytes but the last, which counts. */
static int validate(struct lat *lat, size_t size, unsigned char want)
{
	unsigned char bytes[16384];
	int ret = tool_cuda(lat->bed->device.cu->cuMemcpyDtoH(bytes, (CUdeviceptr)(uintptr_t)lat->seen.gpu, size),
			    "cuMemcpyDtoH");

	if (ret)
		return ret;
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = i == size - 1 ? (unsigned char)lat->rounds : want;

		if (bytes[i] == byte)
			continue;
		fprintf(stderr, "%s: Validation failed! size %zu: byte %zu is %u, not %u\n", lat_kind->program.name, size, i, bytes[i], byte);
		lat->wrong = true;
		break;
	}
	return 0;
}

/* Each end writes the other's memory: both have to be ready before, and done before memory is looked at. */
static int play_size(struct lat *lat, unsigned int index)
{
	size_t size = lat->hello->sizes[index];
	unsigned int limit = lat->bed->options->timeout_s;
	int ret = net_buffer_fill(lat->bed, &lat->post, size, (unsigned char)(index + 1));

	/* the word as well */
	if (!ret)
		ret = net_buffer_fill(lat->bed, &lat->seen, lat->seen.len, 0);
	if (!ret)
		ret = net_barrier(lat->bed->sock, limit);
	if (!ret)
		ret = launch(lat, size);
	if (!ret)
		ret = net_barrier(lat->bed->sock, limit);
	if (!ret)
		ret = validate(lat, size, (unsigned char)(index + 1));
	if (!ret)
		ret = net_spans_read(lat->bed, &lat->spans);
	if (!ret)
		report(lat, size);
	return ret;
}

static int exchange(struct lat *lat, size_t len)
{
	struct net_region region = { .addr = (uintptr_t)lat->seen.mr->addr, .len = lat->seen.len, .key = lat->seen.mr->rkey };
	unsigned int limit = lat->bed->options->timeout_s;
	int ret = net_send(lat->bed->sock, NET_REGION, &region, sizeof(region), limit);

	if (!ret)
		ret = net_recv(lat->bed->sock, NET_REGION, &lat->region, sizeof(lat->region), limit);
	if (!ret && lat->region.len < len)
		ret = tool_fail(EPROTO, "the peer's buffer is too small");
	return ret;
}

static int prepare(struct lat *lat)
{
	bool blueflame = lat->bed->path.handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF;
	const char *kernel = blueflame ? lat_kind->blueflame : lat_kind->kernel;
	size_t largest = 0, len;
	int ret;

	for (unsigned int i = 0; i < lat->hello->nr_sizes; i++)
		largest = lat->hello->sizes[i] > largest ? lat->hello->sizes[i] : largest;
	lat->word = (largest + WORD - 1) / WORD * WORD;
	len = lat->word + WORD;
	ret = net_bed_kernel(lat->bed, lat_kind->ptx, kernel, &lat->fn);
	if (!ret)
		ret = net_buffer_alloc(lat->bed, DOCA_GPU_MEM_TYPE_GPU, len, &lat->post);
	if (!ret)
		ret = net_buffer_alloc(lat->bed, DOCA_GPU_MEM_TYPE_GPU, len, &lat->seen);
	if (!ret)
		ret = net_spans_alloc(lat->bed, lat->rounds, &lat->spans);
	return ret ? ret : exchange(lat, len);
}

static int play_all(struct lat *lat)
{
	FILE *out = lat->bed->options->out;
	int ret = prepare(lat);

	if (ret)
		return ret;
	net_say_path(lat->bed);
	fprintf(out, LINE " %-10s %-12s %-22s %-21s %-18s %-11s %-11s\n" LINE, "#bytes", "#iterations", "Unidirectional[usec]",
		"Bidirectional[usec]", "CUDA Kernel[usec]", "p50[usec]", "p99[usec]");
	for (unsigned int i = 0; i < lat->hello->nr_sizes && !ret; i++)
		ret = play_size(lat, i);
	if (ret)
		return ret;
	fprintf(out, LINE);
	ret = net_session_end(lat->bed);
	if (!ret && !lat->wrong && !lat->first)
		fprintf(lat->bed->options->verdict, "Validation successful! Data received correctly from client.\n");
	return ret ? ret : lat->wrong ? NET_WRONG : NET_OK;
}

static int finish_json(struct lat *lat, int status)
{
	struct json_object *object = net_json(lat->bed, lat->first ? "client" : "server");

	tool_json_int(object, "dbr_mode", lat->bed->options->dbr);
	tool_json_bool(object, "inline", lat->bed->options->inlined);
	tool_json_string(object, "sample", "round trip");
	tool_json_bool(object, "valid", status == NET_OK);
	tool_json_add(object, "results", lat->results);
	lat->results = NULL;
	return tool_json_write(object, lat->bed->options->json) ? NET_FAILED : status;
}

static int run(struct net_bed *bed, struct net_hello *hello)
{
	struct lat lat = { .bed = bed, .hello = hello, .rounds = hello->iters + WARM };
	int ret;

	lat.first = net_is_client(bed->options);
	lat.results = tool_json_array();
	ret = play_all(&lat);
	if (ret >= 0 && bed->options->json)
		ret = finish_json(&lat, ret);
	json_object_put(lat.results);
	net_session_leave(bed, ret);
	net_spans_free(bed, &lat.spans);
	net_buffer_free(bed, &lat.post);
	net_buffer_free(bed, &lat.seen);
	return ret;
}

int net_lat_main(int argc, char **argv, const struct net_lat_kind *kind)
{
	const struct net_part part = { .program = &kind->program, .kind = NET_BED_COLLAPSED, .run = run };
	struct net_options options;

	lat_kind = kind;
	net_options_parse(argc, argv, &kind->program, &options);
	return net_session_main(&options, &part, &part);
}
