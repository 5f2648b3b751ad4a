// SPDX-License-Identifier: MIT
/*
 * Operations of streams by way of pinned memory, and by the CPU: all sizes, alignments and kinds of memory; what is short, what
 * is told late, what is too much; and that nobody depends on another stream. The same in a world where all streams share one
 * channel of the GPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bounce_world.h"
#include "child.h"
#include "tests/tap.h"

#define BEYOND	   64UL /* bytes around a destination that must stay */
#define UNTOUCHED  0xa5

static const char *const one_channel[] = { "BARLANE_EMU_CHANNELS", "1", NULL };

/* Read, and look also at what lies around it. */
static void read_one(const struct memory *memory, struct transfer transfer)
{
	size_t size = transfer.size + 2 * BEYOND, from = (size_t)transfer.off - BEYOND;
	unsigned char *bytes = host_bytes(size);

	memset(bytes, UNTOUCHED, size);
	memory_put(memory, from, bytes, size);
	run(memory, &transfer, 0);
	check_eq(transfer.bytes, transfer.size);
	memory_get(memory, from, bytes, size);
	check_eq(value_wrong(bytes, BEYOND, UNTOUCHED), 0);
	check_eq(pattern_wrong(bytes + BEYOND, transfer.size, 5, (size_t)transfer.pos), 0);
	check_eq(value_wrong(bytes + size - BEYOND, BEYOND, UNTOUCHED), 0);
	free(bytes);
}

/* Write other bytes, look at the file and what lies around them, and put it back as it was. */
static void write_one(const struct memory *memory, struct transfer transfer)
{
	size_t size = transfer.size + 2 * BEYOND, from = (size_t)transfer.pos - BEYOND;
	unsigned char *bytes = host_bytes(size);

	pattern_fill(bytes, transfer.size, 6, 0);
	memory_put(memory, (size_t)transfer.off, bytes, transfer.size);
	run(memory, &transfer, 1);
	check_eq(transfer.bytes, transfer.size);
	check_eq(pread(tested.plain, bytes, size, (off_t)from), size);
	check_eq(pattern_wrong(bytes, BEYOND, 5, from), 0);
	check_eq(pattern_wrong(bytes + BEYOND, transfer.size, 6, 0), 0);
	check_eq(pattern_wrong(bytes + size - BEYOND, BEYOND, 5, from + size - BEYOND), 0);
	pattern_fill(bytes, size, 5, from);
	check_eq(pwrite(tested.plain, bytes, size, (off_t)from), size);
	free(bytes);
}

static void sizes_of(const struct memory *memory)
{
	static const struct transfer transfers[] = {
		{ 1, 4097, 71, 0 },
		{ 4096, 4096, 4096, 0 },
		{ 65536, 8192, 65536, 0 },
		{ 70001, 777, 333, 0 },
		{ 1 << 20, 1 << 20, 4096, 0 },
		{ (1 << 20) + 1, 4095, 4097, 0 },
		{ 7340033, 123457, 4096 + 16, 0 },
		{ 20 << 20, (1 << 20) + 512, 4096, 0 },
	};

	for (size_t i = 0; i < sizeof(transfers) / sizeof(transfers[0]); i++) {
		if ((size_t)transfers[i].off + transfers[i].size + BEYOND > memory->size)
			continue;
		if (TAP_TSAN && transfers[i].size > 2 << 20)
			continue;
		read_one(memory, transfers[i]);
		write_one(memory, transfers[i]);
	}
}

struct world_of_sizes {
	enum kind kind;
	unsigned int fixed;
	int flags;
};

static void sizes(const void *arg)
{
	const struct world_of_sizes *of = arg;
	/* what holds the sizes that ThreadSanitizer sees */
	size_t size = TAP_TSAN ? 4UL << 20 : BIG;
	struct memory memory;

	enter(size, of->flags, of->fixed);
	memory_make(&memory, of->kind, size);
	sizes_of(&memory);
	memory_drop(&memory);
	leave();
}

static void all_sizes(const char *const *env)
{
	static const struct world_of_sizes worlds[] = {
		{ REGISTERED, ALL_FIXED, 0 },	{ REGISTERED, 0, 0 },	      { UNREGISTERED, ALL_FIXED, 0 },
		{ UNREGISTERED, 0, 0 },		{ UNREGISTERED, 5, 0 },	      { POOL, 0, 0 },
		{ MANAGED, ALL_FIXED, 0 },	{ VMM, 0, 0 },		      { REGISTERED, ALL_FIXED, O_DIRECT },
		{ UNREGISTERED, 0, O_DIRECT },	{ POOL, ALL_FIXED, O_DIRECT }, { PAGEABLE, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++) {
		/* all of them in one setting */
		if (!TAP_TSAN || !env || i % 4 == 1)
			child_run(sizes, &worlds[i], env);
	}
}

static void sizes_and_memory(void)
{
	all_sizes(NULL);
}

static void in_one_channel(void)
{
	all_sizes(one_channel);
}

static void without_mapping(void)
{
	all_sizes((const char *[]){ "BARLANE_FILE_PATH", "staged", "BARLANE_EMU_CHANNELS", "1", NULL });
}

static void without_kernel(void)
{
	static const struct world_of_sizes late = { UNREGISTERED, 0, 0 };

	if (!TAP_TSAN)
		child_run(sizes, &late, supposing[0]);
	child_run(sizes, &late, (const char *[]){ "BARLANE_EMU_FAULT", "cuda.module:*", NULL });
	child_run(sizes, &late, (const char *[]){ "BARLANE_EMU_FAULT", "cuda.module:*", "BARLANE_EMU_CHANNELS", "1", NULL });
}

/* The end of the file in the middle of a chunk, at the end of one, in front of all; and what lies behind stays. */
static void ends(const void *arg)
{
	static const size_t file_sizes[] = { 3 << 20, (5 << 20) + 100, 4096, 0 };
	unsigned char *bytes = host_bytes(8 << 20);
	struct memory memory;

	enter(0, 0, *(const unsigned int *)arg);
	memory_make(&memory, UNREGISTERED, 8 << 20);
	for (size_t f = 0; f < sizeof(file_sizes) / sizeof(file_sizes[0]); f++) {
		struct transfer transfer = { 8 << 20, 0, 0, 0 };

		check_eq(ftruncate(tested.plain, 0), 0);
		if (file_sizes[f])
			tested_fill(&tested, file_sizes[f], 5);
		memset(bytes, UNTOUCHED, 8 << 20);
		memory_put(&memory, 0, bytes, 8 << 20);
		run(&memory, &transfer, 0);
		check_eq(transfer.bytes, file_sizes[f]);
		memory_get(&memory, 0, bytes, 8 << 20);
		check_eq(pattern_wrong(bytes, file_sizes[f], 5, 0), 0);
		check_eq(value_wrong(bytes + file_sizes[f], (8 << 20) - file_sizes[f], UNTOUCHED), 0);
	}
	free(bytes);
	memory_drop(&memory);
	leave();
}

static void short_reads(void)
{
	static const unsigned int fixed = ALL_FIXED, late = 0;

	child_run(ends, &late, NULL);
	child_run(ends, &fixed, NULL);
	child_run(ends, &late, (const char *[]){ "BARLANE_FILE_PATH", "staged", NULL });
	child_run(ends, &fixed, (const char *[]){ "BARLANE_FILE_PATH", "staged", NULL });
}

static bool no_kernel(void)
{
	return !strcmp(getenv("BARLANE_FILE_STREAM_KERNEL"), "0");
}

/* Smaller and elsewhere when the stream gets there, larger than was said, and outside of the memory. */
static void late_arguments(const void *arg)
{
	struct transfer transfer = { 6 << 20, 0, 0, 0 };
	unsigned char *bytes = host_bytes(8 << 20);
	struct memory memory;
	int write = arg != NULL;
	size_t at = write ? 4321 : 1234567, behind = at + 1000003;

	enter(8 << 20, 0, 0);
	memory_make(&memory, UNREGISTERED, 8 << 20);
	memset(bytes, 9, 8 << 20);
	memory_put(&memory, 0, bytes, 8 << 20);
	close_gate();
	check_eq(submit(&memory, &transfer, write).err, CU_FILE_SUCCESS);
	transfer = (struct transfer){ 1000003, 4321, 1234567, NOT_ENDED };
	open_gate();
	check_eq(transfer.bytes, 1000003);
	if (write)
		check_eq(pread(tested.plain, bytes, 8 << 20, 0), 8 << 20);
	else
		memory_get(&memory, 0, bytes, 8 << 20);
	check_eq(write ? pattern_wrong(bytes, at, 5, 0) : value_wrong(bytes, at, 9), 0);
	check_eq(write ? value_wrong(bytes + at, 1000003, 9) : pattern_wrong(bytes + at, 1000003, 5, 4321), 0);
	check_eq(write ? pattern_wrong(bytes + behind, (8 << 20) - behind, 5, behind) :
			 value_wrong(bytes + behind, (8 << 20) - behind, 9), 0);
	transfer = (struct transfer){ 1000, 0, 0, 0 };
	close_gate();
	check_eq(submit(&memory, &transfer, write).err, CU_FILE_SUCCESS);
	transfer.size = 0;
	open_gate();
	check_eq(transfer.bytes, 0);
	/* what is refused from here on touches nothing, also not what operations before it did */
	memset(bytes, 11, 8 << 20);
	memory_put(&memory, 0, bytes, 8 << 20);
	transfer = (struct transfer){ 1000, 0, 0, 0 };
	close_gate();
	check_eq(submit(&memory, &transfer, write).err, CU_FILE_SUCCESS);
	transfer.size = 3000;
	open_gate();
	/* the kernel has pinned memory for so much; who waits in a host function takes what it needs */
	check_eq(transfer.bytes, no_kernel() ? 3000 : -CU_FILE_INVALID_VALUE);
	if (no_kernel())
		memory_put(&memory, 0, bytes, 8 << 20);
	transfer = (struct transfer){ 1000, 0, 0, 0 };
	close_gate();
	check_eq(submit(&memory, &transfer, write).err, CU_FILE_SUCCESS);
	transfer.off = 64 << 20;
	open_gate();
	check_eq(transfer.bytes, no_kernel() ? -EFAULT : -CU_FILE_INVALID_MAPPING_RANGE);
	memory_get(&memory, 0, bytes, 8 << 20);
	check_eq(value_wrong(bytes, 8 << 20, 11), 0);
	free(bytes);
	memory_drop(&memory);
	leave();
}

static void arguments_change(void)
{
	child_run(late_arguments, NULL, NULL);
	child_run(late_arguments, "write", NULL);
	/* one of them under ThreadSanitizer, which takes its time */
	for (size_t i = TAP_TSAN; i < sizeof(supposing) / sizeof(supposing[0]); i++) {
		child_run(late_arguments, NULL, supposing[i]);
		child_run(late_arguments, "write", supposing[i]);
	}
}

/* More than there is pinned memory for: the submission fails in time, and what was submitted is done all the same. */
static void too_much(const void *arg)
{
	enum { NR = 40 };
	struct transfer transfers[NR];
	struct memory memory;
	int nr = 0;

	enter(BIG, 0, 0);
	memory_make(&memory, UNREGISTERED, BIG);
	close_gate();
	for (; nr < NR; nr++) {
		transfers[nr] = (struct transfer){ BIG, 0, 0, 0 };
		if (submit(&memory, &transfers[nr], 1).err)
			break;
	}
	check(nr >= 4 && nr < NR);
	check_has(bl_last_error(NULL), "pinned memory");
	check_eq(transfers[nr].bytes, NOT_ENDED);
	open_gate();
	for (int i = 0; i < nr; i++)
		check(transfers[i].bytes == (ssize_t)BIG || transfers[i].bytes == -ETIMEDOUT);
	check_eq(transfers[0].bytes, BIG);
	/* and all of it has come back */
	run(&memory, &transfers[0], 1);
	check_eq(transfers[0].bytes, BIG);
	memory_drop(&memory);
	leave();
}

/* With no gate: as many as anybody likes, since those that were submitted first end by themselves. */
static void much(const void *arg)
{
	enum { NR = 60 };
	struct transfer transfers[NR];
	struct memory memory;

	enter(BIG, 0, 0);
	memory_make(&memory, UNREGISTERED, BIG);
	for (int i = 0; i < NR; i++) {
		transfers[i] = (struct transfer){ 5000001, i, i, 0 };
		check_eq(submit(&memory, &transfers[i], i & 1).err, CU_FILE_SUCCESS);
	}
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	for (int i = 0; i < NR; i++)
		check_eq(transfers[i].bytes, 5000001);
	memory_drop(&memory);
	leave();
}

/* Who only supposes does not wait for pinned memory: a host function waits for what finds none. */
static void too_much_to_suppose(const void *arg)
{
	enum { NR = 7 };
	struct transfer transfers[NR];
	struct memory memory;

	enter(BIG, 0, 0);
	memory_make(&memory, UNREGISTERED, BIG);
	close_gate();
	for (int i = 0; i < NR; i++) {
		transfers[i] = (struct transfer){ BIG, 0, 0, 0 };
		check_eq(submit(&memory, &transfers[i], 1).err, CU_FILE_SUCCESS);
	}
	open_gate();
	for (int i = 0; i < NR; i++)
		check_eq(transfers[i].bytes, BIG);
	memory_drop(&memory);
	leave();
}

static void pinned_memory_is_bounded(void)
{
	child_run(too_much_to_suppose, NULL, supposing[0]);
	child_run(too_much, NULL, (const char *[]){ "BARLANE_FILE_ASYNC_TIMEOUT_MS", "3000", NULL });
	child_run(much, NULL, NULL);
	child_run(much, NULL, one_channel);
}

/* Contexts come and go with pinned memory of theirs: more of them than there is memory for at a time. */
static void contexts(const void *arg)
{
	CUcontext other;

	enter(1 << 20, 0, 0);
	for (int i = 0; i < 40; i++) {
		struct transfer transfer = { 1 << 20, 0, 0, NOT_ENDED };
		CUdeviceptr ptr;
		CUstream own;

		check_eq(world.cuda->cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
		check_eq(world.cuda->cuStreamCreate(&own, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
		ptr = world_alloc(1 << 20);
		check_eq(cuFileWriteAsync(tested.handle, (void *)(uintptr_t)ptr, &transfer.size, &transfer.pos,
					  &transfer.off, &transfer.bytes, own).err, CU_FILE_SUCCESS);
		check_eq(world.cuda->cuStreamSynchronize(own), CUDA_SUCCESS);
		check_eq(transfer.bytes, 1 << 20);
		check_eq(world.cuda->cuCtxDestroy(other), CUDA_SUCCESS);
		check_eq(world.cuda->cuCtxSetCurrent(world.context), CUDA_SUCCESS);
	}
	leave();
}

/* Memory of another context, which the kernel must not touch: CUDA copies what is fixed, a host function waits otherwise. */
static void foreign(const void *arg)
{
	struct transfer transfer = { 300000, 100, 100, 0 };
	struct memory memory;
	CUcontext other;

	world_enter();
	memory_make(&memory, UNREGISTERED, 1 << 20);
	check_eq(world.cuda->cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
	enter(1 << 20, 0, *(const unsigned int *)arg);
	check_eq(world.cuda->cuCtxSetCurrent(other), CUDA_SUCCESS);
	for (int write = 0; write < 2; write++) {
		run(&memory, &transfer, write);
		check_eq(transfer.bytes, 300000);
	}
	leave();
}

static void contexts_have_their_own(void)
{
	static const unsigned int fixed = ALL_FIXED, late = 0;

	child_run(contexts, NULL, NULL);
	child_run(foreign, &fixed, NULL);
	child_run(foreign, &late, NULL);
}

static void set_flag(void *arg)
{
	atomic_store((atomic_int *)arg, 1);
}

/* Once it is on the stream an operation takes no call of CUDA by anybody: what one would wait for is not known. */
static void quiet(const void *arg)
{
	const struct world_of_sizes *of = arg;
	struct bl_emu_counts before, after;
	struct memory memory;

	enter(BIG, of->flags, of->fixed);
	memory_make(&memory, of->kind, BIG);
	for (int write = 0; write < 2; write++) {
		struct transfer transfer = { BIG - 5000, 0, 777, 0 };
		atomic_int flag = 0;

		close_gate();
		check_eq(submit(&memory, &transfer, write).err, CU_FILE_SUCCESS);
		check_eq(world.cuda->cuLaunchHostFunc(stream, set_flag, &flag), CUDA_SUCCESS);
		world.counts(&before);
		atomic_store(&gate, 1);
		while (!atomic_load(&flag))
			usleep(100);
		world.counts(&after);
		check_eq(after.cuda_calls, before.cuda_calls);
		check_eq(transfer.bytes, BIG - 5000);
	}
	memory_drop(&memory);
	leave();
}

static void threads_call_no_cuda(void)
{
	static const struct world_of_sizes late[] = { { UNREGISTERED, 0, 0 }, { REGISTERED, 0, 0 }, { UNREGISTERED, 5, 0 } };

	static const struct world_of_sizes worlds[] = {
		{ REGISTERED, ALL_FIXED, 0 }, { REGISTERED, 0, 0 },	    { UNREGISTERED, ALL_FIXED, 0 },
		{ UNREGISTERED, 0, 0 },	      { REGISTERED, 0, O_DIRECT }, { MANAGED, 0, 0 },
		{ POOL, ALL_FIXED, 0 },
	};

	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++) {
		child_run(quiet, &worlds[i], NULL);
		child_run(quiet, &worlds[i], (const char *[]){ "BARLANE_FILE_PATH", "staged", NULL });
	}
	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++)
		child_run(quiet, &late[i], supposing[1]);
}

static int crew_size(void)
{
	char line[256];
	FILE *list = popen("cat /proc/$PPID/task/*/comm", "r");
	int nr = 0;

	check(list);
	while (fgets(line, sizeof(line), list))
		nr += !strcmp(line, "barlane-file\n");
	pclose(list);
	return nr;
}

static void closed(const void *arg)
{
	struct transfer transfer = { BIG, 0, 0, 0 };
	struct memory memory;

	enter(BIG, 0, 0);
	memory_make(&memory, UNREGISTERED, BIG);
	run(&memory, &transfer, 1);
	check_eq(transfer.bytes, BIG);
	check(crew_size() > 0);
	memory_drop(&memory);
	leave();
	/* a thread is counted out a moment before the kernel has forgotten it */
	for (int i = 0; i < 100 && crew_size(); i++)
		usleep(10000);
	check_eq(crew_size(), 0);
}

static void close_ends_threads(void)
{
	child_run(closed, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "all_sizes_alignments_and_kinds_of_memory_are_moved", sizes_and_memory },
	{ "so_they_are_where_all_streams_share_a_channel", in_one_channel },
	{ "so_they_are_by_pinned_memory_alone", without_mapping },
	{ "so_they_are_where_there_is_no_kernel", without_kernel },
	{ "reads_end_with_the_file_and_touch_nothing_behind", short_reads },
	{ "arguments_that_change_are_followed_or_refused", arguments_change },
	{ "pinned_memory_is_bounded_and_comes_back", pinned_memory_is_bounded },
	{ "contexts_have_pinned_memory_of_their_own", contexts_have_their_own },
	{ "an_operation_under_way_takes_no_call_of_cuda", threads_call_no_cuda },
	{ "the_last_close_ends_all_threads", close_ends_threads },
};

TAP_MAIN(tests)
