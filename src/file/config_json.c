// SPDX-License-Identifier: MIT
/* The text of a cufile.json. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_load.h"

#define MAX_PATH_LEN 256
#define MAX_SLAB     4294967295

enum slab_part { SIZES = 0, COUNTS = 1 };

/**
 * struct name - a key of the file
 * @path: sections and key; "*" is any one section
 * @key:  what it sets
 * @part: of bounce buffers
 */
struct name {
	const char *path;
	enum bl_key key;
	enum slab_part part;
};

static const struct name names[] = {
	{"logging.dir", BL_KEY_LOG_DIR, 0},
	{"logging.level", BL_KEY_LOG_LEVEL, 0},
	{"logging.max_file_size_mb", BL_KEY_LOG_MAX_SIZE, 0},
	{"profile.nvtx", BL_KEY_NVTX, 0},
	{"profile.cufile_stats", BL_KEY_STATS, 0},
	{"profile.io_batchsize", BL_KEY_BATCHSIZE, 0},
	{"properties.io_batchsize", BL_KEY_BATCHSIZE, 0},
	{"execution.max_io_queue_depth", BL_KEY_QUEUE_DEPTH, 0},
	{"execution.max_io_threads", BL_KEY_THREADS, 0},
	{"execution.parallel_io", BL_KEY_PARALLEL_IO, 0},
	{"execution.min_io_threshold_size_kb", BL_KEY_THRESHOLD, 0},
	{"execution.max_request_parallelism", BL_KEY_PARALLELISM, 0},
	{"properties.max_direct_io_size_kb", BL_KEY_DIRECT_IO_SIZE, 0},
	{"properties.max_device_cache_size_kb", BL_KEY_CACHE_SIZE, 0},
	{"properties.per_buffer_cache_size_kb", BL_KEY_BUFFER_CACHE_SIZE, 0},
	{"properties.max_device_pinned_mem_size_kb", BL_KEY_PINNED_SIZE, 0},
	{"properties.gpu_bounce_buffer_slab_config.slab_size_kb", BL_KEY_GPU_SLABS, SIZES},
	{"properties.gpu_bounce_buffer_slab_config.slab_count", BL_KEY_GPU_SLABS, COUNTS},
	{"properties.posix_pool_slab_size_kb", BL_KEY_POSIX_SLABS, SIZES},
	{"properties.posix_pool_slab_count", BL_KEY_POSIX_SLABS, COUNTS},
	{"properties.use_poll_mode", BL_KEY_POLL_MODE, 0},
	{"properties.poll_mode_max_size_kb", BL_KEY_POLL_SIZE, 0},
	{"properties.use_pci_p2pdma", BL_KEY_P2PDMA, 0},
	{"properties.allow_compat_mode", BL_KEY_ALLOW_COMPAT, 0},
	{"properties.force_compat_mode", BL_KEY_FORCE_COMPAT, 0},
	{"properties.force_odirect_mode", BL_KEY_FORCE_ODIRECT, 0},
	{"properties.prefer_iouring", BL_KEY_IOURING, 0},
	{"properties.vanilla_posix_io_mode", BL_KEY_POSIX_MODE, 0},
	{"properties.gds_fallback_io", BL_KEY_FALLBACK, 0},
	{"properties.allow_system_memory", BL_KEY_SYSTEM_MEMORY, 0},
	{"properties.io_priority", BL_KEY_IO_PRIORITY, 0},
	{"properties.max_batch_io_timeout_msecs", BL_KEY_BATCH_TIMEOUT, 0},
	{"properties.rdma_transport_type", BL_KEY_RDMA_TRANSPORT, 0},
	{"properties.barlane_path", BL_KEY_PATH, 0},
	{"properties.barlane_strict", BL_KEY_STRICT, 0},
	{"fs.generic.posix_unaligned_writes", BL_KEY_UNALIGNED_WRITES, 0},
	{"miscellaneous.api_check_aggressive", BL_KEY_API_CHECK, 0},
	{"miscellaneous.skip_topology_detection", BL_KEY_SKIP_TOPOLOGY, 0},
	{"miscellaneous.stream_memops_bypass", BL_KEY_MEMOPS_BYPASS, 0},
	{"denylist.drivers", BL_KEY_DENY_DRIVERS, 0},
	{"denylist.devices", BL_KEY_DENY_DEVICES, 0},
	{"denylist.mounts", BL_KEY_DENY_MOUNTS, 0},
	{"denylist.filesystems", BL_KEY_DENY_FILESYSTEMS, 0},
	{"blacklist.drivers", BL_KEY_DENY_DRIVERS, 0},
	{"blacklist.devices", BL_KEY_DENY_DEVICES, 0},
	{"blacklist.mounts", BL_KEY_DENY_MOUNTS, 0},
	{"blacklist.filesystems", BL_KEY_DENY_FILESYSTEMS, 0},
	/* network cards, GPUs near them, and what the kernel module does by itself: nothing here depends on these */
	{"properties.gds_rdma_write_support", BL_KEY_NONE, 0},
	{"properties.rdma_dev_addr_list", BL_KEY_NONE, 0},
	{"properties.rdma_load_balancing_policy", BL_KEY_NONE, 0},
	{"properties.rdma_peer_affinity_policy", BL_KEY_NONE, 0},
	{"properties.rdma_topN_ranks", BL_KEY_NONE, 0},
	{"properties.rdma_peer_type", BL_KEY_NONE, 0},
	{"properties.rdma_dc_key", BL_KEY_NONE, 0},
	{"properties.rdma_access_mask", BL_KEY_NONE, 0},
	{"properties.allow_rdma_token_reset", BL_KEY_NONE, 0},
	{"properties.rdma_dynamic_routing", BL_KEY_NONE, 0},
	{"properties.rdma_dynamic_routing_order", BL_KEY_NONE, 0},
	{"properties.compat_odirect_unaligned_read_split", BL_KEY_NONE, 0},
	{"properties.compat_odirect_unaligned_read_split_min_size_kb", BL_KEY_NONE, 0},
	{"sparse.min_p2pdma_threshold_kb", BL_KEY_NONE, 0},
	{"sparse.p2p_compat_enable", BL_KEY_NONE, 0},
	{"fs.*.posix_gds_min_kb", BL_KEY_NONE, 0},
	{"fs.*.rdma_dev_addr_list", BL_KEY_NONE, 0},
	{"fs.*.mount_table", BL_KEY_NONE, 0},
	{"fs.*.use_pci_p2pdma", BL_KEY_NONE, 0},
	{"fs.weka.rdma_write_support", BL_KEY_NONE, 0},
	{"fs.gpfs.gds_write_support", BL_KEY_NONE, 0},
	{"fs.gpfs.gds_async_support", BL_KEY_NONE, 0},
	{"block.*.use_pci_p2pdma", BL_KEY_NONE, 0},
	{"miscellaneous.enable_static_routing", BL_KEY_NONE, 0},
	{"miscellaneous.static_routing_filepath", BL_KEY_NONE, 0},
	{"miscellaneous.rdma_token_reset_timeout_secs", BL_KEY_NONE, 0},
};

enum match { NO_MATCH, IS_KEY, IS_SECTION };

static enum match match(const char *pattern, const char *path)
{
	while (*path && *pattern) {
		if (*pattern == '*') {
			pattern++;
			path += strcspn(path, ".");
		} else if (*pattern++ != *path++) {
			return NO_MATCH;
		}
	}
	if (*path)
		return NO_MATCH;
	return !*pattern ? IS_KEY : *pattern == '.' ? IS_SECTION : NO_MATCH;
}

static enum match find(const char *path, const struct name **name_p)
{
	enum match found = NO_MATCH;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		enum match how = match(names[i].path, path);

		if (how == IS_KEY) {
			*name_p = &names[i];
			return how;
		}
		if (how == IS_SECTION)
			found = how;
	}
	return found;
}

/* What is left out of a denylist is not denied. */
static void set_names(struct bl_names *to, struct json_object *value, const char *whence)
{
	size_t nr = json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;

	if (!json_object_is_type(value, json_type_array)) {
		bl_config_fault("%s: not a list of texts; what there is stays", whence);
		return;
	}
	to->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct json_object *item = json_object_array_get_idx(value, i);
		const char *text = json_object_get_string(item);

		if (!json_object_is_type(item, json_type_string) || strlen(text) >= BL_NAME_SIZE || !*text)
			bl_config_fault("%s: item %zu is no text of 1 to %d characters; left out", whence, i, BL_NAME_SIZE - 1);
		else if (to->nr == BL_NAMES)
			bl_config_fault("%s: item %zu: only %d are kept; left out", whence, i, BL_NAMES);
		else
			snprintf(to->name[to->nr++], BL_NAME_SIZE, "%s", text);
	}
}

static void set_slabs(struct bl_slab_array *to, enum slab_part part, struct json_object *value, const char *whence)
{
	size_t nr = json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
	size_t numbers[BL_SLABS];

	if (!nr || nr > BL_SLABS) {
		bl_config_note("%s: not a list of 1 to %d numbers; what there is stays", whence, BL_SLABS);
		return;
	}
	for (size_t i = 0; i < nr; i++) {
		struct json_object *item = json_object_array_get_idx(value, i);
		int64_t number = json_object_get_int64(item);

		if (!json_object_is_type(item, json_type_int) || number < 1 || number > MAX_SLAB) {
			bl_config_note("%s: item %zu is no number from 1 on; what there is stays", whence, i);
			return;
		}
		numbers[i] = (size_t)number;
	}
	memcpy(part == SIZES ? to->size_kb : to->count, numbers, nr * sizeof(numbers[0]));
	*(part == SIZES ? &to->nr : &to->nr_counts) = (int)nr;
}

static const char *kind_wanted(enum bl_key_kind kind)
{
	switch (kind) {
	case BL_KIND_BOOL:
		return "true or false";
	case BL_KIND_UINT:
	case BL_KIND_U64:
	case BL_KIND_I64:
		return "a whole number";
	default:
		return "a text";
	}
}

/* What json-c calls a value, and which of ours it can be. */
static void set_scalar(struct bl_file_config *config, enum bl_key key, struct json_object *value, const char *whence)
{
	enum bl_key_kind kind = bl_keys[key].kind;
	bool number = kind == BL_KIND_UINT || kind == BL_KIND_U64 || kind == BL_KIND_I64;
	char text[320];

	if (kind == BL_KIND_BOOL && json_object_is_type(value, json_type_boolean))
		bl_key_set_bool(config, key, json_object_get_boolean(value), whence);
	else if (number && json_object_is_type(value, json_type_int))
		bl_key_set_number(config, key, json_object_get_int64(value), whence);
	else if (!number && kind != BL_KIND_BOOL && json_object_is_type(value, json_type_string))
		bl_key_set_text(config, key, json_object_get_string(value), whence);
	else
		bl_config_note("%s: is %s, not %s; %s stays", whence, json_type_to_name(json_object_get_type(value)),
			       kind_wanted(kind), bl_key_show(config, key, text, sizeof(text)));
}

static void apply(struct bl_file_config *config, const struct name *name, struct json_object *value, const char *whence)
{
	switch (bl_keys[name->key].kind) {
	case BL_KIND_ANY:
		return;
	case BL_KIND_SLABS:
		set_slabs(bl_key_at(config, name->key), name->part, value, whence);
		return;
	case BL_KIND_NAMES:
		set_names(bl_key_at(config, name->key), value, whence);
		return;
	default:
		set_scalar(config, name->key, value, whence);
		if (name->key == BL_KEY_LOG_DIR)
			config->log_to = *config->log_dir ? BL_LOG_TO_DIR : BL_LOG_TO_STDERR;
	}
}

static void walk(struct bl_file_config *config, struct json_object *object, const char *file, const char *section)
{
	json_object_object_foreach(object, key, value) {
		char path[MAX_PATH_LEN], whence[MAX_PATH_LEN + 256];
		const struct name *name = NULL;
		int len = snprintf(path, sizeof(path), "%s%s%s", section, *section ? "." : "", key);
		enum match how = len < (int)sizeof(path) ? find(path, &name) : NO_MATCH;

		snprintf(whence, sizeof(whence), "%.250s: %s", file, path);
		if (how == IS_KEY)
			apply(config, name, value, whence);
		else if (how == NO_MATCH)
			bl_config_note("%s: no such key; ignored", whence);
		else if (json_object_is_type(value, json_type_object))
			walk(config, value, file, path);
		else
			bl_config_note("%s: is %s, not a section; ignored", whence,
				       json_type_to_name(json_object_get_type(value)));
	}
}

/* json-c knows comments, but takes a file that ends in one in the middle of an object. Blanks keep places as they are. */
static void blank_comments(char *text, size_t len)
{
	char quote = 0;

	for (size_t i = 0; i < len; i++) {
		bool line = text[i] == '/' && i + 1 < len && text[i + 1] == '/';
		bool block = text[i] == '/' && i + 1 < len && text[i + 1] == '*';

		if (quote) {
			if (text[i] == '\\')
				i++;
			else if (text[i] == quote)
				quote = 0;
		} else if (text[i] == '"' || text[i] == '\'') {
			quote = text[i];
		} else if (line) {
			for (; i < len && text[i] != '\n'; i++)
				text[i] = ' ';
		} else if (block) {
			text[i] = text[i + 1] = ' ';
			for (i += 2; i < len && !(text[i] == '*' && i + 1 < len && text[i + 1] == '/'); i++)
				text[i] = text[i] == '\n' ? '\n' : ' ';
			for (size_t end = i + 2; i < end && i < len; i++)
				text[i] = ' ';
			i--;
		}
	}
}

static int line_at(const char *text, size_t at)
{
	int line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}

static bool only_blanks(const char *text, size_t from, size_t len)
{
	for (; from < len; from++) {
		if (!strchr(" \t\r\n", text[from]))
			return false;
	}
	return true;
}

/* @text is one longer than @len and ends with a NUL. Return: 0, -EINVAL with a complaint, -ENOMEM. */
static int read_object(const char *text, size_t len, const char *name, struct json_object **object_p)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object;
	const char *why = NULL;
	size_t end;

	if (!tokener)
		return -ENOMEM;
	object = json_tokener_parse_ex(tokener, text, (int)len + 1);
	end = json_tokener_get_parse_end(tokener);
	if (end > len)
		end = len;
	if (json_tokener_get_error(tokener) != json_tokener_success)
		why = json_tokener_error_desc(json_tokener_get_error(tokener));
	else if (!json_object_is_type(object, json_type_object))
		why = "no object in braces";
	else if (!only_blanks(text, end, len))
		why = "text behind the end";
	json_tokener_free(tokener);
	if (why) {
		bl_config_fault("%s:%d: %s; the file is ignored", name, line_at(text, end), why);
		json_object_put(object);
		return -EINVAL;
	}
	*object_p = object;
	return 0;
}

/* Sizes and counts come in pairs. */
static void check_slabs(struct bl_slab_array *slabs, const struct bl_slab_array *before, const char *name,
			const char *what)
{
	if (slabs->nr == slabs->nr_counts)
		return;
	bl_config_note("%s: %s: %d sizes and %d counts; what there is stays", name, what, slabs->nr, slabs->nr_counts);
	*slabs = *before;
}

int bl_config_parse(struct bl_file_config *config, const char *text, size_t len, const char *name)
{
	struct bl_slab_array gpu = config->gpu_bounce_slabs, posix = config->posix_pool_slabs;
	struct json_object *object;
	char *copy;
	int ret;

	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		text += 3;
		len -= 3;
	}
	if (memchr(text, 0, len)) {
		bl_config_fault("%s: has NUL bytes; the file is ignored", name);
		return -EINVAL;
	}
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	blank_comments(copy, len);
	ret = read_object(copy, len, name, &object);
	free(copy);
	if (ret)
		return ret;
	walk(config, object, name, "");
	json_object_put(object);
	check_slabs(&config->gpu_bounce_slabs, &gpu, name, "properties.gpu_bounce_buffer_slab_config");
	check_slabs(&config->posix_pool_slabs, &posix, name, "properties.posix_pool_slab_*");
	return 0;
}
