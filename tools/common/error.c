// SPDX-License-Identifier: MIT
#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char text[512];

int tool_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return -err;
}

int tool_cuda(CUresult res, const char *what)
{
	if (res == CUDA_SUCCESS)
		return 0;
	return tool_fail(bl_cuda_errno(res), "%s: %s", what, bl_cuda_strerror(res));
}

const char *tool_why(void)
{
	return text;
}

int tool_finish(int status)
{
	int err = 0;

	errno = 0;
	if (fflush(stdout))
		err = errno;
	if (!ferror(stdout))
		return status;
	fprintf(stderr, "%s: not all of the output could be written%s%s\n", program_invocation_short_name, err ? ": " : "",
		err ? strerror(err) : "");
	return EXIT_FAILURE;
}

void tool_die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}
