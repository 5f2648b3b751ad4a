// SPDX-License-Identifier: MIT
#include "state.h"

#include "gdrdrv_gpu.h"
#include "tap.h"

#include <inttypes.h>
#include <unistd.h>

#define MEMTYPES "/sys/kernel/debug/x86/pat_memtype_list"
#define REFCOUNT "/proc/driver/gdrdrv/nv_get_pages_refcount"

static uint64_t count_lines(const char *path, const char *word, uint64_t first, uint64_t last)
{
	FILE *file = fopen(path, "re");
	uint64_t nr = 0, start;
	char line[512];

	check(file);
	while (fgets(line, sizeof(line), file)) {
		const char *number = strstr(line, "0x");

		if (!strstr(line, word))
			continue;
		start = number ? strtoull(number, NULL, 16) : 0;
		nr += start >= first && start <= last;
	}
	fclose(file);
	return nr;
}

struct state state_now(int gpu)
{
	struct bl_card_counters counters = gpu_counters(gpu);
	uint64_t bar = gpu_bar_pa();

	return (struct state){
		.nr_pins = access(REFCOUNT, F_OK) ? 0 : (uint64_t)drv_nr_pins(),
		.nr_maps = count_lines("/proc/self/maps", GDRDRV_PATH, 0, UINT64_MAX),
		.nr_wc = count_lines(MEMTYPES, "write-combining", bar, bar + gpu_info(gpu).size - 1),
		.card_pins = counters.pins,
		.dma_maps = counters.dma_maps,
		.dmabufs = counters.dmabufs,
		.used = counters.used,
		.late_writes = counters.late_writes,
		.misuses = counters.misuses,
	};
}

void state_check(const struct state *got, const struct state *want)
{
	check_eq(got->nr_pins, want->nr_pins);
	check_eq(got->nr_maps, want->nr_maps);
	check_eq(got->nr_wc, want->nr_wc);
	check_eq(got->card_pins, want->card_pins);
	check_eq(got->dma_maps, want->dma_maps);
	check_eq(got->dmabufs, want->dmabufs);
	check_eq(got->used, want->used);
	check_eq(got->late_writes, want->late_writes);
	check_eq(got->misuses, want->misuses);
}
