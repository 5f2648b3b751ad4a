// SPDX-License-Identifier: MIT
/*
 * push_trial: what of engine push only hardware can show. That fences and the order of posted writes are enough, what
 * others wait for while its kernel is there, what happens beside kernels that fill the GPU, and what becomes of it when
 * its context goes. Each question is a line; one that is never answered ends the program after a minute.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "barlane.h"
#include "common/device.h"
#include "common/error.h"
#include "common/stats.h"
#include "gpu/kernels/pplat.h"

#define SIZE	 (1UL << 20)
#define MAX_PUSH 65536UL
#define MS	 1000000ULL

static struct tool_device device;
static const struct bl_cuda *cu;
static bl_ctx_t ctx;
static bl_pin_t pin;
static char *map;
static CUdeviceptr va;
static unsigned char *pinned, *ordinary, *model;
static unsigned int seed = 1;
static int failures;

static void must(int ok, const char *what)
{
	if (!ok)
		tool_die("%s: %s", what, bl_last_error(NULL));
}

static void answer(int ok, const char *what, double value, const char *unit)
{
	printf("%s - %s: %.1f %s\n", ok ? "ok" : "not ok", what, value, unit);
	fflush(stdout);
	failures += !ok;
	alarm(60);
}

static double since_ms(uint64_t start)
{
	return (double)(tool_now_ns() - start) / (double)MS;
}

static void use(void)
{
	void *addr = NULL;

	must(!cu->cuMemAlloc(&va, SIZE), "cuMemAlloc");
	must(!bl_pin(ctx, va, SIZE, 0, 0, 0, &pin) && !bl_map(ctx, pin, SIZE, BL_MAP_NONE, &addr), "pin and map");
	map = addr;
	must(!cu->cuMemcpyHtoD(va, model, SIZE), "cuMemcpyHtoD");
}

static int push(void *host, uint64_t off, size_t len)
{
	return bl_copy(pin, off, host, len, BL_COPY_FROM, BL_ENGINE_PUSH);
}

/* Right bytes, and none in front or behind. */
static int exact(unsigned char *host, uint64_t off, size_t len)
{
	host[-1] = 0x5a;
	host[len] = 0xa5;
	memset(host, 0x33, len);
	must(!push(host, off, len), "push");
	return !memcmp(host, model + off, len) && host[-1] == 0x5a && host[len] == 0xa5;
}

static unsigned int dice(unsigned int sides)
{
	return (unsigned int)rand_r(&seed) % sides;
}

static void try_bytes(void)
{
	int wrong = 0, i;

	must(!bl_push_enable(device.ordinal, 100000), "enable");
	for (i = 0; i < 20000; i++) {
		unsigned char *host = (i & 1 ? pinned : ordinary) + 64 + dice(64);

		wrong += !exact(host, dice(4096), i & 2 ? 1 + dice(MAX_PUSH) : 1 + dice(9000));
	}
	answer(!wrong, "reads of any length and alignment, wrong", wrong, "of 20000");
}

/* The CPU writes, and reads by push at once: the kernel must see it. */
static void try_order(void)
{
	int wrong = 0;

	for (int i = 0; i < 50000; i++) {
		size_t off = dice(60000), len = 1 + dice(i % 8 ? 256 : 16384), from = off > 2000 ? off - 2000 : 0;

		for (size_t j = 0; j < len; j++)
			model[off + j] = (unsigned char)((size_t)i * 7 + j);
		must(!bl_copy_to(pin, map + off, model + off, len), "write");
		must(!push(pinned, from, 4096), "push");
		wrong += memcmp(pinned, model + from, 4096) != 0;
	}
	answer(!wrong, "reads that follow a write by the CPU, outdated", wrong, "of 50000");
}

static void try_idle(void)
{
	uint64_t start;
	double ms;

	/* the kernel that is there now may serve one more read before it leaves */
	must(!bl_push_enable(device.ordinal, 20000) && !push(pinned, 0, 4096), "enable");
	usleep(100000);
	must(!push(pinned, 0, 4096), "push");
	start = tool_now_ns();
	must(!cu->cuCtxSynchronize(), "cuCtxSynchronize");
	ms = since_ms(start);
	answer(ms > 10 && ms < 40, "cuCtxSynchronize() beside a kernel that leaves after 20 ms took", ms, "ms");
	must(!push(pinned, 0, 4096), "push");
	must(!bl_push_disable(device.ordinal), "disable");
	start = tool_now_ns();
	must(!cu->cuCtxSynchronize(), "cuCtxSynchronize");
	ms = since_ms(start);
	answer(ms < 5, "cuCtxSynchronize() after bl_push_disable() took", ms, "ms");
}

static void try_race(void)
{
	int wrong = 0, busy = 0;
	uint64_t end;

	must(!bl_push_enable(device.ordinal, 20), "enable");
	for (int i = 0; i < 20000; i++) {
		size_t len = 1 + dice(MAX_PUSH);
		int ret;

		memset(pinned, 0x33, len);
		ret = push(pinned, 0, len);
		busy += ret == -EBUSY;
		must(!ret || ret == -EBUSY, "push");
		wrong += !ret && memcmp(pinned, model, len);
		for (end = tool_now_ns() + dice(60000); tool_now_ns() < end;)
			;
	}
	answer(!wrong, "reads at intervals around the idle time, wrong", wrong, "of 20000");
	answer(busy < 20, "of them, given up", busy, "of 20000");
}

static uint32_t *flags; /* what pplat's kernel waits for, what it answers, its stop word */

/* As many threads as the GPU has room for, until the stop word is set. */
static void fill_gpu(CUstream *stream_p)
{
	uint64_t at = (uintptr_t)flags, gpu_flag = at, cpu_flag = at + 64, stop = at + 128, result = at + 192;
	uint64_t none = 0, rounds = 1, timeout_ns = 20000 * MS;
	void *params[] = { &gpu_flag, &cpu_flag, &none, &none, &rounds, &timeout_ns, &stop, &result };
	int per_sm = tool_device_attr(&device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
	int nr_sms = tool_device_attr(&device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	CUmodule module;
	CUfunction fn;

	memset(flags, 0, 4096);
	must(!cu->cuModuleLoadData(&module, bl_pplat_ptx), "cuModuleLoadData");
	must(!cu->cuModuleGetFunction(&fn, module, "bl_pplat_consume"), "cuModuleGetFunction");
	must(!cu->cuStreamCreate(stream_p, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(!cu->cuLaunchKernel(fn, (unsigned int)(per_sm / 1024 * nr_sms), 1, 1, 1024, 1, 1, 0, *stream_p, params,
				 NULL),
	     "launch");
	usleep(50000);
	must(cu->cuStreamQuery(*stream_p) == CUDA_ERROR_NOT_READY, "the GPU is full");
}

static void empty_gpu(CUstream stream)
{
	__atomic_store_n(&flags[32], 1, __ATOMIC_RELEASE);
	must(!cu->cuStreamSynchronize(stream), "the kernel that filled the GPU");
}

/* Auto reads by others, and does not wait. */
static void try_full_auto(const char *what, CUstream stream)
{
	uint64_t start = tool_now_ns();
	double ms;

	memset(pinned, 0, 4096);
	for (int i = 0; i < 100; i++)
		must(!bl_copy(pin, 0, pinned, 4096, BL_COPY_FROM, BL_ENGINE_AUTO), "auto");
	ms = since_ms(start);
	answer(!memcmp(pinned, model, 4096) && ms < 1000 && cu->cuStreamQuery(stream) == CUDA_ERROR_NOT_READY, what, ms,
	       "ms");
}

static void try_full(void)
{
	char what[128];
	CUstream stream;
	int ret, late = 0;
	uint64_t start;

	must(!bl_push_enable(device.ordinal, 1000), "enable");
	fill_gpu(&stream);
	start = tool_now_ns();
	ret = push(pinned, 0, 4096);
	snprintf(what, sizeof(what), "full GPU: push gave %s after", strerror(-ret));
	answer(ret == -EBUSY, what, since_ms(start), "ms");
	try_full_auto("full GPU: 100 reads by auto took", stream);
	memset(pinned, 0x77, 4096);
	empty_gpu(stream);
	usleep(20000);
	for (size_t i = 0; i < 4096; i++)
		late += pinned[i] != 0x77;
	answer(!late, "bytes stored after the read was given up", late, "");
	for (int i = 0; i < 100 && push(pinned, 0, 4096); i++)
		usleep(1000);
	answer(!memcmp(pinned, model, 4096), "push reads again, wrong", 0, "");
}

/* A context in which no channel was made: one would be by a mapping, and for the context that is current. */
static void try_full_unprepared(void)
{
	CUstream stream;

	must(!bl_push_disable(device.ordinal), "disable");
	must(!cu->cuCtxCreate(&device.ctx, 0, device.dev), "cuCtxCreate");
	use();
	must(!cu->cuCtxSetCurrent(NULL) && !bl_push_enable(device.ordinal, 1000) && !cu->cuCtxSetCurrent(device.ctx),
	     "enable");
	fill_gpu(&stream);
	try_full_auto("full GPU, no channel: 100 reads by auto took", stream);
	empty_gpu(stream);
	memset(pinned, 0, 4096);
	must(!push(pinned, 0, 4096), "push");
	answer(!memcmp(pinned, model, 4096), "push by name makes the channel, wrong", 0, "");
}

static void try_context(void)
{
	double longest = 0;
	CUcontext own;
	int ok = 1;

	must(cu->cuCtxCreate != NULL, "cuCtxCreate");
	for (int i = 0; i < 10; i++) {
		uint64_t start;

		must(!bl_push_enable(device.ordinal, 50000), "enable");
		must(!cu->cuCtxCreate(&own, 0, device.dev), "cuCtxCreate");
		use();
		must(!push(ordinary, 0, 4096) && !memcmp(ordinary, model, 4096), "push in a new context");
		start = tool_now_ns();
		must(!cu->cuCtxDestroy(own), "cuCtxDestroy");
		longest = since_ms(start) > longest ? since_ms(start) : longest;
		ok &= push(ordinary, 0, 4096) == -EINVAL;
		ok &= !bl_copy(pin, 0, ordinary, 4096, BL_COPY_FROM, BL_ENGINE_AUTO);
		ok &= !memcmp(ordinary, model, 4096);
		must(!bl_unmap(ctx, pin, map, SIZE) && !bl_unpin(ctx, pin), "unpin");
	}
	answer(ok, "cuCtxDestroy() beside a kernel that leaves after 50 ms took at most", longest, "ms");
}

static void set_up(int ordinal)
{
	void *host;

	if (tool_device_open(ordinal, &device))
		tool_die("%s", tool_why());
	cu = device.cu;
	must(!cu->cuMemHostAlloc(&host, SIZE, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	pinned = (unsigned char *)host + 4096;
	must(!cu->cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	flags = host;
	ordinary = (unsigned char *)malloc(SIZE) + 4096;
	model = malloc(SIZE);
	must(model != NULL, "memory");
	for (size_t i = 0; i < SIZE; i++)
		model[i] = (unsigned char)(i * 13 + (i >> 8));
	must(!bl_open(NULL, &ctx), "open");
	use();
	printf("# push_trial %s gpu %s%s\n", bl_version(), device.name, device.emulated ? " (emu)" : "");
}

int main(int argc, char **argv)
{
	/* some of what is tried is refused, as it must be */
	setenv("BARLANE_LOG", "off", 0);
	set_up(argc > 1 ? atoi(argv[1]) : 0);
	alarm(60);
	try_bytes();
	try_order();
	try_idle();
	try_race();
	/* emulated multiprocessors are never full */
	if (!device.emulated) {
		try_full();
		try_full_unprepared();
	}
	try_context();
	printf("# %d failed\n", failures);
	return failures != 0;
}
