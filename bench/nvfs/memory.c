// SPDX-License-Identifier: MIT
/*
 * Memory of the host that bound memory takes: what is free before and after, the GPU driver's tables included. Once one
 * mapping that grows, once more and more of them.
 */
#include "bed.h"

#include <stdio.h>
#include <unistd.h>

#define MAX_MAPS 64

static double used_kib(void)
{
	/* what the kernel frees later, and what CPUs keep for themselves */
	usleep(300000);
	return (double)bed_number("/proc/meminfo", "MemTotal") - (double)bed_number("/proc/meminfo", "MemFree");
}

static double bind_many(const struct bed *bed, size_t shadow_len, uint64_t len, int nr)
{
	struct bed_map maps[MAX_MAPS];
	double before, after;

	before = used_kib();
	for (int i = 0; i < nr; i++) {
		bed_shadow(bed, shadow_len, NULL, &maps[i]);
		bed_bind(bed, &maps[i], len);
		/* the drive gets its addresses */
		bed_read(bed, &maps[i], 0, 64 * KIB);
	}
	after = used_kib();
	for (int i = 0; i < nr; i++)
		bed_unmap(&maps[i]);
	return after - before;
}

static void print_row(const struct bed *bed, size_t shadow_len, uint64_t len, int nr)
{
	double kib = bind_many(bed, shadow_len, len, nr);
	double gib = (double)len * nr / (double)GIB;
	double rest = kib - (double)shadow_len * nr / KIB;

	printf("%6d %10zu %12lu %10.0f %12.0f %10.0f\n", nr, shadow_len / KIB, (unsigned long)(len / MIB), kib, rest,
	       rest / gib);
}

void bench_memory(const struct bed *bed)
{
	uint64_t most = bed->len;

	printf("\n# memory of the host for bound memory, in KiB; rest: without the shadows; the last: for each GiB\n"
	       "# %4s %10s %12s %10s %12s %10s\n",
	       "nr", "shadow_KiB", "bound_MiB", "KiB", "rest", "rest/GiB");
	bind_many(bed, MIB, 64 * MIB, 4);
	for (uint64_t len = 256 * MIB; len <= most; len *= 2)
		print_row(bed, MIB, len, 1);
	for (int nr = 4; nr <= MAX_MAPS; nr *= 4)
		print_row(bed, MIB, 256 * MIB <= most ? 256 * MIB : most, nr);
	print_row(bed, 16 * MIB, 256 * MIB <= most ? 256 * MIB : most, 4);
}
