// SPDX-License-Identifier: MIT
#include "demo.h"

#include <errno.h>
#include <string.h>

static int map_buffer(struct demo_buffer *buf)
{
	gdr_info_t info;
	void *map;
	int err;

	err = gdr_map(buf->gdr, buf->mh, &map, buf->len);
	if (err)
		return demo_error(err, "gdr_map of %zu bytes", buf->len);
	err = gdr_get_info(buf->gdr, buf->mh, &info);
	if (!err)
		err = gdr_get_mapping_type_string(info.mapping_type, &buf->type);
	if (err) {
		gdr_unmap(buf->gdr, buf->mh, map, buf->len);
		return demo_error(err, "gdr_get_info");
	}
	/* the pin starts where it was asked to, as a GPU page was asked for: the mapping does too */
	buf->map = map;
	return 0;
}

static int pin_buffer(struct demo_buffer *buf)
{
	uint64_t start = demo_now_ns();
	int err;

	err = gdr_pin_buffer(buf->gdr, buf->va, buf->len, 0, 0, &buf->mh);
	if (err)
		return demo_error(err, "gdr_pin_buffer of %zu bytes at 0x%llx", buf->len, buf->va);
	buf->first_pin_ns = (double)(demo_now_ns() - start);
	return 0;
}

int demo_buffer_open(struct demo_buffer *buf, struct demo_gpu *gpu, size_t len)
{
	CUresult res;
	int ret;

	memset(buf, 0, sizeof(*buf));
	buf->len = len;
	/* gdr_map() wants a GPU page at the start: one page more, as cuMemAlloc does not promise to begin on one */
	res = gpu->cuda->cuMemAlloc(&buf->alloc, len + GPU_PAGE_SIZE);
	if (res)
		return demo_error(bl_cuda_errno(res), "cuMemAlloc of %zu bytes: %s", len, bl_cuda_strerror(res));
	buf->va = (buf->alloc + GPU_PAGE_OFFSET) & GPU_PAGE_MASK;
	buf->gdr = gdr_open();
	if (!buf->gdr) {
		ret = demo_error(ENODEV, "gdr_open: no provider can serve");
		goto free_memory;
	}
	ret = pin_buffer(buf);
	if (ret)
		goto close_gdr;
	ret = map_buffer(buf);
	if (ret)
		goto unpin;
	return 0;
unpin:
	gdr_unpin_buffer(buf->gdr, buf->mh);
close_gdr:
	gdr_close(buf->gdr);
free_memory:
	gpu->cuda->cuMemFree(buf->alloc);
	return ret;
}

void demo_buffer_close(struct demo_buffer *buf, struct demo_gpu *gpu)
{
	gdr_unmap(buf->gdr, buf->mh, buf->map, buf->len);
	gdr_unpin_buffer(buf->gdr, buf->mh);
	gdr_close(buf->gdr);
	gpu->cuda->cuMemFree(buf->alloc);
}
