/* SPDX-License-Identifier: MIT */
/*
 * error.h - why a helper of the tools failed, in words
 *
 * Helpers return 0 or -errno and leave the reason here; the program decides whether that ends a test or the run.
 */
#ifndef TOOLS_COMMON_ERROR_H
#define TOOLS_COMMON_ERROR_H

#include "gpu/cuda.h"

/**
 * tool_fail() - Remember why something failed
 * @err: positive errno value
 * @fmt: what failed, on what, and why
 *
 * Return: -@err.
 */
int tool_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * tool_cuda() - Turn the result of a driver call into 0 or -errno
 * @res:  what the driver returned
 * @what: the call, for the message
 */
int tool_cuda(CUresult res, const char *what);

/* Text of the calling thread's last failure; valid until its next one. */
const char *tool_why(void);

/**
 * tool_finish() - End of a program that prints results
 * @status: exit status so far
 *
 * Return: @status, or EXIT_FAILURE with a message on stderr when stdout did not take all that was printed.
 */
int tool_finish(int status);

/* Print "PROGRAM: text" on stderr and end with status 1. */
void tool_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
