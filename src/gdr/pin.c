// SPDX-License-Identifier: MIT
#include "gdr.h"

static int pin(gdr_t g, unsigned long addr, size_t size, uint32_t flags, uint64_t token, uint32_t space,
	       gdr_mh_t *handle)
{
	bl_pin_t id;
	int ret;

	ret = bl_pin(gdr_ctx(g), addr, size, flags, token, space, handle ? &id : NULL);
	if (ret)
		return -ret;
	handle->h = id;
	return 0;
}

GDR_API int gdr_pin_buffer(gdr_t g, unsigned long addr, size_t size, uint64_t p2p_token, uint32_t va_space,
			   gdr_mh_t *handle)
{
	return pin(g, addr, size, 0, p2p_token, va_space, handle);
}

GDR_API int gdr_pin_buffer_v2(gdr_t g, unsigned long addr, size_t size, uint32_t flags, gdr_mh_t *handle)
{
	return pin(g, addr, size, flags, 0, 0, handle);
}

GDR_API int gdr_unpin_buffer(gdr_t g, gdr_mh_t handle)
{
	return -bl_unpin(gdr_ctx(g), handle.h);
}
