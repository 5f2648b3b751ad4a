// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/rw: " fmt
#include <errno.h>
#include <limits.h>

#include "driver.h"
#include "error.h"
#include "file.h"
#include "io.h"
#include "util/log.h"

#define CUFILE_API __attribute__((visibility("default")))

/* Stale is told apart from nonsense, as the original does. */
static __attribute__((noinline, cold)) int refuse(CUfileHandle_t fh, bool was_valid)
{
	if (was_valid)
		return bl_fail(-BL_CUFILE(CU_FILE_HANDLE_NOT_REGISTERED), log_fmt("handle %p: deregistered"), fh);
	return fail(EINVAL, "handle %p: never given out", fh);
}

static int get(CUfileHandle_t fh, struct bl_file **file_p)
{
	bool was_valid = false;
	int ret;

	ret = bl_driver_use();
	if (ret)
		return ret;
	*file_p = bl_file_get((uintptr_t)fh, &was_valid);
	return *file_p ? 0 : refuse(fh, was_valid);
}

static ssize_t run(CUfileHandle_t fh, void *base, size_t size, off_t file_offset, off_t buf_offset, bool write)
{
	struct bl_file *file;
	ssize_t ret;

	ret = get(fh, &file);
	if (!ret) {
		ret = bl_io_run(file, base, size, file_offset, buf_offset, write);
		bl_file_put(file);
	}
	return __builtin_expect(ret >= 0, 1) ? ret : bl_error_result(ret);
}

CUFILE_API ssize_t cuFileRead(CUfileHandle_t fh, void *base, size_t size, off_t file_offset, off_t buf_offset)
{
	return run(fh, base, size, file_offset, buf_offset, false);
}

CUFILE_API ssize_t cuFileWrite(CUfileHandle_t fh, const void *base, size_t size, off_t file_offset, off_t buf_offset)
{
	return run(fh, (void *)(uintptr_t)base, size, file_offset, buf_offset, true);
}

/* Element after element; a short one, or an error behind bytes that were moved, ends the call with what there is. */
static ssize_t run_vector(struct bl_file *file, const CUfileIOVec_t *iov, size_t nr, off_t pos, bool write)
{
	ssize_t ret, done = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!iov[i].len)
			continue;
		ret = bl_io_run(file, iov[i].base, iov[i].len, pos + done, 0, write);
		if (ret < 0)
			return done ? done : ret;
		done += ret;
		if ((size_t)ret < iov[i].len)
			break;
	}
	return done;
}

static ssize_t vector(CUfileHandle_t fh, const CUfileIOVec_t *iov, size_t nr, off_t pos, unsigned int flags, bool write)
{
	struct bl_file *file;
	ssize_t ret;

	ret = get(fh, &file);
	if (ret)
		return bl_error_result(ret);
	if ((!iov && nr) || nr > IOV_MAX || flags)
		ret = fail(EINVAL, "vector of %zu elements at %p, flags 0x%x", nr, (const void *)iov, flags);
	else
		ret = run_vector(file, iov, nr, pos, write);
	bl_file_put(file);
	return bl_error_result(ret);
}

CUFILE_API ssize_t cuFileReadv(CUfileHandle_t fh, const CUfileIOVec_t *iov, size_t iovcnt, off_t file_offset,
			       unsigned int flags)
{
	return vector(fh, iov, iovcnt, file_offset, flags, false);
}

CUFILE_API ssize_t cuFileWritev(CUfileHandle_t fh, const CUfileIOVec_t *iov, size_t iovcnt, off_t file_offset,
				unsigned int flags)
{
	return vector(fh, iov, iovcnt, file_offset, flags, true);
}
