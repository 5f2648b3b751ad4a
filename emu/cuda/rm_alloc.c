// SPDX-License-Identifier: MIT
#include "counts.h"
#include "fault.h"
#include "rm_state.h"

#define SHARE_TYPES ((1U << 1) | (1U << 2) | (1U << 4))

/**
 * struct alloc - NVOS21 and NVOS64 in one form
 * @root:   client
 * @parent: handle
 * @handle: in: wish or 0; out: handle
 * @hclass: RM_CLASS_*
 * @params: of the class, or NULL
 * @size:   paramsSize, 0: not given
 */
struct alloc {
	uint32_t root;
	uint32_t parent;
	uint32_t handle;
	uint32_t hclass;
	const void *params;
	uint32_t size;
};

static uint32_t class_size(uint32_t hclass)
{
	switch (hclass) {
	case RM_CLASS_CLIENT:
		return emu_driver.abi->root_params;
	case RM_CLASS_DEVICE:
		return RM_DEVICE_PARAMS;
	case RM_CLASS_SUBDEVICE:
		return 4;
	default:
		return 0;
	}
}

static uint32_t alloc_client(struct emu_file *file, struct alloc *alloc)
{
	struct rm_client *client = rm_client_new(file, alloc->handle);

	if (!client)
		return RM_INVALID_CLIENT;
	alloc->handle = client->handle;
	return RM_OK;
}

static uint32_t alloc_device(struct rm_client *client, struct alloc *alloc)
{
	struct rm_object *device;
	struct emu_gpu *gpu;
	uint32_t status;

	if (alloc->parent != client->handle)
		return RM_INVALID_OBJECT_PARENT;
	if (!alloc->params)
		return RM_INVALID_ARGUMENT;
	for (size_t off = 4; off < RM_DEVICE_PARAMS; off += 4)
		rm_must_be_zero("NV01_DEVICE_0 parameter beyond deviceId", rm_get32(alloc->params, off));
	gpu = rm_gpu_by_instance(rm_get32(alloc->params, 0));
	if (!gpu)
		return RM_INVALID_DEVICE;
	if (!emu_gpu_is_open(gpu))
		return RM_INSUFFICIENT_PERMISSIONS;
	status = rm_object_new(client, alloc->handle, &device);
	if (status)
		return status;
	device->hclass = RM_CLASS_DEVICE;
	device->parent = client->handle;
	device->gpu = gpu;
	alloc->handle = device->handle;
	return RM_OK;
}

static uint32_t alloc_subdevice(struct rm_client *client, struct alloc *alloc)
{
	struct rm_object *device = rm_object_find(client, alloc->parent), *subdevice;
	uint32_t status;

	if (!device)
		return RM_OBJECT_NOT_FOUND;
	if (device->hclass != RM_CLASS_DEVICE)
		return RM_INVALID_OBJECT_PARENT;
	if (alloc->params && rm_get32(alloc->params, 0))
		return RM_INVALID_ARGUMENT;
	status = rm_object_new(client, alloc->handle, &subdevice);
	if (status)
		return status;
	subdevice->hclass = RM_CLASS_SUBDEVICE;
	subdevice->parent = device->handle;
	subdevice->gpu = device->gpu;
	alloc->handle = subdevice->handle;
	return RM_OK;
}

static uint32_t alloc_any(struct emu_file *file, struct alloc *alloc)
{
	struct rm_client *client = NULL;
	uint32_t status;

	if (alloc->hclass != RM_CLASS_CLIENT) {
		client = rm_client_find(alloc->root, file);
		if (!client)
			return RM_INVALID_CLIENT;
	}
	status = rm_fault_status("rm.alloc", RM_INSUFFICIENT_RESOURCES);
	if (status)
		return status;
	if (alloc->size && alloc->size != class_size(alloc->hclass))
		return RM_INVALID_ARGUMENT;
	switch (alloc->hclass) {
	case RM_CLASS_CLIENT:
		return alloc_client(file, alloc);
	case RM_CLASS_DEVICE:
		return alloc_device(client, alloc);
	case RM_CLASS_SUBDEVICE:
		return alloc_subdevice(client, alloc);
	case RM_CLASS_MEMORY:	 /* comes by duplication only */
	case RM_CLASS_PARTITION: /* no MIG here */
		return RM_NOT_SUPPORTED;
	default:
		return RM_INVALID_CLASS;
	}
}

static struct alloc alloc_read(const void *arg)
{
	return (struct alloc){
		.root = rm_get32(arg, 0),
		.parent = rm_get32(arg, 4),
		.handle = rm_get32(arg, 8),
		.hclass = rm_get32(arg, 12),
		.params = rm_getptr(arg, 16),
	};
}

/* Where the status lies before 535 is where paramsSize lies since. */
uint32_t rm_alloc_nvos21(struct emu_file *file, void *arg)
{
	struct alloc alloc = alloc_read(arg);
	uint32_t status;

	if (emu_driver.abi->nvos21_status != 24)
		alloc.size = rm_get32(arg, 24);
	else
		rm_must_be_zero("RM_ALLOC pad at 28", rm_get32(arg, 28));
	status = alloc_any(file, &alloc);
	rm_put32(arg, 8, alloc.handle);
	return status;
}

uint32_t rm_alloc_nvos64(struct emu_file *file, void *arg)
{
	struct alloc alloc = alloc_read(arg);
	const struct rm_abi *abi = emu_driver.abi;
	uint32_t status;

	if (rm_get64(arg, 24)) /* rights requested: not emulated */
		return RM_NOT_SUPPORTED;
	if (abi->nvos64_size == 48)
		alloc.size = rm_get32(arg, 32);
	if (abi->nvos64_status != 32)
		rm_must_be_zero("RM_ALLOC flags", rm_get32(arg, abi->nvos64_status - 4));
	status = alloc_any(file, &alloc);
	rm_put32(arg, 8, alloc.handle);
	return status;
}

uint32_t rm_free(struct emu_file *file, void *arg)
{
	uint32_t root = rm_get32(arg, 0), parent = rm_get32(arg, 4), handle = rm_get32(arg, 8), status;
	struct rm_client *client = rm_client_find(root, file);
	struct rm_object *object;

	if (!client)
		return RM_INVALID_CLIENT;
	status = rm_fault_status("rm.free", RM_OPERATING_SYSTEM);
	if (status)
		return status;
	if (handle == root) {
		rm_client_free(client);
		return RM_OK;
	}
	object = rm_object_find(client, handle);
	if (!object)
		return RM_OBJECT_NOT_FOUND;
	if (parent && parent != object->parent)
		return RM_INVALID_OBJECT_PARENT;
	rm_object_free(client, object);
	return RM_OK;
}

uint32_t rm_dup(struct emu_file *file, void *arg)
{
	struct rm_client *client = rm_client_find(rm_get32(arg, 0), file), *source;
	struct rm_object *device, *object, *dup;
	uint32_t status;

	rm_must_be_zero("DUP_OBJECT flags", rm_get32(arg, 20));
	if (!client)
		return RM_INVALID_CLIENT;
	status = rm_fault_status("rm.dup", RM_INSUFFICIENT_PERMISSIONS);
	if (status)
		return status;
	source = rm_client_any(rm_get32(arg, 12));
	if (!source)
		return RM_INVALID_CLIENT;
	device = rm_object_find(client, rm_get32(arg, 4));
	object = rm_object_find(source, rm_get32(arg, 16));
	if (!device || !object)
		return RM_OBJECT_NOT_FOUND;
	if (!rm_object_may_dup(source, object))
		return RM_INSUFFICIENT_PERMISSIONS;
	if (object->hclass != RM_CLASS_MEMORY)
		return RM_NOT_SUPPORTED;
	status = rm_object_dup(client, device, rm_get32(arg, 8), object->mem, &dup);
	if (!status)
		rm_put32(arg, 8, dup->handle);
	return status;
}

/* NVOS57: hClient, hObject, policy { target, accessMask, type:16, action:8 }, status */
uint32_t rm_share(struct emu_file *file, void *arg)
{
	struct rm_client *client = rm_client_find(rm_get32(arg, 0), file);
	uint32_t handle = rm_get32(arg, 4), mask = rm_get32(arg, 12), type = rm_get32(arg, 16) & 0xffff;
	uint32_t action = rm_get32(arg, 16) >> 16;
	struct rm_object *object;
	uint32_t *shares;

	if (!client)
		return RM_INVALID_CLIENT;
	object = rm_object_find(client, handle);
	if (!object && handle != client->handle)
		return RM_OBJECT_NOT_FOUND;
	if (action || mask != 1 || type > 4 || !(SHARE_TYPES & 1U << type))
		return RM_NOT_SUPPORTED;
	shares = object ? &object->shares : &client->shares;
	*shares |= 1U << type;
	return RM_OK;
}
