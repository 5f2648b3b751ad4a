// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/driver: " fmt
#include <errno.h>
#include <string.h>

#include "config_load.h"
#include "driver.h"
#include "error.h"
#include "gpu/edge.h"
#include "nvfs.h"
#include "nvfs_modules.h"
#include "util/log.h"

CUfileError_t cuFileDriverOpen(void)
{
	return bl_error_status(bl_driver_open());
}

CUfileError_t cuFileDriverClose_v2(void)
{
	return bl_error_status(bl_driver_close());
}

/* Programs that were built with a header of old call the first name. */
#undef cuFileDriverClose
CUfileError_t cuFileDriverClose(void)
{
	return cuFileDriverClose_v2();
}

long cuFileUseCount(void)
{
	return bl_driver_uses();
}

static unsigned int bit(bool on, int place)
{
	return (unsigned int)on << place;
}

static void get_properties(CUfileDrvProps_t *props)
{
	const struct bl_file_config *config = bl_file_config();
	unsigned int major, minor;
	bool nvfs = !bl_driver_nvfs(&major, &minor);

	memset(props, 0, sizeof(*props));
	if (nvfs) {
		props->nvfs.major_version = major;
		props->nvfs.minor_version = minor;
		/* the module registers with storage drivers, and lists them, while a node is open */
		bl_nvfs_blocked();
		props->nvfs.dstatusflags = bl_nvfs_modules_flags();
		props->per_buffer_cache_size = (unsigned int)config->per_buffer_cache_size_kb;
	}
	props->nvfs.poll_thresh_size = config->poll_mode_max_size_kb;
	props->nvfs.max_direct_io_size = config->max_direct_io_size_kb;
	props->nvfs.dcontrolflags = bit(config->use_poll_mode, CU_FILE_USE_POLL_MODE) |
				    bit(config->allow_compat_mode, CU_FILE_ALLOW_COMPAT_MODE) |
				    bit(config->vanilla_posix_io_mode, CU_FILE_VANILLA_POSIX_IO_MODE) |
				    bit(config->gds_fallback_io, CU_FILE_FALLBACK_IO_MODE);
	props->fflags = bit(true, CU_FILE_DYN_ROUTING_SUPPORTED) | bit(true, CU_FILE_BATCH_IO_SUPPORTED) |
			bit(true, CU_FILE_STREAMS_SUPPORTED) | bit(true, CU_FILE_PARALLEL_IO_SUPPORTED);
	props->max_device_cache_size = (unsigned int)config->max_device_cache_size_kb;
	props->max_device_pinned_mem_size = (unsigned int)config->max_device_pinned_mem_size_kb;
	props->max_batch_io_size = config->io_batchsize;
	props->max_batch_io_timeout_msecs = config->max_batch_io_timeout_msecs;
}

CUfileError_t cuFileDriverGetProperties(CUfileDrvProps_t *props)
{
	int ret;

	if (!props)
		return bl_error_status(bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("properties: no place for them")));
	ret = bl_driver_use();
	if (!ret)
		get_properties(props);
	return bl_error_status(ret);
}

/* @module_only: without the nvidia-fs module the original has no range for it at all. */
static int check_limit(const char *what, enum bl_key key, size_t value, bool module_only)
{
	const struct bl_key_info *info = &bl_keys[key];
	unsigned int major, minor;

	if (module_only && bl_driver_nvfs(&major, &minor))
		return bl_fail(-BL_CUFILE(CU_FILE_DRIVER_UNSUPPORTED_LIMIT), log_fmt("%s %zu KiB: there is no nvidia-fs module"),
			       what, value);
	if (value < (size_t)info->min || value > (size_t)info->max || value % (size_t)info->step)
		return bl_fail(-BL_CUFILE(CU_FILE_DRIVER_UNSUPPORTED_LIMIT),
			       log_fmt("%s %zu KiB: not in %lld to %lld in steps of %lld"), what, value,
			       (long long)info->min, (long long)info->max, (long long)info->step);
	return 0;
}

/* @poll: for the threshold of polling, whether to poll; else not looked at. */
static CUfileError_t set_limit(const char *what, enum bl_key key, size_t value, bool module_only, bool poll)
{
	struct bl_file_config *config;
	int ret = bl_driver_use();

	if (!ret)
		ret = check_limit(what, key, value, module_only);
	if (ret)
		return bl_error_status(ret);
	bl_driver_lock();
	config = bl_config_in_force();
	atomic_store((_Atomic(uint64_t) *)bl_key_at(config, key), value);
	if (key == BL_KEY_POLL_SIZE)
		atomic_store(&config->use_poll_mode, poll);
	bl_driver_unlock();
	return bl_error_status(0);
}

CUfileError_t cuFileDriverSetPollMode(bool poll, size_t poll_threshold_size)
{
	return set_limit("poll threshold", BL_KEY_POLL_SIZE, poll_threshold_size, false, poll);
}

CUfileError_t cuFileDriverSetMaxDirectIOSize(size_t max_direct_io_size)
{
	return set_limit("largest direct I/O", BL_KEY_DIRECT_IO_SIZE, max_direct_io_size, false, false);
}

CUfileError_t cuFileDriverSetMaxCacheSize(size_t max_cache_size)
{
	return set_limit("bounce buffers", BL_KEY_CACHE_SIZE, max_cache_size, true, false);
}

CUfileError_t cuFileDriverSetMaxPinnedMemSize(size_t max_pinned_size)
{
	return set_limit("pinned memory", BL_KEY_PINNED_SIZE, max_pinned_size, true, false);
}

CUfileError_t cuFileGetBARSizeInKB(int gpuIndex, size_t *barSize)
{
	uint64_t size, avail;
	int ret;

	if (!barSize)
		return bl_error_status(bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("BAR1: no place for its size")));
	ret = gpuIndex < 0 ? fail(ENODEV, "GPU %d: no such GPU", gpuIndex) : bl_gpu_bar1(gpuIndex, &size, &avail);
	if (!ret)
		*barSize = size >> 10;
	return bl_error_status(ret);
}
