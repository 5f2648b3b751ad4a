/* SPDX-License-Identifier: MIT */
/*
 * config.h - cufile.json, the environment and cuFileSetParameter*(), in one struct
 *
 * Precedence: parameter, environment, file, default. What was once in force is never written to again, but for what the API
 * lets change, which is atomic: a request may outlive the close of the driver and its next open. Members are named as the
 * keys of cufile.json.
 */
#ifndef BL_FILE_CONFIG_H
#define BL_FILE_CONFIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "path.h"

#define BL_SLABS 16

/**
 * struct bl_slab_array - kinds of bounce buffers
 * @size_kb:   of each kind
 * @count:     of each kind
 * @nr:        kinds
 * @nr_counts: the same, but while a configuration is read
 */
struct bl_slab_array {
	size_t size_kb[BL_SLABS];
	size_t count[BL_SLABS];
	int nr;
	int nr_counts;
};

#define BL_NAMES     32
#define BL_NAME_SIZE 256

/* A list of names. */
struct bl_names {
	char name[BL_NAMES][BL_NAME_SIZE];
	int nr;
};

/* What an entry of the denylist names. */
enum bl_deny {
	BL_DENY_DRIVERS,     /* kernel drivers of block devices, "nvme" */
	BL_DENY_DEVICES,     /* device nodes, "/dev/nvme0n1" */
	BL_DENY_MOUNTS,	     /* mount points, "/data" */
	BL_DENY_FILESYSTEMS, /* types, "nfs" */
	BL_DENY_NR,
};

enum bl_log_to {
	BL_LOG_TO_STDERR, /* nothing else was asked for */
	BL_LOG_TO_DIR,	  /* a file of this process in log_dir */
	BL_LOG_TO_FILE,	  /* log_file */
	BL_LOG_TO_NONE,	  /* CUFILE_LOGFILE_PATH is set and empty */
};

/**
 * struct bl_file_config - what is in force
 *
 * @log_file: CUFILE_LOGFILE_PATH; it has no key
 * @path:     BARLANE_FILE_PATH or properties.barlane_path, which cuFile has not: a path by name, and no other is taken.
 *            BL_PATH_NR when nothing is forced
 * @strict:   BARLANE_FILE_STRICT or properties.barlane_strict, likewise: a request fails instead of taking a slower path
 *            than the first that was wanted
 * @deny:     denylist: such files are refused with CU_FILE_IO_DISABLED, see bl_config_denies()
 */
struct bl_file_config {
	char log_dir[4096];
	char log_file[4096];
	enum bl_log_to log_to;
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
	_Atomic(uint64_t) max_direct_io_size_kb;
	_Atomic(uint64_t) max_device_cache_size_kb;
	uint64_t per_buffer_cache_size_kb;
	_Atomic(uint64_t) max_device_pinned_mem_size_kb;
	struct bl_slab_array gpu_bounce_slabs;
	struct bl_slab_array posix_pool_slabs;
	_Atomic(bool) use_poll_mode;
	_Atomic(uint64_t) poll_mode_max_size_kb;
	bool use_pci_p2pdma;
	bool allow_compat_mode;
	bool force_compat_mode;
	bool force_odirect_mode;
	bool prefer_iouring;
	bool vanilla_posix_io_mode;
	bool gds_fallback_io;
	bool allow_system_memory;
	char io_priority[16];
	unsigned int max_batch_io_timeout_msecs;
	bool posix_unaligned_writes;
	bool api_check_aggressive;
	bool skip_topology_detection;
	bool stream_memops_bypass;
	char rdma_transport_type[16];
	enum bl_path path;
	bool strict;
	struct bl_names deny[BL_DENY_NR];
};

/*
 * What is in force, also after the driver was closed; defaults before the first open. Valid for ever: an open puts another in
 * its place. One is kept for each that this process has had; opens with the same settings have the same.
 */
const struct bl_file_config *bl_file_config(void);

/**
 * bl_config_denies() - Whether the denylist holds a name
 * @what: kind of name
 * @name: for mounts also paths below one
 */
bool bl_config_denies(enum bl_deny what, const char *name);

#endif
