/* SPDX-License-Identifier: MIT */
/* file_example.h - what the examples of files share: calls of cuFile that must succeed, a GPU, a bar that shows progress */
#ifndef EXAMPLES_FILE_EXAMPLE_H
#define EXAMPLES_FILE_EXAMPLE_H

#include "example.h"

#include <cufile.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

/* A call that returns a status and must succeed. */
#define CUFILE(call) example_cufile(call, #call)

static inline void example_cufile(CUfileError_t status, const char *what)
{
	if (status.err == CU_FILE_SUCCESS)
		return;
	fprintf(stderr, "%s: %s (%d)\n", what, cufileop_status_error(status.err), (int)status.err);
	exit(EXIT_FAILURE);
}

static inline void __attribute__((format(printf, 1, 2), noreturn)) example_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

/* Why a read or write gave what it gave: errno, a code in errno, or the negative code itself. */
static inline const char *example_io_error(ssize_t result)
{
	int err = result < -CUFILEOP_BASE_ERR ? (int)-result : errno;

	if (result >= 0)
		return "fewer bytes than asked for";
	return IS_CUFILE_ERR(err) ? CUFILE_ERRSTR(err) : strerror(err);
}

/* The context of a GPU, for this thread. */
static inline CUcontext example_gpu(int ordinal)
{
	CUcontext context;
	CUdevice device;

	CU(cuInit(0));
	CU(cuDeviceGet(&device, ordinal));
	CU(cuDevicePrimaryCtxRetain(&context, device));
	CU(cuCtxSetCurrent(context));
	return context;
}

/* A line on stderr that grows; only where somebody can see it, or with a last line when @force. */
static inline void example_progress(const char *what, uint64_t done, uint64_t all, uint64_t begin_ns, bool force)
{
	double seconds = (double)(example_now_ns() - begin_ns) / 1e9;
	int cells = all ? (int)(done * 40 / all) : 40;

	if (!force && !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r%s [%.*s%*s] %5.1f %%  %.2f GB/s", what, cells, "########################################",
		40 - cells, "", all ? (double)done * 100 / (double)all : 100.0,
		seconds > 0 ? (double)done / 1e9 / seconds : 0);
	if (done == all)
		fputc('\n', stderr);
}

#endif
