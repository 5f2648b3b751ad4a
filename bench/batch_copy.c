// SPDX-License-Identifier: MIT
/*
 * batch_copy: 64 scattered copies as one batch, one by one, and with bare CUDA. The ways take turns, beginning with
 * another one each round. "submit" is what the caller waits for when he begins a batch, "paid" what he pays in all when
 * he computes meanwhile for as long as the batch takes: the submit, and a wait that comes late.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "barlane_batch.h"
#include "common/device.h"
#include "common/error.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/option.h"
#include "common/stats.h"

#define NR_COPIES  64U
#define MAX_LEN	   (1UL << 20)
#define MAX_ROUNDS 300
#define MIN_ROUNDS 15
#define BUDGET_NS  400000000ULL

enum way { WAY_BATCH, WAY_SUBMIT, WAY_PAID, WAY_LOOP, WAY_CUDA, NR_WAYS };

static const char *const way_names[NR_WAYS] = { "batch", "submit", "paid", "loop", "cuda" };

static struct tool_device device;
static struct tool_mem mem;
static bl_pin_t pin;
static CUstream stream;
static unsigned char *pinned, *ordinary, *expected;
static struct bl_copy_op ops[NR_COPIES];
static double last_batch_ns; /* how long the caller computes in "paid" */

static void must(int ok, const char *what)
{
	if (!ok)
		tool_die("%s: %s", what, bl_last_error(NULL));
}

static void must_cuda(CUresult err, const char *what)
{
	if (err)
		tool_die("%s: %s", what, bl_cuda_strerror(err));
}

/* Every other piece of the GPU's memory, in an order that no two neighbours keep; host memory likewise. */
static void plan(size_t len, uint32_t dir, unsigned char *host)
{
	for (size_t i = 0; i < NR_COPIES; i++) {
		size_t at = i * 27 % NR_COPIES;

		ops[i] = (struct bl_copy_op){
			.pin = pin, .off = at * 2 * len, .host = host + at * len, .len = len, .dir = dir,
			.engine = BL_ENGINE_CE,
		};
	}
}

static bl_batch_t begin(void)
{
	bl_batch_t batch = 0;

	must(!bl_batch_submit(ops, NR_COPIES, 0, &batch), "bl_batch_submit");
	return batch;
}

static void end(bl_batch_t batch)
{
	must(!bl_batch_wait(batch, BL_BATCH_TIMEOUT, NULL) && !bl_batch_free(batch), "bl_batch_wait");
}

static void by_loop(void)
{
	for (size_t i = 0; i < NR_COPIES; i++)
		must(!bl_copy(pin, ops[i].off, ops[i].host, ops[i].len, (enum bl_copy_dir)ops[i].dir, BL_ENGINE_CE),
		     "bl_copy");
}

static void by_cuda(void)
{
	const struct bl_cuda *cu = device.cu;

	for (size_t i = 0; i < NR_COPIES; i++)
		must_cuda(ops[i].dir == BL_COPY_TO ?
				  cu->cuMemcpyHtoDAsync(mem.ptr + ops[i].off, ops[i].host, ops[i].len, stream) :
				  cu->cuMemcpyDtoHAsync(ops[i].host, mem.ptr + ops[i].off, ops[i].len, stream),
			  "asynchronous copy");
	must_cuda(cu->cuStreamSynchronize(stream), "cuStreamSynchronize");
}

static double paid(void)
{
	uint64_t start = tool_now_ns(), begun, late;
	bl_batch_t batch = begin();

	begun = tool_now_ns();
	while ((double)(tool_now_ns() - begun) < last_batch_ns)
		;
	late = tool_now_ns();
	end(batch);
	return (double)(begun - start) + (double)(tool_now_ns() - late);
}

static double sample(enum way way)
{
	uint64_t start = tool_now_ns();
	bl_batch_t batch;
	double ns;

	switch (way) {
	case WAY_BATCH:
		end(begin());
		last_batch_ns = (double)(tool_now_ns() - start);
		return last_batch_ns;
	case WAY_SUBMIT:
		batch = begin();
		ns = (double)(tool_now_ns() - start);
		end(batch);
		return ns;
	case WAY_PAID:
		return paid();
	case WAY_LOOP:
		by_loop();
		break;
	default:
		by_cuda();
	}
	return (double)(tool_now_ns() - start);
}

/* The synchronous copy is the judge; each way moves other bytes than the one before. */
static void verify(size_t len, uint32_t dir, unsigned char *host)
{
	const struct bl_cuda *cu = device.cu;

	for (enum way way = WAY_BATCH; way < NR_WAYS; way++) {
		for (size_t i = 0; i < 2 * NR_COPIES * len; i++)
			expected[i] = (unsigned char)(i * 13 + (i >> 8) + way * 41);
		must_cuda(cu->cuMemcpyHtoD(mem.ptr, expected, 2 * NR_COPIES * len), "cuMemcpyHtoD");
		for (size_t i = 0; i < NR_COPIES; i++)
			memset(ops[i].host, (int)(i + way), len);
		sample(way);
		if (dir == BL_COPY_TO)
			must_cuda(cu->cuMemcpyDtoH(expected, mem.ptr, 2 * NR_COPIES * len), "cuMemcpyDtoH");
		for (size_t i = 0; i < NR_COPIES; i++) {
			if (memcmp(expected + ops[i].off, ops[i].host, len) ||
			    (dir == BL_COPY_TO && *(unsigned char *)ops[i].host != (unsigned char)(i + way)))
				tool_die("%s: wrong bytes in copy %zu of %zu bytes", way_names[way], i, len);
		}
	}
}

static struct json_object *row(size_t len, uint32_t dir, unsigned char *host)
{
	static double samples[NR_WAYS][MAX_ROUNDS];
	struct json_object *line = tool_json_object();
	uint64_t stop;
	size_t rounds = 0;

	plan(len, dir, host);
	verify(len, dir, host);
	stop = tool_now_ns() + BUDGET_NS;
	while (rounds < MAX_ROUNDS && (rounds < MIN_ROUNDS || tool_now_ns() < stop)) {
		for (unsigned int i = 0; i < NR_WAYS; i++) {
			enum way way = (enum way)((i + rounds) % NR_WAYS);

			samples[way][rounds] = sample(way);
		}
		rounds++;
	}
	tool_json_int(line, "bytes", (int64_t)len);
	tool_json_string(line, "dir", dir == BL_COPY_TO ? "write" : "read");
	tool_json_bool(line, "pinned", host == pinned);
	tool_json_bool(line, "emulated", device.emulated);
	printf("%10zu %-5s %-8s", len, dir == BL_COPY_TO ? "write" : "read", host == pinned ? "pinned" : "ordinary");
	for (enum way way = WAY_BATCH; way < NR_WAYS; way++) {
		struct tool_stats stats;

		tool_stats_fill(samples[way], rounds, &stats);
		printf(" %10.0f", stats.p50);
		tool_json_double(line, way_names[way], stats.p50);
	}
	printf("\n");
	fflush(stdout);
	return line;
}

static void set_up(int ordinal, size_t max)
{
	size_t size = 2 * NR_COPIES * max;
	const struct bl_cuda *cu;
	void *host = NULL, *addr;
	bl_ctx_t ctx;

	if (tool_device_open(ordinal, &device) || tool_mem_alloc(&device, TOOL_MEM_ALLOC, size, &mem))
		tool_die("%s", tool_why());
	cu = device.cu;
	must(!bl_open(NULL, &ctx) && !bl_pin(ctx, mem.ptr, size, 0, 0, 0, &pin) &&
		     !bl_map(ctx, pin, size, BL_MAP_NONE, &addr),
	     "pin and map");
	must_cuda(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must_cuda(cu->cuMemHostAlloc(&host, size / 2, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	pinned = host;
	ordinary = aligned_alloc(4096, size / 2);
	expected = aligned_alloc(4096, size);
	if (!ordinary || !expected)
		tool_die("host memory");
	memset(ordinary, 1, size / 2);
}

static void heading(void)
{
	struct utsname kernel;

	uname(&kernel);
	printf("# batch_copy %s kernel %s gpu %s%s; %u copies, p50 in ns for all of them, ways interleaved\n",
	       bl_version(), kernel.release, device.name, device.emulated ? " (emu)" : "", NR_COPIES);
	printf("# %8s %-5s %-8s", "bytes", "dir", "host");
	for (enum way way = WAY_BATCH; way < NR_WAYS; way++)
		printf(" %10s", way_names[way]);
	printf("\n");
}

static void usage(void)
{
	printf("usage: batch_copy [-d GPU] [-s SIZE] [--json FILE]\n"
	       "Times 64 scattered copies of 4 KiB to SIZE bytes each (1M): as a batch, with bl_copy(), with bare\n"
	       "CUDA.\n");
	exit(0);
}

static const struct option options[] = {
	{ "json", required_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

int main(int argc, char **argv)
{
	struct json_object *lines = tool_json_array();
	const char *json = NULL;
	size_t max = MAX_LEN;
	int ordinal = 0, opt;

	while ((opt = getopt_long(argc, argv, "d:s:h", options, NULL)) != -1) {
		if (opt == 'd')
			ordinal = (int)tool_number("-d", optarg, 0, 63);
		else if (opt == 's')
			max = tool_number("-s", optarg, 4096, 16UL << 20);
		else if (opt == 'j')
			json = optarg;
		else if (opt == 'h')
			usage();
		else
			return 2;
	}
	set_up(ordinal, max);
	heading();
	for (uint32_t what = 0; what < 4; what++) {
		for (size_t len = 4096; len <= max; len *= 4)
			tool_json_append(lines, row(len, what < 2 ? BL_COPY_FROM : BL_COPY_TO,
						    what % 2 ? ordinary : pinned));
	}
	if (json && tool_json_write(lines, json))
		tool_die("%s: cannot be written", json);
	return 0;
}
