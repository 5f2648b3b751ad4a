// SPDX-License-Identifier: MIT
/*
 * Provider "gdrdrv": the kernel module behind /dev/gdrdrv, this project's or NVIDIA's, any 2.x. What an older module
 * lacks is synthesised or refused, by its minor version.
 */
#define log_fmt(fmt) "gpu/gdrdrv: " fmt
#include "provider.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdrdrv.h"
#include "gpu/mmap.h"
#include "sys.h"
#include "util/log.h"

/* The NVIDIA driver's ENOTSUPP is a number of the kernel's own, which no libc names. */
#define GDRDRV_ENOTSUPP 524

struct gdrdrv {
	int fd;
	uint32_t version;
};

static int call(const struct gdrdrv *drv, unsigned long request, void *arg)
{
	int ret = bl_sys()->ioctl(drv->fd, request, arg) ? -errno : 0;

	return ret == -GDRDRV_ENOTSUPP ? -EOPNOTSUPP : ret;
}

static int open_device(struct gdrdrv *drv, char *why, size_t size)
{
	struct gdrdrv_get_version version = { 0 };
	int ret;

	drv->fd = bl_device_open(GDRDRV_PATH);
	if (drv->fd < 0) {
		snprintf(why, size, "open %s: %s", GDRDRV_PATH, strerror(-drv->fd));
		return drv->fd;
	}
	ret = call(drv, GDRDRV_IOC_GET_VERSION, &version);
	if (ret) {
		snprintf(why, size, "ask %s for its version: %s", GDRDRV_PATH, strerror(-ret));
		goto close;
	}
	drv->version = version.gdrdrv_version;
	if (version.gdrdrv_version >> 16 != 2 || version.minimum_gdr_api_version > GDRDRV_VERSION(2, 6)) {
		snprintf(why, size, "module version %u.%u wants library %u.%u or later; this library speaks 2.0 to 2.6",
			 version.gdrdrv_version >> 16, version.gdrdrv_version & 0xffff,
			 version.minimum_gdr_api_version >> 16, version.minimum_gdr_api_version & 0xffff);
		ret = -EPROTONOSUPPORT;
		goto close;
	}
	snprintf(why, size, "module version %u.%u", drv->version >> 16, drv->version & 0xffff);
	return 0;
close:
	bl_device_close(drv->fd);
	return ret;
}

/* An older module has no attributes; one that does not know this attribute does not have what it stands for. */
static int attribute(const struct gdrdrv *drv, uint32_t attr)
{
	struct gdrdrv_get_attr arg = { .attr = attr };

	if (drv->version < GDRDRV_VERSION(2, 5) || call(drv, GDRDRV_IOC_GET_ATTR, &arg))
		return 0;
	return arg.val != 0;
}

static void describe(const struct gdrdrv *drv, struct bl_provider_info *info)
{
	info->major = drv->version >> 16;
	info->minor = drv->version & 0xffff;
	info->persistent = attribute(drv, GDRDRV_ATTR_PERSISTENT);
	info->force_pcie = attribute(drv, GDRDRV_ATTR_FORCE_PCIE);
}

static int gdrdrv_probe(struct bl_provider_info *info)
{
	struct gdrdrv drv;
	int ret;

	ret = open_device(&drv, info->reason, sizeof(info->reason));
	if (ret)
		return ret;
	describe(&drv, info);
	bl_device_close(drv.fd);
	return 0;
}

static int gdrdrv_open(void **priv_p)
{
	struct gdrdrv *drv = malloc(sizeof(*drv));
	char why[256];
	int ret;

	if (!drv)
		return fail(ENOMEM, "open: out of memory");
	ret = open_device(drv, why, sizeof(why));
	if (ret) {
		free(drv);
		return fail(-ret, "%s", why);
	}
	*priv_p = drv;
	return 0;
}

static void gdrdrv_close(void *priv)
{
	struct gdrdrv *drv = priv;

	bl_device_close(drv->fd);
	free(drv);
}

static int gdrdrv_refresh(void *priv, struct bl_provider_info *info)
{
	const struct gdrdrv *drv = priv;

	describe(drv, info);
	snprintf(info->reason, sizeof(info->reason), "module version %u.%u", info->major, info->minor);
	return 0;
}

static int pin_v1(const struct gdrdrv *drv, const struct bl_request *req, uint64_t *handle_p)
{
	struct gdrdrv_pin_buffer arg = {
		.addr = req->va, .size = req->len, .p2p_token = req->token, .va_space = req->space
	};
	int ret;

	if (req->flags)
		return fail(EINVAL, "pin va 0x%" PRIx64 ": flags 0x%x need module 2.5 or later", req->va, req->flags);
	ret = call(drv, GDRDRV_IOC_PIN_BUFFER, &arg);
	*handle_p = arg.handle;
	return ret ? fail(-ret, "pin va 0x%" PRIx64 " len 0x%zx: %s", req->va, req->len, strerror(-ret)) : 0;
}

/*
 * The command of 2.5 has no place for tokens. They matter only to a module that does not keep pages, and that one still
 * has the old command.
 */
static int pin_v2(const struct gdrdrv *drv, const struct bl_request *req, uint64_t *handle_p)
{
	struct gdrdrv_pin_buffer_v2 arg = { .addr = req->va, .size = req->len, .flags = req->flags };
	int ret;

	ret = call(drv, GDRDRV_IOC_PIN_BUFFER_V2, &arg);
	*handle_p = arg.handle;
	return ret ? fail(-ret, "pin va 0x%" PRIx64 " len 0x%zx flags 0x%x: %s", req->va, req->len, req->flags,
			  strerror(-ret)) :
		     0;
}

static int get_info(const struct gdrdrv *drv, uint64_t handle, struct gdrdrv_get_info *info)
{
	int v2 = drv->version >= GDRDRV_VERSION(2, 4);
	int ret;

	*info = (struct gdrdrv_get_info){ .handle = handle };
	ret = call(drv, v2 ? GDRDRV_IOC_GET_INFO_V2 : GDRDRV_IOC_GET_INFO, info);
	if (ret)
		return fail(-ret, "info of handle 0x%" PRIx64 ": %s", handle, strerror(-ret));
	if (!v2) {
		uint32_t mapped = info->v1.mapped, wc = info->v1.wc_mapping;

		info->v2.mapping_type = !mapped ? GDRDRV_MAPPING_NONE : wc ? GDRDRV_MAPPING_WC : GDRDRV_MAPPING_CACHED;
	}
	return 0;
}

static int gdrdrv_unpin(void *priv, struct bl_backing *backing)
{
	const struct gdrdrv *drv = priv;
	struct gdrdrv_unpin_buffer arg = { .handle = (uintptr_t)backing->priv };
	int ret = call(drv, GDRDRV_IOC_UNPIN_BUFFER, &arg);

	return ret ? fail(-ret, "unpin va 0x%" PRIx64 ": %s", backing->va, strerror(-ret)) : 0;
}

static int gdrdrv_pin(void *priv, const struct bl_request *req, struct bl_backing *backing)
{
	const struct gdrdrv *drv = priv;
	struct gdrdrv_get_info info;
	uint64_t handle = 0;
	int tokens = req->token || req->space;
	int ret;

	if (drv->version >= GDRDRV_VERSION(2, 5) && (req->flags || !tokens || attribute(drv, GDRDRV_ATTR_PERSISTENT)))
		ret = pin_v2(drv, req, &handle);
	else
		ret = pin_v1(drv, req, &handle);
	if (ret)
		return ret;
	backing->priv = (void *)(uintptr_t)handle;
	ret = get_info(drv, handle, &info);
	if (!ret && (!info.page_size || info.page_size & (info.page_size - 1)))
		ret = fail(EPROTO, "pin va 0x%" PRIx64 ": the module reports page size %u", req->va, info.page_size);
	if (ret) {
		gdrdrv_unpin(priv, backing);
		return ret;
	}
	backing->va = info.va;
	backing->len = info.mapped_size;
	backing->page_size = info.page_size;
	return 0;
}

/* Modules before 2.5 cannot be asked for a type: the answer is compared afterwards. */
static int request_type(const struct gdrdrv *drv, uint64_t handle, uint32_t type)
{
	struct gdrdrv_req_mapping_type arg = { .handle = handle, .mapping_type = type };
	int ret;

	if (drv->version < GDRDRV_VERSION(2, 5))
		return 0;
	ret = call(drv, GDRDRV_IOC_REQ_MAPPING_TYPE, &arg);
	return ret ? fail(-ret, "map with type %u: %s", type, strerror(-ret)) : 0;
}

static int gdrdrv_map(void *priv, struct bl_backing *backing, struct bl_mapping *mapping)
{
	const struct gdrdrv *drv = priv;
	uint64_t handle = (uintptr_t)backing->priv;
	off_t off = (off_t)(handle * (uint64_t)sysconf(_SC_PAGESIZE));
	struct gdrdrv_get_info info;
	int ret;

	ret = request_type(drv, handle, mapping->type);
	if (ret)
		return ret;
	ret = bl_device_mmap(drv->fd, mapping->len, off, &mapping->addr);
	if (ret)
		return fail(-ret, "map va 0x%" PRIx64 " len 0x%zx: %s", backing->va, mapping->len, strerror(-ret));
	ret = get_info(drv, handle, &info);
	if (ret)
		goto unmap;
	if (info.v2.mapping_type == GDRDRV_MAPPING_NONE || info.v2.mapping_type > GDRDRV_MAPPING_DEVICE) {
		ret = fail(EAGAIN, "map va 0x%" PRIx64 ": the module reports mapping type %u", backing->va,
			   info.v2.mapping_type);
		goto unmap;
	}
	if (mapping->type != BL_MAP_NONE && info.v2.mapping_type != mapping->type) {
		ret = fail(EINVAL, "map va 0x%" PRIx64 ": wanted type %u, the module maps with type %u", backing->va,
			   mapping->type, info.v2.mapping_type);
		goto unmap;
	}
	mapping->type = (enum bl_map_type)info.v2.mapping_type;
	return 0;
unmap:
	bl_sys()->munmap(mapping->addr, mapping->len);
	return ret;
}

static int gdrdrv_released(void *priv, struct bl_backing *backing, int *released_p)
{
	const struct gdrdrv *drv = priv;
	struct gdrdrv_get_cb_flag arg = { .handle = (uintptr_t)backing->priv };
	int ret = call(drv, GDRDRV_IOC_GET_CB_FLAG, &arg);

	if (ret)
		return fail(-ret, "callback flag of va 0x%" PRIx64 ": %s", backing->va, strerror(-ret));
	*released_p = arg.flag != 0;
	return 0;
}

static int gdrdrv_times(void *priv, struct bl_backing *backing, uint64_t *cycles_p, uint32_t *khz_p)
{
	struct gdrdrv_get_info info;
	int ret = get_info(priv, (uintptr_t)backing->priv, &info);

	if (ret)
		return ret;
	*cycles_p = info.tm_cycles;
	*khz_p = info.tsc_khz;
	return 0;
}

const struct bl_provider_ops bl_provider_gdrdrv = {
	.name = "gdrdrv",
	.from_page = true,
	.probe = gdrdrv_probe,
	.open = gdrdrv_open,
	.close = gdrdrv_close,
	.pin = gdrdrv_pin,
	.unpin = gdrdrv_unpin,
	.map = gdrdrv_map,
	.unmap = bl_device_unmap,
	.released = gdrdrv_released,
	.times = gdrdrv_times,
	.refresh = gdrdrv_refresh,
};
