// SPDX-License-Identifier: MIT
/* When auto reads by push, by tables that the test makes: both calibrations are wrapped, all else is real. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "gpu/cost.h"
#include "gpu/cuda.h"
#include "gpu/engine.h"
#include "tests/tap.h"

#define KIB	 1024UL
#define SIZE	 (256 * KIB)
#define MAX_PUSH (64 * KIB)

static struct bl_cost_table others, table;
static bool known = true;
static bl_pin_t pin;
static unsigned char *pinned, *ordinary, *expected;
static int (*fault)(const char *spec);

const struct bl_cost_table *__wrap_bl_calibrate(const struct bl_pin *of);
const struct bl_cost_table *__wrap_bl_calibrate_push(struct bl_pin *of);

const struct bl_cost_table *__wrap_bl_calibrate(const struct bl_pin *of)
{
	return &others;
}

const struct bl_cost_table *__wrap_bl_calibrate_push(struct bl_pin *of)
{
	return known ? &table : NULL;
}

/* The CPU reads a byte in a nanosecond; push is faster from @pinned_from and @ordinary_from on. */
static void make_tables(size_t pinned_from, size_t ordinary_from)
{
	struct bl_cost_row push[2];

	memset(&others, 0, sizeof(others));
	for (unsigned int i = 0; i < BL_COST_NR; i++) {
		for (unsigned int row = 0; row < 4; row++)
			others.rows[BL_ENGINE_CPU][row / 2][row % 2].ns[i] = 32UL << i;
		push[0].ns[i] = ordinary_from;
		push[1].ns[i] = pinned_from;
	}
	bl_cost_finish(&others);
	table = others;
	bl_cost_add(&table, BL_ENGINE_PUSH, BL_COPY_FROM, push, MAX_PUSH);
}

static void set_up(unsigned int idle_us)
{
	const struct bl_cuda *cuda = bl_cuda();
	CUcontext context;
	CUdeviceptr va;
	void *host, *addr;
	CUdevice dev;
	bl_ctx_t ctx;

	/* threads that stand for blocks may be late where CPUs are few */
	setenv("BARLANE_PUSH_START_US", "8000000", 0);
	if (!cuda || cuda->cuInit(0) || cuda->cuDeviceGet(&dev, 0))
		skip("no emulated GPU: %s", bl_cuda_error());
	fault = (int (*)(const char *))dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "bl_emu_fault");
	check(fault);
	check(!cuda->cuDevicePrimaryCtxRetain(&context, dev) && !cuda->cuCtxSetCurrent(context));
	check(!cuda->cuMemAlloc(&va, SIZE) && !cuda->cuMemHostAlloc(&host, SIZE, 0));
	pinned = host;
	ordinary = malloc(SIZE);
	expected = malloc(SIZE);
	check(ordinary && expected);
	for (size_t i = 0; i < SIZE; i++)
		expected[i] = (unsigned char)(i * 7 + (i >> 8));
	check(!cuda->cuMemcpyHtoD(va, expected, SIZE));
	check_eq(bl_push_enable(0, idle_us), 0);
	if (bl_open("rm", &ctx) || bl_pin(ctx, va, SIZE, 0, 0, 0, &pin) || bl_map(ctx, pin, SIZE, BL_MAP_NONE, &addr))
		tap_end(TAP_FAILED, "pin and map: %s", bl_last_error(NULL));
}

/* Nothing that stands for a block may be left when the process ends. */
static void tear_down(void)
{
	check_eq(fault(""), 0);
	check_eq(bl_push_disable(0), 0);
	bl_cuda()->cuCtxSynchronize();
}

static uint64_t pushed(void)
{
	struct bl_engine_stats stats;

	check_eq(bl_engine_stats(BL_ENGINE_PUSH, &stats), 0);
	return stats.calls[BL_COPY_FROM];
}

/* Reads by auto; whether push did it. */
static bool push_reads(unsigned char *host, size_t len)
{
	uint64_t before = pushed();

	memset(host, 0, len);
	if (bl_copy(pin, 0, host, len, BL_COPY_FROM, BL_ENGINE_AUTO))
		tap_end(TAP_FAILED, "read len %zu: %s", len, bl_last_error(NULL));
	check(!memcmp(host, expected, len));
	return pushed() != before;
}

static void decides(const void *arg)
{
	make_tables(4 * KIB, 16 * KIB);
	set_up(1000000);
	check_eq(bl_copy(pin, 0, pinned, 64, BL_COPY_FROM, BL_ENGINE_PUSH), 0);
	for (size_t len = 64; len < SIZE; len += len / 3) {
		check_eq(push_reads(pinned, len), len > 4 * KIB + 136 && len <= MAX_PUSH);
		check_eq(push_reads(ordinary, len), len > 16 * KIB + 520 && len <= MAX_PUSH);
	}
	/* of all that are near a crossing, the one with fewer side effects */
	check(!push_reads(pinned, 4 * KIB + 100));
	check(push_reads(pinned, MAX_PUSH));
	check(!push_reads(pinned, MAX_PUSH + 1));
	check_eq(bl_copy(pin, 0, memcpy(pinned, expected, MAX_PUSH), MAX_PUSH, BL_COPY_TO, BL_ENGINE_AUTO), 0);
	known = false;
	check(!push_reads(pinned, MAX_PUSH));
	known = true;
	check(push_reads(pinned, MAX_PUSH));
	check_eq(bl_push_disable(0), 0);
	check(!push_reads(pinned, MAX_PUSH));
	tear_down();
}

static void the_table_decides(void)
{
	child_run(decides, NULL, NULL);
}

static void seldom(const void *arg)
{
	make_tables(4 * KIB, 4 * KIB);
	set_up(30000);
	for (int i = 0; i < 3; i++) {
		check(!push_reads(pinned, MAX_PUSH));
		usleep(100000);
	}
	/* asked for again in time */
	for (int i = 0; i < 20; i++)
		push_reads(pinned, MAX_PUSH);
	check(pushed() > 0);
	tear_down();
}

static void a_read_now_and_then_is_not_worth_a_launch(void)
{
	child_run(seldom, NULL, NULL);
}

/* The GPU may still store: nobody else copies. */
static void deaf(const void *arg)
{
	make_tables(1 * KIB, 1 * KIB);
	set_up(1000000);
	check_eq(bl_copy(pin, 0, pinned, 4096, BL_COPY_FROM, BL_ENGINE_PUSH), 0);
	check_eq(fault("cuda.deaf:1:2500"), 0);
	check_eq(bl_copy(pin, 0, pinned, 4096, BL_COPY_FROM, BL_ENGINE_AUTO), -ETIMEDOUT);
	tear_down();
}

static void a_kernel_that_does_not_answer_is_an_error_of_auto(void)
{
	child_run(deaf, NULL, (const char *[]){"BARLANE_CE_TIMEOUT_MS", "700", NULL});
}

static void launch_fails(const void *arg)
{
	make_tables(1 * KIB, 1 * KIB);
	set_up(1000000);
	check_eq(bl_copy(pin, 0, pinned, 4096, BL_COPY_FROM, BL_ENGINE_PUSH), 0);
	check(push_reads(pinned, 4096));
	check_eq(fault("cuda.miss:1,cuda.launch:1"), 0);
	check(!push_reads(pinned, 4096));
	check_eq(fault(""), 0);
	check(push_reads(pinned, 4096) || push_reads(pinned, 4096));
	tear_down();
}

static void without_a_launch_another_engine_reads(void)
{
	child_run(launch_fails, NULL, NULL);
}

static const struct tap_test tests[] = {
	{"the table decides, for each kind of host memory", the_table_decides},
	{"a read now and then is not worth a launch", a_read_now_and_then_is_not_worth_a_launch},
	{"a kernel that does not answer is an error of auto", a_kernel_that_does_not_answer_is_an_error_of_auto},
	{"without a launch another engine reads", without_a_launch_another_engine_reads},
};

TAP_MAIN(tests)
