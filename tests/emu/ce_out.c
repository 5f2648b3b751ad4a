// SPDX-License-Identifier: MIT
/*
 * A copy by ce leaves the context while the GPU is at it: in the core, over a table of CUDA's functions of which some
 * are this test's. The stream is held by a word that only the test's own functions set, so that a copy that would wait
 * first and leave then is found out by its deadline.
 */
#include <errno.h>
#include <stdlib.h>

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

static int read_back(size_t len)
{
	const struct bl_ce_copy request = {
		.target = &target, .va = va, .host = pinned, .len = len, .dir = BL_COPY_FROM, .pinned = true};

	return bl_ce_run(&cuda, &request);
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

static const struct tap_test tests[] = {
	{"the context is left while the GPU is at it", left_while_the_gpu_is_at_it},
	{"it is entered again for a copy that takes long", entered_again_when_it_takes_long},
	{"a context that cannot be entered again is EIO, and no end", not_entered_again},
};

TAP_MAIN(tests)
