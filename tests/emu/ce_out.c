// SPDX-License-Identifier: MIT
/*
 * A copy by ce leaves the context while the GPU is at it, and asks then whether the memory is there where it can: in
 * the core, over a table of CUDA's functions of which some are this test's. The stream is held by a word that only the
 * test's own functions set, so that a copy that would wait first and leave then is found out by its deadline.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "barlane.h"
#include "child.h"
#include "gpu/ce.h"
#include "gpu/cuda.h"
#include "tests/tap.h"

#define SIZE  (64UL << 10)
#define SHORT (8UL << 10) /* watched arriving */

static struct bl_cuda cuda; /* the driver library's, with the functions below in it */
static const struct bl_cuda *real;
static struct bl_ce_target target;
static CUcontext context;
static CUdeviceptr va;
static unsigned char *pinned, *model;
static uint32_t *gate;
static unsigned int calls, opens_at; /* of the function that is watched; the one that lets the stream go on */
static unsigned int pushes, push_fails_at;

static void open_gate(void)
{
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
}

static CUresult exchange(int *mode)
{
	if (++calls == opens_at)
		open_gate();
	return real->cuThreadExchangeStreamCaptureMode(mode);
}

static CUresult push(CUcontext ctx)
{
	return ++pushes == push_fails_at ? CUDA_ERROR_CONTEXT_IS_DESTROYED : real->cuCtxPushCurrent(ctx);
}

/* What was called, by letters: a question for the memory, a transfer posted. */
static char order[32];
static bool other_memory; /* has the address of what was pinned */

static void note(char what)
{
	size_t len = strlen(order);

	if (len + 1 < sizeof(order))
		order[len] = what;
}

static CUresult attribute(void *data, int attr, CUdeviceptr ptr)
{
	CUresult err = real->cuPointerGetAttribute(data, attr, ptr);

	if (attr == CU_POINTER_ATTRIBUTE_BUFFER_ID && ptr == va) {
		note('?');
		*(uint64_t *)data += other_memory;
	}
	return err;
}

static int pageable;

static CUresult device_attribute(int *value, int attr, CUdevice dev)
{
	CUresult err = real->cuDeviceGetAttribute(value, attr, dev);

	if (attr == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)
		*value = pageable;
	return err;
}

static CUresult post_read(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
	note('r');
	return real->cuMemcpyDtoHAsync(dst, src, size, stream);
}

static CUresult post_write(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
	note('w');
	return real->cuMemcpyHtoDAsync(dst, src, size, stream);
}

static int copy(enum bl_copy_dir dir, size_t len)
{
	const struct bl_ce_copy request = {
		.target = &target, .va = va, .host = pinned, .len = len, .dir = dir, .pinned = true};

	memset(order, 0, sizeof(order));
	return bl_ce_run(&cuda, &request);
}

static int read_back(size_t len)
{
	return copy(BL_COPY_FROM, len);
}

static void set_up(void)
{
	void *host;
	CUdevice dev;

	real = bl_cuda();
	if (!real || real->cuInit(0) || real->cuDeviceGet(&dev, 0))
		skip("no emulated GPU: %s", bl_cuda_error());
	cuda = *real;
	check(!real->cuDevicePrimaryCtxRetain(&context, dev) && !real->cuCtxSetCurrent(context));
	check(!real->cuMemAlloc(&va, SIZE) && !real->cuMemHostAlloc(&host, SIZE + 4096, CU_MEMHOSTALLOC_PORTABLE));
	pinned = host;
	gate = (uint32_t *)(pinned + SIZE);
	model = malloc(SIZE);
	check(model != NULL);
	for (size_t i = 0; i < SIZE; i++)
		model[i] = (unsigned char)(i * 7 + (i >> 8) + 1);
	check_eq(real->cuMemcpyHtoD(va, model, SIZE), CUDA_SUCCESS);
	check_eq(bl_ce_target_init(real, va, 0, &target), 0);
	/* the channel, and what both lengths need */
	check_eq(read_back(SIZE), 0);
	check_eq(read_back(SHORT), 0);
	cuda.cuThreadExchangeStreamCaptureMode = exchange;
	cuda.cuCtxPushCurrent = push;
	cuda.cuPointerGetAttribute = attribute;
	cuda.cuDeviceGetAttribute = device_attribute;
	cuda.cuMemcpyDtoHAsync = post_read;
	cuda.cuMemcpyHtoDAsync = post_write;
}

static void hold_stream(enum bl_ce_tokens tokens)
{
	struct bl_ce *ce = atomic_load(&target.ce);

	bl_ce_report(ce, false, false, tokens);
	memset(pinned, 0, SIZE);
	__atomic_store_n(gate, 0, __ATOMIC_RELAXED);
	calls = pushes = 0;
	check_eq(real->cuStreamWaitValue32(ce->stream, (uintptr_t)gate, 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
}

static void check_outside(CUcontext expected)
{
	int mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
	CUcontext current;

	check_eq(real->cuCtxGetCurrent(&current), CUDA_SUCCESS);
	check(current == expected);
	check_eq(real->cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	check_eq(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* Each kind of end: the counter, the token, the bytes. */
static void read_each(unsigned int nth)
{
	static const struct {
		size_t len;
		enum bl_ce_tokens tokens;
	} kinds[] = {{SIZE, BL_CE_TOKENS_OFF}, {SIZE, BL_CE_TOKENS_ON}, {SHORT, BL_CE_TOKENS_OFF}};

	opens_at = nth;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (int with = 0; with < 2; with++) {
			check_eq(real->cuCtxSetCurrent(context), CUDA_SUCCESS);
			hold_stream(kinds[i].tokens);
			check_eq(real->cuCtxSetCurrent(with ? context : NULL), CUDA_SUCCESS);
			if (read_back(kinds[i].len))
				tap_end(TAP_FAILED, "length %zu: %s", kinds[i].len, bl_last_error(NULL));
			check(!memcmp(pinned, model, kinds[i].len));
			check_outside(with ? context : NULL);
		}
	}
}

/* The second exchange of the mode is that of leaving. */
static void leaves(const void *arg)
{
	set_up();
	read_each(2);
}

static void left_while_the_gpu_is_at_it(void)
{
	child_run(leaves, NULL, (const char *[]){"BARLANE_CE_TIMEOUT_MS", "5000", NULL});
}

/* The third is that of coming back. */
static void returns(const void *arg)
{
	set_up();
	read_each(3);
}

static void entered_again_when_it_takes_long(void)
{
	child_run(returns, NULL, NULL);
}

static void cannot_return(const void *arg)
{
	struct bl_ce *ce;

	set_up();
	ce = atomic_load(&target.ce);
	opens_at = UINT32_MAX;
	for (size_t len = SIZE; len >= SHORT; len = len == SIZE ? SHORT : 0) {
		hold_stream(BL_CE_TOKENS_OFF);
		check_eq(real->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
		push_fails_at = 2;
		/* not an error for which somebody else would do it: the GPU may be at it */
		check_eq(read_back(len), -EIO);
		check_has(bl_last_error(NULL), "CUDA_ERROR_CONTEXT_IS_DESTROYED");
		check_outside(NULL);
		push_fails_at = 0;
		check_eq(read_back(len), -EIO);
		check_has(bl_last_error(NULL), "has not ended");
		open_gate();
		check_eq(real->cuCtxSetCurrent(context), CUDA_SUCCESS);
		check_eq(real->cuStreamSynchronize(ce->stream), CUDA_SUCCESS);
		memset(pinned, 0, SIZE);
		check_eq(read_back(len), 0);
		check(!memcmp(pinned, model, len));
	}
}

static void not_entered_again(void)
{
	child_run(cannot_return, NULL, NULL);
}

static void check_order(int ret, const char *expected)
{
	check_eq(ret, 0);
	check_str(order, expected);
}

static void asks_late(const void *arg)
{
	struct bl_ce *ce;

	set_up();
	ce = atomic_load(&target.ce);
	bl_ce_report(ce, false, false, BL_CE_TOKENS_OFF);
	check_order(read_back(SIZE), "r?");
	bl_ce_report(ce, false, false, BL_CE_TOKENS_ON);
	/* the first one makes the table */
	check_eq(read_back(SIZE), 0);
	check_order(read_back(SIZE), "rr?");
	check_order(read_back(SHORT), "r?");
	/* before where the wait is for CUDA, and where other memory would be written */
	bl_ce_report(ce, false, true, BL_CE_TOKENS_OFF);
	check_order(read_back(SIZE), "?r");
	bl_ce_report(ce, false, false, BL_CE_TOKENS_OFF);
	check_order(copy(BL_COPY_TO, SIZE), "?w");
	/* without a context that proves itself, or a driver that knows its id */
	check_eq(real->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	check_order(read_back(SIZE), "?r");
	check_eq(real->cuCtxSetCurrent(context), CUDA_SUCCESS);
	ce->context_id++;
	check_order(read_back(SIZE), "?r");
	ce->context_id = 0;
	check_order(read_back(SIZE), "?r");
	/* on a GPU that reaches all memory CUDA may take any address */
	for (pageable = 1; pageable >= 0; pageable--) {
		check_eq(bl_ce_new(&cuda, context, &ce), 0);
		check_eq(ce->context_id != 0, !pageable);
	}
	cuda.cuCtxGetId = NULL;
	check_eq(bl_ce_new(&cuda, context, &ce), 0);
	check_eq(ce->context_id, 0);
}

static void asked_while_the_gpu_is_at_it(void)
{
	child_run(asks_late, NULL, NULL);
}

static atomic_bool opened;

static void *open_later(void *arg)
{
	usleep(30000);
	atomic_store(&opened, true);
	open_gate();
	return NULL;
}

static void reads_other_memory(const void *arg)
{
	pthread_t thread;

	set_up();
	other_memory = true;
	for (int kind = 0; kind < 3; kind++) {
		hold_stream(kind == 1 ? BL_CE_TOKENS_ON : BL_CE_TOKENS_OFF);
		atomic_store(&opened, false);
		check_eq(pthread_create(&thread, NULL, open_later, NULL), 0);
		check_eq(read_back(kind == 2 ? SHORT : SIZE), -EINVAL);
		check_has(bl_last_error(NULL), "freed");
		/* not before the GPU was done with the host memory */
		check(atomic_load(&opened));
		check_eq(pthread_join(thread, NULL), 0);
		check_outside(context);
	}
	other_memory = false;
	for (size_t len = SIZE; len >= SHORT; len = len == SIZE ? SHORT : 0) {
		memset(pinned, 0, SIZE);
		check_eq(read_back(len), 0);
		check(!memcmp(pinned, model, len));
	}
}

static void other_memory_is_read_to_the_end(void)
{
	child_run(reads_other_memory, NULL, NULL);
}

static void other_memory_and_no_end(const void *arg)
{
	set_up();
	hold_stream(BL_CE_TOKENS_OFF);
	other_memory = true;
	check_eq(read_back(SIZE), -ETIMEDOUT);
	check_eq(read_back(SIZE), -EBUSY);
	open_gate();
	check_eq(real->cuStreamSynchronize(atomic_load(&target.ce)->stream), CUDA_SUCCESS);
	other_memory = false;
	check_eq(read_back(SIZE), 0);
}

static void no_end_matters_more(void)
{
	child_run(other_memory_and_no_end, NULL, (const char *[]){"BARLANE_CE_TIMEOUT_MS", "30", NULL});
}

static const struct tap_test tests[] = {
	{"the context is left while the GPU is at it", left_while_the_gpu_is_at_it},
	{"it is entered again for a copy that takes long", entered_again_when_it_takes_long},
	{"a context that cannot be entered again is EIO, and no end", not_entered_again},
	{"CUDA is asked for the memory while the GPU is at it", asked_while_the_gpu_is_at_it},
	{"other memory is read to the end, and then refused", other_memory_is_read_to_the_end},
	{"a read of other memory that does not end is ETIMEDOUT", no_end_matters_more},
};

TAP_MAIN(tests)
