/* SPDX-License-Identifier: MIT */
/*
 * config.h - cufile.json, the environment and cuFileSetParameter*(), in one struct
 *
 * Precedence: parameter, environment, file, default. Fixed while the driver is open, but for what the API lets change.
 * Members are named as the keys of cufile.json.
 */
#ifndef BL_FILE_CONFIG_H
#define BL_FILE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "path.h"

#define BL_SLABS 16

struct bl_slab_array {
	size_t size_kb[BL_SLABS];
	size_t count[BL_SLABS];
	int nr;
};

/**
 * struct bl_file_config - what is in force
 *
 * @path and @strict have no counterpart in cuFile: BARLANE_FILE_PATH=NAME (or properties.barlane_path) forces a path,
 * BARLANE_FILE_STRICT=1 (properties.barlane_strict) fails a request instead of taking a slower path than the first that
 * was wanted. @path is BL_PATH_NR when nothing is forced.
 */
struct bl_file_config {
	char log_dir[4096];
	char log_level[16];
	int64_t log_max_file_size_mb;
	bool nvtx;
	unsigned int cufile_stats;
	unsigned int io_batchsize;
	unsigned int max_io_queue_depth;
	unsigned int max_io_threads;
	bool parallel_io;
	uint64_t min_io_threshold_size_kb;
	unsigned int max_request_parallelism;
	uint64_t max_direct_io_size_kb;
	uint64_t max_device_cache_size_kb;
	uint64_t per_buffer_cache_size_kb;
	uint64_t max_device_pinned_mem_size_kb;
	struct bl_slab_array gpu_bounce_slabs;
	struct bl_slab_array posix_pool_slabs;
	bool use_poll_mode;
	uint64_t poll_mode_max_size_kb;
	bool use_pci_p2pdma;
	bool allow_compat_mode;
	bool force_compat_mode;
	bool force_odirect_mode;
	bool prefer_iouring;
	bool vanilla_posix_io_mode;
	bool gds_fallback_io;
	bool allow_system_memory;
	unsigned int max_batch_io_timeout_msecs;
	bool posix_unaligned_writes;
	bool api_check_aggressive;
	bool skip_topology_detection;
	bool stream_memops_bypass;
	enum bl_path path;
	bool strict;
};

/* What is in force; valid for ever, changes only while the driver is closed. Defaults before the first open. */
const struct bl_file_config *bl_file_config(void);

#endif
