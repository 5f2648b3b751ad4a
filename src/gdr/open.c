// SPDX-License-Identifier: MIT
#include "gdr.h"

GDR_API gdr_t gdr_open(void)
{
	bl_ctx_t ctx;

	if (bl_open(NULL, &ctx))
		return NULL;
	return (gdr_t)(uintptr_t)ctx;
}

GDR_API int gdr_close(gdr_t g)
{
	return -bl_close(gdr_ctx(g));
}
