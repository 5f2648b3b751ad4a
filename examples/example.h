/* SPDX-License-Identifier: MIT */
/* example.h - what the examples do when a call fails: say which, and why, and end */
#ifndef EXAMPLES_EXAMPLE_H
#define EXAMPLES_EXAMPLE_H

#include <barlane.h>
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Exit status of an example that finds nothing to run on. */
#define EXIT_SKIPPED 77

/* A call of CUDA that must succeed. */
#define CU(call) example_cuda(call, #call)

static inline void example_cuda(CUresult err, const char *what)
{
	const char *name = NULL;

	if (!err)
		return;
	cuGetErrorName(err, &name);
	fprintf(stderr, "%s: %s\n", what, name ? name : "unknown error");
	exit(EXIT_FAILURE);
}

/* A call of Barlane that must succeed. */
#define BL(call) example_barlane(call, #call)

static inline void example_barlane(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "%s: %s: %s\n", what, strerror(-ret), bl_last_error(NULL));
	exit(EXIT_FAILURE);
}

static inline uint64_t example_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A number of the command line. */
static inline unsigned long long example_number(const char *text, unsigned long long min, unsigned long long max)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 0);

	if (*text < '0' || *text > '9' || *end || value < min || value > max) {
		fprintf(stderr, "\"%s\" is not a number from %llu to %llu\n", text, min, max);
		exit(EXIT_FAILURE);
	}
	return value;
}

#endif
