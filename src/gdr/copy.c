// SPDX-License-Identifier: MIT
#include "gdr.h"
#include "gpu/edge.h"

GDR_API int gdr_copy_to_mapping(gdr_mh_t handle, void *map_d_ptr, const void *h_ptr, size_t size)
{
	return bl_copy_to_positive(handle.h, map_d_ptr, h_ptr, size);
}

GDR_API int gdr_copy_from_mapping(gdr_mh_t handle, void *h_ptr, const void *map_d_ptr, size_t size)
{
	return bl_copy_from_positive(handle.h, h_ptr, map_d_ptr, size);
}
