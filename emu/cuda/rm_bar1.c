// SPDX-License-Identifier: MIT
/*
 * Windows of dynamic BAR1, in GPU pages. With static BAR1 only the part behind the image of video memory is dynamic.
 */
#include "env.h"
#include "extent.h"
#include "rm_state.h"

static struct emu_extents windows[EMU_MAX_GPUS];
static uint64_t totals[EMU_MAX_GPUS];
static bool ready[EMU_MAX_GPUS];

static struct emu_extents *windows_of(const struct emu_gpu *gpu)
{
	uint64_t start = gpu->static_bar1 ? gpu->vram_size : 0;
	uint64_t len = gpu->bar1_size > start ? gpu->bar1_size - start : 0;

	if (!ready[gpu->index]) {
		ready[gpu->index] = !len || !emu_extents_init(&windows[gpu->index], start, len);
		totals[gpu->index] = ready[gpu->index] ? len : 0;
	}
	return &windows[gpu->index];
}

int rm_bar1_take(struct emu_gpu *gpu, uint64_t len, uint64_t *start_p)
{
	return emu_extents_take(windows_of(gpu), len, 65536, start_p);
}

void rm_bar1_give(struct emu_gpu *gpu, uint64_t start, uint64_t len)
{
	emu_extents_give(windows_of(gpu), start, len);
}

uint64_t rm_bar1_used(const struct emu_gpu *gpu)
{
	uint64_t free_bytes = windows_of(gpu)->free_bytes;

	return totals[gpu->index] - free_bytes;
}

/* Static BAR1 is never used up: the driver's figure is then what is left of video memory. */
uint64_t rm_bar1_avail(const struct emu_gpu *gpu)
{
	return gpu->static_bar1 ? gpu->vram_size - emu_vram_used(gpu) : windows_of(gpu)->free_bytes;
}

uint64_t rm_bar1_largest(const struct emu_gpu *gpu)
{
	uint64_t largest = 0;

	if (gpu->static_bar1)
		return rm_bar1_avail(gpu);
	for (struct emu_extent *extent = windows_of(gpu)->first; extent; extent = extent->next)
		largest = extent->len > largest ? extent->len : largest;
	return largest;
}
