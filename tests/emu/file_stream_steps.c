// SPDX-License-Identifier: MIT
/* What operations of streams put on their stream by way of pinned memory: few host functions, and what becomes of a part. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bounce_world.h"
#include "child.h"
#include "tests/tap.h"

#define PART (9UL << 20)

static const char *const staged[] = { "BARLANE_FILE_PATH", "staged", NULL };

/*
 * A driver holds some tens of host functions of streams that are stopped, and then the calling thread: an operation has few,
 * however large it is.
 */
static void few(const void *arg)
{
	struct transfer transfers[2] = { { BIG, 0, 0, 0 }, { BIG, 0, 0, 0 } };
	struct memory memory;

	enter(BIG, 0, *(const unsigned int *)arg);
	memory_make(&memory, UNREGISTERED, BIG);
	close_gate();
	check_eq(world.fault("cuda.hostfn:10"), 0);
	for (int write = 0; write < 2; write++)
		check_eq(submit(&memory, &transfers[write], write).err, CU_FILE_SUCCESS);
	check_eq(world.fault(""), 0);
	open_gate();
	for (int write = 0; write < 2; write++)
		check_eq(transfers[write].bytes, BIG);
	memory_drop(&memory);
	leave();
}

static void host_functions_are_few(void)
{
	static const unsigned int fixed = ALL_FIXED, late = 0;

	child_run(few, &late, staged);
	child_run(few, &fixed, staged);
}

/* A write of which not all steps come to the stream: what was told of is written, and nothing else. */
static void write_in_part(const struct memory *memory, const char *fault)
{
	struct transfer transfer = { PART, 4096, 0, 0 };
	unsigned char *bytes = host_bytes(PART);
	CUfileError_t status;
	size_t done;

	tested_fill(&tested, PART + 8192, 5);
	check_eq(world.fault(fault), 0);
	status = submit(memory, &transfer, 1);
	while (world.cuda->cuStreamSynchronize(stream))
		;
	check_eq(world.fault(""), 0);
	done = !status.err && transfer.bytes > 0 ? (size_t)transfer.bytes : 0;
	check(done <= PART);
	check(!status.err || transfer.bytes == NOT_ENDED);
	check_eq(pread(tested.plain, bytes, PART, 4096), PART);
	check_eq(pattern_wrong(bytes, done, 6, 0), 0);
	check_eq(pattern_wrong(bytes + done, PART - done, 5, 4096 + done), 0);
	free(bytes);
}

static void broken_off(const void *arg)
{
	static const char *const points[] = { "cuda.hostfn", "cuda.memop", "cuda.wait", "cuda.memcpy" };
	unsigned char *bytes = host_bytes(PART);
	struct memory memory;
	char fault[64];

	enter(PART, 0, *(const unsigned int *)arg);
	memory_make(&memory, UNREGISTERED, PART);
	pattern_fill(bytes, PART, 6, 0);
	memory_put(&memory, 0, bytes, PART);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		for (int nth = 1; nth <= 13; nth += TAP_TSAN ? 5 : 1) {
			snprintf(fault, sizeof(fault), "%s:%d", points[i], nth);
			write_in_part(&memory, fault);
		}
	}
	free(bytes);
	memory_drop(&memory);
	leave();
}

static void broken_writes(void)
{
	static const unsigned int fixed = ALL_FIXED, late = 0;

	child_run(broken_off, &late, NULL);
	child_run(broken_off, &late, supposing[0]);
	if (!TAP_TSAN)
		child_run(broken_off, &fixed, NULL);
}

static const struct tap_test tests[] = {
	{ "an_operation_has_few_host_functions", host_functions_are_few },
	{ "writes_that_break_off_end_in_their_turn", broken_writes },
};

TAP_MAIN(tests)
