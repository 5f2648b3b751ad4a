/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stats.h - what /proc/driver/nvidia-fs/stats shows
 */
#ifndef BL_NVFS_STATS_H
#define BL_NVFS_STATS_H

#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/types.h>

struct seq_file;

/**
 * struct bl_rw_stats - one direction
 * @n:         requests; with @ok and @bytes only counted while rw_stats_enabled is set
 * @ok:        those without an error
 * @err:       those with one
 * @bytes:     bytes moved
 * @state_err: pieces that met memory or a device that had gone
 * @now:       requests in flight
 */
struct bl_rw_stats {
	atomic64_t n;
	atomic64_t ok;
	atomic64_t err;
	atomic64_t bytes;
	atomic64_t state_err;
	atomic64_t now;
};

/**
 * struct bl_stats - all counters
 * @shadow_bytes: RAM of shadows
 * @read:         files to GPUs
 * @write:        GPUs to files
 * @sparse_n:     reads that met a hole
 * @sparse_holes: regions of them
 * @sparse_pages: blocks of those
 * @cache:        page cache that was in the way of a write
 * @cache_fail:   and could not be written back
 * @cache_eio:    and could not be thrown away
 * @mmap_n:       calls of mmap()
 * @mmap_ok:      those that made a shadow
 * @mmap_err:     those that did not
 * @munmap:       shadows that were freed
 * @map_ok:       calls of MAP that bound memory. This one and map_free count on when others begin anew: what is bound now
 *                is the difference
 * @map_ok_base:  what @map_ok was when counting began anew
 * @map_err:      calls of MAP that did not
 * @map_free:     bindings that ended
 * @map_free_base: what @map_free was when counting began anew
 * @callbacks:    free callbacks of the GPU driver
 * @mixed:        requests with pages of the CPU and of a GPU
 * @sg_ext:       requests of more pieces than a list may have
 * @dma_map:      peers that could not be given addresses
 * @batch_n:      batches
 * @batch_ok:     those of which all requests were started
 * @batch_err:    those of which none was
 * @batch_us:     that it took to start those
 * @batch_now:    batches in flight
 */
struct bl_stats {
	atomic64_t shadow_bytes;
	struct bl_rw_stats read;
	struct bl_rw_stats write;
	atomic64_t sparse_n;
	atomic64_t sparse_holes;
	atomic64_t sparse_pages;
	atomic64_t cache;
	atomic64_t cache_fail;
	atomic64_t cache_eio;
	atomic64_t mmap_n;
	atomic64_t mmap_ok;
	atomic64_t mmap_err;
	atomic64_t munmap;
	atomic64_t map_ok;
	atomic64_t map_ok_base;
	atomic64_t map_err;
	atomic64_t map_free;
	atomic64_t map_free_base;
	atomic64_t callbacks;
	atomic64_t mixed;
	atomic64_t sg_ext;
	atomic64_t dma_map;
	atomic64_t batch_n;
	atomic64_t batch_ok;
	atomic64_t batch_err;
	atomic64_t batch_us;
	atomic64_t batch_now;
};

extern struct bl_stats bl_stats;

static inline struct bl_rw_stats *bl_stats_of(bool write)
{
	return write ? &bl_stats.write : &bl_stats.read;
}

ktime_t bl_stats_begin(bool write);
void bl_stats_end(bool write, ktime_t begin, s64 result);
void bl_stats_batch_begin(void);
void bl_stats_batch_started(ktime_t begin);
void bl_stats_batch_end(int result);
void bl_stats_show(struct seq_file *s);
void bl_stats_reset(void);

#endif
