// SPDX-License-Identifier: MIT
#include "rm_abi.h"

#include <errno.h>

/* Oldest first. */
static const struct rm_layout layouts[] = {
	{ .first = 515, .alloc_status = 0, .export_info_size = 76, .export_max = 8 },
	{ .first = 525, .alloc_status = 0, .export_info_size = 76, .export_max = 8, .compares = true, .map_caching = true },
	{ .first = 535, .alloc_status = 1, .export_info_size = 76, .export_max = 8, .compares = true, .map_caching = true },
	{ .first = 545, .alloc_status = 1, .export_info_size = 80, .export_max = 12, .compares = true, .map_caching = true },
};

#define NR_LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

const struct rm_layout *rm_layout_for(unsigned int branch)
{
	const struct rm_layout *layout = NULL;

	if (!branch)
		return &layouts[NR_LAYOUTS - 1];
	for (size_t i = 0; i < NR_LAYOUTS && layouts[i].first <= branch; i++)
		layout = &layouts[i];
	return layout;
}

static const struct {
	uint32_t status;
	int err;
	const char *name;
} statuses[] = {
	{ 0x00, 0, "NV_OK" },
	{ 0x0F, ENODEV, "NV_ERR_GPU_IS_LOST" },
	{ 0x17, EBUSY, "NV_ERR_IN_USE" },
	{ 0x1A, ENOMEM, "NV_ERR_INSUFFICIENT_RESOURCES" },
	{ 0x1B, EACCES, "NV_ERR_INSUFFICIENT_PERMISSIONS" },
	{ 0x1E, EINVAL, "NV_ERR_INVALID_ADDRESS" },
	{ 0x1F, EINVAL, "NV_ERR_INVALID_ARGUMENT" },
	{ 0x20, EINVAL, "NV_ERR_INVALID_BASE" },
	{ 0x22, EOPNOTSUPP, "NV_ERR_INVALID_CLASS" },
	{ 0x23, EACCES, "NV_ERR_INVALID_CLIENT" },
	{ 0x26, ENODEV, "NV_ERR_INVALID_DEVICE" },
	{ 0x29, EINVAL, "NV_ERR_INVALID_FLAGS" },
	{ 0x2E, EINVAL, "NV_ERR_INVALID_LIMIT" },
	{ 0x31, EINVAL, "NV_ERR_INVALID_OBJECT" },
	{ 0x33, EINVAL, "NV_ERR_INVALID_OBJECT_HANDLE" },
	{ 0x36, EINVAL, "NV_ERR_INVALID_OBJECT_PARENT" },
	{ 0x3A, EPROTO, "NV_ERR_INVALID_PARAM_STRUCT" },
	{ 0x3B, EINVAL, "NV_ERR_INVALID_PARAMETER" },
	{ 0x3F, EINVAL, "NV_ERR_INVALID_REQUEST" },
	{ 0x40, EIO, "NV_ERR_INVALID_STATE" },
	{ 0x51, ENOMEM, "NV_ERR_NO_MEMORY" },
	{ 0x56, EOPNOTSUPP, "NV_ERR_NOT_SUPPORTED" },
	{ 0x57, EINVAL, "NV_ERR_OBJECT_NOT_FOUND" },
	{ 0x59, EIO, "NV_ERR_OPERATING_SYSTEM" },
	{ 0x5B, EINVAL, "NV_ERR_OUT_OF_RANGE" },
	{ 0x63, EBUSY, "NV_ERR_STATE_IN_USE" },
	{ 0x6E, ENODEV, "NV_ERR_RESOURCE_LOST" },
	{ 0xFFFF, EIO, "NV_ERR_GENERIC" },
};

#define NR_STATUSES (sizeof(statuses) / sizeof(statuses[0]))

const char *rm_status_name(uint32_t status)
{
	for (size_t i = 0; i < NR_STATUSES; i++) {
		if (statuses[i].status == status)
			return statuses[i].name;
	}
	return "unknown status";
}

int rm_status_errno(uint32_t status)
{
	for (size_t i = 0; i < NR_STATUSES; i++) {
		if (statuses[i].status == status && statuses[i].err)
			return statuses[i].err;
	}
	return EIO;
}
