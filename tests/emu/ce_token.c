// SPDX-License-Identifier: MIT
/* The number behind a read that a transfer brings: in the core, so that a test sees which way was taken. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "barlane.h"
#include "child.h"
#include "emu/cuda/emu.h"
#include "gpu/ce.h"
#include "gpu/cuda.h"
#include "tests/tap.h"

#define SIZE (256UL << 10)
#define LEN  (64UL << 10) /* the shortest whose number is brought */

#ifdef __SANITIZE_THREAD__
#define TURNS 1U
#else
#define TURNS 3U
#endif

static const struct bl_cuda *cuda;
static struct bl_ce_target target;
static CUcontext context;
static CUdeviceptr va;
static unsigned char *pinned, *model;
static int (*fault)(const char *spec);

static void set_up(void)
{
	void *host, *lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUdevice dev;

	cuda = bl_cuda();
	fault = lib ? (int (*)(const char *))dlsym(lib, "bl_emu_fault") : NULL;
	if (!cuda || !fault || cuda->cuInit(0) || cuda->cuDeviceGet(&dev, 0))
		skip("no emulated GPU: %s", bl_cuda_error());
	check(!cuda->cuDevicePrimaryCtxRetain(&context, dev) && !cuda->cuCtxSetCurrent(context));
	check(!cuda->cuMemAlloc(&va, SIZE) && !cuda->cuMemHostAlloc(&host, SIZE, CU_MEMHOSTALLOC_PORTABLE));
	pinned = host;
	model = malloc(SIZE);
	check(model != NULL);
	for (size_t i = 0; i < SIZE; i++)
		model[i] = (unsigned char)(i * 7 + (i >> 8) + 1);
	check_eq(cuda->cuMemcpyHtoD(va, model, SIZE), CUDA_SUCCESS);
	check_eq(bl_ce_target_init(cuda, va, 0, &target), 0);
}

static int copy(enum bl_copy_dir dir, size_t off, void *host, size_t len, bool is_pinned)
{
	const struct bl_ce_copy request = { .target = &target, .va = va + off, .host = host, .len = len, .dir = dir,
					    .pinned = is_pinned };

	return bl_ce_run(cuda, &request);
}

static struct bl_ce *channel(void)
{
	struct bl_ce *ce;

	check_eq(copy(BL_COPY_FROM, 0, pinned, LEN, true), 0);
	ce = atomic_load(&target.ce);
	check(ce->counts && !ce->table_va);
	return ce;
}

static struct bl_ce *channel_with_tokens(void)
{
	struct bl_ce *ce;

	set_up();
	ce = channel();
	bl_ce_report(ce, false, false, BL_CE_TOKENS_ON);
	return ce;
}

static void must_read(unsigned int i)
{
	size_t off = i * 64UL % (SIZE - LEN), from = i * 4096UL % LEN;
	unsigned char *host = pinned + 1; /* copied in one piece, which is quicker here */

	memset(host, 0, LEN);
	if (copy(BL_COPY_FROM, off, host, LEN, true))
		tap_end(TAP_FAILED, "read: %s", bl_last_error(NULL));
	/* from another place each time */
	check(!memcmp(host + from, model + off + from, LEN - from));
	check(!memcmp(host, model + off, LEN));
}

/* Around the table, and once around the numbers. */
static void rounds(const void *arg)
{
	struct bl_ce *ce = channel_with_tokens();

	ce->seq = (uint32_t)-3000;
	*ce->flag = ce->seq;
	/* a number that had to be written would be the end of counting */
	check_eq(fault("cuda.memop:*"), 0);
	for (unsigned int i = 0; i < TURNS * BL_CE_TOKENS + 100; i++)
		must_read(i);
	check(ce->counts && ce->table_va && !ce->no_table);
	check_eq(*ce->flag, ce->seq);
	check_eq(ce->seq, (uint32_t)(TURNS * BL_CE_TOKENS + 100 - 3000));
}

static void the_numbers_go_round(void)
{
	child_run(rounds, NULL, NULL);
}

/* Numbers behind writes, and of staged copies, are in the same row. */
static void mixed(const void *arg)
{
	struct bl_ce *ce = channel_with_tokens();
	unsigned char *ordinary = malloc(SIZE);
	unsigned int random = 1;

	check(ordinary != NULL);
	for (unsigned int i = 0; i < TURNS * BL_CE_TOKENS + 100; i++) {
		random = random * 1664525U + 1013904223U;
		if (random >> 30 == 0) {
			check_eq(copy(BL_COPY_TO, 0, model, LEN, false), 0);
		} else if (random >> 30 == 1) {
			memset(ordinary, 0, LEN + 2);
			/* no multiple of 4 is watched arriving */
			check_eq(copy(BL_COPY_FROM, 1, ordinary, LEN + 2, false), 0);
			check(!memcmp(ordinary, model + 1, LEN + 2));
		} else {
			must_read(i);
		}
	}
	check(ce->counts && ce->table_va && !ce->no_table);
	check_eq(*ce->flag, ce->seq);
	free(ordinary);
}

static void both_ways_take_turns(void)
{
	child_run(mixed, NULL, NULL);
}

/* @arg: what fails */
static void without_a_table(const void *arg)
{
	struct bl_ce *ce = channel_with_tokens();

	check_eq(fault(arg), 0);
	must_read(1);
	check_eq(fault(""), 0);
	for (unsigned int i = 0; i < 20; i++)
		must_read(i);
	check(ce->counts && ce->no_table);
	check_eq(*ce->flag, ce->seq);
}

static void what_fails_is_done_without(void)
{
	child_run(without_a_table, "cuda.host:1", NULL);
	child_run(without_a_table, "cuda.alloc:1", NULL);
	/* the copy, the table, the number */
	child_run(without_a_table, "cuda.memcpy:2", NULL);
	child_run(without_a_table, "cuda.memcpy:3", NULL);
}

/* Later on, when there is a table: the number, and the next half of the table. */
static void fails_later(const void *arg)
{
	struct bl_ce *ce = channel_with_tokens();

	must_read(0);
	ce->seq = (ce->seq & ~(BL_CE_TOKENS - 1)) + BL_CE_TOKENS / 2 - 2;
	*ce->flag = ce->seq;
	check_eq(fault(arg), 0);
	must_read(1);
	must_read(2);
	must_read(3);
	check_eq(fault(""), 0);
	check(ce->counts && ce->no_table);
	must_read(4);
	check_eq(*ce->flag, ce->seq);
}

static void what_fails_later_too(void)
{
	child_run(fails_later, "cuda.memcpy:2", NULL);
	child_run(fails_later, "cuda.memcpy:3", NULL);
}

/* More marks than the table has words are under way: none of them may bring another one's number. */
static void too_many(const void *arg)
{
	struct bl_ce *ce = channel_with_tokens();
	uint32_t *gate, first;
	void *page;

	must_read(0);
	first = ce->seq;
	check_eq(cuda->cuMemHostAlloc(&page, 4096, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
	gate = page;
	*gate = 0;
	check_eq(cuda->cuStreamWaitValue32(ce->stream, (uintptr_t)gate, 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
	pthread_mutex_lock(&ce->lock);
	for (unsigned int i = 0; i < BL_CE_TOKENS; i++) {
		check_eq(bl_ce_post(cuda, ce, BL_COPY_FROM, va, pinned + 1, i % 8 ? 4 : LEN), 0);
		check_eq(bl_ce_mark(cuda, ce), 0);
	}
	check(ce->no_table && !bl_ce_counted(ce, first + 1));
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	for (uint32_t seq = first + 1; seq != ce->seq; seq++) {
		check_eq(bl_ce_wait(cuda, ce, seq), 0);
		/* never ahead of the stream, which goes one by one */
		check((int32_t)(ce->seq - __atomic_load_n(ce->flag, __ATOMIC_ACQUIRE)) >= 0);
	}
	check_eq(bl_ce_wait(cuda, ce, ce->seq), 0);
	check(ce->counts);
	pthread_mutex_unlock(&ce->lock);
	must_read(1);
}

static void more_marks_than_words(void)
{
	child_run(too_many, NULL, NULL);
}

static bool chosen(void)
{
	struct bl_ce *ce = atomic_load(&target.ce);
	bool had = ce->table_va;

	/* the proof makes a table; a fresh channel has one only if it was allowed */
	check_eq(bl_ce_choose(cuda, &target, va, pinned), 0);
	check(had || ce->table_va || getenv("BARLANE_CE_REPORT"));
	/* which it works on */
	check_eq(cuda->cuMemcpyHtoD(va, model, SIZE), CUDA_SUCCESS);
	check_eq(bl_ce_new(cuda, context, &ce), 0);
	pthread_mutex_lock(&ce->lock);
	check_eq(bl_ce_post(cuda, ce, BL_COPY_FROM, va, pinned, LEN), 0);
	check_eq(bl_ce_wait_posted(cuda, ce), 0);
	pthread_mutex_unlock(&ce->lock);
	return ce->table_va;
}

/* An engine that does not keep the order is found out, and no channel takes its word. */
static void overtakes(const void *arg)
{
	set_up();
	channel();
	check_eq(fault("cuda.overtake:*"), 0);
	check(!chosen());
	for (unsigned int i = 0; i < 50; i++)
		must_read(i);
}

/* One that does is used. */
static void keeps_order(const void *arg)
{
	set_up();
	channel();
	/* which is faster here is not for a test to say */
	chosen();
	for (unsigned int i = 0; i < 50; i++)
		must_read(i);
}

static void forced(const void *arg)
{
	set_up();
	bl_ce_report(channel(), false, false, BL_CE_TOKENS_ON);
	must_read(0);
	check_eq(chosen(), !strcmp(arg, "token"));
	for (unsigned int i = 0; i < 50; i++)
		must_read(i);
}

static void the_order_is_proved_first(void)
{
	child_run(keeps_order, NULL, NULL);
#ifdef __SANITIZE_THREAD__
	skip("bytes that come late are the race that ThreadSanitizer looks for");
#endif
	/* so late that what comes before them is not there with them by chance */
	child_run(overtakes, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "300", NULL });
}

static void a_variable_decides(void)
{
	child_run(forced, "token", (const char *[]){ "BARLANE_CE_REPORT", "token", NULL });
	child_run(forced, "counter", (const char *[]){ "BARLANE_CE_REPORT", "counter", NULL });
	child_run(forced, "stream", (const char *[]){ "BARLANE_CE_REPORT", "stream", NULL });
}

/* The context goes, and with it table and counter; the next one has its own. */
static void context_goes(const void *arg)
{
	CUdeviceptr first;
	CUcontext own;

	set_up();
	first = va;
	bl_ce_tokens_allow(0, true);
	check_eq(cuda->cuCtxCreate(&own, 0, 0), CUDA_SUCCESS);
	check_eq(cuda->cuMemAlloc(&va, SIZE), CUDA_SUCCESS);
	check_eq(cuda->cuMemcpyHtoD(va, model, SIZE), CUDA_SUCCESS);
	check_eq(bl_ce_target_init(cuda, va, 0, &target), 0);
	for (unsigned int i = 0; i < 20; i++)
		must_read(i);
	check(atomic_load(&target.ce)->table_va);
	check_eq(cuda->cuCtxDestroy(own), CUDA_SUCCESS);
	check_eq(copy(BL_COPY_FROM, 0, pinned, LEN, true), -EINVAL);
	va = first;
	check_eq(bl_ce_target_init(cuda, va, 0, &target), 0);
	for (unsigned int i = 0; i < 20; i++)
		must_read(i);
	check(atomic_load(&target.ce)->table_va);
}

static void contexts_that_go(void)
{
	child_run(context_goes, NULL, NULL);
}

/* A device error behind the copy ends the wait for a number that never comes. */
static void device_fails(const void *arg)
{
	struct bl_ce *ce = channel_with_tokens();

	must_read(0);
	check_eq(fault("cuda.memcpy:2:719,cuda.memop:1:719,cuda.stream:*:719"), 0);
	check_eq(copy(BL_COPY_FROM, 0, pinned, LEN, true), -EIO);
	check_has(bl_last_error(NULL), "CUDA_ERROR_LAUNCH_FAILED");
	check_eq(fault(""), 0);
	check_eq(cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	must_read(1);
	check(ce->no_table);
}

static void a_device_error(void)
{
	child_run(device_fails, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "the numbers go round, and the table with them", the_numbers_go_round },
	{ "numbers that are brought and numbers that are written take turns", both_ways_take_turns },
	{ "a table that cannot be had is done without", what_fails_is_done_without },
	{ "and so is one that fails later", what_fails_later_too },
	{ "more marks than words: none brings another one's number", more_marks_than_words },
	{ "an engine that does not keep the order is found out", the_order_is_proved_first },
	{ "a variable decides", a_variable_decides },
	{ "contexts that go take their table with them", contexts_that_go },
	{ "a device error is EIO", a_device_error },
};

TAP_MAIN(tests)
