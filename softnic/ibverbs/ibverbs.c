// SPDX-License-Identifier: MIT
/*
 * A stand-in for libibverbs.so.1 whose devices are software NICs
 *
 * Programs that were built with libibverbs' header and library run unchanged: they find soft0 and soft1, and what they
 * get goes to libdoca_gpunetio_host. Only what programs of GPUNetIO call is here; a program that needs more does not
 * start, as the loader says. Never installed: put first on the library path, it hides the machine's own devices.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "barlane_net.h"

/* The header has these as macros around functions of the same name. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define API __attribute__((visibility("default")))

/* By this the library knows that it would be asking itself. */
API const char bl_soft_ibverbs[] = "devices of libdoca_gpunetio_host";

API struct ibv_device **ibv_get_device_list(int *num)
{
	return bl_net_device_list(num);
}

API void ibv_free_device_list(struct ibv_device **list)
{
	bl_net_free_device_list(list);
}

API const char *ibv_get_device_name(struct ibv_device *device)
{
	return bl_net_device_name(device);
}

API struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	const char *name = bl_net_device_name(device);

	return name ? bl_net_open_device(name) : NULL;
}

/* Failures of libibverbs' own that have no number are -1. */
API int ibv_close_device(struct ibv_context *context)
{
	return bl_net_close_device(context) ? -1 : 0;
}

API int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	return bl_net_query_device(context, attr);
}

/* Programs of any age have room for the attributes up to the flags; the inline function has cleared the rest. */
API int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr attr;
	int ret = bl_net_query_port(context, port, &attr);

	if (!ret)
		memcpy(compat, &attr, offsetof(struct ibv_port_attr, port_cap_flags2));
	return ret;
}

API int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	return bl_net_query_gid(context, port, index, gid) ? -1 : 0;
}

API int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
			  uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry full = { .gid_index = index, .port_num = port, .gid_type = IBV_GID_TYPE_ROCE_V2 };
	int ret;

	if (flags || port > UINT8_MAX || index > INT32_MAX || entry_size > sizeof(full))
		return EINVAL;
	ret = bl_net_query_gid(context, (uint8_t)port, (int)index, &full.gid);
	if (!ret)
		memcpy(entry, &full, entry_size);
	return ret;
}

API struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	return bl_net_alloc_pd(context);
}

API int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return bl_net_dealloc_pd(pd);
}

API struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return bl_net_reg_mr(pd, addr, length, access);
}

API struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return bl_net_reg_mr_iova(pd, addr, length, iova, access);
}

API struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	return bl_net_reg_mr_iova(pd, addr, length, iova, (int)access);
}

API struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
				     int access)
{
	return bl_net_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}

API int ibv_dereg_mr(struct ibv_mr *mr)
{
	return bl_net_dereg_mr(mr);
}
