// SPDX-License-Identifier: MIT
/*
 * CPU time of reads: into memory of the card through the module, and into host memory with plain O_DIRECT, in turn.
 * Once what the kernel charges to the process, and once what the machine was not idle, which has interrupts in it.
 */
#include "bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/stats.h"

/* Ratio of the medians that reads of 1 MiB shall stay within. */
#define TARGET	   1.1
#define MAX_ROUNDS 2000
/* bytes of a round, and of the drive that is read */
#define ROUND (32 * MIB)
#define SPAN  (256 * MIB)

enum way { TO_HOST, TO_HUGE, TO_CARD, NR_WAYS };

static const char *const names[] = { "host, 4K pages", "host, huge pages", "card, nvidia-fs" };

/**
 * struct subject - a way that is measured
 * @to:     where the bytes go, but for the card
 * @cpu_ms: time of the process, for each GiB, by round
 * @busy:   time that the machine was not idle, in all rounds, in ms
 */
struct subject {
	void *to;
	double cpu_ms[MAX_ROUNDS];
	double busy;
};

static struct subject subjects[NR_WAYS];

static double process_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Of all CPUs together; in steps of 10 ms, which even out over many rounds. */
static double idle_ms(void)
{
	FILE *file = fopen("/proc/stat", "re");
	unsigned long idle = 0, iowait = 0;

	if (!file || fscanf(file, "cpu %*u %*u %*u %lu %lu", &idle, &iowait) != 2)
		bed_die("/proc/stat");
	fclose(file);
	return (double)(idle + iowait) * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

static void *room(size_t len, int advice)
{
	void *all = mmap(NULL, len + 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t at = ((uintptr_t)all + 2 * MIB - 1) & ~(2 * MIB - 1);

	if (all == MAP_FAILED || madvise((void *)at, len < 2 * MIB ? 2 * MIB : len, advice))
		bed_die("get host memory");
	for (size_t i = 0; i < len; i += 4096)
		((volatile char *)at)[i] = 1;
	return (void *)at;
}

static void one_round(const struct bed *bed, const struct bed_map *map, const struct subject *s, uint64_t pos,
		      size_t len)
{
	for (size_t i = 0; i < ROUND; i += len) {
		if (!s->to)
			bed_read(bed, map, pos + i, len);
		else if (pread(bed->drive, s->to, len, (off_t)(pos + i)) != (ssize_t)len)
			bed_die("read " BED_DRIVE);
	}
}

static void measure(const struct bed *bed, const struct bed_map *map, size_t rounds, size_t len)
{
	for (size_t i = 0; i < NR_WAYS; i++)
		subjects[i].busy = 0;
	for (size_t i = 0; i < rounds + 1; i++) {
		for (size_t j = 0; j < NR_WAYS; j++) {
			/* whoever comes first pays for what the others find; so it is not always the same */
			struct subject *s = &subjects[(i + j) % NR_WAYS];
			double idle = idle_ms(), wall = (double)tool_now_ns() / 1e6, cpu = process_ms();

			one_round(bed, map, s, i * ROUND % SPAN, len);
			cpu = process_ms() - cpu;
			wall = (double)tool_now_ns() / 1e6 - wall;
			idle = idle_ms() - idle;
			/* the first round warms up */
			if (!i)
				continue;
			s->cpu_ms[i - 1] = cpu * (double)GIB / (double)ROUND;
			s->busy += wall * (double)sysconf(_SC_NPROCESSORS_ONLN) - idle;
		}
	}
}

static bool report(size_t rounds, size_t len)
{
	double host = 0, host_busy = subjects[TO_HOST].busy;
	bool missed = false;

	for (size_t i = 0; i < NR_WAYS; i++) {
		struct tool_stats stats;
		double ratio, busy = subjects[i].busy * (double)GIB / (double)ROUND / (double)rounds;
		const char *verdict = "";

		tool_stats_fill(subjects[i].cpu_ms, rounds, &stats);
		host = i ? host : stats.p50;
		ratio = stats.p50 / host;
		if (i == TO_CARD && len == MIB) {
			verdict = ratio > TARGET ? " MISSED" : " ok";
			missed = ratio > TARGET;
		}
		printf("%9zu %-18s %9.1f %9.1f %9.1f %6.2f%-7s %9.1f %6.2f\n", len / KIB, names[i], stats.min,
		       stats.p50, stats.p99, ratio, verdict, busy, subjects[i].busy / host_busy);
	}
	return missed;
}

bool bench_cpu(const struct bed *bed, size_t rounds)
{
	static const size_t lens[] = { 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB };
	struct bed_map map;
	bool missed = false;

	rounds = rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
	bed_shadow(bed, 16 * MIB, NULL, &map);
	bed_bind(bed, &map, 16 * MIB);
	subjects[TO_HOST].to = room(16 * MIB, MADV_NOHUGEPAGE);
	subjects[TO_HUGE].to = room(16 * MIB, MADV_HUGEPAGE);
	printf("\n# CPU time of reads of %s, %zu rounds of %lu MiB in turn, ms for each GiB; limit for 1 MiB: %.1f of "
	       "the first\n"
	       "# process: as charged to it; machine: all that was not idle\n"
	       "# %7s %-18s %9s %9s %9s %6s %-6s %9s %6s\n",
	       BED_DRIVE, rounds, ROUND / MIB, TARGET, "KiB", "to", "min", "p50", "p99", "ratio", "", "machine",
	       "ratio");
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		measure(bed, &map, rounds, lens[i]);
		missed |= report(rounds, lens[i]);
	}
	bed_unmap(&map);
	return missed;
}
