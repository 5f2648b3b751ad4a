// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gdr: " fmt
#include "gdr.h"

#include <errno.h>
#include <string.h>

#include "util/log.h"

GDR_API void gdr_runtime_get_version(int *major, int *minor)
{
	if (major)
		*major = GDR_API_MAJOR_VERSION;
	if (minor)
		*minor = GDR_API_MINOR_VERSION;
}

GDR_API int gdr_driver_get_version(gdr_t g, int *major, int *minor)
{
	struct bl_provider_info info;
	int ret;

	ret = bl_ctx_provider(gdr_ctx(g), major && minor ? &info : NULL);
	if (ret)
		return -ret;
	*major = (int)info.major;
	*minor = (int)info.minor;
	return 0;
}

GDR_API int gdr_get_attribute(gdr_t g, gdr_attr_t attr, int *v)
{
	struct bl_provider_info info;
	int ret;

	if (!v)
		return -fail(EINVAL, "attribute %d: no place for the value", attr);
	*v = 0;
	ret = bl_ctx_provider(gdr_ctx(g), &info);
	if (ret)
		return -ret;
	switch (attr) {
	case GDR_ATTR_USE_PERSISTENT_MAPPING:
		*v = info.persistent;
		return 0;
	case GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE:
		*v = info.force_pcie;
		return 0;
	case GDR_ATTR_USING_DMA_BUF_MMAP:
		*v = !strcmp(info.name, "dmabuf");
		return 0;
	default:
		return -fail(EINVAL, "attribute %d: no such attribute", attr);
	}
}
