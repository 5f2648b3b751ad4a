// SPDX-License-Identifier: MIT
/* cufile.h's types and numbers, stated again: programs that were built for the original rely on every one of them. */
#include "cufile.h"
#include "tap.h"

/* A member, where it lies and how large it is; a value of an enumerator. */
struct field {
	const char *name;
	size_t at, size, want_at, want_size;
};

struct value {
	const char *name;
	long got, want;
};

#define field(type, name, at, bytes) {#type "." #name, offsetof(type, name), sizeof(((type *)NULL)->name), at, bytes}
#define value(name, number)	     {#name, (long)(name), number}

static void check_fields(const struct field *fields, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (fields[i].at != fields[i].want_at || fields[i].size != fields[i].want_size)
			tap_end(TAP_FAILED, "%s is at %zu with %zu bytes, not at %zu with %zu", fields[i].name,
				fields[i].at, fields[i].size, fields[i].want_at, fields[i].want_size);
	}
}

static void check_values(const struct value *values, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (values[i].got != values[i].want)
			tap_end(TAP_FAILED, "%s is %ld, not %ld", values[i].name, values[i].got, values[i].want);
	}
}

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static void errors_have_their_codes(void)
{
	static const struct value values[] = {
		value(CU_FILE_SUCCESS, 0),
		value(CU_FILE_DRIVER_NOT_INITIALIZED, 5001),
		value(CU_FILE_DRIVER_INVALID_PROPS, 5002),
		value(CU_FILE_DRIVER_UNSUPPORTED_LIMIT, 5003),
		value(CU_FILE_DRIVER_VERSION_MISMATCH, 5004),
		value(CU_FILE_DRIVER_VERSION_READ_ERROR, 5005),
		value(CU_FILE_DRIVER_CLOSING, 5006),
		value(CU_FILE_PLATFORM_NOT_SUPPORTED, 5007),
		value(CU_FILE_IO_NOT_SUPPORTED, 5008),
		value(CU_FILE_DEVICE_NOT_SUPPORTED, 5009),
		value(CU_FILE_NVFS_DRIVER_ERROR, 5010),
		value(CU_FILE_CUDA_DRIVER_ERROR, 5011),
		value(CU_FILE_CUDA_POINTER_INVALID, 5012),
		value(CU_FILE_CUDA_MEMORY_TYPE_INVALID, 5013),
		value(CU_FILE_CUDA_POINTER_RANGE_ERROR, 5014),
		value(CU_FILE_CUDA_CONTEXT_MISMATCH, 5015),
		value(CU_FILE_INVALID_MAPPING_SIZE, 5016),
		value(CU_FILE_INVALID_MAPPING_RANGE, 5017),
		value(CU_FILE_INVALID_FILE_TYPE, 5018),
		value(CU_FILE_INVALID_FILE_OPEN_FLAG, 5019),
		value(CU_FILE_DIO_NOT_SET, 5020),
		value(CU_FILE_INVALID_VALUE, 5022),
		value(CU_FILE_MEMORY_ALREADY_REGISTERED, 5023),
		value(CU_FILE_MEMORY_NOT_REGISTERED, 5024),
		value(CU_FILE_PERMISSION_DENIED, 5025),
		value(CU_FILE_DRIVER_ALREADY_OPEN, 5026),
		value(CU_FILE_HANDLE_NOT_REGISTERED, 5027),
		value(CU_FILE_HANDLE_ALREADY_REGISTERED, 5028),
		value(CU_FILE_DEVICE_NOT_FOUND, 5029),
		value(CU_FILE_INTERNAL_ERROR, 5030),
		value(CU_FILE_GETNEWFD_FAILED, 5031),
		value(CU_FILE_NVFS_SETUP_ERROR, 5033),
		value(CU_FILE_IO_DISABLED, 5034),
		value(CU_FILE_BATCH_SUBMIT_FAILED, 5035),
		value(CU_FILE_GPU_MEMORY_PINNING_FAILED, 5036),
		value(CU_FILE_BATCH_FULL, 5037),
		value(CU_FILE_ASYNC_NOT_SUPPORTED, 5038),
		value(CU_FILE_INTERNAL_BATCH_SETUP_ERROR, 5039),
		value(CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR, 5040),
		value(CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR, 5041),
		value(CU_FILE_INTERNAL_BATCH_CANCEL_ERROR, 5042),
		value(CU_FILE_NOMEM_ERROR, 5043),
		value(CU_FILE_IO_ERROR, 5044),
		value(CU_FILE_INTERNAL_BUF_REGISTER_ERROR, 5045),
		value(CU_FILE_HASH_OPR_ERROR, 5046),
		value(CU_FILE_INVALID_CONTEXT_ERROR, 5047),
		value(CU_FILE_NVFS_INTERNAL_DRIVER_ERROR, 5048),
		value(CU_FILE_BATCH_NOCOMPAT_ERROR, 5049),
		value(CU_FILE_IO_MAX_ERROR, 5050),
	};

	check_values(values, NR(values));
}

static void flags_of_the_driver_have_their_places(void)
{
	static const struct value values[] = {
		value(CU_FILE_LUSTRE_SUPPORTED, 0),
		value(CU_FILE_WEKAFS_SUPPORTED, 1),
		value(CU_FILE_NFS_SUPPORTED, 2),
		value(CU_FILE_GPFS_SUPPORTED, 3),
		value(CU_FILE_NVME_SUPPORTED, 4),
		value(CU_FILE_NVMEOF_SUPPORTED, 5),
		value(CU_FILE_SCSI_SUPPORTED, 6),
		value(CU_FILE_SCALEFLUX_CSD_SUPPORTED, 7),
		value(CU_FILE_NVMESH_SUPPORTED, 8),
		value(CU_FILE_BEEGFS_SUPPORTED, 9),
		value(CU_FILE_NVME_P2P_SUPPORTED, 11),
		value(CU_FILE_SCATEFS_SUPPORTED, 12),
		value(CU_FILE_VIRTIOFS_SUPPORTED, 13),
		value(CU_FILE_MAX_TARGET_TYPES, 14),
		value(CU_FILE_USE_POLL_MODE, 0),
		value(CU_FILE_ALLOW_COMPAT_MODE, 1),
		value(CU_FILE_POSIX_IO_MODE, 2),
		value(CU_FILE_VANILLA_POSIX_IO_MODE, 2),
		value(CU_FILE_FALLBACK_IO_MODE, 4),
		value(CU_FILE_DYN_ROUTING_SUPPORTED, 0),
		value(CU_FILE_BATCH_IO_SUPPORTED, 1),
		value(CU_FILE_STREAMS_SUPPORTED, 2),
		value(CU_FILE_PARALLEL_IO_SUPPORTED, 3),
		value(CU_FILE_P2P_SUPPORTED, 4),
		value(CUFILE_P2PDMA, 0),
		value(CUFILE_NVFS, 1),
		value(CUFILE_DMABUF, 2),
		value(CUFILE_C2C, 3),
		value(CUFILE_NVIDIA_PEERMEM, 4),
		value(CU_FILE_P2P_FLAG_PCI_P2PDMA, 1),
		value(CU_FILE_P2P_FLAG_NVFS, 2),
		value(CU_FILE_P2P_FLAG_DMABUF, 4),
		value(CU_FILE_P2P_FLAG_C2C, 8),
	};

	check_values(values, NR(values));
}

static void requests_have_their_numbers(void)
{
	static const struct value values[] = {
		value(CU_FILE_HANDLE_TYPE_OPAQUE_FD, 1),
		value(CU_FILE_HANDLE_TYPE_OPAQUE_WIN32, 2),
		value(CU_FILE_HANDLE_TYPE_USERSPACE_FS, 3),
		value(CUFILE_READ, 0),
		value(CUFILE_WRITE, 1),
		value(CUFILE_BATCH, 1),
		value(CUFILE_WAITING, 1),
		value(CUFILE_PENDING, 2),
		value(CUFILE_INVALID, 4),
		value(CUFILE_CANCELED, 8),
		value(CUFILE_COMPLETE, 16),
		value(CUFILE_TIMEOUT, 32),
		value(CUFILE_FAILED, 64),
		value(CU_FILE_STREAM_FIXED_BUF_OFFSET, 1),
		value(CU_FILE_STREAM_FIXED_FILE_OFFSET, 2),
		value(CU_FILE_STREAM_FIXED_FILE_SIZE, 4),
		value(CU_FILE_STREAM_PAGE_ALIGNED_INPUTS, 8),
		value(CU_FILE_RDMA_REGISTER, 1),
		value(CU_FILE_RDMA_RELAXED_ORDERING, 2),
		value(CU_FILE_RDMA_ERR_BASE, 6000),
		value(CU_FILE_RDMA_SUCCESS, 0),
		value(CU_FILE_RDMA_RESET_TOKEN, 6001),
		value(CU_FILE_RDMA_RESET_TOKEN_FAILED, 6002),
	};

	check_values(values, NR(values));
}

static void parameters_have_their_numbers(void)
{
	static const struct value values[] = {
		value(CUFILE_PARAM_PROFILE_STATS, 0),
		value(CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH, 1),
		value(CUFILE_PARAM_EXECUTION_MAX_IO_THREADS, 2),
		value(CUFILE_PARAM_EXECUTION_MIN_IO_THRESHOLD_SIZE_KB, 3),
		value(CUFILE_PARAM_EXECUTION_MAX_REQUEST_PARALLELISM, 4),
		value(CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB, 5),
		value(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB, 6),
		value(CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB, 7),
		value(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB, 8),
		value(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, 9),
		value(CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB, 10),
		value(CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS, 11),
		value(CUFILE_PARAM_PROPERTIES_USE_POLL_MODE, 0),
		value(CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE, 1),
		value(CUFILE_PARAM_FORCE_COMPAT_MODE, 2),
		value(CUFILE_PARAM_FS_MISC_API_CHECK_AGGRESSIVE, 3),
		value(CUFILE_PARAM_EXECUTION_PARALLEL_IO, 4),
		value(CUFILE_PARAM_PROFILE_NVTX, 5),
		value(CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY, 6),
		value(CUFILE_PARAM_USE_PCIP2PDMA, 7),
		value(CUFILE_PARAM_PREFER_IO_URING, 8),
		value(CUFILE_PARAM_FORCE_ODIRECT_MODE, 9),
		value(CUFILE_PARAM_SKIP_TOPOLOGY_DETECTION, 10),
		value(CUFILE_PARAM_STREAM_MEMOPS_BYPASS, 11),
		value(CUFILE_PARAM_PROPERTIES_POSIX_IO_MODE, 12),
		value(CUFILE_PARAM_GDS_FALLBACK_IO, 13),
		value(CUFILE_PARAM_LOGGING_LEVEL, 0),
		value(CUFILE_PARAM_ENV_LOGFILE_PATH, 1),
		value(CUFILE_PARAM_LOG_DIR, 2),
		value(CUFILE_PARAM_RDMA_TRANSPORT, 3),
		value(CUFILE_PARAM_POSIX_POOL_SLAB_SIZE_KB, 0),
		value(CUFILE_PARAM_POSIX_POOL_SLAB_COUNT, 1),
		value(CUFILE_PARAM_GPU_BOUNCE_BUFFER_SLAB_SIZE_KB, 2),
		value(CUFILE_PARAM_GPU_BOUNCE_BUFFER_SLAB_COUNT, 3),
	};

	check_values(values, NR(values));
}

static void small_structs_have_their_layouts(void)
{
	static const struct field fields[] = {
		field(CUfileError_t, err, 0, 4),
		field(CUfileError_t, cu_err, 4, 4),
		field(CUfileDescr_t, type, 0, 4),
		field(CUfileDescr_t, handle.fd, 8, 4),
		field(CUfileDescr_t, handle.handle, 8, 8),
		field(CUfileDescr_t, fs_ops, 16, 8),
		field(CUfileFSOps_t, fs_type, 0, 8),
		field(CUfileFSOps_t, getRDMADeviceList, 8, 8),
		field(CUfileFSOps_t, getRDMADevicePriority, 16, 8),
		field(CUfileFSOps_t, read, 24, 8),
		field(CUfileFSOps_t, write, 32, 8),
		field(cufileRDMAInfo_t, version, 0, 4),
		field(cufileRDMAInfo_t, desc_len, 4, 4),
		field(cufileRDMAInfo_t, desc_str, 8, 8),
		field(CUfileIOVec_t, base, 0, 8),
		field(CUfileIOVec_t, len, 8, 8),
		field(CUfileOpCounter_t, ok, 0, 8),
		field(CUfileOpCounter_t, err, 8, 8),
	};

	check_eq(sizeof(CUfileError_t), 8);
	check_eq(sizeof(CUfileDescr_t), 24);
	check_eq(sizeof(CUfileFSOps_t), 40);
	check_eq(sizeof(cufileRDMAInfo_t), 16);
	check_eq(sizeof(CUfileIOVec_t), 16);
	check_eq(sizeof(CUfileOpCounter_t), 16);
	check_eq(sizeof(CUfileHandle_t), 8);
	check_eq(sizeof(CUfileBatchHandle_t), 8);
	check_eq(sizeof(CUfileOpError), 4);
	check_eq(sizeof(CUfileStatus_t), 4);
	check_eq(sizeof(CUfileP2PFlags_t), 4);
	check_fields(fields, NR(fields));
}

static void properties_have_their_layout(void)
{
	static const struct field fields[] = {
		field(CUfileDrvProps_t, nvfs.major_version, 0, 4),
		field(CUfileDrvProps_t, nvfs.minor_version, 4, 4),
		field(CUfileDrvProps_t, nvfs.poll_thresh_size, 8, 8),
		field(CUfileDrvProps_t, nvfs.max_direct_io_size, 16, 8),
		field(CUfileDrvProps_t, nvfs.dstatusflags, 24, 4),
		field(CUfileDrvProps_t, nvfs.dcontrolflags, 28, 4),
		field(CUfileDrvProps_t, fflags, 32, 4),
		field(CUfileDrvProps_t, max_device_cache_size, 36, 4),
		field(CUfileDrvProps_t, per_buffer_cache_size, 40, 4),
		field(CUfileDrvProps_t, max_device_pinned_mem_size, 44, 4),
		field(CUfileDrvProps_t, max_batch_io_size, 48, 4),
		field(CUfileDrvProps_t, max_batch_io_timeout_msecs, 52, 4),
	};

	check_eq(sizeof(CUfileDrvProps_t), 56);
	check_fields(fields, NR(fields));
}

static void batches_have_their_layouts(void)
{
	static const struct field fields[] = {
		field(CUfileIOParams_t, mode, 0, 4),
		field(CUfileIOParams_t, u.batch.devPtr_base, 8, 8),
		field(CUfileIOParams_t, u.batch.file_offset, 16, 8),
		field(CUfileIOParams_t, u.batch.devPtr_offset, 24, 8),
		field(CUfileIOParams_t, u.batch.size, 32, 8),
		field(CUfileIOParams_t, fh, 40, 8),
		field(CUfileIOParams_t, opcode, 48, 4),
		field(CUfileIOParams_t, cookie, 56, 8),
		field(CUfileIOEvents_t, cookie, 0, 8),
		field(CUfileIOEvents_t, status, 8, 4),
		field(CUfileIOEvents_t, ret, 16, 8),
	};

	check_eq(sizeof(CUfileIOParams_t), 64);
	check_eq(sizeof(CUfileIOEvents_t), 24);
	check_fields(fields, NR(fields));
}

static void level_1_has_its_layout(void)
{
	static const struct field fields[] = {
		field(CUfileStatsLevel1_t, read_ops, 0, 16),
		field(CUfileStatsLevel1_t, write_ops, 16, 16),
		field(CUfileStatsLevel1_t, hdl_register_ops, 32, 16),
		field(CUfileStatsLevel1_t, hdl_deregister_ops, 48, 16),
		field(CUfileStatsLevel1_t, buf_register_ops, 64, 16),
		field(CUfileStatsLevel1_t, buf_deregister_ops, 80, 16),
		field(CUfileStatsLevel1_t, read_bytes, 96, 8),
		field(CUfileStatsLevel1_t, write_bytes, 104, 8),
		field(CUfileStatsLevel1_t, read_bw_bytes_per_sec, 112, 8),
		field(CUfileStatsLevel1_t, write_bw_bytes_per_sec, 120, 8),
		field(CUfileStatsLevel1_t, read_lat_avg_us, 128, 8),
		field(CUfileStatsLevel1_t, write_lat_avg_us, 136, 8),
		field(CUfileStatsLevel1_t, read_ops_per_sec, 144, 8),
		field(CUfileStatsLevel1_t, write_ops_per_sec, 152, 8),
		field(CUfileStatsLevel1_t, read_lat_sum_us, 160, 8),
		field(CUfileStatsLevel1_t, write_lat_sum_us, 168, 8),
		field(CUfileStatsLevel1_t, batch_submit_ops, 176, 16),
		field(CUfileStatsLevel1_t, batch_complete_ops, 192, 16),
		field(CUfileStatsLevel1_t, batch_setup_ops, 208, 16),
		field(CUfileStatsLevel1_t, batch_cancel_ops, 224, 16),
		field(CUfileStatsLevel1_t, batch_destroy_ops, 240, 16),
		field(CUfileStatsLevel1_t, batch_enqueued_ops, 256, 16),
		field(CUfileStatsLevel1_t, batch_posix_enqueued_ops, 272, 16),
		field(CUfileStatsLevel1_t, batch_processed_ops, 288, 16),
		field(CUfileStatsLevel1_t, batch_posix_processed_ops, 304, 16),
		field(CUfileStatsLevel1_t, batch_nvfs_submit_ops, 320, 16),
		field(CUfileStatsLevel1_t, batch_p2p_submit_ops, 336, 16),
		field(CUfileStatsLevel1_t, batch_aio_submit_ops, 352, 16),
		field(CUfileStatsLevel1_t, batch_iouring_submit_ops, 368, 16),
		field(CUfileStatsLevel1_t, batch_mixed_io_submit_ops, 384, 16),
		field(CUfileStatsLevel1_t, batch_total_submit_ops, 400, 16),
		field(CUfileStatsLevel1_t, batch_read_bytes, 416, 8),
		field(CUfileStatsLevel1_t, batch_write_bytes, 424, 8),
		field(CUfileStatsLevel1_t, batch_read_bw_bytes, 432, 8),
		field(CUfileStatsLevel1_t, batch_write_bw_bytes, 440, 8),
		field(CUfileStatsLevel1_t, batch_submit_lat_avg_us, 448, 8),
		field(CUfileStatsLevel1_t, batch_completion_lat_avg_us, 456, 8),
		field(CUfileStatsLevel1_t, batch_submit_ops_per_sec, 464, 8),
		field(CUfileStatsLevel1_t, batch_complete_ops_per_sec, 472, 8),
		field(CUfileStatsLevel1_t, batch_submit_lat_sum_us, 480, 8),
		field(CUfileStatsLevel1_t, batch_completion_lat_sum_us, 488, 8),
		field(CUfileStatsLevel1_t, last_batch_read_bytes, 496, 8),
		field(CUfileStatsLevel1_t, last_batch_write_bytes, 504, 8),
	};

	check_eq(sizeof(CUfileStatsLevel1_t), 512);
	check_fields(fields, NR(fields));
}

static void a_gpu_has_its_layout(void)
{
	static const struct field fields[] = {
		field(CUfilePerGpuStats_t, uuid, 0, 16),
		field(CUfilePerGpuStats_t, read_bytes, 16, 8),
		field(CUfilePerGpuStats_t, read_bw_bytes_per_sec, 24, 8),
		field(CUfilePerGpuStats_t, read_utilization, 32, 8),
		field(CUfilePerGpuStats_t, read_duration_us, 40, 8),
		field(CUfilePerGpuStats_t, n_total_reads, 48, 8),
		field(CUfilePerGpuStats_t, n_p2p_reads, 56, 8),
		field(CUfilePerGpuStats_t, n_nvfs_reads, 64, 8),
		field(CUfilePerGpuStats_t, n_posix_reads, 72, 8),
		field(CUfilePerGpuStats_t, n_unaligned_reads, 80, 8),
		field(CUfilePerGpuStats_t, n_dr_reads, 88, 8),
		field(CUfilePerGpuStats_t, n_sparse_regions, 96, 8),
		field(CUfilePerGpuStats_t, n_inline_regions, 104, 8),
		field(CUfilePerGpuStats_t, n_reads_err, 112, 8),
		field(CUfilePerGpuStats_t, writes_bytes, 120, 8),
		field(CUfilePerGpuStats_t, write_bw_bytes_per_sec, 128, 8),
		field(CUfilePerGpuStats_t, write_utilization, 136, 8),
		field(CUfilePerGpuStats_t, write_duration_us, 144, 8),
		field(CUfilePerGpuStats_t, n_total_writes, 152, 8),
		field(CUfilePerGpuStats_t, n_p2p_writes, 160, 8),
		field(CUfilePerGpuStats_t, n_nvfs_writes, 168, 8),
		field(CUfilePerGpuStats_t, n_posix_writes, 176, 8),
		field(CUfilePerGpuStats_t, n_unaligned_writes, 184, 8),
		field(CUfilePerGpuStats_t, n_dr_writes, 192, 8),
		field(CUfilePerGpuStats_t, n_writes_err, 200, 8),
		field(CUfilePerGpuStats_t, n_mmap, 208, 8),
		field(CUfilePerGpuStats_t, n_mmap_ok, 216, 8),
		field(CUfilePerGpuStats_t, n_mmap_err, 224, 8),
		field(CUfilePerGpuStats_t, n_mmap_free, 232, 8),
		field(CUfilePerGpuStats_t, reg_bytes, 240, 8),
	};

	check_eq(sizeof(CUfilePerGpuStats_t), 248);
	check_fields(fields, NR(fields));
}

static void levels_2_and_3_have_their_layouts(void)
{
	static const struct field fields[] = {
		field(CUfileStatsLevel2_t, basic, 0, 512),
		field(CUfileStatsLevel2_t, read_size_kb_hist, 512, 256),
		field(CUfileStatsLevel2_t, write_size_kb_hist, 768, 256),
		field(CUfileStatsLevel3_t, detailed, 0, 1024),
		field(CUfileStatsLevel3_t, num_gpus, 1024, 4),
		field(CUfileStatsLevel3_t, per_gpu_stats, 1032, 3968),
	};

	check_eq(sizeof(CUfileStatsLevel2_t), 1024);
	check_eq(sizeof(CUfileStatsLevel3_t), 5000);
	check_fields(fields, NR(fields));
}

static void every_code_has_a_text_of_its_own(void)
{
	const char *unknown = cufileop_status_error((CUfileOpError)5021);

	for (int code = 5001; code < CU_FILE_IO_MAX_ERROR; code++) {
		const char *text = cufileop_status_error((CUfileOpError)code);

		check(text && *text);
		check_eq(text == unknown, code == 5021 || code == 5032);
		for (int other = 5001; other < code; other++)
			check(code == 5032 || strcmp(text, cufileop_status_error((CUfileOpError)other)));
	}
	check(strcmp(cufileop_status_error(CU_FILE_SUCCESS), unknown));
	check_str(cufileop_status_error((CUfileOpError)1), unknown);
	check_str(cufileop_status_error((CUfileOpError)-5001), unknown);
	check_str(cufileop_status_error(CU_FILE_IO_MAX_ERROR), unknown);
	check_str(cufileop_status_error((CUfileOpError)99999), unknown);
}

static void macros_do_what_they_are_for(void)
{
	CUfileError_t status = {CU_FILE_CUDA_DRIVER_ERROR, (CUresult)201};

	check_eq(CUFILEOP_BASE_ERR, 5000);
	check(IS_CUFILE_ERR(-5001) && IS_CUFILE_ERR(5001));
	check(!IS_CUFILE_ERR(-5) && !IS_CUFILE_ERR(5000));
	check_str(CUFILE_ERRSTR(-5022), cufileop_status_error(CU_FILE_INVALID_VALUE));
	check(IS_CUDA_ERR(status));
	check_eq(CU_FILE_CUDA_ERR(status), 201);
	check_eq(CUFILE_GPU_UUID_LEN, 16);
}

static const struct tap_test tests[] = {
	{"errors have their codes", errors_have_their_codes},
	{"flags of the driver have their places", flags_of_the_driver_have_their_places},
	{"requests have their numbers", requests_have_their_numbers},
	{"parameters have their numbers", parameters_have_their_numbers},
	{"small structs have their layouts", small_structs_have_their_layouts},
	{"properties have their layout", properties_have_their_layout},
	{"batches have their layouts", batches_have_their_layouts},
	{"level 1 has its layout", level_1_has_its_layout},
	{"a GPU has its layout", a_gpu_has_its_layout},
	{"levels 2 and 3 have their layouts", levels_2_and_3_have_their_layouts},
	{"every code has a text of its own", every_code_has_a_text_of_its_own},
	{"macros do what they are for", macros_do_what_they_are_for},
};

TAP_MAIN(tests)
