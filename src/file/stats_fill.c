// SPDX-License-Identifier: MIT
/* From counters to what cuFileGetStatsL1(), L2 and L3 give. */
#include <string.h>

#include "stats_export.h"

/* Numbers of one direction, over some paths. */
struct tally {
	uint64_t calls;
	uint64_t bytes;
	uint64_t errors;
	uint64_t us;
};

static struct tally tally(const struct bl_stats_way (*ways)[2], bool write)
{
	struct tally sum = {0, 0, 0, 0};
	uint64_t ns = 0;

	for (int path = 0; path < BL_PATH_NR; path++) {
		const struct bl_stats_way *way = &ways[path][write];

		sum.calls += way->calls;
		sum.bytes += way->bytes;
		sum.errors += way->errors;
		ns += way->ns;
	}
	sum.us = ns / 1000;
	return sum;
}

static uint64_t per_second(uint64_t number, uint64_t us)
{
	return (uint64_t)((double)number * 1e6 / (double)us);
}

static uint64_t average(uint64_t sum, uint64_t nr)
{
	return nr ? sum / nr : 0;
}

/* Counters are read while others count: the part may be seen to have grown and the whole not. */
static uint64_t rest(uint64_t whole, uint64_t part)
{
	return part < whole ? whole - part : 0;
}

static CUfileOpCounter_t counter(const struct bl_stats_block *sum, enum bl_op op)
{
	return (CUfileOpCounter_t){sum->ops[op][0], sum->ops[op][1]};
}

static void fill_single(const struct bl_stats_block *sum, uint64_t us, CUfileStatsLevel1_t *stats)
{
	struct tally read = tally(sum->single, false), write = tally(sum->single, true);

	stats->read_ops = (CUfileOpCounter_t){read.calls, read.errors};
	stats->write_ops = (CUfileOpCounter_t){write.calls, write.errors};
	stats->hdl_register_ops = counter(sum, BL_OP_HANDLE_REGISTER);
	stats->hdl_deregister_ops = counter(sum, BL_OP_HANDLE_DEREGISTER);
	stats->buf_register_ops = counter(sum, BL_OP_BUF_REGISTER);
	stats->buf_deregister_ops = counter(sum, BL_OP_BUF_DEREGISTER);
	stats->read_bytes = read.bytes;
	stats->write_bytes = write.bytes;
	stats->read_bw_bytes_per_sec = per_second(read.bytes, us);
	stats->write_bw_bytes_per_sec = per_second(write.bytes, us);
	stats->read_lat_avg_us = average(read.us, read.calls);
	stats->write_lat_avg_us = average(write.us, write.calls);
	stats->read_ops_per_sec = per_second(read.calls, us);
	stats->write_ops_per_sec = per_second(write.calls, us);
	stats->read_lat_sum_us = read.us;
	stats->write_lat_sum_us = write.us;
}

/* Entries are known to be the module's when they end; until then they count as the CPU's. */
static void fill_batch_ops(const struct bl_stats_block *sum, CUfileStatsLevel1_t *stats)
{
	uint64_t nvfs = 0, nvfs_errors = 0;

	for (int write = 0; write < 2; write++) {
		nvfs += sum->batch[BL_PATH_NVFS][write].calls;
		nvfs_errors += sum->batch[BL_PATH_NVFS][write].errors;
	}
	stats->batch_submit_ops = counter(sum, BL_OP_BATCH_SUBMIT);
	stats->batch_complete_ops = counter(sum, BL_OP_BATCH_COMPLETE);
	stats->batch_setup_ops = counter(sum, BL_OP_BATCH_SETUP);
	stats->batch_cancel_ops = counter(sum, BL_OP_BATCH_CANCEL);
	stats->batch_destroy_ops = counter(sum, BL_OP_BATCH_DESTROY);
	stats->batch_enqueued_ops = counter(sum, BL_OP_BATCH_ENQUEUED);
	stats->batch_posix_enqueued_ops = stats->batch_enqueued_ops;
	stats->batch_posix_enqueued_ops.ok = rest(stats->batch_enqueued_ops.ok, nvfs);
	stats->batch_processed_ops = counter(sum, BL_OP_BATCH_PROCESSED);
	stats->batch_posix_processed_ops = stats->batch_processed_ops;
	stats->batch_posix_processed_ops.ok = rest(stats->batch_processed_ops.ok, nvfs);
	stats->batch_nvfs_submit_ops = (CUfileOpCounter_t){nvfs, nvfs_errors};
	stats->batch_total_submit_ops = stats->batch_submit_ops;
}

static void fill_batch(const struct bl_stats_total *total, CUfileStatsLevel1_t *stats)
{
	const struct bl_stats_block *sum = &total->sum;
	struct tally read = tally(sum->batch, false), write = tally(sum->batch, true);
	uint64_t calls = read.calls + write.calls, us = total->us;

	stats->batch_read_bytes = read.bytes;
	stats->batch_write_bytes = write.bytes;
	stats->batch_read_bw_bytes = per_second(read.bytes, us);
	stats->batch_write_bw_bytes = per_second(write.bytes, us);
	stats->batch_submit_lat_sum_us = sum->submit_ns / 1000;
	stats->batch_completion_lat_sum_us = read.us + write.us;
	stats->batch_submit_lat_avg_us = average(stats->batch_submit_lat_sum_us, calls);
	stats->batch_completion_lat_avg_us = average(stats->batch_completion_lat_sum_us, calls);
	stats->batch_submit_ops_per_sec = per_second(sum->ops[BL_OP_BATCH_SUBMIT][0], us);
	stats->batch_complete_ops_per_sec = per_second(calls, us);
	stats->last_batch_read_bytes = total->last_batch[0];
	stats->last_batch_write_bytes = total->last_batch[1];
}

void bl_stats_fill1(const struct bl_stats_total *total, CUfileStatsLevel1_t *stats)
{
	memset(stats, 0, sizeof(*stats));
	fill_single(&total->sum, total->us, stats);
	fill_batch_ops(&total->sum, stats);
	fill_batch(total, stats);
}

void bl_stats_fill2(const struct bl_stats_total *total, CUfileStatsLevel2_t *stats)
{
	bl_stats_fill1(total, &stats->basic);
	for (int i = 0; i < BL_STATS_SIZES; i++) {
		stats->read_size_kb_hist[i] = total->sum.sizes[0][i];
		stats->write_size_kb_hist[i] = total->sum.sizes[1][i];
	}
}

static uint64_t percent(uint64_t part, uint64_t whole)
{
	return part < whole ? 100 * part / whole : 100;
}

static void fill_gpu(const struct bl_stats_gpu *gpu, uint64_t us, CUfilePerGpuStats_t *stats)
{
	const struct bl_stats_way *read = &gpu->way[0], *write = &gpu->way[1];

	stats->read_bytes = read->bytes;
	stats->read_bw_bytes_per_sec = per_second(read->bytes, us);
	stats->read_duration_us = read->ns / 1000;
	stats->read_utilization = percent(stats->read_duration_us, us);
	stats->n_total_reads = read->calls;
	stats->n_nvfs_reads = gpu->nvfs[0];
	stats->n_posix_reads = rest(read->calls, gpu->nvfs[0]);
	stats->n_unaligned_reads = gpu->unaligned[0];
	stats->n_reads_err = read->errors;
	stats->writes_bytes = write->bytes;
	stats->write_bw_bytes_per_sec = per_second(write->bytes, us);
	stats->write_duration_us = write->ns / 1000;
	stats->write_utilization = percent(stats->write_duration_us, us);
	stats->n_total_writes = write->calls;
	stats->n_nvfs_writes = gpu->nvfs[1];
	stats->n_posix_writes = rest(write->calls, gpu->nvfs[1]);
	stats->n_unaligned_writes = gpu->unaligned[1];
	stats->n_writes_err = write->errors;
	stats->n_mmap = gpu->maps + gpu->map_errors;
	stats->n_mmap_ok = gpu->maps;
	stats->n_mmap_err = gpu->map_errors;
	stats->n_mmap_free = gpu->unmaps;
	stats->reg_bytes = gpu->bytes;
}

void bl_stats_fill3(const struct bl_stats_total *total, CUfileStatsLevel3_t *stats)
{
	uint8_t uuid[BL_STATS_GPUS][16];

	memset(stats, 0, sizeof(*stats));
	bl_stats_fill2(total, &stats->detailed);
	stats->num_gpus = (uint32_t)bl_stats_uuids(uuid);
	/* the compiler does not see how many there can be */
	for (uint32_t i = 0; i < stats->num_gpus && i < BL_STATS_GPUS; i++) {
		memcpy(stats->per_gpu_stats[i].uuid, uuid[i], sizeof(stats->per_gpu_stats[i].uuid));
		fill_gpu(&total->sum.gpu[i], total->us, &stats->per_gpu_stats[i]);
	}
}
