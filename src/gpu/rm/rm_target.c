// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/rm: " fmt
#include "rm_target.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpu/sys.h"
#include "util/log.h"

/* What RM says of an object of ours: it must be video memory; receives its size in bytes. */
static int inspect(const struct rm_conn *conn, const struct rm_target *target, uint64_t *size_p)
{
	struct rm_addr_space space = { .object = target->memory };
	struct rm_pair size = { .index = RM_SURFACE_SIZE_4K };
	struct rm_pair_list list = { .count = 1, .list = (uintptr_t)&size };
	int ret;

	ret = rm_control(conn, conn->client, RM_CTRL_CLIENT_GET_ADDR_SPACE, &space, sizeof(space));
	if (ret)
		return ret;
	if (space.type != RM_ADDR_SPACE_VIDMEM)
		return fail(EOPNOTSUPP, "object of va 0x%" PRIx64 ": address space %u, not video memory", target->va,
			    space.type);
	ret = rm_control(conn, target->memory, RM_CTRL_MEMORY_GET_SURFACE_INFO, &list, sizeof(list));
	*size_p = size.data * 4096ULL;
	return ret;
}

int rm_target_free(const struct rm_conn *conn, const struct rm_gpu *gpu, const struct rm_target *target)
{
	return rm_free(conn, gpu->device, target->memory);
}

bool rm_target_same(const struct rm_conn *conn, const struct rm_target *a, const struct rm_target *b)
{
	struct rm_duplicates question = { .one = a->memory, .two = b->memory };
	int ret;

	if (!conn->layout->compares || a->va != b->va || a->size != b->size)
		return false;
	/* without an answer there is a mapping for each, which is no failure */
	bl_fail_hush(1);
	ret = rm_control(conn, conn->client, RM_CTRL_OBJECTS_ARE_DUPLICATES, &question, sizeof(question));
	bl_fail_hush(-1);
	return !ret && question.answer == 1;
}

/* RM rounds an object up to its largest page. */
#define RM_ROUNDING (2ULL << 20)

/*
 * A blob names the size that libcuda asked for. RM must have made the object at least that large and no larger than it
 * rounds, else it is not the object that was meant. From here on RM's size counts.
 */
static int check_plain(const struct rm_conn *conn, struct rm_target *target)
{
	uint64_t size;
	int ret = inspect(conn, target, &size);

	if (ret)
		return ret;
	if (size < target->size || size - target->size >= RM_ROUNDING)
		return fail(EPROTO, "object of va 0x%" PRIx64 ": CUDA says 0x%" PRIx64 " bytes, RM says 0x%" PRIx64,
			    target->va, target->size, size);
	target->size = size;
	return 0;
}

int rm_target_plain(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda,
		    const struct rm_blob_layout *layout, const struct bl_cuda_ptr *ptr, struct rm_target *target)
{
	CUipcMemHandle handle;
	struct rm_blob blob;
	CUresult err;
	int ret;

	err = cuda->cuIpcGetMemHandle(&handle, ptr->va);
	if (err)
		return fail(EOPNOTSUPP, "va 0x%" PRIx64 ": cuIpcGetMemHandle: %s; this memory names no RM object",
			    ptr->va, bl_cuda_strerror(err));
	rm_blob_read(layout, (const uint8_t *)handle.reserved, &blob);
	if (!rm_blob_plausible(&blob, ptr->size))
		return fail(EPROTO,
			    "va 0x%" PRIx64 ": IPC blob says size 0x%" PRIx64 " offset 0x%x object size 0x%" PRIx64
			    ", CUDA says size 0x%" PRIx64,
			    ptr->va, blob.size, blob.offset, blob.object_size, ptr->size);
	if (layout->owner && blob.client != layout->owner)
		return fail(EPROTO, "va 0x%" PRIx64 ": IPC blob names client 0x%x, this process' memory is that of 0x%x",
			    ptr->va, blob.client, layout->owner);
	target->va = ptr->base - blob.offset;
	target->size = blob.object_size;
	ret = rm_dup(conn, gpu->device, blob.client, blob.memory, &target->memory);
	if (ret || rm_known_find(&gpu->known, ptr->buffer_id, &blob, &target->size))
		return ret;
	ret = check_plain(conn, target);
	if (ret)
		rm_target_free(conn, gpu, target);
	else
		rm_known_add(&gpu->known, ptr->buffer_id, &blob, target->size);
	return ret;
}

/* The part of the address range that one cuMemMap call filled; it starts at the handle's first byte. */
static int mapping_of(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr, uint64_t *base_p, uint64_t *size_p)
{
	size_t size = 0;
	int attrs[] = { CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, CU_POINTER_ATTRIBUTE_MAPPING_SIZE };
	void *values[] = { base_p, &size };
	CUresult err = cuda->cuPointerGetAttributes(2, attrs, values, ptr->va);

	if (err || !size)
		return fail(EOPNOTSUPP, "va 0x%" PRIx64 ": where its mapping starts: %s", ptr->va,
			    bl_cuda_strerror(err));
	*size_p = size;
	return 0;
}

/* A descriptor of the control node that holds the allocation's RM object. */
static int export_fd(const struct bl_cuda *cuda, const struct bl_cuda_ptr *ptr, int *fd_p)
{
	CUmemGenericAllocationHandle handle;
	CUresult err;

	err = cuda->cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)ptr->va);
	if (err)
		return fail(EOPNOTSUPP, "va 0x%" PRIx64 ": cuMemRetainAllocationHandle: %s", ptr->va,
			    bl_cuda_strerror(err));
	err = cuda->cuMemExportToShareableHandle(fd_p, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	cuda->cuMemRelease(handle);
	if (err)
		return fail(err == CUDA_ERROR_OUT_OF_MEMORY ? ENOMEM : EOPNOTSUPP,
			    "va 0x%" PRIx64 ": export to a descriptor: %s", ptr->va, bl_cuda_strerror(err));
	return 0;
}

static int import_object(const struct rm_conn *conn, const struct rm_gpu *gpu, int fd, struct rm_target *target)
{
	uint8_t info[RM_EXPORT_INFO_MAX] = { 0 };
	struct rm_import import = { .fd = fd, .parent = gpu->device, .nr_objects = 1 };
	uint32_t instance;
	uint16_t nr;
	int ret;

	memcpy(info, &fd, sizeof(fd));
	ret = rm_control(conn, conn->client, RM_CTRL_GET_EXPORT_OBJECT_INFO, info, conn->layout->export_info_size);
	if (ret)
		return ret;
	memcpy(&instance, info + 4, sizeof(instance));
	memcpy(&nr, info + conn->layout->export_max, sizeof(nr));
	if (instance != gpu->instance)
		return fail(EPROTO, "va 0x%" PRIx64 ": exported from RM device %u, CUDA says device %u", target->va,
			    instance, gpu->instance);
	if (nr != 1)
		return fail(EOPNOTSUPP, "va 0x%" PRIx64 ": the allocation consists of %u RM objects", target->va, nr);
	ret = rm_control(conn, conn->client, RM_CTRL_IMPORT_OBJECTS_FROM_FD, &import, sizeof(import));
	if (ret)
		return ret;
	target->memory = import.objects[0];
	if (import.types[0] == RM_OBJECT_VIDMEM)
		return 0;
	rm_target_free(conn, gpu, target);
	return fail(EOPNOTSUPP, "va 0x%" PRIx64 ": RM object of type %u, not video memory", target->va,
		    import.types[0]);
}

/*
 * A mapping may be shorter than its allocation, never longer; that it starts at the handle's first byte is CUDA's
 * documented rule (cuMemMap's offset must be 0).
 */
static int check_vmm(const struct rm_conn *conn, const struct rm_target *target)
{
	uint64_t size;
	int ret = inspect(conn, target, &size);

	if (ret || size >= target->size)
		return ret;
	return fail(EPROTO, "va 0x%" PRIx64 ": 0x%" PRIx64 " bytes are mapped from an object of 0x%" PRIx64, target->va,
		    target->size, size);
}

int rm_target_vmm(const struct rm_conn *conn, const struct rm_gpu *gpu, const struct bl_cuda *cuda,
		  const struct bl_cuda_ptr *ptr, struct rm_target *target)
{
	int fd = -1, ret;

	if (!(ptr->handle_types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return fail(EOPNOTSUPP,
			    "va 0x%" PRIx64 ": VMM memory that was not created exportable, or memory of another process; "
			    "create it with CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR in requestedHandleTypes, or pin it in "
			    "the process that allocated it",
			    ptr->va);
	/* what lies behind the end of the mapping is not reachable by its address, so the mapping is the limit */
	ret = mapping_of(cuda, ptr, &target->va, &target->size);
	if (ret)
		return ret;
	ret = export_fd(cuda, ptr, &fd);
	if (ret)
		return ret;
	ret = import_object(conn, gpu, fd, target);
	bl_sys()->close(fd);
	if (ret)
		return ret;
	ret = check_vmm(conn, target);
	if (ret)
		rm_target_free(conn, gpu, target);
	return ret;
}
