// SPDX-License-Identifier: MIT
/*
 * copy_isa.c - the library's CPU copies against plain loops of every instruction set, in one run
 *
 * Writes: the library's median may be above that of the best plain loop by 5 % or 15 ns, whichever is more. Reads of
 * 8 bytes to 1 KiB: above one bare 8-byte load by 5 % and 50 ns. Larger reads: above the best plain loop by 5 %.
 * Threads: 0.95 of the best plain loop's bandwidth. The targets are for a mapping of a real GPU.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy_loops.h"
#include "copy_measure.h"
#include "copy_memory.h"
#include "copy_report.h"
#include "copy_threads.h"

#define MAX_LEN	    (16UL << 20)
#define THREADS_LEN (64UL << 20)
#define MAX_RESULTS 64

static struct {
	bool gpu_memory;
	int gpu;
	bool write, read;
	size_t min, max;
	unsigned long budget_ms;
	unsigned long threads;
	unsigned long rounds;
	bool check;
	const char *json;
} opt = {.write = true, .read = true, .min = 1, .max = MAX_LEN, .budget_ms = 100, .rounds = 21};

static struct copy_memory memory;
static uint8_t *host, *scratch;
static struct copy_result results[MAX_RESULTS];
static size_t nr_results;

static void fill_random(uint8_t *buf, size_t len, uint32_t seed)
{
	uint32_t state = seed * 2654435761U | 1;

	for (size_t i = 0; i < len; i++) {
		state = state * 1664525 + 1013904223;
		buf[i] = (uint8_t)(state >> 24);
	}
}

/* Bytes at the end of a copy, up to this many, are compared; all of smaller copies. */
#define VERIFY_LEN (1UL << 20)

static int verify_write(const struct copy_entry *entry, size_t len)
{
	size_t tail = len < VERIFY_LEN ? len : VERIFY_LEN, off = len - tail;
	int ret;

	fill_random(host + off, tail, 7);
	for (size_t i = 0; i < tail; i++)
		scratch[i] = (uint8_t)~host[off + i];
	ret = memory.write(off, scratch, tail);
	if (ret)
		return ret;
	entry->fn(memory.addr, host, len);
	ret = memory.read(scratch, off, tail);
	if (ret)
		return ret;
	if (!memcmp(scratch, host + off, tail))
		return 0;
	fprintf(stderr, "copy_isa: %s: wrong bytes after a write of %zu bytes\n", entry->name, len);
	return -EIO;
}

static int verify_read(const struct copy_entry *entry, size_t len)
{
	size_t tail = len < VERIFY_LEN ? len : VERIFY_LEN, off = len - tail;
	int ret;

	fill_random(scratch, tail, 11);
	ret = memory.write(off, scratch, tail);
	if (ret)
		return ret;
	for (size_t i = 0; i < tail; i++)
		host[off + i] = (uint8_t)~scratch[i];
	entry->fn(host, memory.addr, len);
	if (!memcmp(scratch, host + off, tail))
		return 0;
	fprintf(stderr, "copy_isa: %s: wrong bytes after a read of %zu bytes\n", entry->name, len);
	return -EIO;
}

static void add_loops(struct copy_result *result, const struct copy_loop *loops)
{
	for (; loops->name && result->nr < COPY_MAX_ENTRIES; loops++) {
		if (loops->supported())
			result->entry[result->nr++] = (struct copy_entry){.name = loops->name, .fn = loops->fn};
	}
}

/* Fastest of the plain loops from @first on. */
static size_t best_of(const struct copy_result *result, size_t first)
{
	size_t best = first;

	for (size_t i = first + 1; i < result->nr; i++) {
		if (result->entry[i].p50_ns < result->entry[best].p50_ns)
			best = i;
	}
	return best;
}

static void judge(struct copy_result *result, double limit_ns)
{
	result->limit_ns = limit_ns;
	result->missed = result->entry[0].p50_ns > limit_ns;
	copy_report_line(result);
}

static int run_write(struct copy_result *result, size_t len)
{
	double best;
	int ret = 0;

	*result = (struct copy_result){.dir = "write", .len = len, .nr = 1};
	result->entry[0] = (struct copy_entry){.name = "barlane", .fn = memory.to};
	add_loops(result, copy_loops_to);
	for (size_t i = 0; i < result->nr && !ret; i++)
		ret = verify_write(&result->entry[i], len);
	if (!ret)
		ret = copy_measure(result->entry, result->nr, memory.addr, host, len, opt.budget_ms * 1000000);
	if (!ret)
		ret = verify_write(&result->entry[0], len);
	if (ret)
		return ret;
	result->best = best_of(result, 1);
	best = result->entry[result->best].p50_ns;
	judge(result, best * 0.05 > 15 ? best * 1.05 : best + 15);
	return 0;
}

static int run_read(struct copy_result *result, size_t len)
{
	bool by_load8 = len <= 1024;
	int ret = 0;

	*result = (struct copy_result){.dir = "read", .len = len, .nr = 1};
	result->entry[0] = (struct copy_entry){.name = "barlane", .fn = memory.from};
	add_loops(result, copy_loops_from);
	for (size_t i = 0; i < result->nr && !ret; i++)
		ret = verify_read(&result->entry[i], len);
	/* the yardstick of short reads comes last; it moves 8 bytes, so it is not verified with the others */
	if (!ret && by_load8)
		result->entry[result->nr++] = (struct copy_entry){.name = "one 8-byte load", .fn = copy_loop_load8};
	if (!ret)
		ret = copy_measure(result->entry, result->nr, host, memory.addr, len, opt.budget_ms * 1000000);
	if (!ret)
		ret = verify_read(&result->entry[0], len);
	if (ret)
		return ret;
	result->best = by_load8 ? result->nr - 1 : best_of(result, 1);
	judge(result, result->entry[result->best].p50_ns * 1.05 + (by_load8 ? 50 : 0));
	return 0;
}

static int run_sizes(int (*run)(struct copy_result *, size_t))
{
	for (size_t len = opt.min; len <= opt.max; len *= 2) {
		int ret = run(&results[nr_results], len);

		if (ret)
			return ret;
		nr_results++;
	}
	return 0;
}

static int run_threads(void)
{
	struct copy_result *result = &results[nr_results];
	int ret;

	*result = (struct copy_result){.dir = "threads", .len = THREADS_LEN, .nr = 1};
	result->entry[0] = (struct copy_entry){.name = "barlane", .fn = memory.to};
	add_loops(result, copy_loops_to);
	fill_random(host, THREADS_LEN, 3);
	ret = copy_threads_measure(result->entry, result->nr, opt.threads, memory.addr, host, THREADS_LEN, opt.rounds);
	if (!ret)
		ret = verify_write(&result->entry[0], THREADS_LEN);
	if (ret)
		return ret;
	nr_results++;
	result->best = best_of(result, 1);
	judge(result, result->entry[result->best].p50_ns / 0.95);
	printf("# %lu threads: library %.2f GB/s, best loop %.2f GB/s\n", opt.threads,
	       (double)THREADS_LEN / result->entry[0].p50_ns, (double)THREADS_LEN / result->entry[result->best].p50_ns);
	return 0;
}

static void usage(FILE *out)
{
	fputs("usage: copy_isa [--memory host|gpu] [--gpu N] [--direction both|write|read] [--min BYTES]\n"
	      "                [--max BYTES] [--budget-ms N] [--threads N [--rounds N]] [--check] [--json FILE]\n"
	      "  --memory     what is copied to and from (host)\n"
	      "  --gpu        CUDA ordinal (0)\n"
	      "  --min, --max sizes, powers of two (1, 16777216)\n"
	      "  --budget-ms  time for each size (100)\n"
	      "  --threads    instead of the sizes: N threads write 64 MiB together, N a power of two up to 64\n"
	      "  --rounds     samples with --threads (21)\n"
	      "  --check      exit with 1 when a target is missed; with --memory gpu only\n"
	      "  --json       write all results, FILE \"-\" is stdout\n",
	      out);
}

__attribute__((noreturn)) static void refuse(const char *why)
{
	fprintf(stderr, "copy_isa: %s\n", why);
	usage(stderr);
	exit(2);
}

static unsigned long number(const char *text, unsigned long min, unsigned long max)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || *end || end == text || *text == '-' || value < min || value > max) {
		fprintf(stderr, "copy_isa: %s is no number from %lu to %lu\n", text, min, max);
		exit(2);
	}
	return value;
}

static size_t power_of_two(const char *text, size_t max)
{
	size_t value = number(text, 1, max);

	if (value & (value - 1)) {
		fprintf(stderr, "copy_isa: %s is no power of two\n", text);
		exit(2);
	}
	return value;
}

static void set_option(int c, const char *arg)
{
	switch (c) {
	case 'm':
		if (strcmp(arg, "host") && strcmp(arg, "gpu"))
			refuse("--memory is host or gpu");
		opt.gpu_memory = !strcmp(arg, "gpu");
		break;
	case 'g':
		opt.gpu = (int)number(arg, 0, 255);
		break;
	case 'd':
		opt.write = !strcmp(arg, "both") || !strcmp(arg, "write");
		opt.read = !strcmp(arg, "both") || !strcmp(arg, "read");
		if (!opt.write && !opt.read)
			refuse("--direction is both, write or read");
		break;
	case 'a':
		opt.min = power_of_two(arg, MAX_LEN);
		break;
	case 'b':
		opt.max = power_of_two(arg, MAX_LEN);
		break;
	case 't':
		opt.budget_ms = number(arg, 1, 60000);
		break;
	case 'T':
		opt.threads = power_of_two(arg, 64);
		break;
	case 'r':
		opt.rounds = number(arg, 1, 10000);
		break;
	case 'c':
		opt.check = true;
		break;
	case 'j':
		opt.json = arg;
		break;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		usage(stderr);
		exit(2);
	}
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"memory", required_argument, NULL, 'm'},
		{"gpu", required_argument, NULL, 'g'},
		{"direction", required_argument, NULL, 'd'},
		{"min", required_argument, NULL, 'a'},
		{"max", required_argument, NULL, 'b'},
		{"budget-ms", required_argument, NULL, 't'},
		{"threads", required_argument, NULL, 'T'},
		{"rounds", required_argument, NULL, 'r'},
		{"check", no_argument, NULL, 'c'},
		{"json", required_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		set_option(c, optarg);
	if (optind < argc)
		refuse("takes no arguments other than options");
	if (opt.min > opt.max)
		refuse("--min is larger than --max");
	if (opt.check && !opt.gpu_memory)
		refuse("--check needs --memory gpu: the targets are for a mapping");
}

static int prepare(void)
{
	size_t size = opt.threads ? THREADS_LEN : MAX_LEN;
	int ret = opt.gpu_memory ? copy_memory_gpu(size, opt.gpu, &memory) : copy_memory_host(size, &memory);

	if (ret)
		return ret;
	if (opt.check && strcmp(memory.kind, "gpu")) {
		fprintf(stderr, "copy_isa: --check: the targets are for a real GPU, this one is emulated\n");
		return -EOPNOTSUPP;
	}
	host = aligned_alloc(4096, size);
	scratch = aligned_alloc(4096, VERIFY_LEN);
	if (!host || !scratch) {
		fprintf(stderr, "copy_isa: out of memory\n");
		return -ENOMEM;
	}
	fill_random(host, size, 1);
	return 0;
}

static int run_all(void)
{
	char what[512];
	int ret = 0;

	snprintf(what, sizeof(what), "copy_isa %s: %s", memory.kind, memory.what);
	copy_report_head(what);
	if (opt.threads)
		ret = run_threads();
	if (!ret && !opt.threads && opt.write)
		ret = run_sizes(run_write);
	if (!ret && !opt.threads && opt.read)
		ret = run_sizes(run_read);
	if (ret)
		return ret;
	return opt.json ? copy_report_json(opt.json, memory.kind, what, results, nr_results) : 0;
}

int main(int argc, char **argv)
{
	size_t missed = 0;
	int ret;

	parse(argc, argv);
	ret = prepare();
	if (!ret)
		ret = run_all();
	free(scratch);
	free(host);
	copy_memory_free(&memory);
	if (ret)
		return 1;
	for (size_t i = 0; i < nr_results; i++)
		missed += results[i].missed;
	printf("# %zu of %zu lines miss their target\n", missed, nr_results);
	return opt.check && missed;
}
