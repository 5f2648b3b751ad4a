// SPDX-License-Identifier: MIT
/* Engine push where all is well: bytes, order, when it is used, when its kernel leaves and comes back. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "pattern.h"
#include "tests/tap.h"
#include "world.h"

#define SIZE	 (1UL << 20)
#define MAX_PUSH 65536UL

static bl_ctx_t ctx;
static bl_pin_t pin;
static char *map;
static CUdeviceptr va;
static unsigned char *pinned, *ordinary, *expected;

static void use(CUdeviceptr ptr, size_t len)
{
	va = ptr;
	map = world_map(va, len, &ctx, &pin);
}

static void set_up(void)
{
	void *host;

	world_enter();
	/* threads that stand for blocks may be late where CPUs are few */
	setenv("BARLANE_PUSH_START_US", "8000000", 0);
	use(world_alloc(SIZE), SIZE);
	check_eq(world.cuda->cuMemHostAlloc(&host, SIZE, 0), CUDA_SUCCESS);
	pinned = host;
	ordinary = malloc(SIZE);
	expected = malloc(SIZE);
	check(ordinary && expected);
	pattern_fill(expected, SIZE, 1, 0);
	check_eq(world.cuda->cuMemcpyHtoD(va, expected, SIZE), CUDA_SUCCESS);
}

/* A process that ends while threads stand for blocks leaves them behind, which ThreadSanitizer does not like. */
static void tear_down(void)
{
	check_eq(bl_close(ctx), 0);
	check_eq(bl_push_disable(0), 0);
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	world_check_rules();
}

static uint64_t pushed(void)
{
	struct bl_engine_stats stats;

	check_eq(bl_engine_stats(BL_ENGINE_PUSH, &stats), 0);
	check_eq(stats.calls[BL_COPY_TO], 0);
	return stats.calls[BL_COPY_FROM];
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Nothing in front of the bytes and nothing behind them changes. */
static void must_read(uint64_t off, unsigned char *host, size_t len)
{
	host[-1] = 0x5a;
	host[len] = 0xa5;
	memset(host, 0x33, len);
	if (bl_copy(pin, off, host, len, BL_COPY_FROM, BL_ENGINE_PUSH))
		tap_end(TAP_FAILED, "read off %llu len %zu: %s", (unsigned long long)off, len, bl_last_error(NULL));
	if (memcmp(host, expected + off, len))
		tap_end(TAP_FAILED, "read off %llu len %zu at %p: wrong bytes", (unsigned long long)off, len,
			(void *)host);
	check_eq(host[-1], 0x5a);
	check_eq(host[len], 0xa5);
}

static void sizes(const void *arg)
{
	static const size_t some[] = { 4095,  4096,  4097,  16383, 16384, 16385,
				       32768, 32783, 49153, 65521, 65535, 65536 };

	set_up();
	check_eq(bl_push_enable(0, 100000), 0);
	for (size_t len = 1; len < 100; len++) {
		must_read(len % 19, pinned + 64 + len % 17, len);
		must_read(len % 19, ordinary + 64 + len % 17, len);
	}
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		for (size_t at = 0; at < 16; at += i % 2 ? 1 : 5) {
			must_read(at, pinned + 64 + at, some[i]);
			must_read(at, pinned + 64, some[i]);
			must_read(16, ordinary + 64 + at, some[i]);
		}
	}
	tear_down();
}

static void every_size_and_alignment_is_exact(void)
{
	child_run(sizes, NULL, NULL);
	child_run(sizes, NULL, (const char *[]){ "BARLANE_PUSH_GRID", "1x1024", NULL });
	child_run(sizes, NULL, (const char *[]){ "BARLANE_PUSH_GRID", "16x32", NULL });
	child_run(sizes, NULL, (const char *[]){ "BARLANE_PUSH_GRID", "3x31", NULL });
}

static void refusals(const void *arg)
{
	set_up();
	check_eq(bl_copy(pin, 0, pinned, 4096, BL_COPY_FROM, BL_ENGINE_PUSH), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "bl_push_enable()");
	check_eq(bl_copy(pin, 0, pinned, 4096, BL_COPY_TO, BL_ENGINE_PUSH), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "reads only");
	for (int i = 0; i < 20; i++)
		check_eq(bl_copy(pin, 0, pinned, 4096, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	check_eq(pushed(), 0);
	check_eq(bl_push_enable(-1, 0), -ENODEV);
	check_eq(bl_push_enable(1, 0), -ENODEV);
	check_has(bl_last_error(NULL), "there are 1");
	check_eq(bl_push_disable(7), -ENODEV);
	check_eq(bl_push_enable(0, 1000001), -EINVAL);
	check_eq(bl_push_disable(0), 0);
	check_eq(bl_push_enable(0, 0), 0);
	check_eq(bl_copy(pin, 0, pinned, MAX_PUSH, BL_COPY_FROM, BL_ENGINE_PUSH), 0);
	check_eq(bl_copy(pin, 0, pinned, MAX_PUSH + 1, BL_COPY_FROM, BL_ENGINE_PUSH), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "at most 65536");
	check_eq(bl_copy(pin, 0, pinned, 4096, BL_COPY_TO, BL_ENGINE_PUSH), -EOPNOTSUPP);
	check_eq(pushed(), 1);
	check_eq(bl_push_disable(0), 0);
	check_eq(bl_copy(pin, 0, pinned, 4096, BL_COPY_FROM, BL_ENGINE_PUSH), -EOPNOTSUPP);
	/* and again: the channel is still there */
	check_eq(bl_push_enable(0, 0), 0);
	check_eq(bl_copy(pin, 0, pinned, 4096, BL_COPY_FROM, BL_ENGINE_PUSH), 0);
	tear_down();
}

static void only_where_enabled(void)
{
	child_run(refusals, NULL, NULL);
}

/* Reads by push among writes and reads of all kinds, against a model. */
static void mix(const void *arg)
{
	unsigned int seed = 1;

	set_up();
	check_eq(bl_push_enable(0, 100000), 0);
	for (int i = 0; i < 1500; i++) {
		unsigned char *host = rand_r(&seed) % 2 ? pinned : ordinary;
		size_t off = (size_t)rand_r(&seed) % 4096, len = (size_t)rand_r(&seed) % 20000 + 1;
		enum bl_engine engine = (enum bl_engine)(rand_r(&seed) % 4);

		if (rand_r(&seed) % 2) {
			memset(host, i, len);
			engine = engine == BL_ENGINE_PUSH ? BL_ENGINE_CPU : engine;
			check_eq(bl_copy(pin, off, host, len, BL_COPY_TO, engine), 0);
			memcpy(expected + off, host, len);
		} else {
			check_eq(bl_copy(pin, off, host, len, BL_COPY_FROM, engine), 0);
			check(!memcmp(expected + off, host, len));
		}
		check_eq(bl_copy_to(pin, map + i, &i, sizeof(i)), 0);
		memcpy(expected + i, &i, sizeof(i));
	}
	check(pushed() > 100);
	tear_down();
}

static void engines_keep_program_order(void)
{
	child_run(mix, NULL, NULL);
}

static void vanish(const void *arg)
{
	uint64_t start;

	set_up();
	check_eq(bl_push_enable(0, 1000000), 0);
	must_read(0, pinned + 64, 4096);
	start = now_us();
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	check(now_us() - start > 300000);
	/* told to leave, it does not wait for its time */
	must_read(0, pinned + 64, 4096);
	check_eq(bl_push_disable(0), 0);
	start = now_us();
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	check(now_us() - start < 700000);
	check_eq(bl_push_enable(0, 1000), 0);
	must_read(0, pinned + 64, 4096);
	world_free(world_alloc(4096));
	must_read(0, pinned + 64, 4096);
	tear_down();
}

static void idle_kernels_leave(void)
{
	child_run(vanish, NULL, NULL);
}

/* The interval between two reads goes up and down around the idle time: the kernel leaves while the CPU rings. */
static void race(const void *arg)
{
	struct timespec nap = { 0 };
	unsigned int seed = 7;

	set_up();
	check_eq(bl_push_enable(0, 50), 0);
	for (int i = 0; i < 1500; i++) {
		size_t len = (size_t)rand_r(&seed) % MAX_PUSH + 1;

		must_read((uint64_t)(i % 16), i % 2 ? pinned + 64 : ordinary + 64, len);
		nap.tv_nsec = rand_r(&seed) % 120000;
		if (i % 3)
			nanosleep(&nap, NULL);
	}
	check_eq(pushed(), 1500);
	tear_down();
}

static void kernels_that_leave_come_back(void)
{
	child_run(race, NULL, NULL);
}

static uint64_t cost(size_t len, int kind, enum bl_engine engine, enum bl_engine *by_p)
{
	uint64_t ns = 0;

	if (bl_copy_cost(pin, len, BL_COPY_FROM, kind, engine, &ns, by_p))
		tap_end(TAP_FAILED, "cost of len %zu: %s", len, bl_last_error(NULL));
	return ns;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Auto takes what bl_copy_cost() says, and that is the best of the three. */
static void choice(const void *arg)
{
	enum bl_engine by;
	uint64_t best, ns;

	set_up();
	if (!arg)
		check_eq(bl_push_enable(0, 1000000), 0);
	for (size_t i = 0; i < 100; i++) {
		size_t len = 1500 + i * 700;
		int kind = i % 2;

		best = min(cost(len, kind, BL_ENGINE_CPU, NULL), cost(len, kind, BL_ENGINE_CE, NULL));
		if (len <= MAX_PUSH)
			best = min(best, cost(len, kind, BL_ENGINE_PUSH, NULL));
		else
			check_eq(bl_copy_cost(pin, len, BL_COPY_FROM, kind, BL_ENGINE_PUSH, &ns, NULL), -EOPNOTSUPP);
		check(cost(len, kind, BL_ENGINE_AUTO, &by) <= best + best / 10 + 50);
		check(len <= MAX_PUSH || by != BL_ENGINE_PUSH);
		/* the kernel is there */
		must_read(0, pinned + 64, 4096);
		ns = pushed();
		check_eq(bl_copy(pin, 0, kind ? pinned : ordinary, len, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
		check_eq(pushed() - ns, by == BL_ENGINE_PUSH);
	}
	check_eq(bl_copy_cost(pin, 4096, BL_COPY_TO, 1, BL_ENGINE_PUSH, &ns, NULL), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "reads only");
	check_eq(bl_push_disable(0), 0);
	check_eq(bl_copy_cost(pin, 4096, BL_COPY_FROM, 1, BL_ENGINE_PUSH, &ns, NULL), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "not enabled");
	cost(4096, 1, BL_ENGINE_AUTO, &by);
	check(by != BL_ENGINE_PUSH);
	tear_down();
}

static void auto_takes_what_the_cost_says(void)
{
	child_run(choice, NULL, (const char *[]){ "BARLANE_CALIBRATION_MS", "8000", NULL });
	child_run(choice, "variable", (const char *[]){ "BARLANE_CALIBRATION_MS", "8000", "BARLANE_PUSH", "1",
							"BARLANE_PUSH_IDLE_US", "1000000", NULL });
}

/* Measured before push was enabled, and in a context that has no channel yet. */
static void later(const void *arg)
{
	enum bl_engine by;
	uint64_t ns, cpu;
	CUcontext own;

	set_up();
	cpu = cost(4096, 1, BL_ENGINE_CPU, NULL);
	check_eq(bl_copy_cost(pin, 4096, BL_COPY_FROM, 1, BL_ENGINE_PUSH, &ns, NULL), -EOPNOTSUPP);
	check_eq(world.cuda->cuCtxCreate(&own, 0, 0), CUDA_SUCCESS);
	check_eq(bl_push_enable(0, 100000), 0);
	check_eq(bl_copy_cost(pin, 4096, BL_COPY_FROM, 1, BL_ENGINE_PUSH, &ns, NULL), -ENODATA);
	check_has(bl_last_error(NULL), "no channel");
	cost(4096, 1, BL_ENGINE_AUTO, &by);
	check(by != BL_ENGINE_PUSH);
	check_eq(world.cuda->cuCtxSetCurrent(world.context), CUDA_SUCCESS);
	check_eq(bl_push_enable(0, 100000), 0);
	check(cost(4096, 1, BL_ENGINE_PUSH, &by) > 0);
	check_eq(by, BL_ENGINE_PUSH);
	/* the others keep what was measured */
	check_eq(cost(4096, 1, BL_ENGINE_CPU, NULL), cpu);
	/* measuring counts as no copy */
	check_eq(pushed(), 0);
	tear_down();
}

static void push_is_measured_when_it_can_be_used(void)
{
	child_run(later, NULL, (const char *[]){ "BARLANE_CALIBRATION_MS", "8000", NULL });
}

/* @arg: whether push must be enabled */
static void legacy(const void *arg)
{
	gdr_mh_t handle;
	uint64_t ns;
	void *addr;
	gdr_t g;
	int ret;

	set_up();
	g = gdr_open();
	check(g);
	check_eq(gdr_pin_buffer(g, va, SIZE, 0, 0, &handle), 0);
	check_eq(gdr_map(g, handle, &addr, SIZE), 0);
	for (int i = 0; i < 20; i++) {
		size_t len = i % 2 ? 8192 : 100000;

		memset(ordinary, i, len);
		check_eq(gdr_copy_to_mapping(handle, addr, ordinary, len), 0);
		check_eq(gdr_copy_from_mapping(handle, pinned, addr, len), 0);
		check(!memcmp(ordinary, pinned, len));
	}
	ret = bl_copy_cost(pin, 4096, BL_COPY_FROM, 1, BL_ENGINE_PUSH, &ns, NULL);
	check_eq(ret, arg ? 0 : -EOPNOTSUPP);
	check_eq(gdr_close(g), 0);
	tear_down();
}

static void variable_chooses_for_gdrapi(void)
{
	child_run(legacy, "push", (const char *[]){ "GDRCOPY_ENGINE", "push", "BARLANE_PUSH_IDLE_US", "900000",
						    "BARLANE_CALIBRATION_MS", "8000", NULL });
	child_run(legacy, NULL, (const char *[]){ "GDRCOPY_ENGINE", "auto", NULL });
	child_run(legacy, "push", (const char *[]){ "BARLANE_PUSH", "1", "BARLANE_CALIBRATION_MS", "8000", NULL });
	child_run(legacy, NULL, (const char *[]){ "GDRCOPY_ENGINE", "auto", "BARLANE_PUSH", "yes", NULL });
}

/* Memory that belongs to no context, a thread that has none, and a capture in the strictest mode. */
static void elsewhere(const void *arg)
{
	CUcontext current = NULL;
	CUgraph graph = NULL;
	CUstream stream;

	set_up();
	check_eq(bl_push_enable(0, 1000), 0);
	check_eq(world.cuda->cuStreamCreate(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
	must_read(0, pinned + 64, 4096);
	usleep(20000);
	must_read(0, ordinary + 64, 4096);
	check_eq(world.cuda->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	check_eq(world.cuda->cuGraphDestroy(graph), CUDA_SUCCESS);
	check_eq(world.cuda->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	usleep(20000);
	must_read(3, pinned + 64, 5000);
	check_eq(world.cuda->cuCtxGetCurrent(&current), CUDA_SUCCESS);
	check(!current);
	check_eq(world.cuda->cuCtxSetCurrent(world.context), CUDA_SUCCESS);
	check_eq(bl_close(ctx), 0);
	use(world_vmm(2 * SIZE, 1), 2 * SIZE);
	check_eq(world.cuda->cuMemcpyHtoD(va, expected, SIZE), CUDA_SUCCESS);
	must_read(5, pinned + 64, 5000);
	must_read(5, ordinary + 64, 50000);
	tear_down();
}

static void contexts_and_captures_are_left_alone(void)
{
	child_run(elsewhere, NULL, NULL);
}

/* Registered, and then not; as ordinary memory, and then not. */
static void kinds(const void *arg)
{
	unsigned char *host;

	set_up();
	check_eq(bl_push_enable(0, 100000), 0);
	check_eq(posix_memalign((void **)&host, 4096, 131072), 0);
	for (int i = 0; i < 600; i++) {
		if (i == 100 || i == 400)
			check_eq(world.cuda->cuMemHostRegister(host, 131072, 0), CUDA_SUCCESS);
		if (i == 200)
			check_eq(world.cuda->cuMemHostUnregister(host), CUDA_SUCCESS);
		must_read(0, host + 16, 4096);
		if (i % 64 == 0)
			must_read(0, host + 16, MAX_PUSH);
	}
	check_eq(world.cuda->cuMemHostUnregister(host), CUDA_SUCCESS);
	must_read(0, host + 16, MAX_PUSH);
	tear_down();
}

static void host_memory_may_change_its_kind(void)
{
	child_run(kinds, NULL, NULL);
}

static void forks(const void *arg)
{
	int status = -1;
	pid_t child;

	set_up();
	check_eq(bl_push_enable(0, 100000), 0);
	must_read(0, pinned + 64, 4096);
	child = fork();
	if (!child)
		_exit(bl_copy(pin, 0, ordinary, 4096, BL_COPY_FROM, BL_ENGINE_PUSH) != -EACCES ||
		      bl_push_enable(0, 0) != -EACCES || bl_push_disable(0) != -EACCES);
	check(child > 0);
	check_eq(waitpid(child, &status, 0), child);
	check_eq(status, 0);
	must_read(0, pinned + 64, 4096);
	tear_down();
}

static void a_forked_child_gets_eacces(void)
{
	child_run(forks, NULL, NULL);
}

static const struct tap_test tests[] = {
	{ "every size and alignment is exact", every_size_and_alignment_is_exact },
	{ "push reads only where it is enabled", only_where_enabled },
	{ "engines keep program order", engines_keep_program_order },
	{ "an idle kernel leaves, and nobody waits for it longer", idle_kernels_leave },
	{ "a kernel that leaves while the CPU rings comes back", kernels_that_leave_come_back },
	{ "auto takes what the cost says, and push has one", auto_takes_what_the_cost_says },
	{ "push is measured when it can be used", push_is_measured_when_it_can_be_used },
	{ "GDRCOPY_ENGINE=push enables it for gdrapi", variable_chooses_for_gdrapi },
	{ "contexts and captures are left alone", contexts_and_captures_are_left_alone },
	{ "host memory may change its kind", host_memory_may_change_its_kind },
	{ "a forked child gets EACCES", a_forked_child_gets_eacces },
};

TAP_MAIN(tests)
