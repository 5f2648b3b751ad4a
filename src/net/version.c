// SPDX-License-Identifier: MIT
/* Releases: of the library that this one stands in for, and those that it works with. */
#define log_fmt(fmt) "version: " fmt
#include <errno.h>

#include "net/gpu.h"
#include "net/log.h"

#define VERSION(major, minor, patch) ((uint32_t)(major) << 16 | (uint32_t)(minor) << 8 | (uint32_t)(patch))

#define LIBRARY	      VERSION(2, 0, 0)
#define OLDEST_DEVICE VERSION(2, 0, 0)
#define OLDEST_HOST   VERSION(0, 2, 0)

static doca_error_t check(const char *what, uint32_t version, uint32_t oldest)
{
	if (version >= oldest && version <= LIBRARY)
		return DOCA_SUCCESS;
	return bl_net_doca(fail(EOPNOTSUPP, "%s code of release %u.%u.%u: %u.%u.%u to %u.%u.%u work with this library", what,
				version >> 16, version >> 8 & 0xff, version & 0xff, oldest >> 16, oldest >> 8 & 0xff,
				oldest & 0xff, LIBRARY >> 16, LIBRARY >> 8 & 0xff, LIBRARY & 0xff));
}

doca_error_t doca_gpu_verbs_get_library_version(uint32_t *version)
{
	if (!version)
		return bl_net_doca(fail(EINVAL, "no place for the answer"));
	*version = LIBRARY;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_check_device_code_compatibility(uint32_t device_code_version)
{
	return check("device", device_code_version, OLDEST_DEVICE);
}

doca_error_t doca_gpu_verbs_check_host_code_compatibility(uint32_t host_code_version)
{
	return check("host", host_code_version, OLDEST_HOST);
}
