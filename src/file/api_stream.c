// SPDX-License-Identifier: MIT
/* cuFileReadAsync() and its relatives: converts; stream.c and stream_op.c do the work. */
#define log_fmt(fmt) "file/stream: " fmt
#include "driver.h"
#include "error.h"
#include "file.h"
#include "stream.h"
#include "util/log.h"

static int submit(CUfileHandle_t fh, const struct bl_stream_args *like)
{
	struct bl_stream_args args = *like;
	int ret;

	if (!fh || !args.base || !args.size || !args.pos || !args.buf_off || !args.bytes)
		return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("file %p: an argument is missing"), fh);
	ret = bl_driver_use();
	if (ret)
		return ret;
	args.file = bl_file_get((uint64_t)(uintptr_t)fh, NULL);
	if (!args.file)
		return bl_fail(-BL_CUFILE(CU_FILE_HANDLE_NOT_REGISTERED), log_fmt("file %p is not registered"), fh);
	ret = bl_stream_submit(&args);
	if (ret)
		bl_file_put(args.file);
	return ret;
}

CUfileError_t cuFileReadAsync(CUfileHandle_t fh, void *bufPtr_base, size_t *size_p, off_t *file_offset_p,
			      off_t *bufPtr_offset_p, ssize_t *bytes_read_p, CUstream stream)
{
	struct bl_stream_args args = { NULL, bufPtr_base, size_p, file_offset_p, bufPtr_offset_p, bytes_read_p, stream,
				       false };

	return bl_error_status(submit(fh, &args));
}

CUfileError_t cuFileWriteAsync(CUfileHandle_t fh, void *bufPtr_base, size_t *size_p, off_t *file_offset_p,
			       off_t *bufPtr_offset_p, ssize_t *bytes_written_p, CUstream stream)
{
	struct bl_stream_args args = { NULL, bufPtr_base, size_p, file_offset_p, bufPtr_offset_p, bytes_written_p,
				       stream, true };

	return bl_error_status(submit(fh, &args));
}

CUfileError_t cuFileStreamRegister(CUstream stream, unsigned int flags)
{
	int ret = bl_driver_use();

	return bl_error_status(ret ? ret : bl_stream_register(stream, flags));
}

CUfileError_t cuFileStreamDeregister(CUstream stream)
{
	return bl_error_status(bl_stream_deregister(stream));
}
