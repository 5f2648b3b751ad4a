// SPDX-License-Identifier: MIT
/*
 * RM never removes page-table entries of user space: a mapping that outlives RM's view of it reaches whatever lies there
 * next, also memory of other processes. Hence the order in rm_view_close(), and hence nothing is freed when munmap fails.
 *
 * MAP_MEMORY prepares one mapping in an open file of the GPU's node, for ever. The descriptor is closed as soon as the
 * mapping exists: the mapping keeps the file, and whoever else got the descriptor could map the same memory.
 */
#define log_fmt(fmt) "gpu/rm: " fmt
#include "rm_view.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu/mmap.h"
#include "gpu/sys.h"
#include "rm_gpu.h"
#include "util/log.h"

static void explain_exhaustion(const struct rm_conn *conn, const struct rm_gpu *gpu, size_t len)
{
	char reason[256];
	uint32_t avail, size;

	strncpy(reason, bl_last_error(NULL), sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	if (!rm_gpu_bar1(conn, gpu, &avail, &size))
		fail(ENOMEM, "map len 0x%zx: BAR1 of device %d is exhausted: need %zu KiB, free %u of %u KiB (%s)", len,
		     gpu->ordinal, len / 1024, avail, size, reason);
}

static enum bl_map_type type_of(const struct rm_conn *conn, uint32_t flags)
{
	if (!conn->layout->map_caching)
		return BL_MAP_WC;
	switch (RM_MAP_CACHING(flags)) {
	case RM_MAP_CACHING_CACHED:
		return BL_MAP_CACHED;
	case RM_MAP_CACHING_UNCACHED:
	case RM_MAP_CACHING_UNCACHED_WK:
		log_warn("the platform maps GPU memory uncached: expect a fraction of the usual bandwidth");
		return BL_MAP_WC; /* its rules are a subset */
	default:
		return BL_MAP_WC;
	}
}

/* On a platform with a coherent link the address is not in BAR1; then the type is cached. */
static int check_address(const struct rm_gpu *gpu, const struct rm_view *view)
{
	uint64_t base = gpu->card.fb_address, size = gpu->card.fb_size;

	if (view->type == BL_MAP_CACHED)
		return 0;
	if (view->phys < base || view->phys - base > size || view->len > size - (view->phys - base))
		return fail(EPROTO,
			    "map object 0x%x: address 0x%" PRIx64 " len 0x%zx is outside BAR1 0x%" PRIx64
			    " len 0x%" PRIx64,
			    view->memory, view->phys, view->len, base, size);
	return 0;
}

int rm_view_open(const struct rm_conn *conn, const struct rm_gpu *gpu, uint32_t memory, uint64_t off, size_t len,
		 struct rm_view *view)
{
	uint32_t flags;
	int fd, ret;

	*view = (struct rm_view){ .memory = memory, .len = len };
	fd = rm_gpu_node(conn, &gpu->card);
	if (fd < 0)
		return fd;
	ret = rm_map(conn, gpu->device, memory, off, len, fd, &view->phys, &flags);
	if (ret == -ENOMEM)
		explain_exhaustion(conn, gpu, len);
	if (ret)
		goto close;
	view->type = type_of(conn, flags);
	ret = check_address(gpu, view);
	if (ret)
		goto unmap;
	ret = bl_device_mmap(fd, len, 0, &view->addr);
	if (ret) {
		fail(-ret, "map object 0x%x len 0x%zx: mmap: %s", memory, len, strerror(-ret));
		if (ret != -EBUSY)
			goto unmap;
		rm_client_leak();
	}
	goto close;
unmap:
	rm_unmap(conn, gpu->device, memory, view->phys);
close:
	bl_device_close(fd);
	return ret;
}

int rm_view_close(const struct rm_conn *conn, const struct rm_gpu *gpu, struct rm_view *view)
{
	if (bl_sys()->munmap(view->addr, view->len)) {
		rm_client_leak();
		return fail(EBUSY, "unmap addr %p len 0x%zx: %s; the GPU memory stays allocated until the process ends",
			    view->addr, view->len, strerror(errno));
	}
	return rm_unmap(conn, gpu->device, view->memory, view->phys);
}
