// SPDX-License-Identifier: MIT
#include "config_key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config_load.h"

#define MAX_KB 4294967295

/* cuFile's level NOTICE lies between INFO and WARN, and so do none of our messages. */
static const char *const levels[] = {"TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "ERROR", NULL};
static const char *const transports[] = {"DC_V1", "EXT_RC_V1", NULL};
static const char *const priorities[] = {"default", "low", "med", "high", NULL};
static const char *const path_names[BL_PATH_NR] = {"nvfs", "devicepages", "mapped", "staged", "plain"};

#define AT(member) offsetof(struct bl_file_config, member), sizeof(((struct bl_file_config *)NULL)->member)
#define BOOL(member)		      {BL_KIND_BOOL, AT(member), 0, 1, 1, NULL}
#define UINT(member, min, max)	      {BL_KIND_UINT, AT(member), min, max, 1, NULL}
#define U64(member, min, max, step)   {BL_KIND_U64, AT(member), min, max, step, NULL}
#define OTHER(kind, member, words)    {kind, AT(member), 0, 0, 1, words}

const struct bl_key_info bl_keys[BL_KEY_NR] = {
	[BL_KEY_LOG_DIR] = OTHER(BL_KIND_TEXT, log_dir, NULL),
	[BL_KEY_LOG_FILE] = OTHER(BL_KIND_TEXT, log_file, NULL),
	[BL_KEY_LOG_LEVEL] = OTHER(BL_KIND_WORD, log_level, levels),
	[BL_KEY_LOG_MAX_SIZE] = {BL_KIND_I64, AT(log_max_file_size_mb), -1, 1 << 20, 1, NULL},
	[BL_KEY_NVTX] = BOOL(nvtx),
	[BL_KEY_STATS] = UINT(cufile_stats, 0, 3),
	[BL_KEY_BATCHSIZE] = UINT(io_batchsize, 1, 256),
	[BL_KEY_QUEUE_DEPTH] = UINT(max_io_queue_depth, 1, 256),
	[BL_KEY_THREADS] = UINT(max_io_threads, 0, 32),
	[BL_KEY_PARALLEL_IO] = BOOL(parallel_io),
	[BL_KEY_THRESHOLD] = U64(min_io_threshold_size_kb, 4, MAX_KB, 1),
	[BL_KEY_PARALLELISM] = UINT(max_request_parallelism, 0, 8),
	[BL_KEY_DIRECT_IO_SIZE] = U64(max_direct_io_size_kb, 64, 16384, 64),
	[BL_KEY_CACHE_SIZE] = U64(max_device_cache_size_kb, 0, MAX_KB, 1),
	[BL_KEY_BUFFER_CACHE_SIZE] = U64(per_buffer_cache_size_kb, 64, 16384, 1),
	[BL_KEY_PINNED_SIZE] = U64(max_device_pinned_mem_size_kb, 64, MAX_KB, 1),
	[BL_KEY_GPU_SLABS] = OTHER(BL_KIND_SLABS, gpu_bounce_slabs, NULL),
	[BL_KEY_POSIX_SLABS] = OTHER(BL_KIND_SLABS, posix_pool_slabs, NULL),
	[BL_KEY_POLL_MODE] = BOOL(use_poll_mode),
	[BL_KEY_POLL_SIZE] = U64(poll_mode_max_size_kb, 4, MAX_KB, 4),
	[BL_KEY_P2PDMA] = BOOL(use_pci_p2pdma),
	[BL_KEY_ALLOW_COMPAT] = BOOL(allow_compat_mode),
	[BL_KEY_FORCE_COMPAT] = BOOL(force_compat_mode),
	[BL_KEY_FORCE_ODIRECT] = BOOL(force_odirect_mode),
	[BL_KEY_IOURING] = BOOL(prefer_iouring),
	[BL_KEY_POSIX_MODE] = BOOL(vanilla_posix_io_mode),
	[BL_KEY_FALLBACK] = BOOL(gds_fallback_io),
	[BL_KEY_SYSTEM_MEMORY] = BOOL(allow_system_memory),
	[BL_KEY_IO_PRIORITY] = OTHER(BL_KIND_WORD, io_priority, priorities),
	[BL_KEY_BATCH_TIMEOUT] = UINT(max_batch_io_timeout_msecs, 1, 1000),
	[BL_KEY_UNALIGNED_WRITES] = BOOL(posix_unaligned_writes),
	[BL_KEY_API_CHECK] = BOOL(api_check_aggressive),
	[BL_KEY_SKIP_TOPOLOGY] = BOOL(skip_topology_detection),
	[BL_KEY_MEMOPS_BYPASS] = BOOL(stream_memops_bypass),
	[BL_KEY_RDMA_TRANSPORT] = OTHER(BL_KIND_WORD, rdma_transport_type, transports),
	[BL_KEY_PATH] = OTHER(BL_KIND_PATH, path, NULL),
	[BL_KEY_STRICT] = BOOL(strict),
	[BL_KEY_DENY_DRIVERS] = OTHER(BL_KIND_NAMES, deny[BL_DENY_DRIVERS], NULL),
	[BL_KEY_DENY_DEVICES] = OTHER(BL_KIND_NAMES, deny[BL_DENY_DEVICES], NULL),
	[BL_KEY_DENY_MOUNTS] = OTHER(BL_KIND_NAMES, deny[BL_DENY_MOUNTS], NULL),
	[BL_KEY_DENY_FILESYSTEMS] = OTHER(BL_KIND_NAMES, deny[BL_DENY_FILESYSTEMS], NULL),
};

const struct bl_file_config bl_config_defaults = {
	.log_to = BL_LOG_TO_STDERR,
	.log_max_file_size_mb = 32,
	.io_batchsize = 128,
	.max_io_queue_depth = 128,
	.max_io_threads = 4,
	.parallel_io = true,
	.min_io_threshold_size_kb = 8192,
	.max_request_parallelism = 4,
	.max_direct_io_size_kb = 16384,
	.max_device_cache_size_kb = 131072,
	.per_buffer_cache_size_kb = 1024,
	.max_device_pinned_mem_size_kb = 33554432,
	.gpu_bounce_slabs = {{1024, 8192, 16384, 65536}, {128, 8, 4, 2}, 4, 4},
	.posix_pool_slabs = {{4, 1024, 16384}, {128, 64, 64}, 3, 3},
	.poll_mode_max_size_kb = 4,
	.allow_compat_mode = true,
	.allow_system_memory = true,
	.io_priority = "default",
	.max_batch_io_timeout_msecs = 5,
	.rdma_transport_type = "DC_V1",
	.path = BL_PATH_NR,
};

/* Complain about a value, and say which one stays. */
static int refuse(const struct bl_file_config *config, enum bl_key key, const char *whence, const char *why)
{
	char text[320];

	bl_config_note("%s: %s; %s stays", whence, why, bl_key_show(config, key, text, sizeof(text)));
	return -EINVAL;
}

int bl_key_set_bool(struct bl_file_config *config, enum bl_key key, bool value, const char *whence)
{
	if (bl_keys[key].kind != BL_KIND_BOOL)
		return refuse(config, key, whence, "true and false mean nothing here");
	*(bool *)bl_key_at(config, key) = value;
	return 0;
}

int bl_key_set_number(struct bl_file_config *config, enum bl_key key, int64_t value, const char *whence)
{
	const struct bl_key_info *info = &bl_keys[key];
	char why[128];

	switch (info->kind) {
	case BL_KIND_UINT:
	case BL_KIND_U64:
	case BL_KIND_I64:
		break;
	default:
		return refuse(config, key, whence, "a number means nothing here");
	}
	if (value < info->min || value > info->max || value % info->step) {
		int len = snprintf(why, sizeof(why), "%" PRId64 " is not in %" PRId64 " to %" PRId64, value, info->min,
				   info->max);

		if (info->step > 1)
			snprintf(why + len, sizeof(why) - (size_t)len, " in steps of %" PRId64, info->step);
		return refuse(config, key, whence, why);
	}
	if (info->kind == BL_KIND_UINT)
		*(unsigned int *)bl_key_at(config, key) = (unsigned int)value;
	else
		*(int64_t *)bl_key_at(config, key) = value;
	return 0;
}

static int set_path(struct bl_file_config *config, const char *value, const char *whence)
{
	char why[128];

	for (int i = 0; i < BL_PATH_NR; i++) {
		if (!strcasecmp(value, path_names[i])) {
			config->path = (enum bl_path)i;
			return 0;
		}
	}
	snprintf(why, sizeof(why), "\"%.40s\" is none of nvfs, devicepages, mapped, staged, plain", value);
	return refuse(config, BL_KEY_PATH, whence, why);
}

static int set_word(struct bl_file_config *config, enum bl_key key, const char *value, const char *whence)
{
	char why[128];

	for (const char *const *word = bl_keys[key].words; *word; word++) {
		if (!strcasecmp(value, *word)) {
			snprintf(bl_key_at(config, key), bl_keys[key].size, "%s", *word);
			return 0;
		}
	}
	snprintf(why, sizeof(why), "\"%.40s\" is no such word", value);
	return refuse(config, key, whence, why);
}

int bl_key_set_text(struct bl_file_config *config, enum bl_key key, const char *value, const char *whence)
{
	switch (bl_keys[key].kind) {
	case BL_KIND_PATH:
		return set_path(config, value, whence);
	case BL_KIND_WORD:
		return set_word(config, key, value, whence);
	case BL_KIND_TEXT:
		if (strlen(value) >= bl_keys[key].size)
			return refuse(config, key, whence, "the text is too long");
		strcpy(bl_key_at(config, key), value);
		return 0;
	default:
		return refuse(config, key, whence, "a text means nothing here");
	}
}

static int parse_bool(struct bl_file_config *config, enum bl_key key, const char *text, const char *whence)
{
	static const char *const yes[] = {"1", "true", "yes", "on"}, *const no[] = {"0", "false", "no", "off"};
	char why[128];

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (!strcasecmp(text, yes[i]))
			return bl_key_set_bool(config, key, true, whence);
		if (!strcasecmp(text, no[i]))
			return bl_key_set_bool(config, key, false, whence);
	}
	snprintf(why, sizeof(why), "\"%.40s\" is neither true nor false", text);
	return refuse(config, key, whence, why);
}

int bl_key_parse(struct bl_file_config *config, enum bl_key key, const char *text, const char *whence)
{
	char why[128], *end;
	int64_t value;

	switch (bl_keys[key].kind) {
	case BL_KIND_BOOL:
		return parse_bool(config, key, text, whence);
	case BL_KIND_UINT:
	case BL_KIND_U64:
	case BL_KIND_I64:
		errno = 0;
		value = strtoll(text, &end, 10);
		if (end != text && !*end && !errno)
			return bl_key_set_number(config, key, value, whence);
		snprintf(why, sizeof(why), "\"%.40s\" is no number", text);
		return refuse(config, key, whence, why);
	default:
		return bl_key_set_text(config, key, text, whence);
	}
}

const char *bl_key_show(const struct bl_file_config *config, enum bl_key key, char *buf, size_t size)
{
	const struct bl_key_info *info = &bl_keys[key];
	const void *at = (const char *)config + info->off;

	switch (info->kind) {
	case BL_KIND_BOOL:
		snprintf(buf, size, "%s", *(const bool *)at ? "true" : "false");
		break;
	case BL_KIND_UINT:
		snprintf(buf, size, "%u", *(const unsigned int *)at);
		break;
	case BL_KIND_U64:
	case BL_KIND_I64:
		snprintf(buf, size, "%" PRId64, *(const int64_t *)at);
		break;
	case BL_KIND_TEXT:
	case BL_KIND_WORD:
		snprintf(buf, size, "\"%.200s\"", (const char *)at);
		break;
	case BL_KIND_PATH:
		snprintf(buf, size, "%s", config->path < BL_PATH_NR ? path_names[config->path] : "the best path");
		break;
	default:
		snprintf(buf, size, "what there is");
	}
	return buf;
}

void bl_key_copy(struct bl_file_config *to, const struct bl_file_config *from, enum bl_key key)
{
	memcpy(bl_key_at(to, key), (const char *)from + bl_keys[key].off, bl_keys[key].size);
	if (key == BL_KEY_LOG_FILE || key == BL_KEY_LOG_DIR)
		to->log_to = from->log_to;
}

bool bl_key_is_live(enum bl_key key)
{
	switch (key) {
	case BL_KEY_DIRECT_IO_SIZE:
	case BL_KEY_CACHE_SIZE:
	case BL_KEY_PINNED_SIZE:
	case BL_KEY_POLL_MODE:
	case BL_KEY_POLL_SIZE:
		return true;
	default:
		return false;
	}
}

void bl_key_store(struct bl_file_config *to, const struct bl_file_config *from, enum bl_key key)
{
	if (bl_keys[key].kind == BL_KIND_BOOL)
		atomic_store((_Atomic(bool) *)bl_key_at(to, key), *(const bool *)bl_key_see(from, key));
	else
		atomic_store((_Atomic(uint64_t) *)bl_key_at(to, key), *(const uint64_t *)bl_key_see(from, key));
}

/* Of lists, what lies behind their end counts too: the same settings leave the same there. */
bool bl_key_same(const struct bl_file_config *a, const struct bl_file_config *b, enum bl_key key)
{
	const void *left = bl_key_see(a, key), *right = bl_key_see(b, key);

	if (bl_keys[key].kind == BL_KIND_TEXT || bl_keys[key].kind == BL_KIND_WORD)
		return !strcmp(left, right);
	return !memcmp(left, right, bl_keys[key].size);
}
