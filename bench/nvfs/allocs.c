// SPDX-License-Identifier: MIT
/*
 * How often a read allocates memory of the kernel: trace points of the allocators, counted by the kernel for this
 * process. What grows with the size of a read is what the block layer and the drive's driver take for each of their
 * requests.
 */
#include "bed.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVENTS "/sys/kernel/debug/tracing/events/kmem/"
#define READS  64

static const char *const events[] = { "kmalloc", "kmem_cache_alloc", "mm_page_alloc" };

#define NR_EVENTS (sizeof(events) / sizeof(events[0]))

static int counters[NR_EVENTS];

static int open_counter(const char *name)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .disabled = 1 };
	char path[128];
	int fd;

	snprintf(path, sizeof(path), EVENTS "%s/id", name);
	attr.config = bed_number(path, NULL);
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		bed_die("count trace points");
	return fd;
}

static void count(bool on)
{
	for (size_t i = 0; i < NR_EVENTS; i++) {
		if (ioctl(counters[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0))
			bed_die("count trace points");
	}
}

/* Per read, of all allocators; *pages_p of the page allocator alone. */
static double counted(double *pages_p)
{
	uint64_t value, sum = 0;

	for (size_t i = 0; i < NR_EVENTS; i++) {
		if (read(counters[i], &value, sizeof(value)) != sizeof(value) ||
		    ioctl(counters[i], PERF_EVENT_IOC_RESET, 0))
			bed_die("count trace points");
		sum += value;
		*pages_p = (double)value / READS;
	}
	return (double)sum / READS;
}

static double one_size(const struct bed *bed, const struct bed_map *map, void *host, size_t len)
{
	double pages, all;

	count(true);
	for (int i = 0; i < READS; i++) {
		if (!host)
			bed_read(bed, map, 0, len);
		else if (pread(bed->drive, host, len, 0) != (ssize_t)len)
			bed_die("read " BED_DRIVE);
	}
	count(false);
	all = counted(&pages);
	printf("%9zu %-6s %10.2f %10.2f %12.4f\n", len / KIB, host ? "host" : "card", all, pages,
	       all / ((double)len / 4096));
	return all;
}

bool bench_allocs(const struct bed *bed)
{
	static const size_t lens[] = { 4 * KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB };
	double first = 0, last = 0, per_page;
	struct bed_map map;
	void *host = NULL;

	if (posix_memalign(&host, 2 * MIB, 16 * MIB))
		bed_die("get host memory");
	memset(host, 1, 16 * MIB);
	for (size_t i = 0; i < NR_EVENTS; i++)
		counters[i] = open_counter(events[i]);
	bed_shadow(bed, 16 * MIB, NULL, &map);
	bed_bind(bed, &map, 16 * MIB);
	bed_read(bed, &map, 0, MIB);
	printf("\n# allocations of a read: kmalloc, kmem_cache_alloc and mm_page_alloc of this process, mean of %d\n"
	       "# %7s %-6s %10s %10s %12s\n",
	       READS, "KiB", "to", "all", "pages", "per 4 KiB");
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		one_size(bed, &map, host, lens[i]);
		last = one_size(bed, &map, NULL, lens[i]);
		first = lens[i] == MIB ? last : first;
	}
	per_page = (last - first) / (15 * 256);
	printf("# card, from 1 to 16 MiB: %.4f for each 4 KiB more; limit: 0.05%s\n", per_page,
	       per_page > 0.05 ? " MISSED" : " ok");
	bed_unmap(&map);
	free(host);
	return per_page > 0.05;
}
