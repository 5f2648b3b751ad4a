// SPDX-License-Identifier: MIT
/* Which engine auto takes, by tables that the test makes: the calibration is wrapped, all else is real. */
#include <stdlib.h>

#include "barlane.h"
#include "gpu/cost.h"
#include "gpu/cuda.h"
#include "gpu/engine.h"
#include "tests/tap.h"

#define KIB  1024UL
#define SIZE (4UL << 20)

static struct bl_cost_table table;
static bool known;
static int nr_looks;
static bl_pin_t pin;
static unsigned char *pinned, *ordinary, *seen;
static CUdeviceptr va;

const struct bl_cost_table *__wrap_bl_calibrate(const struct bl_pin *of);

const struct bl_cost_table *__wrap_bl_calibrate(const struct bl_pin *of)
{
	nr_looks++;
	return known ? &table : NULL;
}

static void set_up(void)
{
	const struct bl_cuda *cuda = bl_cuda();
	CUcontext context;
	void *host, *addr;
	CUdevice dev;
	bl_ctx_t ctx;

	memset(&table, 0, sizeof(table));
	known = true;
	nr_looks = 0;
	if (pin)
		return;
	if (!cuda || cuda->cuInit(0) || cuda->cuDeviceGet(&dev, 0))
		skip("no emulated GPU: %s", bl_cuda_error());
	check(!cuda->cuDevicePrimaryCtxRetain(&context, dev) && !cuda->cuCtxSetCurrent(context));
	check(!cuda->cuMemAlloc(&va, SIZE) && !cuda->cuMemHostAlloc(&host, SIZE, 0));
	pinned = host;
	ordinary = malloc(SIZE);
	seen = malloc(SIZE);
	check(ordinary && seen);
	if (bl_open("rm", &ctx) || bl_pin(ctx, va, SIZE, 0, 0, 0, &pin) ||
	    bl_map(ctx, pin, SIZE, BL_MAP_NONE, &addr))
		tap_end(TAP_FAILED, "pin and map: %s", bl_last_error(NULL));
}

/* ce takes 1000 ns, the CPU as many as @len has bytes divided by @per_ns. */
static void crosses_at(enum bl_copy_dir dir, bool kind, uint64_t per_ns)
{
	for (size_t i = 0; i < BL_COST_NR; i++) {
		table.rows[BL_ENGINE_CPU][dir][kind].ns[i] = (32UL << i) / per_ns + 1;
		table.rows[BL_ENGINE_CE][dir][kind].ns[i] = 1000;
	}
}

static uint64_t by_ce(void)
{
	struct bl_engine_stats stats;

	check_eq(bl_engine_stats(BL_ENGINE_CE, &stats), 0);
	return stats.calls[BL_COPY_TO] + stats.calls[BL_COPY_FROM];
}

/* Copies and compares; whether ce did it. */
static bool ce_copies(unsigned char *host, size_t len, enum bl_copy_dir dir)
{
	uint64_t before = by_ce();

	for (size_t i = 0; i < len; i++)
		host[i] = seen[i] = (unsigned char)(i * 7 + len);
	if (dir == BL_COPY_FROM) {
		check_eq(bl_cuda()->cuMemcpyHtoD(va, seen, len), CUDA_SUCCESS);
		memset(host, 0, len);
	}
	if (bl_copy(pin, 0, host, len, dir, BL_ENGINE_AUTO))
		tap_end(TAP_FAILED, "copy len 0x%zx: %s", len, bl_last_error(NULL));
	if (dir == BL_COPY_TO)
		check_eq(bl_cuda()->cuMemcpyDtoH(seen, va, len), CUDA_SUCCESS);
	check(!memcmp(host, seen, len));
	return by_ce() != before;
}

static void the_table_decides(void)
{
	set_up();
	crosses_at(BL_COPY_FROM, true, 8);   /* 8 KB */
	crosses_at(BL_COPY_FROM, false, 64); /* 64 KB */
	crosses_at(BL_COPY_TO, true, 512);   /* 512 KB */
	crosses_at(BL_COPY_TO, false, 2048); /* 2 MB */
	bl_cost_finish(&table);
	for (size_t len = 1000; len <= SIZE; len += len / 3) {
		check_eq(ce_copies(pinned, len, BL_COPY_FROM), len / 8 > 1030);
		check_eq(ce_copies(ordinary, len, BL_COPY_FROM), len / 64 > 1030);
		check_eq(ce_copies(pinned, len, BL_COPY_TO), len / 512 > 1030);
		check_eq(ce_copies(ordinary, len, BL_COPY_TO), len / 2048 > 1030);
	}
}

static void without_a_table_the_cpu_copies(void)
{
	set_up();
	known = false;
	check(!ce_copies(pinned, SIZE, BL_COPY_FROM));
	check(!ce_copies(ordinary, SIZE, BL_COPY_TO));
	check(nr_looks > 0);
}

static void below_the_floor_no_table_is_looked_at(void)
{
	set_up();
	crosses_at(BL_COPY_FROM, true, 1);
	bl_cost_finish(&table);
	check(!ce_copies(pinned, 2 * KIB - 1, BL_COPY_FROM));
	check(!ce_copies(pinned, 32 * KIB - 1, BL_COPY_TO));
	check_eq(nr_looks, 0);
	/* for which the thread remembers the table, or looks at it */
	check(ce_copies(pinned, 2 * KIB, BL_COPY_FROM));
}

static void a_named_engine_needs_no_table(void)
{
	uint64_t before;

	set_up();
	before = by_ce();
	check_eq(bl_copy(pin, 0, pinned, SIZE, BL_COPY_FROM, BL_ENGINE_CPU), 0);
	check_eq(by_ce(), before);
	check_eq(bl_copy(pin, 0, pinned, 64, BL_COPY_FROM, BL_ENGINE_CE), 0);
	check_eq(by_ce(), before + 1);
	check_eq(nr_looks, 0);
}

static const struct tap_test tests[] = {
	{ "the table decides, for each direction and kind of host memory", the_table_decides },
	{ "without a table the CPU copies", without_a_table_the_cpu_copies },
	{ "below the floor no table is looked at", below_the_floor_no_table_is_looked_at },
	{ "a named engine needs no table", a_named_engine_needs_no_table },
};

TAP_MAIN(tests)
