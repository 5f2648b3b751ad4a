// SPDX-License-Identifier: MIT
/*
 * A libcufile of the simplest kind, for programs that load or link one: pread and pwrite, and CUDA's copies. FAKE_CUFILE
 * makes it a bad one: "flip" (a read has a wrong byte), "lose" (a write does not happen), "short" (half of each request),
 * "open", "file", "buffer", "batch", "submit", "stream" (that call is refused), "hang" (a read never returns), "die" (the
 * process ends in a write).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "gpu/cuda.h"

#include "cufile.h"

#define MAX_BATCH 1024

struct batch {
	unsigned int nr;
	CUfileIOEvents_t events[MAX_BATCH];
};

static bool bad(const char *how)
{
	const char *env = getenv("FAKE_CUFILE");

	return env && !strcmp(env, how);
}

static CUfileError_t status(const char *how)
{
	return (CUfileError_t){ .err = bad(how) ? CU_FILE_INTERNAL_ERROR : CU_FILE_SUCCESS };
}

CUfileError_t cuFileDriverOpen(void)
{
	return status("open");
}

CUfileError_t cuFileDriverClose_v2(void)
{
	return status("close");
}

CUfileError_t cuFileGetVersion(int *version)
{
	*version = 1150;
	return status("version");
}

/* The descriptor plus one: a handle is never NULL. */
CUfileError_t cuFileHandleRegister(CUfileHandle_t *fh, CUfileDescr_t *descr)
{
	*fh = (void *)(intptr_t)(descr->handle.fd + 1);
	return status("file");
}

void cuFileHandleDeregister(CUfileHandle_t fh)
{
}

CUfileError_t cuFileBufRegister(const void *base, size_t len, int flags)
{
	return status("buffer");
}

CUfileError_t cuFileBufDeregister(const void *base)
{
	return status("deregister");
}

/* Pageable memory is nothing that CUDA knows. */
static bool is_gpu(CUdeviceptr dev)
{
	unsigned int type = 0;

	return !bl_cuda()->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, dev) &&
	       type == CU_MEMORYTYPE_DEVICE;
}

static int to_memory(CUdeviceptr dev, const void *from, size_t len)
{
	if (is_gpu(dev))
		return bl_cuda()->cuMemcpyHtoD(dev, from, len) ? -1 : 0;
	memcpy((void *)(uintptr_t)dev, from, len);
	return 0;
}

static int from_memory(void *to, CUdeviceptr dev, size_t len)
{
	if (is_gpu(dev))
		return bl_cuda()->cuMemcpyDtoH(to, dev, len) ? -1 : 0;
	memcpy(to, (void *)(uintptr_t)dev, len);
	return 0;
}

static ssize_t move_read(int fd, void *host, CUdeviceptr dev, size_t len, off_t pos)
{
	ssize_t got = pread(fd, host, len, pos);

	if (bad("hang"))
		pause();
	if (got > 0 && bad("flip"))
		((unsigned char *)host)[got / 2] ^= 1;
	if (got > 0 && to_memory(dev, host, (size_t)got)) {
		errno = EIO;
		return -1;
	}
	return got;
}

static ssize_t move(CUfileHandle_t fh, CUdeviceptr dev, size_t len, off_t pos, int opcode)
{
	int fd = (int)(intptr_t)fh - 1, err;
	void *host = aligned_alloc(4096, (len + 4095) / 4096 * 4096);
	ssize_t got = -1;

	if (!host)
		return -1;
	if (bad("short"))
		len /= 2;
	if (opcode != CUFILE_WRITE)
		got = move_read(fd, host, dev, len, pos);
	else if (!from_memory(host, dev, len))
		got = bad("lose") ? (ssize_t)len : pwrite(fd, host, len, pos);
	err = errno;
	free(host);
	errno = err;
	return got;
}

ssize_t cuFileRead(CUfileHandle_t fh, void *base, size_t len, off_t pos, off_t off)
{
	return move(fh, (CUdeviceptr)(uintptr_t)base + (CUdeviceptr)off, len, pos, CUFILE_READ);
}

ssize_t cuFileWrite(CUfileHandle_t fh, const void *base, size_t len, off_t pos, off_t off)
{
	if (bad("die"))
		_exit(9);
	return move(fh, (CUdeviceptr)(uintptr_t)base + (CUdeviceptr)off, len, pos, CUFILE_WRITE);
}

CUfileError_t cuFileBatchIOSetUp(CUfileBatchHandle_t *batch, unsigned int nr)
{
	*batch = calloc(1, sizeof(struct batch));
	return *batch && nr <= MAX_BATCH ? status("batch") : (CUfileError_t){ .err = CU_FILE_INTERNAL_ERROR };
}

CUfileError_t cuFileBatchIOSubmit(CUfileBatchHandle_t handle, unsigned int nr, CUfileIOParams_t *params,
				  unsigned int flags)
{
	struct batch *batch = handle;

	if (batch->nr + nr > MAX_BATCH)
		return (CUfileError_t){ .err = CU_FILE_INTERNAL_ERROR };
	for (unsigned int i = 0; i < nr; i++) {
		CUfileIOParams_t *one = &params[i];
		CUdeviceptr dev = (CUdeviceptr)(uintptr_t)one->u.batch.devPtr_base + (CUdeviceptr)one->u.batch.devPtr_offset;

		batch->events[batch->nr++] = (CUfileIOEvents_t){
			.cookie = one->cookie,
			.status = CUFILE_COMPLETE,
			.ret = (size_t)move(one->fh, dev, one->u.batch.size, one->u.batch.file_offset, one->opcode),
		};
	}
	return status("submit");
}

/* Half of what there is, so that callers have to come again. */
CUfileError_t cuFileBatchIOGetStatus(CUfileBatchHandle_t handle, unsigned int min_nr, unsigned int *nr,
				     CUfileIOEvents_t *events, struct timespec *timeout)
{
	struct batch *batch = handle;
	unsigned int give = (batch->nr + 1) / 2;

	if (give > *nr)
		give = *nr;
	batch->nr -= give;
	memcpy(events, batch->events + batch->nr, give * sizeof(*events));
	*nr = give;
	return status("getstatus");
}

void cuFileBatchIODestroy(CUfileBatchHandle_t handle)
{
	free(handle);
}

CUfileError_t cuFileBatchIOCancel(CUfileBatchHandle_t handle)
{
	return status("cancel");
}

CUfileError_t cuFileStreamRegister(CUstream stream, unsigned int flags)
{
	return status("stream");
}

CUfileError_t cuFileStreamDeregister(CUstream stream)
{
	return status("unstream");
}

static CUfileError_t in_stream(CUfileHandle_t fh, void *base, size_t len, off_t pos, off_t off, ssize_t *done,
			       CUstream stream, int opcode)
{
	CUdeviceptr dev = (CUdeviceptr)(uintptr_t)base + (CUdeviceptr)off;

	if (bl_cuda()->cuStreamSynchronize(stream))
		return (CUfileError_t){ .err = CU_FILE_CUDA_DRIVER_ERROR, .cu_err = CUDA_ERROR_INVALID_HANDLE };
	*done = move(fh, dev, len, pos, opcode);
	return status("async");
}

CUfileError_t cuFileReadAsync(CUfileHandle_t fh, void *base, size_t *len, off_t *pos, off_t *off, ssize_t *done,
			      CUstream stream)
{
	return in_stream(fh, base, *len, *pos, *off, done, stream, CUFILE_READ);
}

CUfileError_t cuFileWriteAsync(CUfileHandle_t fh, void *base, size_t *len, off_t *pos, off_t *off, ssize_t *done,
			       CUstream stream)
{
	return in_stream(fh, base, *len, *pos, *off, done, stream, CUFILE_WRITE);
}

CUfileError_t cuFileDriverGetProperties(CUfileDrvProps_t *props)
{
	memset(props, 0, sizeof(*props));
	props->fflags = 0xf;
	return status("properties");
}
