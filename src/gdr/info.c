// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gdr: " fmt
#include "gdr.h"

#include <errno.h>
#include <string.h>

#include "util/log.h"

/* The header's alias is for users; here both symbols are made. */
#undef gdr_get_info

/* Version 1 ends before the mapping type; programs of that time give a struct of this size. */
struct gdr_info_v1 {
	uint64_t va;
	uint64_t mapped_size;
	uint32_t page_size;
	uint64_t tm_cycles;
	uint32_t cycles_per_ms;
	unsigned mapped : 1;
	unsigned wc_mapping : 1;
};

_Static_assert(sizeof(struct gdr_info_v1) == 40, "size of version 1 of the info struct");

GDR_API int gdr_get_info(gdr_t g, gdr_mh_t handle, struct gdr_info_v1 *info);

GDR_API int gdr_get_info_v2(gdr_t g, gdr_mh_t handle, gdr_info_v2_t *info)
{
	struct bl_pin_info pin;
	int ret;

	ret = bl_pin_info(gdr_ctx(g), handle.h, info ? &pin : NULL);
	if (ret)
		return -ret;
	memset(info, 0, sizeof(*info));
	info->va = pin.va;
	info->mapped_size = pin.len;
	info->page_size = pin.page_size;
	info->tm_cycles = pin.pin_cycles;
	info->cycles_per_ms = pin.tsc_khz;
	info->mapped = pin.type != BL_MAP_NONE;
	info->wc_mapping = pin.type == BL_MAP_WC;
	info->mapping_type = (gdr_mapping_type_t)pin.type;
	return 0;
}

GDR_API int gdr_get_info(gdr_t g, gdr_mh_t handle, struct gdr_info_v1 *info)
{
	gdr_info_v2_t v2;
	int ret;

	ret = gdr_get_info_v2(g, handle, info ? &v2 : NULL);
	if (ret)
		return ret;
	memset(info, 0, sizeof(*info));
	info->va = v2.va;
	info->mapped_size = v2.mapped_size;
	info->page_size = v2.page_size;
	info->tm_cycles = v2.tm_cycles;
	info->cycles_per_ms = v2.cycles_per_ms;
	info->mapped = v2.mapped;
	info->wc_mapping = v2.wc_mapping;
	return 0;
}

GDR_API int gdr_get_callback_flag(gdr_t g, gdr_mh_t handle, int *flag)
{
	struct bl_pin_info pin;
	int ret;

	ret = bl_pin_info(gdr_ctx(g), handle.h, flag ? &pin : NULL);
	if (ret)
		return -ret;
	*flag = (int)pin.released;
	return 0;
}

GDR_API int gdr_get_mapping_type_string(gdr_mapping_type_t type, const char **str)
{
	static const char *const names[] = {
		[GDR_MAPPING_TYPE_NONE] = "None",
		[GDR_MAPPING_TYPE_WC] = "Write Combining",
		[GDR_MAPPING_TYPE_CACHING] = "Caching",
		[GDR_MAPPING_TYPE_DEVICE] = "Device",
	};

	if ((unsigned int)type >= sizeof(names) / sizeof(names[0]) || !str)
		return -fail(EINVAL, "mapping type %d: no such type, or no place for its name", (int)type);
	*str = names[type];
	return 0;
}
