// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Counters. Names, order and spaces of the lines are those that tools of GPUDirect Storage read.
 */
#include "core.h"
#include "stats.h"
#include "topo_pci.h"

#include <linux/math64.h>
#include <linux/seq_file.h>

struct bl_stats bl_stats;

/**
 * struct window - a span of time for which a bandwidth and a latency are told
 * @lock:  for all of it
 * @start: when it began; 0 before the first request
 * @bytes: moved since
 * @ops:   requests since
 * @us:    that they took
 * @mib_s: of the last window that was long enough
 * @avg_us: of the same
 */
struct window {
	spinlock_t lock;
	ktime_t start;
	u64 bytes;
	u64 ops;
	u64 us;
	u32 mib_s;
	u32 avg_us;
};

static struct window windows[2] = {
	{ .lock = __SPIN_LOCK_UNLOCKED(windows[0].lock) },
	{ .lock = __SPIN_LOCK_UNLOCKED(windows[1].lock) },
};

static void window_add(struct window *w, ktime_t begin, u64 bytes)
{
	ktime_t now = ktime_get();
	unsigned long flags;
	s64 span;

	spin_lock_irqsave(&w->lock, flags);
	if (!w->start)
		w->start = begin;
	w->bytes += bytes;
	w->ops++;
	w->us += ktime_us_delta(now, begin);
	span = ktime_us_delta(now, w->start);
	if (span > USEC_PER_SEC) {
		w->mib_s = div64_u64(w->bytes * USEC_PER_SEC, span) >> 20;
		w->avg_us = div64_u64(w->us, w->ops);
		w->start = now;
		w->bytes = 0;
		w->ops = 0;
		w->us = 0;
	}
	spin_unlock_irqrestore(&w->lock, flags);
}

static void window_reset(struct window *w)
{
	spin_lock_irq(&w->lock);
	w->start = 0;
	w->bytes = 0;
	w->ops = 0;
	w->us = 0;
	w->mib_s = 0;
	w->avg_us = 0;
	spin_unlock_irq(&w->lock);
}

/**
 * bl_stats_begin() - A request begins
 * @write: direction
 *
 * Return: when, for bl_stats_end().
 */
ktime_t bl_stats_begin(bool write)
{
	struct bl_rw_stats *rw = bl_stats_of(write);

	atomic64_inc(&rw->now);
	if (!bl_rw_stats_enabled)
		return 0;
	atomic64_inc(&rw->n);
	return ktime_get();
}

/**
 * bl_stats_end() - A request ends
 * @write:  direction
 * @begin:  what bl_stats_begin() said
 * @result: bytes or a negative errno value
 */
void bl_stats_end(bool write, ktime_t begin, s64 result)
{
	struct bl_rw_stats *rw = bl_stats_of(write);

	atomic64_dec(&rw->now);
	if (result < 0)
		atomic64_inc(&rw->err);
	/* not when it was turned on in between */
	if (!begin || result < 0)
		return;
	atomic64_inc(&rw->ok);
	atomic64_add(result, &rw->bytes);
	window_add(&windows[write], begin, result);
}

/**
 * bl_stats_batch_begin() - A batch begins
 */
void bl_stats_batch_begin(void)
{
	atomic64_inc(&bl_stats.batch_n);
	atomic64_inc(&bl_stats.batch_now);
}

/**
 * bl_stats_batch_started() - All requests of a batch have been started
 * @begin: when it began
 */
void bl_stats_batch_started(ktime_t begin)
{
	atomic64_add(ktime_us_delta(ktime_get(), begin), &bl_stats.batch_us);
}

/**
 * bl_stats_batch_end() - A batch ends
 * @result: 0 or a negative errno value
 */
void bl_stats_batch_end(int result)
{
	atomic64_dec(&bl_stats.batch_now);
	atomic64_inc(result ? &bl_stats.batch_err : &bl_stats.batch_ok);
}

static unsigned long get(const atomic64_t *counter)
{
	return atomic64_read(counter);
}

static unsigned int get32(const atomic64_t *counter)
{
	return atomic64_read(counter);
}

/* NICs of Mellanox reach GPU memory by a module of NVIDIA's, which has this file. */
#define PEER_DIRECT "/sys/kernel/mm/memory_peers/nv_mem/version"

static const char *enabled(int parameter)
{
	return parameter ? "Enabled" : "Disabled";
}

static void show_head(struct seq_file *s)
{
	seq_printf(s, "GDS Version: %s \n", BL_GDS_VERSION);
	seq_puts(s, "NVFS statistics(ver: 4.0)\n");
	seq_printf(s, "NVFS Driver(version: %u.%u.%u)\n", BL_VERSION_MAJOR, BL_VERSION_MINOR, BL_VERSION_PATCH);
	seq_printf(s, "Mellanox PeerDirect Supported: %s\n", bl_proc_has(PEER_DIRECT) ? "True" : "False");
	seq_printf(s, "IO stats: %s, peer IO stats: %s\n", enabled(bl_rw_stats_enabled), enabled(bl_peer_stats_enabled));
	seq_printf(s, "Logging level: %s\n\n", bl_dbg_enabled ? "debug" : bl_info_enabled ? "info" : "warn");
	seq_printf(s, "Active Shadow-Buffer (MiB): %lu\n", get(&bl_stats.shadow_bytes) >> 20);
	seq_printf(s, "Active Process: %u\n", bl_file_count() / bl_node_count());
}

static void show_batch(struct seq_file *s)
{
	u64 ok = get(&bl_stats.batch_ok);

	seq_printf(s, "Batches\t\t\t\t: n=%lu ok=%llu err=%u Avg-Submit-Latency(usec)=%llu\n", get(&bl_stats.batch_n),
		   ok, get32(&bl_stats.batch_err), ok ? div64_u64(get(&bl_stats.batch_us), ok) : 0);
}

static void show_read(struct seq_file *s)
{
	const struct bl_rw_stats *rw = &bl_stats.read;

	if (!bl_rw_stats_enabled) {
		seq_printf(s, "Reads\t\t\t\t: err=%u io_state_err=%u\n", get32(&rw->err), get32(&rw->state_err));
	} else {
		seq_printf(s, "Reads\t\t\t\t: n=%lu ok=%lu err=%u readMiB=%lu io_state_err=%u\n", get(&rw->n),
			   get(&rw->ok), get32(&rw->err), get(&rw->bytes) >> 20, get32(&rw->state_err));
		seq_printf(s, "Reads\t\t\t\t: Bandwidth(MiB/s)=%u Avg-Latency(usec)=%u\n",
			   READ_ONCE(windows[0].mib_s), READ_ONCE(windows[0].avg_us));
	}
	seq_printf(s, "Sparse Reads\t\t        : n=%lu io=%lu holes=%lu pages=%lu \n", get(&bl_stats.sparse_n),
		   get(&bl_stats.sparse_n), get(&bl_stats.sparse_holes), get(&bl_stats.sparse_pages));
}

static void show_write(struct seq_file *s)
{
	const struct bl_rw_stats *rw = &bl_stats.write;

	seq_puts(s, "Writes\t\t\t\t: ");
	if (bl_rw_stats_enabled)
		seq_printf(s, "n=%lu ok=%lu err=%u writeMiB=%lu ", get(&rw->n), get(&rw->ok), get32(&rw->err),
			   get(&rw->bytes) >> 20);
	else
		seq_printf(s, "err=%u ", get32(&rw->err));
	seq_printf(s, "io_state_err=%u pg-cache=%u pg-cache-fail=%u pg-cache-eio=%u\n", get32(&rw->state_err),
		   get32(&bl_stats.cache), get32(&bl_stats.cache_fail), get32(&bl_stats.cache_eio));
	if (bl_rw_stats_enabled)
		seq_printf(s, "Writes\t\t\t\t: Bandwidth(MiB/s)=%u Avg-Latency(usec)=%u\n",
			   READ_ONCE(windows[1].mib_s), READ_ONCE(windows[1].avg_us));
}

static void show_maps(struct seq_file *s)
{
	/* in this order: what ends has begun before */
	unsigned long freed = get(&bl_stats.map_free), ok = get(&bl_stats.map_ok);
	unsigned long new_ok = ok - get(&bl_stats.map_ok_base), new_freed = freed - get(&bl_stats.map_free_base);

	seq_printf(s, "Bar1-map\t\t\t: n=%lu ok=%lu err=%u free=%lu callbacks=%u active=%u delay-frees=0\n",
		   new_ok + get32(&bl_stats.map_err), new_ok, get32(&bl_stats.map_err), new_freed,
		   get32(&bl_stats.callbacks), (unsigned int)(ok - freed));
}

/**
 * bl_stats_show() - Write all of it
 * @s: where to
 */
void bl_stats_show(struct seq_file *s)
{
	show_head(s);
	if (bl_rw_stats_enabled)
		show_batch(s);
	show_read(s);
	show_write(s);
	seq_printf(s, "Mmap\t\t\t\t: n=%lu ok=%lu err=%u munmap=%lu\n", get(&bl_stats.mmap_n),
		   get(&bl_stats.mmap_ok), get32(&bl_stats.mmap_err), get(&bl_stats.munmap));
	show_maps(s);
	seq_printf(s, "Error\t\t\t\t: cpu-gpu-pages=%u sg-ext=%u dma-map=%u dma-ref=0\n", get32(&bl_stats.mixed),
		   get32(&bl_stats.sg_ext), get32(&bl_stats.dma_map));
	seq_printf(s, "Ops\t\t\t\t: Read=%u Write=%u BatchIO=%u\n", get32(&bl_stats.read.now),
		   get32(&bl_stats.write.now), get32(&bl_stats.batch_now));
	bl_gpus_show(s);
}

static void reset_rw(struct bl_rw_stats *rw)
{
	atomic64_set(&rw->n, 0);
	atomic64_set(&rw->ok, 0);
	atomic64_set(&rw->err, 0);
	atomic64_set(&rw->bytes, 0);
	atomic64_set(&rw->state_err, 0);
}

/**
 * bl_stats_reset() - Begin to count anew; what there is now stays
 */
void bl_stats_reset(void)
{
	atomic64_t *counters[] = {
		&bl_stats.sparse_n, &bl_stats.sparse_holes, &bl_stats.sparse_pages, &bl_stats.cache,
		&bl_stats.cache_fail, &bl_stats.cache_eio, &bl_stats.mmap_n, &bl_stats.mmap_ok,
		&bl_stats.mmap_err, &bl_stats.munmap, &bl_stats.map_err, &bl_stats.callbacks,
		&bl_stats.mixed, &bl_stats.sg_ext, &bl_stats.dma_map, &bl_stats.batch_n,
		&bl_stats.batch_ok, &bl_stats.batch_err, &bl_stats.batch_us,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counters); i++)
		atomic64_set(counters[i], 0);
	atomic64_set(&bl_stats.map_ok_base, atomic64_read(&bl_stats.map_ok));
	atomic64_set(&bl_stats.map_free_base, atomic64_read(&bl_stats.map_free));
	reset_rw(&bl_stats.read);
	reset_rw(&bl_stats.write);
	window_reset(&windows[0]);
	window_reset(&windows[1]);
	bl_pair_reset();
}
