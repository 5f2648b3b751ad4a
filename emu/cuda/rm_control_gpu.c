// SPDX-License-Identifier: MIT
/* Controls of memory objects and of subdevices. */
#include <string.h>

#include "fault.h"
#include "rm_card.h"
#include "rm_control.h"

#define PAIRS_MAX 64

#define BLOCK_UNITS (EMU_BLOCK_SIZE / 4096)

static uint32_t surface_info(struct rm_object *memory, uint32_t index, uint32_t *value_p)
{
	uint64_t size = memory->mem->size;
	long units = (long)(size / 4096 + BLOCK_UNITS);

	if (index == 7 || index == 2 || index == 3) {
		if (emu_fault("rm.size", &units))
			size = (uint64_t)units * 4096;
	}
	switch (index) {
	case 7: /* size in units of 4 KiB */
		*value_p = (uint32_t)(size / 4096);
		return RM_OK;
	case 2: /* size in bytes, low and high word */
	case 3:
		*value_p = index == 2 ? (uint32_t)size : (uint32_t)(size >> 32);
		return emu_driver.abi->size_in_bytes ? RM_OK : RM_INVALID_ARGUMENT;
	case 1: /* not compressed */
	case 5:
	case 8: /* no attributes without a hardware resource */
		*value_p = 0;
		return RM_OK;
	default:
		return RM_INVALID_ARGUMENT;
	}
}

static uint32_t kib(uint64_t bytes)
{
	return (uint32_t)(bytes / 1024);
}

static uint32_t fb_info(struct rm_object *subdevice, uint32_t index, uint32_t *value_p)
{
	struct emu_gpu *gpu = subdevice->gpu;

	switch (index) {
	case 0x05:
		*value_p = kib(gpu->bar1_size);
		return RM_OK;
	case 0x08:
	case 0x09:
		*value_p = kib(gpu->vram_size);
		return RM_OK;
	case 0x18: /* broken */
		*value_p = 0;
		return RM_OK;
	case 0x1d:
		*value_p = kib(rm_bar1_avail(gpu));
		return RM_OK;
	case 0x1f:
		*value_p = kib(rm_bar1_largest(gpu));
		return RM_OK;
	case 0x36: /* GPU without video memory */
		*value_p = 0;
		return emu_driver.abi->major >= 545 ? RM_OK : RM_INVALID_ARGUMENT;
	default:
		return RM_INVALID_ARGUMENT;
	}
}

/* Pairs { index, data } of 32 bits each. */
static uint32_t answer_pairs(struct rm_object *object, void *pairs, uint32_t nr,
			     uint32_t (*answer)(struct rm_object *object, uint32_t index, uint32_t *value_p))
{
	uint32_t value = 0, status;

	for (uint32_t i = 0; i < nr; i++) {
		status = answer(object, rm_get32(pairs, i * 8), &value);
		if (status)
			return status;
		rm_put32(pairs, i * 8 + 4, value);
	}
	return RM_OK;
}

/* count 0, pointer to pairs 8:8 */
static uint32_t pointed_pairs(struct rm_object *object, void *params,
			      uint32_t (*answer)(struct rm_object *object, uint32_t index, uint32_t *value_p))
{
	uint32_t nr = rm_get32(params, 0);

	rm_must_be_zero("pad at 4 of a list of pairs", rm_get32(params, 4));
	if (!nr || nr > PAIRS_MAX || !rm_getptr(params, 8))
		return RM_INVALID_ARGUMENT;
	return answer_pairs(object, rm_getptr(params, 8), nr, answer);
}

static uint32_t get_surface_info(struct rm_client *client, struct rm_object *memory, void *params)
{
	return pointed_pairs(memory, params, surface_info);
}

static uint32_t get_mem_page_size(struct rm_client *client, struct rm_object *memory, void *params)
{
	uint64_t page = (memory->mem->phys | memory->mem->size) % EMU_BLOCK_SIZE ? 65536 : EMU_BLOCK_SIZE;

	if (emu_driver.abi->page_size == 8)
		rm_put64(params, 0, page);
	else
		rm_put32(params, 0, (uint32_t)page);
	return RM_OK;
}

static uint32_t fb_get_info(struct rm_client *client, struct rm_object *subdevice, void *params)
{
	return pointed_pairs(subdevice, params, fb_info);
}

/* count 0, pairs 4 */
static uint32_t fb_get_info_v2(struct rm_client *client, struct rm_object *subdevice, void *params)
{
	uint32_t nr = rm_get32(params, 0);

	if (!nr || nr > (emu_driver.abi->fb_info_v2 - 4U) / 8)
		return RM_INVALID_ARGUMENT;
	return answer_pairs(subdevice, (char *)params + 4, nr, fb_info);
}

/* 565: enabled 0:1, size 8:8; 570: enabled 0:1, start 8:8, size 16:8; 580: also write-combined 1:1 */
static uint32_t fb_get_static_bar1_info(struct rm_client *client, struct rm_object *subdevice, void *params)
{
	struct emu_gpu *gpu = subdevice->gpu;
	const struct rm_abi *abi = emu_driver.abi;
	uint64_t size = gpu->static_bar1 ? gpu->vram_size : 0;

	memset(params, 0, abi->static_bar1);
	rm_put8(params, 0, gpu->static_bar1 != 0);
	rm_put64(params, abi->static_bar1 - 8, size);
	if (abi->major >= 580)
		rm_put8(params, 1, gpu->static_bar1 != 0);
	return RM_OK;
}

/* index 0, flags 4 (2: binary), length 8, data 12:256 */
static uint32_t gpu_get_gid_info(struct rm_client *client, struct rm_object *subdevice, void *params)
{
	uint32_t flags = rm_get32(params, 4);

	if (rm_get32(params, 0) || flags & ~2U)
		return RM_INVALID_ARGUMENT;
	memset((char *)params + 12, 0, 256);
	if (flags & 2)
		memcpy((char *)params + 12, subdevice->gpu->uuid, sizeof(subdevice->gpu->uuid));
	else
		rm_uuid_text(subdevice->gpu, (char *)params + 12);
	rm_put32(params, 8, flags & 2 ? sizeof(subdevice->gpu->uuid) : RM_UUID_TEXT);
	return RM_OK;
}

static void put_bar(void *params, unsigned int nr, uint64_t base, uint64_t size)
{
	size_t off = 8 + nr * 24;

	rm_put32(params, off + 4, (uint32_t)(size >> 20));
	rm_put64(params, off + 8, size);
	rm_put64(params, off + 16, base);
}

/* count 0, entries { flags 0, sizeMB 4, bytes 8:8, offset 16:8 } from 8 */
static uint32_t bus_get_pci_bar_info(struct rm_client *client, struct rm_object *subdevice, void *params)
{
	struct emu_gpu *gpu = subdevice->gpu;

	memset(params, 0, 200);
	rm_put32(params, 0, 2);
	put_bar(params, 0, rm_bar0_base(gpu), RM_BAR0_SIZE);
	put_bar(params, 1, gpu->bar1_base, gpu->bar1_size);
	return RM_OK;
}

const struct rm_control rm_controls_gpu[] = {
	{0x410110, RM_CLASS_MEMORY, RM_SIZE_FIXED, 16, get_surface_info},
	{0x410118, RM_CLASS_MEMORY, RM_SIZE_PAGE_SIZE, 0, get_mem_page_size},
	{0x20801301, RM_CLASS_SUBDEVICE, RM_SIZE_FIXED, 16, fb_get_info},
	{0x20801303, RM_CLASS_SUBDEVICE, RM_SIZE_FB_INFO_V2, 0, fb_get_info_v2},
	{0x20801354, RM_CLASS_SUBDEVICE, RM_SIZE_STATIC_BAR1, 0, fb_get_static_bar1_info},
	{0x2080014a, RM_CLASS_SUBDEVICE, RM_SIZE_FIXED, 268, gpu_get_gid_info},
	{0x20801803, RM_CLASS_SUBDEVICE, RM_SIZE_FIXED, 200, bus_get_pci_bar_info},
	{0},
};
