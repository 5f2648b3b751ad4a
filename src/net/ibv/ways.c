// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/verbs: " fmt
#include "ways.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/log.h"

__attribute__((format(printf, 2, 3))) static void add_why(struct bl_ways *ways, const char *fmt, ...)
{
	size_t used = strlen(ways->why);
	va_list args;

	va_start(args, fmt);
	vsnprintf(ways->why + used, sizeof(ways->why) - used, fmt, args);
	va_end(args);
}

static void *by_dmabuf(struct bl_ways *ways, int fd, uint64_t off)
{
	void *object;

	if (!ways->by_dmabuf) {
		add_why(ways, "libibverbs is older than dma-bufs; ");
		return NULL;
	}
	object = ways->by_dmabuf(ways, fd, off);
	if (!object)
		add_why(ways, "by dma-buf: %s; ", strerror(errno));
	return object;
}

static void *by_address(struct bl_ways *ways)
{
	void *object = ways->by_address(ways);

	if (!object)
		add_why(ways, "by address: %s; ", strerror(errno));
	return object;
}

/* GPU memory that the program gave by address: the core makes a dma-buf of its pages. */
static void *by_export(struct bl_ways *ways)
{
	const struct bl_reach *reach = ways->gpu;
	struct bl_dmabuf dmabuf;
	void *object;
	int ret;

	bl_fail_hush(1);
	ret = bl_pin_export(reach->ctx, reach->pin, reach->pin_off, ways->memory->len, 0, &dmabuf);
	bl_fail_hush(-1);
	if (ret) {
		add_why(ways, "no dma-buf: %s; ", bl_last_error(NULL));
		return NULL;
	}
	object = by_dmabuf(ways, dmabuf.fd, dmabuf.off);
	/* the device has its own reference */
	close(dmabuf.fd);
	return object;
}

void *bl_ways_try(struct bl_ways *ways)
{
	const struct bl_nic_memory *memory = ways->memory;
	void *object = NULL;

	*ways->why = '\0';
	if (memory->dmabuf_fd >= 0)
		object = by_dmabuf(ways, memory->dmabuf_fd, memory->dmabuf_off);
	else if (ways->gpu)
		object = by_export(ways);
	if (object || !memory->addr || (!ways->gpu && memory->dmabuf_fd >= 0))
		return object;
	if (ways->gpu)
		log_info("device %s: GPU memory %p: %snow by address", ways->device, memory->addr, ways->why);
	return by_address(ways);
}

int bl_ways_refuse(const struct bl_ways *ways)
{
	bool dmabuf = ways->memory->dmabuf_fd >= 0;
	const char *hint = ways->gpu || dmabuf ? "dma-bufs take a device and a kernel (5.12 and later) that have them, "
						 "addresses of GPU memory the module nvidia-peermem" :
						 "is the memory there, and may as much be locked (ulimit -l)?";

	return fail(EOPNOTSUPP, "device %s: %s %p len 0x%zx cannot be registered: %s%s", ways->device,
		    ways->gpu ? "GPU memory" :
		    dmabuf    ? "dma-buf" :
				"host memory",
		    ways->memory->addr, ways->memory->len, ways->why, hint);
}
