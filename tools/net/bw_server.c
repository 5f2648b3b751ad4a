// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/json.h"
#include "net/bw.h"
#include "net/say.h"
#include "net/wire.h"

#define PIECE (1UL << 20)

static int check_piece(const unsigned char *bytes, size_t len, unsigned char want, uint64_t off, struct net_verdict *verdict)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == want)
			continue;
		*verdict = (struct net_verdict){ .off = off + i, .bad = 1, .seen = bytes[i] };
		return 1;
	}
	return 0;
}

int net_bw_validate(struct net_bed *bed, const struct net_buffer *buffer, size_t len, unsigned char want,
		    struct net_verdict *verdict)
{
	unsigned char *piece;
	int ret = 0;

	*verdict = (struct net_verdict){ 0 };
	if (buffer->cpu) {
		check_piece(buffer->cpu, len, want, 0, verdict);
		return 0;
	}
	piece = malloc(PIECE);
	if (!piece)
		return tool_fail(ENOMEM, "no memory");
	for (size_t off = 0; off < len && !ret && !verdict->bad; off += PIECE) {
		size_t nr = len - off < PIECE ? len - off : PIECE;

		ret = tool_cuda(bed->device.cu->cuMemcpyDtoH(piece, (CUdeviceptr)(uintptr_t)buffer->gpu + off, nr),
				"cuMemcpyDtoH");
		if (!ret)
			check_piece(piece, nr, want, off, verdict);
	}
	free(piece);
	return ret;
}

static int serve_size(struct net_bed *bed, const struct net_hello *hello, unsigned int index, const struct net_buffer *buffer,
		      struct net_verdict *verdict)
{
	size_t len = hello->sizes[index] * hello->threads;
	unsigned int limit = bed->options->timeout_s;
	bool reads = bed->options->program->reads;
	int ret = net_buffer_fill(bed, buffer, len, reads ? net_bw_value(index) : 0);

	if (!ret)
		ret = net_bed_check(bed);
	if (!ret)
		ret = net_barrier(bed->sock, limit);
	/* the client is done, and all that it did has been acknowledged */
	if (!ret)
		ret = net_barrier(bed->sock, limit);
	if (!ret)
		ret = net_bed_check(bed);
	if (!ret && reads)
		return net_recv(bed->sock, NET_VERDICT, verdict, sizeof(*verdict), limit);
	if (!ret)
		ret = net_bw_validate(bed, buffer, len, net_bw_value(index), verdict);
	return ret ? ret : net_send(bed->sock, NET_VERDICT, verdict, sizeof(*verdict), limit);
}

static int serve_sizes(struct net_bed *bed, const struct net_hello *hello, const struct net_buffer *buffer)
{
	struct net_region region = { .len = buffer->len, .key = buffer->mr->rkey };
	int ret, status = NET_OK;

	region.addr = (uintptr_t)buffer->mr->addr;
	ret = net_send(bed->sock, NET_REGION, &region, sizeof(region), bed->options->timeout_s);
	for (unsigned int i = 0; i < hello->nr_sizes && !ret; i++) {
		struct net_verdict verdict;

		ret = serve_size(bed, hello, i, buffer, &verdict);
		if (ret || !verdict.bad)
			continue;
		fprintf(stderr, "%s: Validation failed! size %llu: byte %llu%s is %u, not %u\n", bed->options->program->name,
			(unsigned long long)hello->sizes[i], (unsigned long long)verdict.off,
			bed->options->program->reads ? " of the client" : "", verdict.seen, net_bw_value(i));
		status = NET_WRONG;
	}
	if (!ret)
		ret = net_session_end(bed);
	if (!ret && status == NET_OK)
		fprintf(bed->options->verdict, "Validation successful! Data received correctly %s client.\n",
			bed->options->program->reads ? "by" : "from");
	return ret ? ret : status;
}

int net_bw_serve(struct net_bed *bed, const struct net_hello *hello)
{
	const struct net_options *options = bed->options;
	struct net_buffer buffer = { 0 };
	struct json_object *object;
	size_t largest = 0;
	int ret;

	for (unsigned int i = 0; i < hello->nr_sizes; i++)
		largest = hello->sizes[i] > largest ? hello->sizes[i] : largest;
	ret = net_buffer_alloc(bed, options->memory == NET_MEMORY_GPU ? DOCA_GPU_MEM_TYPE_GPU : DOCA_GPU_MEM_TYPE_CPU_GPU,
			       largest * hello->threads, &buffer);
	if (!ret)
		ret = serve_sizes(bed, hello, &buffer);
	net_session_leave(bed, ret);
	net_buffer_free(bed, &buffer);
	if (ret < 0 || !options->json)
		return ret;
	object = net_json(bed, "server");
	tool_json_string(object, "memory", tool_value_name(options->memory, net_memories));
	tool_json_bool(object, "valid", ret == NET_OK);
	return tool_json_write(object, options->json) ? NET_FAILED : ret;
}
