// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/params: " fmt
#include <stdio.h>
#include <string.h>

#include "config_load.h"
#include "driver.h"
#include "error.h"
#include "util/log.h"

static const enum bl_key numbers[] = {
	[CUFILE_PARAM_PROFILE_STATS] = BL_KEY_STATS,
	[CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH] = BL_KEY_QUEUE_DEPTH,
	[CUFILE_PARAM_EXECUTION_MAX_IO_THREADS] = BL_KEY_THREADS,
	[CUFILE_PARAM_EXECUTION_MIN_IO_THRESHOLD_SIZE_KB] = BL_KEY_THRESHOLD,
	[CUFILE_PARAM_EXECUTION_MAX_REQUEST_PARALLELISM] = BL_KEY_PARALLELISM,
	[CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB] = BL_KEY_DIRECT_IO_SIZE,
	[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB] = BL_KEY_CACHE_SIZE,
	[CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB] = BL_KEY_BUFFER_CACHE_SIZE,
	[CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB] = BL_KEY_PINNED_SIZE,
	[CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE] = BL_KEY_BATCHSIZE,
	[CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB] = BL_KEY_POLL_SIZE,
	[CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS] = BL_KEY_BATCH_TIMEOUT,
};

static const enum bl_key bools[] = {
	[CUFILE_PARAM_PROPERTIES_USE_POLL_MODE] = BL_KEY_POLL_MODE,
	[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE] = BL_KEY_ALLOW_COMPAT,
	[CUFILE_PARAM_FORCE_COMPAT_MODE] = BL_KEY_FORCE_COMPAT,
	[CUFILE_PARAM_FS_MISC_API_CHECK_AGGRESSIVE] = BL_KEY_API_CHECK,
	[CUFILE_PARAM_EXECUTION_PARALLEL_IO] = BL_KEY_PARALLEL_IO,
	[CUFILE_PARAM_PROFILE_NVTX] = BL_KEY_NVTX,
	[CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY] = BL_KEY_SYSTEM_MEMORY,
	[CUFILE_PARAM_USE_PCIP2PDMA] = BL_KEY_P2PDMA,
	[CUFILE_PARAM_PREFER_IO_URING] = BL_KEY_IOURING,
	[CUFILE_PARAM_FORCE_ODIRECT_MODE] = BL_KEY_FORCE_ODIRECT,
	[CUFILE_PARAM_SKIP_TOPOLOGY_DETECTION] = BL_KEY_SKIP_TOPOLOGY,
	[CUFILE_PARAM_STREAM_MEMOPS_BYPASS] = BL_KEY_MEMOPS_BYPASS,
	[CUFILE_PARAM_PROPERTIES_POSIX_IO_MODE] = BL_KEY_POSIX_MODE,
	[CUFILE_PARAM_GDS_FALLBACK_IO] = BL_KEY_FALLBACK,
};

static const enum bl_key texts[] = {
	[CUFILE_PARAM_LOGGING_LEVEL] = BL_KEY_LOG_LEVEL,
	[CUFILE_PARAM_ENV_LOGFILE_PATH] = BL_KEY_LOG_FILE,
	[CUFILE_PARAM_LOG_DIR] = BL_KEY_LOG_DIR,
	[CUFILE_PARAM_RDMA_TRANSPORT] = BL_KEY_RDMA_TRANSPORT,
};

/* Large, and used under the driver's lock. */
static struct bl_file_config scratch;

#define KEY(table, param)                                                                                              \
	((unsigned int)(param) < sizeof(table) / sizeof((table)[0]) ? (table)[(unsigned int)(param)] : BL_KEY_NONE)

/* For messages; until this thread's next call. */
static const char *name_of(int param)
{
	static _Thread_local char text[32];

	snprintf(text, sizeof(text), "parameter %d", param);
	return text;
}

static const char *slabs_name(enum bl_key key)
{
	return key == BL_KEY_POSIX_SLABS ? "slabs of the POSIX pool" : "slabs of GPU bounce buffers";
}

static int invalid(const char *what, const char *name)
{
	return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("%s: %s"), name, what);
}

/* Take the lock and see what is, or would be, in force. */
static int begin_get(enum bl_key key, const void *value, const char *name, const struct bl_file_config **config_p)
{
	*config_p = &bl_config_defaults;
	if (key == BL_KEY_NONE)
		return invalid("no such parameter", name);
	if (!value)
		return invalid("no place for its value", name);
	*config_p = bl_config_peek(&scratch, bl_driver_lock());
	return 0;
}

CUfileError_t cuFileGetParameterSizeT(CUFileSizeTConfigParameter_t param, size_t *value)
{
	enum bl_key key = KEY(numbers, param);
	const struct bl_file_config *config;
	int ret = begin_get(key, value, name_of((int)param), &config);

	if (!ret) {
		*value = bl_keys[key].kind == BL_KIND_UINT ? *(const unsigned int *)bl_key_see(config, key)
							   : *(const uint64_t *)bl_key_see(config, key);
		bl_driver_unlock();
	}
	return bl_error_status(ret);
}

CUfileError_t cuFileGetParameterBool(CUFileBoolConfigParameter_t param, bool *value)
{
	enum bl_key key = KEY(bools, param);
	const struct bl_file_config *config;
	int ret = begin_get(key, value, name_of((int)param), &config);

	if (!ret) {
		*value = *(const bool *)bl_key_see(config, key);
		bl_driver_unlock();
	}
	return bl_error_status(ret);
}

CUfileError_t cuFileGetParameterString(CUFileStringConfigParameter_t param, char *desc_str, int len)
{
	enum bl_key key = KEY(texts, param);
	const struct bl_file_config *config;
	const char *text;
	int ret;

	/* the original does not tell this one */
	if (key == BL_KEY_LOG_FILE)
		key = BL_KEY_NONE;
	ret = begin_get(key, desc_str, name_of((int)param), &config);
	if (ret)
		return bl_error_status(ret);
	text = bl_key_see(config, key);
	if (key == BL_KEY_LOG_LEVEL && !*text)
		text = "ERROR";
	if (len <= 0 || strlen(text) >= (size_t)len)
		ret = invalid("its value does not fit", name_of((int)param));
	else
		strcpy(desc_str, text);
	bl_driver_unlock();
	return bl_error_status(ret);
}

/* Without the nvidia-fs module there is nothing to limit: the original has no value then that could be set. */
static void range(enum bl_key key, size_t *min, size_t *max)
{
	bool module_only = key == BL_KEY_CACHE_SIZE || key == BL_KEY_PINNED_SIZE;
	unsigned int major, minor;

	*min = (size_t)bl_keys[key].min;
	*max = module_only && bl_driver_nvfs(&major, &minor) ? 0 : (size_t)bl_keys[key].max;
}

CUfileError_t cuFileGetParameterMinMaxValue(CUFileSizeTConfigParameter_t param, size_t *min_value, size_t *max_value)
{
	enum bl_key key = KEY(numbers, param);

	if (key == BL_KEY_NONE)
		return bl_error_status(invalid("no such parameter", name_of((int)param)));
	if (!min_value || !max_value)
		return bl_error_status(invalid("no place for its range", name_of((int)param)));
	range(key, min_value, max_value);
	return bl_error_status(0);
}

/* As begin_get(), for changes. */
static int begin_set(enum bl_key key, const char *name)
{
	if (key == BL_KEY_NONE)
		return invalid("no such parameter", name);
	if (!bl_driver_lock()) {
		bl_config_peek(&scratch, false);
		return 0;
	}
	bl_driver_unlock();
	return bl_fail(-BL_CUFILE(CU_FILE_DRIVER_ALREADY_OPEN), log_fmt("%s: the driver is open"), name);
}

/* A value that was refused is told to the caller and to nobody else. */
static CUfileError_t end_set(enum bl_key key, const char *name, int ret)
{
	if (!ret)
		bl_config_stage(&scratch, key);
	bl_config_notes_drop();
	bl_driver_unlock();
	return bl_error_status(ret ? invalid("out of range", name) : 0);
}

CUfileError_t cuFileSetParameterSizeT(CUFileSizeTConfigParameter_t param, size_t value)
{
	enum bl_key key = KEY(numbers, param);
	int ret = begin_set(key, name_of((int)param));
	size_t min, max;

	if (ret)
		return bl_error_status(ret);
	range(key, &min, &max);
	if (value < min || value > max)
		ret = -1;
	else
		ret = bl_key_set_number(&scratch, key, (int64_t)value, "parameter");
	return end_set(key, name_of((int)param), ret);
}

CUfileError_t cuFileSetParameterBool(CUFileBoolConfigParameter_t param, bool value)
{
	enum bl_key key = KEY(bools, param);
	int ret = begin_set(key, name_of((int)param));

	if (ret)
		return bl_error_status(ret);
	ret = bl_key_set_bool(&scratch, key, value, "parameter");
	return end_set(key, name_of((int)param), ret);
}

CUfileError_t cuFileSetParameterString(CUFileStringConfigParameter_t param, const char *desc_str)
{
	enum bl_key key = KEY(texts, param);
	int ret;

	if (!desc_str)
		return bl_error_status(invalid("no value", name_of((int)param)));
	ret = begin_set(key, name_of((int)param));
	if (ret)
		return bl_error_status(ret);
	ret = bl_key_set_text(&scratch, key, desc_str, "parameter");
	if (key == BL_KEY_LOG_FILE)
		scratch.log_to = *desc_str ? BL_LOG_TO_FILE : BL_LOG_TO_NONE;
	else if (key == BL_KEY_LOG_DIR)
		scratch.log_to = *desc_str ? BL_LOG_TO_DIR : BL_LOG_TO_STDERR;
	return end_set(key, name_of((int)param), ret);
}

static CUfileError_t set_slabs(enum bl_key key, const size_t *sizes, const size_t *counts, int len)
{
	struct bl_slab_array *slabs;
	int ret;

	if (!sizes || !counts || len < 1 || len > BL_SLABS)
		return bl_error_status(invalid("no list of 1 to 16 kinds of buffers", slabs_name(key)));
	ret = begin_set(key, slabs_name(key));
	if (ret)
		return bl_error_status(ret);
	slabs = bl_key_at(&scratch, key);
	memcpy(slabs->size_kb, sizes, (size_t)len * sizeof(*sizes));
	memcpy(slabs->count, counts, (size_t)len * sizeof(*counts));
	slabs->nr = slabs->nr_counts = len;
	return end_set(key, slabs_name(key), 0);
}

static CUfileError_t get_slabs(enum bl_key key, size_t *sizes, size_t *counts, int len)
{
	const struct bl_file_config *config;
	const struct bl_slab_array *slabs;
	int ret = begin_get(key, sizes && counts ? sizes : NULL, slabs_name(key), &config);

	if (ret)
		return bl_error_status(ret);
	slabs = bl_key_see(config, key);
	if (len == slabs->nr) {
		memcpy(sizes, slabs->size_kb, (size_t)len * sizeof(*sizes));
		memcpy(counts, slabs->count, (size_t)len * sizeof(*counts));
	} else {
		ret = invalid("another number of kinds of buffers", slabs_name(key));
	}
	bl_driver_unlock();
	return bl_error_status(ret);
}

CUfileError_t cuFileSetParameterPosixPoolSlabArray(const size_t *size_values, const size_t *count_values, int len)
{
	return set_slabs(BL_KEY_POSIX_SLABS, size_values, count_values, len);
}

CUfileError_t cuFileGetParameterPosixPoolSlabArray(size_t *size_values, size_t *count_values, int len)
{
	return get_slabs(BL_KEY_POSIX_SLABS, size_values, count_values, len);
}

CUfileError_t cuFileSetParameterGpuBounceBufferSlabArray(const size_t *size_values, const size_t *count_values, int len)
{
	return set_slabs(BL_KEY_GPU_SLABS, size_values, count_values, len);
}

CUfileError_t cuFileGetParameterGpuBounceBufferSlabArray(size_t *size_values, size_t *count_values, int len)
{
	return get_slabs(BL_KEY_GPU_SLABS, size_values, count_values, len);
}
