// SPDX-License-Identifier: MIT
/* Engine push when things go wrong: nothing hangs, nothing is stored late, other engines take over where they may. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "gpu/kernels/pplat.h"
#include "pattern.h"
#include "tests/tap.h"
#include "world.h"

#define SIZE (1UL << 20)

static bl_ctx_t ctx;
static bl_pin_t pin;
static CUdeviceptr va;
static unsigned char *pinned, *ordinary, *expected;

static void use(CUdeviceptr ptr, size_t len)
{
	void *addr;

	va = ptr;
	ctx = world_open("rm");
	if (bl_pin(ctx, va, len, 0, 0, 0, &pin) || bl_map(ctx, pin, len, BL_MAP_NONE, &addr))
		tap_end(TAP_FAILED, "pin and map: %s", bl_last_error(NULL));
	check_eq(world.cuda->cuMemcpyHtoD(va, expected, len), CUDA_SUCCESS);
}

static void set_up(void)
{
	void *host;

	world_enter();
	/* threads that stand for blocks may be late where CPUs are few */
	setenv("BARLANE_PUSH_START_US", "8000000", 0);
	check_eq(world.cuda->cuMemHostAlloc(&host, SIZE, 0), CUDA_SUCCESS);
	pinned = host;
	ordinary = calloc(1, SIZE);
	expected = malloc(SIZE);
	check(ordinary && expected);
	pattern_fill(expected, SIZE, 1, 0);
	use(world_alloc(SIZE), SIZE);
}

/* A channel is made for the current context; here there is none. */
static void enable_only(unsigned int idle_us)
{
	CUcontext current;

	check_eq(world.cuda->cuCtxGetCurrent(&current), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	check_eq(bl_push_enable(0, idle_us), 0);
	check_eq(world.cuda->cuCtxSetCurrent(current), CUDA_SUCCESS);
}

/*
 * A process that ends while threads stand for blocks leaves them behind, which ThreadSanitizer does not like. The
 * context may be in any state.
 */
static void tear_down(void)
{
	check_eq(world.fault(""), 0);
	check_eq(bl_push_disable(0), 0);
	world.cuda->cuCtxSynchronize();
}

static int push(void *host, size_t len)
{
	return bl_copy(pin, 0, host, len, BL_COPY_FROM, BL_ENGINE_PUSH);
}

static void must_read(enum bl_engine engine)
{
	for (int i = 0; i < 4; i++) {
		unsigned char *host = i % 2 ? pinned : ordinary;
		size_t len = i < 2 ? 5000 : 65536;

		memset(host, 0, len);
		if (bl_copy(pin, 0, host, len, BL_COPY_FROM, engine))
			tap_end(TAP_FAILED, "read: %s", bl_last_error(NULL));
		check(!memcmp(host, expected, len));
	}
}

static uint64_t pushed(void)
{
	struct bl_engine_stats stats;

	check_eq(bl_engine_stats(BL_ENGINE_PUSH, &stats), 0);
	return stats.calls[BL_COPY_FROM];
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Whoever else stores to the host memory is found out. */
static void watch(unsigned char *host, size_t len, unsigned int ms)
{
	memset(host, 0x77, len);
	usleep(ms * 1000);
	check_eq(value_wrong(host, len, 0x77), 0);
}

/* @arg: what fails when the channel is made; the error, the read after it, and auto all the way */
static void making_fails(const void *arg)
{
	struct snapshot before;
	int ret;

	set_up();
	enable_only(2000);
	check_eq(bl_copy(pin, 0, ordinary, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	snapshot_take(&before);
	check_eq(world.fault(arg), 0);
	ret = push(pinned, 4096);
	check_eq(world.fault(""), 0);
	if (!ret)
		tap_end(TAP_FAILED, "%s: the read succeeded", (const char *)arg);
	check(strlen(bl_last_error(NULL)) > 10);
	/* a channel whose kernel could not be launched is kept */
	if (strcmp(arg, "cuda.launch:1"))
		snapshot_check(&before);
	must_read(BL_ENGINE_AUTO);
	must_read(BL_ENGINE_PUSH);
	check_eq(bl_close(ctx), 0);
	tear_down();
}

static void a_channel_that_cannot_be_made(void)
{
	static const char *const faults[] = {
		"cuda.module:1", "cuda.module:2", "cuda.newstream:1", "cuda.register:1", "cuda.alloc:1", "open.ctl:1",
		"rm.dup:1",	 "rm.map:1",	  "mmap:1",	      "cuda.launch:1",	 "cuda.attr:1",	 "cuda.attr:2",
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		child_run(making_fails, faults[i], NULL);
}

/* @arg: what fails; neither the permission nor a mapping does, and the next mapping does not try again */
static void preparing_fails(const void *arg)
{
	struct snapshot before;

	set_up();
	snapshot_take(&before);
	check_eq(world.fault(arg), 0);
	check_eq(bl_push_enable(0, 2000), 0);
	check_eq(world.fault(""), 0);
	snapshot_check(&before);
	enable_only(2000);
	check_eq(world.fault(arg), 0);
	use(world_alloc(SIZE), SIZE);
	check_eq(world.fault("cuda.module:1"), 0);
	use(world_alloc(SIZE), SIZE);
	must_read(BL_ENGINE_AUTO);
	check_eq(pushed(), 0);
	/* nobody came by */
	check_eq(push(pinned, 4096), -EIO);
	check_eq(world.fault(""), 0);
	must_read(BL_ENGINE_PUSH);
	tear_down();
}

static void a_channel_that_cannot_be_prepared(void)
{
	static const char *const faults[] = { "cuda.module:1", "cuda.newstream:1", "cuda.register:1" };

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		child_run(preparing_fails, faults[i], NULL);
}

static uint32_t *flags; /* what the kernel waits for, what it answers, its stop word, its result */

/*
 * A kernel that runs, and stays until leave(). The first of its two rounds shows that it has begun: before that, what
 * waits for kernels waits for none. After a while it gives up, so that what waits for it fails and does not hang.
 */
static CUstream occupy(void)
{
	uint64_t at, none = 0, rounds = 2, timeout_ns = 15000000000, begin_by = now_ms() + 15000;
	uint64_t gpu_flag, cpu_flag, stop, result;
	void *params[] = { &gpu_flag, &cpu_flag, &none, &none, &rounds, &timeout_ns, &stop, &result };
	CUstream stream;
	CUmodule module;
	CUfunction fn;
	void *host;

	check_eq(world.cuda->cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
	memset(host, 0, 4096);
	flags = host;
	at = (uintptr_t)host;
	gpu_flag = at;
	cpu_flag = at + 64;
	stop = at + 128;
	result = at + 192;
	check_eq(world.cuda->cuModuleLoadData(&module, bl_pplat_ptx), CUDA_SUCCESS);
	check_eq(world.cuda->cuModuleGetFunction(&fn, module, "bl_pplat_consume"), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	flags[0] = 1;
	check_eq(world.cuda->cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL), CUDA_SUCCESS);
	while (__atomic_load_n(&flags[16], __ATOMIC_RELAXED) != 1) {
		check(now_ms() < begin_by);
		usleep(100);
	}
	return stream;
}

static void leave(CUstream stream)
{
	/* nobody waited for it */
	check_eq(world.cuda->cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	__atomic_store_n(&flags[32], 1, __ATOMIC_RELEASE);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
}

/* @arg: how the channel came to be: NULL by bl_push_enable(), else by a mapping */
static void prepared(const void *arg)
{
	CUstream stream;

	set_up();
	if (arg) {
		enable_only(20000);
		use(world_alloc(SIZE), SIZE);
	} else {
		check_eq(bl_push_enable(0, 20000), 0);
	}
	stream = occupy();
	must_read(BL_ENGINE_PUSH);
	check_eq(pushed(), 4);
	/* nor does a mapping wait where there is a channel */
	use(va, SIZE);
	must_read(BL_ENGINE_PUSH);
	leave(stream);
	tear_down();
}

static void *push_by_name(void *arg)
{
	*(int *)arg = push(pinned + 65536, 4096);
	return NULL;
}

/* A context without a channel: only who asks for push by name waits. */
static void unprepared(const void *arg)
{
	pthread_t thread;
	CUstream stream;
	int ret = 1;

	set_up();
	enable_only(1000000);
	check_eq(bl_copy(pin, 0, ordinary, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	stream = occupy();
	for (int i = 0; i < 20; i++)
		must_read(BL_ENGINE_AUTO);
	check_eq(pthread_create(&thread, NULL, push_by_name, &ret), 0);
	usleep(300000);
	check_eq(pushed(), 0);
	/* nor does auto wait for who waits */
	must_read(BL_ENGINE_AUTO);
	leave(stream);
	pthread_join(thread, NULL);
	check_eq(ret, 0);
	check_eq(pushed(), 1);
	tear_down();
}

static void beside_a_kernel_that_stays(void)
{
	child_run(prepared, NULL, NULL);
	child_run(prepared, "by a mapping", NULL);
	child_run(unprepared, NULL, NULL);
}

/*
 * Questions about host memory that fail make it ordinary memory; those about the GPU's are refusals, and the end of a
 * read that is under way.
 */
static void attributes_fail(const void *arg)
{
	int failed = 0;

	set_up();
	check_eq(bl_push_enable(0, 20000), 0);
	check_eq(push(pinned, 4096), 0);
	for (int nth = 1; nth <= 12; nth++) {
		char spec[32];
		int ret;

		snprintf(spec, sizeof(spec), "cuda.attr:%d", nth);
		check_eq(world.fault(spec), 0);
		memset(pinned + 65536, 0, 4096);
		ret = push(pinned + 65536, 4096);
		check_eq(world.fault(""), 0);
		check(!ret || ret == -EINVAL || ret == -EIO);
		failed += !!ret;
		if (!ret)
			check(!memcmp(pinned + 65536, expected, 4096));
		for (int i = 0; i < 200 && push(pinned, 4096); i++)
			usleep(10000);
	}
	check(failed >= 1);
	must_read(BL_ENGINE_PUSH);
	tear_down();
}

static void questions_without_an_answer(void)
{
	child_run(attributes_fail, NULL, NULL);
}

/* The GPU is busy: the kernel is launched and does not begin. */
static void late(const void *arg)
{
	uint64_t start;

	set_up();
	check_eq(bl_push_enable(0, 2000), 0);
	check_eq(bl_copy(pin, 0, ordinary, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	check_eq(world.fault("cuda.late:1:3000"), 0);
	start = now_ms();
	check_eq(push(pinned, 4096), -EBUSY);
	check_has(bl_last_error(NULL), "does not begin");
	check_eq(push(pinned, 4096), -EBUSY);
	must_read(BL_ENGINE_AUTO);
	check_eq(pushed(), 0);
	check(now_ms() - start < 2800);
	/* it begins, and finds nothing to do */
	watch(pinned, 65536, 3200);
	check_eq(world.fault(""), 0);
	for (int i = 0; i < 200 && push(pinned, 4096); i++)
		usleep(10000);
	must_read(BL_ENGINE_PUSH);
	check_eq(bl_close(ctx), 0);
	tear_down();
}

static void a_kernel_that_does_not_begin(void)
{
	child_run(late, NULL, (const char *[]){ "BARLANE_PUSH_START_US", "500000", NULL });
}

/* The kernel leaves while the CPU rings, and the next one does not begin: given up, and nobody serves it later. */
static void lost_race(const void *arg)
{
	set_up();
	check_eq(bl_push_enable(0, 900000), 0);
	check_eq(push(pinned, 4096), 0);
	for (int i = 0; i < 2; i++) {
		/* what leaves and comes back is no more than slow */
		check_eq(world.fault("cuda.miss:1"), 0);
		must_read(BL_ENGINE_PUSH);
		check_eq(world.fault("cuda.miss:1,cuda.late:1:1500"), 0);
		check_eq(push(i ? pinned : ordinary, i ? 65536 : 4096), -EBUSY);
		check_has(bl_last_error(NULL), "does not begin");
		watch(i ? pinned : ordinary, 65536, 1600);
		check_eq(world.fault(""), 0);
		for (int j = 0; j < 200 && push(pinned, 4096); j++)
			usleep(10000);
	}
	must_read(BL_ENGINE_PUSH);
	tear_down();
}

static void a_read_that_is_given_up_is_not_served_later(void)
{
	child_run(lost_race, NULL, (const char *[]){ "BARLANE_PUSH_START_US", "500000", NULL });
}

/* A kernel that runs and does not answer. */
static void deaf(const void *arg)
{
	set_up();
	check_eq(bl_push_enable(0, 2000), 0);
	must_read(BL_ENGINE_PUSH);
	check_eq(world.fault("cuda.deaf:1:2500"), 0);
	check_eq(push(pinned, 4096), -ETIMEDOUT);
	check_has(bl_last_error(NULL), "within 700 ms");
	check_eq(push(pinned, 4096), -EBUSY);
	check_has(bl_last_error(NULL), "has not ended");
	check_eq(bl_copy(pin, 0, ordinary, 4096, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	check(!memcmp(ordinary, expected, 4096));
	for (int i = 0; i < 400 && push(ordinary, 4096); i++)
		usleep(20000);
	/* no later kernel finds the old command worth serving */
	watch(pinned, 4096, 50);
	must_read(BL_ENGINE_PUSH);
	tear_down();
}

static void a_kernel_that_does_not_answer(void)
{
	child_run(deaf, NULL, (const char *[]){ "BARLANE_CE_TIMEOUT_MS", "700", NULL });
}

/* A kernel that ends without having run, and a device that is lost with it. */
static void lost(const void *arg)
{
	set_up();
	check_eq(bl_push_enable(0, 2000), 0);
	check_eq(world.fault("cuda.lost:1"), 0);
	check_eq(push(pinned, 4096), -EIO);
	check_has(bl_last_error(NULL), "without having run");
	must_read(BL_ENGINE_PUSH);
	/* until it has left */
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	check_eq(world.fault("cuda.lost:1:719"), 0);
	check_eq(push(pinned, 4096), -EIO);
	check_has(bl_last_error(NULL), "LAUNCH_FAILED");
	check(push(pinned, 4096));
	/* the CPU reaches the memory all the same */
	check_eq(bl_copy(pin, 0, ordinary, 4096, BL_COPY_FROM, BL_ENGINE_CPU), 0);
	check(!memcmp(ordinary, expected, 4096));
	tear_down();
}

static void a_device_that_is_lost(void)
{
	child_run(lost, NULL, NULL);
}

static void context_goes(const void *arg)
{
	CUcontext own;

	set_up();
	check_eq(bl_push_enable(0, 50000), 0);
	for (int i = 0; i < 4; i++) {
		check_eq(world.cuda->cuCtxCreate(&own, 0, 0), CUDA_SUCCESS);
		use(world_alloc(SIZE), SIZE);
		must_read(BL_ENGINE_PUSH);
		check_eq(world.cuda->cuCtxDestroy(own), CUDA_SUCCESS);
		check_eq(push(ordinary, 4096), -EINVAL);
		check_has(bl_last_error(NULL), "context destroyed");
		/* the pin keeps the memory, and the CPU reaches it */
		check_eq(bl_copy(pin, 0, ordinary, 4096, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
		check(!memcmp(ordinary, expected, 4096));
		check_eq(bl_push_disable(0), 0);
		check_eq(bl_push_enable(0, 50000), 0);
		check_eq(bl_close(ctx), 0);
	}
	world_check_rules();
	tear_down();
}

/* The GPU's primary context comes back at the same address, without what it had. */
static void primary_context_returns(const void *arg)
{
	CUcontext again;

	set_up();
	check_eq(bl_push_enable(0, 50000), 0);
	must_read(BL_ENGINE_PUSH);
	check_eq(bl_close(ctx), 0);
	check_eq(world.cuda->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
	check_eq(world.cuda->cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
	check(again == world.context);
	check_eq(world.cuda->cuCtxSetCurrent(again), CUDA_SUCCESS);
	set_up();
	must_read(BL_ENGINE_PUSH);
	tear_down();
}

static void contexts_that_go_and_return(void)
{
	child_run(context_goes, NULL, NULL);
	child_run(primary_context_returns, NULL, NULL);
}

/* @arg: context that is destroyed while its kernel is deaf */
static void *destroy(void *arg)
{
	usleep(100000);
	world.cuda->cuCtxDestroy(arg);
	return NULL;
}

static void goes_under_a_read(const void *arg)
{
	pthread_t thread;
	CUcontext own;
	uint64_t start;

	set_up();
	check_eq(bl_push_enable(0, 50000), 0);
	check_eq(world.cuda->cuCtxCreate(&own, 0, 0), CUDA_SUCCESS);
	use(world_alloc(SIZE), SIZE);
	check_eq(push(pinned, 4096), 0);
	check_eq(pthread_create(&thread, NULL, destroy, own), 0);
	check_eq(world.fault("cuda.deaf:1:500"), 0);
	start = now_ms();
	check(push(pinned, 4096) < 0);
	check(now_ms() - start < 5000);
	pthread_join(thread, NULL);
	check_eq(push(pinned, 4096), -EINVAL);
	tear_down();
}

static void a_context_that_goes_under_a_read(void)
{
	child_run(goes_under_a_read, NULL, NULL);
}

static void memory_goes(const void *arg)
{
	CUdeviceptr other;

	set_up();
	check_eq(bl_push_enable(0, 2000), 0);
	must_read(BL_ENGINE_PUSH);
	world_free(va);
	check_eq(push(ordinary, 4096), -EINVAL);
	check_has(bl_last_error(NULL), "freed");
	/* other memory at the same address is not taken for it */
	other = world_alloc(SIZE);
	check_eq(push(ordinary, 4096), -EINVAL);
	world_free(other);
	/* the first allocation of a context begins a block */
	check_eq(bl_close(ctx), 0);
	check_eq(world.cuda->cuCtxCreate(&world.context, 0, 0), CUDA_SUCCESS);
	use(world_alloc(5000), 5000);
	check_eq(push(ordinary, 5000), 0);
	check_eq(push(ordinary, 5001), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "leaves the allocation");
	tear_down();
}

static void memory_that_is_gone(void)
{
	child_run(memory_goes, NULL, NULL);
}

static void launch_fails(const void *arg)
{
	set_up();
	check_eq(bl_push_enable(0, 900000), 0);
	check_eq(push(pinned, 4096), 0);
	for (int i = 0; i < 4; i++) {
		check_eq(world.fault("cuda.miss:1,cuda.launch:1"), 0);
		check_eq(push(i % 2 ? pinned : ordinary, i < 2 ? 4096 : 65536), -EIO);
		check_has(bl_last_error(NULL), "launch");
		watch(i % 2 ? pinned : ordinary, 65536, 20);
		check_eq(world.fault(""), 0);
		must_read(BL_ENGINE_PUSH);
	}
	tear_down();
}

static void a_launch_that_fails_under_a_read(void)
{
	child_run(launch_fails, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "a channel that cannot be made leaves nothing behind, and auto goes on", a_channel_that_cannot_be_made },
	{ "a channel that cannot be prepared fails nothing, and is not tried at each mapping",
	  a_channel_that_cannot_be_prepared },
	{ "beside a kernel that stays, channels are there before it, and auto waits for none", beside_a_kernel_that_stays },
	{ "questions to CUDA without an answer are no harm", questions_without_an_answer },
	{ "a kernel that does not begin is EBUSY, auto goes on, nothing is stored late", a_kernel_that_does_not_begin },
	{ "a read that is given up is not served later", a_read_that_is_given_up_is_not_served_later },
	{ "a launch that fails under a read is an error, and not served later", a_launch_that_fails_under_a_read },
	{ "a kernel that does not answer is ETIMEDOUT, then EBUSY", a_kernel_that_does_not_answer },
	{ "a device that is lost is EIO", a_device_that_is_lost },
	{ "contexts that go and return get a new channel", contexts_that_go_and_return },
	{ "a context that goes under a read ends it", a_context_that_goes_under_a_read },
	{ "memory that is gone is EINVAL", memory_that_is_gone },
};

TAP_MAIN(tests)
