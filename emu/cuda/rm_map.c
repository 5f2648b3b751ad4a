// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <unistd.h>

#include "counts.h"
#include "fault.h"
#include "rm_state.h"

/* NVOS33: hClient, hDevice, hMemory, pad, offset, length, pLinearAddress, status, flags; then fd, pad */
enum {
	MAP_CLIENT = 0,
	MAP_DEVICE = 4,
	MAP_MEMORY = 8,
	MAP_PAD = 12,
	MAP_OFFSET = 16,
	MAP_LENGTH = 24,
	MAP_ADDRESS = 32
};
enum { MAP_FLAGS = 44, MAP_FD = 48, MAP_FD_PAD = 52 };
/* NVOS34: hClient, hDevice, hMemory, pad, pLinearAddress, status, flags */
enum { UNMAP_ADDRESS = 16 };
/* NVOS56: hClient, hDevice, hMemory, pad, pOldCpuAddress, pNewCpuAddress, status */
enum { UPDATE_OLD = 16, UPDATE_NEW = 24 };

#define FLAG_ACCESS	 0x3U
#define FLAG_MAPPING	 0x18000U
#define FLAG_REFLECTED	 0x10000U
#define FLAG_CACHING	 0x3800000U
#define FLAG_CACHING_WC	 0x1000000U
#define FLAG_CC		 0x4000000U
#define FLAG_SKIP_SIZE	 0x100U
#define ACCESS_READ_ONLY 1U
#define ACCESS_INVALID	 3U
#define GPU_PAGE	 65536ULL

static struct rm_map *maps;

struct rm_map *rm_maps(void)
{
	return maps;
}

static uint32_t check_flags(uint32_t flags)
{
	uint32_t known = FLAG_ACCESS | FLAG_MAPPING | FLAG_CACHING | FLAG_CC | FLAG_SKIP_SIZE;

	if (flags & ~known || (flags & FLAG_ACCESS) == ACCESS_INVALID || (flags & FLAG_MAPPING) == FLAG_MAPPING)
		return RM_INVALID_FLAGS;
	return RM_OK;
}

/* The caller names the device that is the memory's parent, or its subdevice. */
static uint32_t find_memory(struct rm_client *client, const void *arg, struct rm_object **memory_p)
{
	struct rm_object *device = rm_object_find(client, rm_get32(arg, MAP_DEVICE));
	struct rm_object *memory = rm_object_find(client, rm_get32(arg, MAP_MEMORY));
	uint32_t parent;

	if (!device || !memory)
		return RM_OBJECT_NOT_FOUND;
	if (memory->hclass != RM_CLASS_MEMORY || device->hclass == RM_CLASS_MEMORY)
		return RM_INVALID_OBJECT;
	parent = device->hclass == RM_CLASS_SUBDEVICE ? device->parent : device->handle;
	if (memory->parent != parent)
		return RM_INVALID_OBJECT_PARENT;
	*memory_p = memory;
	return RM_OK;
}

static uint32_t check_range(const struct emu_mem *mem, uint64_t off, uint64_t len)
{
	if (off >= mem->size)
		return RM_INVALID_BASE;
	if (!len || len > mem->size - off)
		return RM_INVALID_LIMIT;
	return RM_OK;
}

static uint32_t find_device_file(const void *arg, const struct rm_object *memory, struct emu_file **dev_p)
{
	struct emu_file *dev = emu_file_find((int)rm_get32(arg, MAP_FD));

	if (!dev || dev->kind != EMU_FILE_DEV || !emu_file_is_ours(dev)) {
		emu_violation("MAP_MEMORY names descriptor %d, which is no device file of this process",
			      (int)rm_get32(arg, MAP_FD));
		return RM_INVALID_ARGUMENT;
	}
	if (dev->gpu != memory->gpu)
		return RM_INVALID_ARGUMENT;
	if (dev->used) {
		emu_violation("second MAP_MEMORY on descriptor %d", (int)rm_get32(arg, MAP_FD));
		return RM_STATE_IN_USE;
	}
	*dev_p = dev;
	return RM_OK;
}

/* What a client sees that trusts a wrong memory handle: bytes of the neighbouring block. */
static uint64_t drifted(const struct emu_mem *mem)
{
	if (mem->phys + EMU_BLOCK_SIZE + mem->size <= mem->gpu->vram_size)
		return mem->phys + EMU_BLOCK_SIZE;
	return mem->phys >= EMU_BLOCK_SIZE ? mem->phys - EMU_BLOCK_SIZE : 0;
}

/* Access bits keep a mapping out of static BAR1: its pages are shared by everyone. */
static uint32_t place(struct rm_map *map, struct emu_gpu *gpu, uint64_t phys, uint64_t len, uint32_t flags)
{
	uint64_t in_page = phys & (GPU_PAGE - 1);

	if (gpu->static_bar1 && !(flags & FLAG_ACCESS)) {
		map->address = gpu->bar1_base + phys;
		return RM_OK;
	}
	map->window_len = (in_page + len + GPU_PAGE - 1) & ~(GPU_PAGE - 1);
	if (rm_bar1_take(gpu, map->window_len, &map->window))
		return RM_NO_MEMORY;
	map->address = gpu->bar1_base + map->window + in_page;
	return RM_OK;
}

static void attach(struct rm_map *map, struct emu_file *dev, uint64_t phys, uint64_t len, uint32_t flags)
{
	map->file = dev;
	dev->map = map;
	dev->used = true;
	dev->context.hclient = map->client->handle;
	dev->context.hmemory = map->object->handle;
	dev->context.address = map->address;
	dev->context.phys = phys;
	dev->context.len = len;
	dev->context.read_only = !emu_driver.abi->split_maps && (flags & FLAG_ACCESS) == ACCESS_READ_ONLY;
}

static uint32_t create(struct rm_client *client, struct rm_object *memory, struct emu_file *dev, void *arg)
{
	uint64_t phys = memory->mem->phys, off = rm_get64(arg, MAP_OFFSET), len = rm_get64(arg, MAP_LENGTH);
	uint32_t flags = rm_get32(arg, MAP_FLAGS), status;
	struct rm_map *map = calloc(1, sizeof(*map));

	if (!map)
		return RM_NO_MEMORY;
	if (emu_fault("rm.wrongmem", NULL))
		phys = drifted(memory->mem);
	status = place(map, memory->gpu, phys + off, len, flags);
	if (status) {
		free(map);
		return status;
	}
	map->client = client;
	map->object = memory;
	map->device = rm_get32(arg, MAP_DEVICE);
	if (emu_fault("rm.addr", NULL))
		map->address = memory->gpu->bar1_base + memory->gpu->bar1_size + off;
	map->alias = map->address;
	attach(map, dev, phys + off, len, flags);
	map->next = maps;
	maps = map;
	flags = (flags & ~(FLAG_MAPPING | FLAG_CACHING)) | FLAG_REFLECTED;
	rm_put32(arg, MAP_FLAGS, emu_driver.abi->mmap_exact ? flags | FLAG_CACHING_WC : flags);
	rm_put64(arg, MAP_ADDRESS, map->address);
	return RM_OK;
}

uint32_t rm_map_memory(struct emu_file *file, void *arg)
{
	struct rm_client *client = rm_client_find(rm_get32(arg, MAP_CLIENT), file);
	struct rm_object *memory;
	struct emu_file *dev;
	uint32_t status;

	rm_must_be_zero("MAP_MEMORY pad at 12", rm_get32(arg, MAP_PAD));
	rm_must_be_zero("MAP_MEMORY pad at 52", rm_get32(arg, MAP_FD_PAD));
	if (!client)
		return RM_INVALID_CLIENT;
	status = rm_fault_status("rm.map", RM_NO_MEMORY);
	if (status)
		return status;
	status = find_memory(client, arg, &memory);
	if (status)
		return status;
	status = check_flags(rm_get32(arg, MAP_FLAGS));
	if (status)
		return status;
	status = check_range(memory->mem, rm_get64(arg, MAP_OFFSET), rm_get64(arg, MAP_LENGTH));
	if (status)
		return status;
	status = find_device_file(arg, memory, &dev);
	if (status)
		return status;
	return create(client, memory, dev, arg);
}

/*
 * With static BAR1 several mappings of one object have one address, and the driver does not care which of them goes:
 * take one that is not mapped into the process any more.
 */
static struct rm_map *find_map(struct rm_client *client, const void *arg, uint64_t address)
{
	struct rm_map *found = NULL;

	for (struct rm_map *map = maps; map; map = map->next) {
		if (map->client != client || map->object->handle != rm_get32(arg, MAP_MEMORY) ||
		    map->device != rm_get32(arg, MAP_DEVICE) || map->alias != address)
			continue;
		if (!found || !emu_vma_of_map(map))
			found = map;
	}
	return found;
}

uint32_t rm_unmap_memory(struct emu_file *file, void *arg)
{
	struct rm_client *client = rm_client_find(rm_get32(arg, MAP_CLIENT), file);
	struct rm_object *memory;
	struct rm_map *map;
	uint32_t status;

	rm_must_be_zero("UNMAP_MEMORY pad at 12", rm_get32(arg, MAP_PAD));
	if (!client)
		return RM_INVALID_CLIENT;
	status = rm_fault_status("rm.unmap", RM_OPERATING_SYSTEM);
	if (status)
		return status;
	status = find_memory(client, arg, &memory);
	if (status)
		return status;
	map = find_map(client, arg, rm_get64(arg, UNMAP_ADDRESS));
	if (!map) {
		emu_violation("UNMAP_MEMORY of 0x%x at 0x%llx, where it is not mapped", memory->handle,
			      (unsigned long long)rm_get64(arg, UNMAP_ADDRESS));
		return RM_OBJECT_NOT_FOUND;
	}
	if (emu_vma_of_map(map))
		emu_violation("UNMAP_MEMORY of 0x%x while the process has it mapped", memory->handle);
	rm_map_free(map);
	return RM_OK;
}

uint32_t rm_update_mapping(struct emu_file *file, void *arg)
{
	struct rm_client *client = rm_client_find(rm_get32(arg, MAP_CLIENT), file);
	struct rm_map *map;

	rm_must_be_zero("UPDATE_DEVICE_MAPPING_INFO pad at 12", rm_get32(arg, MAP_PAD));
	if (!client)
		return RM_INVALID_CLIENT;
	map = find_map(client, arg, rm_get64(arg, UPDATE_OLD));
	if (!map)
		return RM_OBJECT_NOT_FOUND;
	map->alias = rm_get64(arg, UPDATE_NEW);
	return RM_OK;
}

void rm_map_free(struct rm_map *map)
{
	struct rm_map **link = &maps;

	while (*link != map)
		link = &(*link)->next;
	*link = map->next;
	emu_vma_forget_map(map);
	if (map->file)
		map->file->map = NULL;
	if (map->window_len)
		rm_bar1_give(map->object->gpu, map->window, map->window_len);
	free(map);
}

static bool same_context(const struct emu_file *a, const struct emu_file *b)
{
	return a->context.hclient == b->context.hclient && a->context.hmemory == b->context.hmemory &&
	       a->context.address == b->context.address;
}

/* A file whose mapping was unmapped in place of @closing's, see find_map(). */
static struct emu_file *twin_of(const struct emu_file *closing)
{
	for (struct emu_file *file = emu_files(); file; file = file->next) {
		if (file != closing && file->used && !file->map && !file->closed && same_context(file, closing))
			return file;
	}
	return NULL;
}

void rm_map_file_closing(struct emu_file *file)
{
	struct emu_file *twin = file->map ? twin_of(file) : NULL;

	/* else allowed: a process that exits closes its device files before its clients go, and mmaps hold their file */
	if (twin) {
		twin->map = file->map;
		twin->map->file = twin;
		file->map = NULL;
	}
}

void rm_map_file_gone(const struct emu_file *file)
{
	if (file->map)
		file->map->file = NULL;
}
