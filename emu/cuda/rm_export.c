// SPDX-License-Identifier: MIT
/*
 * CUDA's own client, and objects that travel as descriptors. CUDA's handles are made by calls, not by escapes: the
 * stand-in libcuda and this half live in one process.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "counts.h"
#include "rm_control.h"

#define CUDA_FIRST_HANDLE 0x5c000001U
#define IMPORT_MAX	  128
#define TYPE_VIDMEM	  1
#define SHARE_USER	  (1U << 2)

/* CUDA's client of this process; that of a parent is of no use to a child. */
static struct rm_client *cuda_client(bool create)
{
	struct rm_client *client;

	for (client = rm_clients(); client; client = client->next) {
		if (!client->file && client->pid == getpid())
			return client;
	}
	if (!create)
		return NULL;
	client = rm_client_new(NULL, 0);
	if (client)
		client->next_handle = CUDA_FIRST_HANDLE;
	return client;
}

int emu_rm_add(struct emu_mem *mem, uint32_t *hclient_p, uint32_t *hmemory_p)
{
	struct rm_object *object;
	struct rm_client *client;
	int ret = -ENOMEM;

	rm_lock();
	emu_files_reap(false);
	client = cuda_client(true);
	if (!client || rm_object_new(client, 0, &object))
		goto unlock;
	object->hclass = RM_CLASS_MEMORY;
	object->parent = client->handle;
	object->gpu = mem->gpu;
	object->mem = emu_mem_get(mem);
	*hclient_p = client->handle;
	*hmemory_p = object->handle;
	ret = 0;
unlock:
	rm_unlock();
	return ret;
}

void emu_rm_remove(uint32_t hmemory)
{
	struct rm_client *client;
	struct rm_object *object;

	rm_lock();
	client = cuda_client(false);
	object = client ? rm_object_find(client, hmemory) : NULL;
	if (object)
		rm_object_free(client, object);
	rm_unlock();
}

void emu_rm_share(uint32_t hmemory)
{
	struct rm_client *client;
	struct rm_object *object;

	rm_lock();
	client = cuda_client(false);
	object = client ? rm_object_find(client, hmemory) : NULL;
	if (object)
		object->shares |= SHARE_USER;
	rm_unlock();
}

int emu_rm_export_fd(struct emu_mem *mem)
{
	struct emu_file *file;
	int fd;

	rm_lock();
	emu_files_reap(false);
	emu_driver_reload();
	fd = emu_file_open(EMU_FILE_CTL, O_RDWR | O_CLOEXEC, &file);
	if (fd >= 0)
		file->mem = emu_mem_get(mem);
	rm_unlock();
	return fd;
}

static struct emu_mem *exported(const void *params)
{
	struct emu_file *file = emu_file_find((int)rm_get32(params, 0));

	return file && file->kind == EMU_FILE_CTL ? file->mem : NULL;
}

/* fd 0, deviceInstance 4, from 545 gpuInstanceId 8, then maxObjects:2 and metadata:64 */
static uint32_t get_export_object_info(struct rm_client *client, struct rm_object *none, void *params)
{
	bool has_instance = emu_driver.abi->export_info == 80;
	struct emu_mem *mem = exported(params);
	size_t off = has_instance ? 12 : 8;

	if (!mem)
		return RM_INVALID_ARGUMENT;
	memset((char *)params + off, 0, emu_driver.abi->export_info - off);
	rm_put32(params, 4, mem->gpu->instance);
	if (has_instance)
		rm_put32(params, 8, RM_NO_GPU);
	rm_put16(params, off, 1);
	return RM_OK;
}

/* fd 0, hParent 4, objects[128] 8, objectTypes[128] 520, numObjects 648:2, index 650:2 */
static uint32_t import_objects_from_fd(struct rm_client *client, struct rm_object *none, void *params)
{
	struct rm_object *parent = rm_object_find(client, rm_get32(params, 4)), *object;
	unsigned int nr = rm_get32(params, 648) & 0xffff, index = rm_get32(params, 648) >> 16;
	struct emu_mem *mem = exported(params);
	uint32_t status;

	if (!mem || !nr || nr > IMPORT_MAX || index + nr > 1)
		return RM_INVALID_ARGUMENT;
	if (!parent)
		return RM_OBJECT_NOT_FOUND;
	status = rm_object_dup(client, parent, rm_get32(params, 8), mem, &object);
	if (status)
		return status;
	rm_put32(params, 8, object->handle);
	rm_put8(params, 520, TYPE_VIDMEM);
	return RM_OK;
}

const struct rm_control rm_controls_export[] = {
	{0x3d08, RM_CLASS_CLIENT, RM_SIZE_EXPORT_INFO, 0, get_export_object_info},
	{0x3d0c, RM_CLASS_CLIENT, RM_SIZE_FIXED, 652, import_objects_from_fd},
	{0},
};
