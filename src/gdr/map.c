// SPDX-License-Identifier: MIT
#include "gdr.h"
#include "gpu/edge.h"

GDR_API int gdr_map_v2(gdr_t g, gdr_mh_t handle, void **va, size_t size, int flags)
{
	return -bl_map_for_edge(gdr_ctx(g), handle.h, size, (enum bl_map_type)flags, va);
}

GDR_API int gdr_map(gdr_t g, gdr_mh_t handle, void **va, size_t size)
{
	return gdr_map_v2(g, handle, va, size, GDR_MAP_FLAG_DEFAULT);
}

GDR_API int gdr_unmap(gdr_t g, gdr_mh_t handle, void *va, size_t size)
{
	return -bl_unmap(gdr_ctx(g), handle.h, va, size);
}
