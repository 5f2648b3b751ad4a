/* SPDX-License-Identifier: MIT */
/* config_key.h - what can be configured: where it is kept, its range, and how it is called where it comes from */
#ifndef BL_FILE_CONFIG_KEY_H
#define BL_FILE_CONFIG_KEY_H

#include "config.h"

enum bl_key {
	BL_KEY_NONE, /* known, and of no effect */
	BL_KEY_LOG_DIR,
	BL_KEY_LOG_FILE,
	BL_KEY_LOG_LEVEL,
	BL_KEY_LOG_MAX_SIZE,
	BL_KEY_NVTX,
	BL_KEY_STATS,
	BL_KEY_BATCHSIZE,
	BL_KEY_QUEUE_DEPTH,
	BL_KEY_THREADS,
	BL_KEY_PARALLEL_IO,
	BL_KEY_THRESHOLD,
	BL_KEY_PARALLELISM,
	BL_KEY_DIRECT_IO_SIZE,
	BL_KEY_CACHE_SIZE,
	BL_KEY_BUFFER_CACHE_SIZE,
	BL_KEY_PINNED_SIZE,
	BL_KEY_GPU_SLABS,
	BL_KEY_POSIX_SLABS,
	BL_KEY_POLL_MODE,
	BL_KEY_POLL_SIZE,
	BL_KEY_P2PDMA,
	BL_KEY_ALLOW_COMPAT,
	BL_KEY_FORCE_COMPAT,
	BL_KEY_FORCE_ODIRECT,
	BL_KEY_IOURING,
	BL_KEY_POSIX_MODE,
	BL_KEY_FALLBACK,
	BL_KEY_SYSTEM_MEMORY,
	BL_KEY_IO_PRIORITY,
	BL_KEY_BATCH_TIMEOUT,
	BL_KEY_UNALIGNED_WRITES,
	BL_KEY_API_CHECK,
	BL_KEY_SKIP_TOPOLOGY,
	BL_KEY_MEMOPS_BYPASS,
	BL_KEY_RDMA_TRANSPORT,
	BL_KEY_PATH,
	BL_KEY_STRICT,
	BL_KEY_DENY_DRIVERS,
	BL_KEY_DENY_DEVICES,
	BL_KEY_DENY_MOUNTS,
	BL_KEY_DENY_FILESYSTEMS,
	BL_KEY_NR,
};

enum bl_key_kind {
	BL_KIND_ANY,   /* whatever it is */
	BL_KIND_BOOL,  /* bool */
	BL_KIND_UINT,  /* unsigned int */
	BL_KIND_U64,   /* uint64_t */
	BL_KIND_I64,   /* int64_t */
	BL_KIND_TEXT,  /* char array */
	BL_KIND_WORD,  /* char array that holds one of some words */
	BL_KIND_PATH,  /* enum bl_path */
	BL_KIND_SLABS, /* struct bl_slab_array */
	BL_KIND_NAMES, /* struct bl_names */
};

/**
 * struct bl_key_info - one thing that can be configured
 * @kind:  how it is kept
 * @off:   where in struct bl_file_config
 * @size:  bytes there
 * @min:   least value of a number
 * @max:   most; of @kind BL_KIND_I64 as int64_t
 * @step:  it must be a multiple of this
 * @words: of @kind BL_KIND_WORD, ends with NULL; the first spelling counts, upper or lower case
 */
struct bl_key_info {
	enum bl_key_kind kind;
	size_t off;
	size_t size;
	int64_t min;
	int64_t max;
	int64_t step;
	const char *const *words;
};

extern const struct bl_key_info bl_keys[BL_KEY_NR];
extern const struct bl_file_config bl_config_defaults;

/*
 * Set one. @whence says where the value comes from, for the message: "/etc/cufile.json: logging.level". A value of the
 * wrong kind or out of range leaves what there is, and is complained about through bl_config_note().
 * Return: 0 or -EINVAL.
 */
int bl_key_set_bool(struct bl_file_config *config, enum bl_key key, bool value, const char *whence);
int bl_key_set_number(struct bl_file_config *config, enum bl_key key, int64_t value, const char *whence);
int bl_key_set_text(struct bl_file_config *config, enum bl_key key, const char *value, const char *whence);

/* From a text that is to be understood: an environment variable. */
int bl_key_parse(struct bl_file_config *config, enum bl_key key, const char *text, const char *whence);

/* The value as a text, for messages. Return: @buf. */
const char *bl_key_show(const struct bl_file_config *config, enum bl_key key, char *buf, size_t size);

/* Copy one value. */
void bl_key_copy(struct bl_file_config *to, const struct bl_file_config *from, enum bl_key key);

/* Whether the API changes it while the driver is open; such members are atomic. */
bool bl_key_is_live(enum bl_key key);

/* Copy one of those to a configuration that others read at the same time. */
void bl_key_store(struct bl_file_config *to, const struct bl_file_config *from, enum bl_key key);

/* Whether both have the same value. */
bool bl_key_same(const struct bl_file_config *a, const struct bl_file_config *b, enum bl_key key);

static inline const void *bl_key_see(const struct bl_file_config *config, enum bl_key key)
{
	return (const char *)config + bl_keys[key].off;
}

static inline void *bl_key_at(struct bl_file_config *config, enum bl_key key)
{
	return (char *)config + bl_keys[key].off;
}

#endif
