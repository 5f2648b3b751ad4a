// SPDX-License-Identifier: MIT
/*
 * gds_stats - counters of a process that uses libcufile, in the lines of NVIDIA's tool
 *
 * Bandwidths and latencies are those of an interval, one second unless -i says otherwise; all else counts from when the
 * process opened the driver.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/option.h"
#include "stat/stat.h"

#define MIB   (1UL << 20)
#define GIB   1073741824.0
#define SIZES 16

static void usage(FILE *out)
{
	fputs("usage: gds_stats -p PID [-l LEVEL] [-i SECONDS]\n"
	      "  -p PID      process\n"
	      "  -l LEVEL    1 sums, 2 and sizes, 3 and GPUs; default what the process counts\n"
	      "  -i SECONDS  interval of bandwidths and latencies (1); 0: since counting began\n",
	      out);
}

static double gib_per_s(double bytes)
{
	return bytes / GIB;
}

static void print_direction(const char *name, const struct stat_sample *whole, const struct stat_sample *part, bool write)
{
	struct stat_flow all = stat_flow(whole, false, BL_PATH_NR, write), now = stat_flow(part, false, BL_PATH_NR, write);

	printf("Total %s Errors : %" PRIu64 "\n", name, all.errors);
	printf("Total %s Size (MiB): %" PRIu64 "\n", name, all.bytes / MIB);
	printf("%s BandWidth (GiB/s): %g\n", name, gib_per_s(now.per_s));
	printf("Avg %s Latency (us): %.0f\n", name, now.us);
}

static void print_batch(const struct stat_sample *whole, const struct stat_sample *part)
{
	struct stat_flow read = stat_flow(whole, true, BL_PATH_NR, false), write = stat_flow(whole, true, BL_PATH_NR, true);
	struct stat_flow now_read = stat_flow(part, true, BL_PATH_NR, false);
	struct stat_flow now_write = stat_flow(part, true, BL_PATH_NR, true);
	uint64_t calls = now_read.calls + now_write.calls, submits = part->sum.ops[BL_OP_BATCH_SUBMIT][0];
	double total_us = now_read.us * (double)now_read.calls + now_write.us * (double)now_write.calls;

	printf("Total Batch Read Size (MiB): %" PRIu64 "\n", read.bytes / MIB);
	printf("Total Batch Write Size (MiB): %" PRIu64 "\n", write.bytes / MIB);
	printf("Batch Read BandWidth (GiB/s): %g\n", gib_per_s(now_read.per_s));
	printf("Batch Write BandWidth (GiB/s): %g\n", gib_per_s(now_write.per_s));
	printf("Avg Batch Submit Latency (us): %.0f\n",
	       submits ? (double)part->sum.submit_ns / 1e3 / (double)submits : 0);
	printf("Avg Batch Completion Latency (us): %.0f\n", calls ? total_us / (double)calls : 0);
}

static uint64_t sizes_from(const struct bl_stats_block *sum, bool write, unsigned int class)
{
	uint64_t calls = sum->sizes[write][class];

	for (unsigned int i = class + 1; class == SIZES - 1 && i < BL_STATS_SIZES; i++)
		calls += sum->sizes[write][i];
	return calls;
}

static void print_sizes(const struct bl_stats_block *sum)
{
	printf("READ-WRITE SIZE HISTOGRAM :\n");
	for (unsigned int i = 0; i < SIZES; i++) {
		if (i == SIZES - 1)
			printf("%u-...(KiB): ", 2U << i);
		else
			printf("%u-%u(KiB): ", i ? 2U << i : 0, 4U << i);
		printf("%" PRIu64 "  %" PRIu64 "\n", sizes_from(sum, false, i), sizes_from(sum, true, i));
	}
}

/* Counters are read while others count: of two the second may be seen to have grown and the first not. */
static uint64_t rest(uint64_t whole, uint64_t part)
{
	return part < whole ? whole - part : 0;
}

static void print_gpu_way(const char *name, const struct bl_stats_gpu *all, const struct bl_stats_gpu *now, uint64_t ns,
			  bool write)
{
	const struct bl_stats_way *way = &all->way[write];

	printf("%s: bw=%g util(%%)=%.0f n=%" PRIu64 " posix=%" PRIu64 " unalign=%" PRIu64, name,
	       gib_per_s((double)now->way[write].bytes * 1e9 / (double)ns), (double)now->way[write].ns * 100 / (double)ns,
	       (uint64_t)way->calls, rest(way->calls, all->nvfs[write]), (uint64_t)all->unaligned[write]);
	/* DMA of holes and of data in inodes is the module's matter, which counts it itself */
	if (!write)
		printf(" r_sparse=0 r_inline=0");
	printf(" err=%" PRIu64 " MiB=%" PRIu64 " ", (uint64_t)way->errors, (uint64_t)way->bytes / MIB);
}

static void print_gpus(const struct bl_stats_shm *shm, const struct stat_sample *whole, const struct stat_sample *part)
{
	uint32_t nr = atomic_load(&shm->nr_gpus);

	printf("PER_GPU STATS:\n");
	for (uint32_t i = 0; i < nr && i < BL_STATS_GPUS; i++) {
		const struct bl_stats_gpu *gpu = &whole->sum.gpu[i];

		printf("GPU %u ", i);
		print_gpu_way("Read", gpu, &part->sum.gpu[i], part->ns, false);
		print_gpu_way("Write", gpu, &part->sum.gpu[i], part->ns, true);
		printf("BufRegister: n=%" PRIu64 " err=%" PRIu64 " free=%" PRIu64 " MiB=%" PRIu64 "\n", (uint64_t)gpu->maps,
		       (uint64_t)gpu->map_errors, (uint64_t)gpu->unmaps, (uint64_t)gpu->bytes / MIB);
	}
}

static void print(const struct bl_stats_shm *shm, const struct stat_sample *whole, const struct stat_sample *part,
		  unsigned int level)
{
	printf("cuFile STATS VERSION : %u\n", shm->version);
	printf("GLOBAL STATS:\n");
	printf("Total Files: %" PRIu64 "\n", (uint64_t)whole->sum.ops[BL_OP_HANDLE_REGISTER][0]);
	print_direction("Read", whole, part, false);
	print_direction("Write", whole, part, true);
	print_batch(whole, part);
	if (level >= 2)
		print_sizes(&whole->sum);
	if (level >= 3)
		print_gpus(shm, whole, part);
}

int main(int argc, char **argv)
{
	const struct bl_stats_shm *shm;
	static struct stat_sample before, whole, part;
	unsigned int level = 0;
	double interval = 1;
	pid_t pid = 0;
	int c;

	while ((c = getopt(argc, argv, "p:l:i:h")) != -1) {
		if (c == 'p')
			pid = stat_pid(optarg);
		else if (c == 'l')
			level = (unsigned int)tool_number("-l", optarg, 1, 3);
		else if (c == 'i')
			interval = stat_seconds("-i", optarg);
		else {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? EXIT_SUCCESS : EXIT_FAILURE;
		}
	}
	if (optind < argc)
		tool_die("unexpected argument \"%s\"", argv[optind]);
	if (!pid)
		tool_die("no process: -p PID");
	shm = stat_open(pid);
	if (interval > 0) {
		stat_take(shm, &before);
		stat_wait(interval);
	}
	stat_take(shm, &whole);
	part = whole;
	if (interval > 0)
		stat_since(&part, &before);
	if (level > whole.level && whole.level)
		fprintf(stderr, "gds_stats: the process counts up to level %u\n", whole.level);
	if (!level || level > whole.level)
		level = whole.level;
	print(shm, &whole, &part, level);
	bl_stats_shm_close(shm);
	return tool_finish(EXIT_SUCCESS);
}
