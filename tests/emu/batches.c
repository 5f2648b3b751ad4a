// SPDX-License-Identifier: MIT
/* Batches of copies over the emulated GPU: their bytes, and what may happen while they are under way. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barlane_batch.h"
#include "child.h"
#include "pattern.h"
#include "tests/tap.h"
#include "world.h"

#define SIZE (16UL << 20)
#define NR   3000U

static bl_ctx_t ctx;
static bl_pin_t pin;
static char *map;
static CUdeviceptr va;
static unsigned char *pinned, *ordinary, *model;
static struct bl_copy_op ops[NR];
static bl_batch_t batch;

static void use(CUdeviceptr ptr, size_t len)
{
	va = ptr;
	map = world_map(va, len, &ctx, &pin);
}

static void host_memory(void)
{
	void *host;

	check_eq(world.cuda->cuMemHostAlloc(&host, SIZE, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
	pinned = host;
	ordinary = malloc(SIZE);
	model = malloc(SIZE);
	check(ordinary && model);
	pattern_fill(model, SIZE, 1, 0);
}

static void set_up(void)
{
	world_enter();
	use(world_alloc(SIZE), SIZE);
	host_memory();
	check_eq(world.cuda->cuMemcpyHtoD(va, model, SIZE), CUDA_SUCCESS);
}

static void tear_down(void)
{
	check_eq(bl_close(ctx), 0);
	world_check_rules();
}

static void submit(size_t nr)
{
	if (bl_batch_submit(ops, nr, 0, &batch))
		tap_end(TAP_FAILED, "submit: %s", bl_last_error(NULL));
}

static void finish(void)
{
	struct bl_batch_status status;

	if (bl_batch_wait(batch, BL_BATCH_TIMEOUT, &status))
		tap_end(TAP_FAILED, "wait: %s", bl_last_error(NULL));
	check_eq(status.done, status.nr);
	check_eq(bl_batch_free(batch), 0);
}

static void reads(size_t nr, size_t len, unsigned char *host)
{
	for (size_t i = 0; i < nr; i++)
		ops[i] = (struct bl_copy_op){
			pin, i * 2 * len, host + i * len, len, BL_COPY_FROM, BL_ENGINE_CE, { 0 },
		};
}

static void check_read(size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		check(!memcmp(ops[i].host, model + ops[i].off, ops[i].len));
}

/*
 * The GPU's memory is cut into areas of random sizes; each is read or written by a random engine, to a random kind of
 * host memory. No two copies of a batch touch the same byte.
 */
static size_t random_ops(unsigned int *seed)
{
	size_t off = 0, nr = 0, max = rand_r(seed) % 3 ? 6000 : 900000;

	while (nr < NR) {
		size_t len = (size_t)rand_r(seed) % max, gap = rand_r(seed) % 3 ? 0 : (size_t)rand_r(seed) % 100;

		if (off + gap + len > SIZE)
			break;
		off += gap;
		ops[nr] = (struct bl_copy_op){ .pin = pin, .off = off, .len = len };
		ops[nr].host = (rand_r(seed) % 2 ? pinned : ordinary) + off;
		ops[nr].dir = (uint32_t)rand_r(seed) % 2;
		ops[nr].engine = (uint32_t)rand_r(seed) % 3;
		nr++;
		off += len;
	}
	return nr;
}

static void fill_writes(size_t nr, unsigned int seed)
{
	for (size_t i = 0; i < nr; i++) {
		if (ops[i].dir != BL_COPY_TO)
			continue;
		pattern_fill(ops[i].host, ops[i].len, seed, ops[i].off);
		pattern_fill(model + ops[i].off, ops[i].len, seed, ops[i].off);
	}
}

static void random_bytes(const void *arg)
{
	unsigned int seed = 1;
	unsigned char *seen;

	set_up();
	seen = malloc(SIZE);
	check(seen);
	for (unsigned int round = 0; round < (TAP_TSAN ? 3 : 12); round++) {
		size_t nr = random_ops(&seed);

		fill_writes(nr, round);
		submit(nr);
		finish();
		check_read(nr);
		check_eq(world.cuda->cuMemcpyDtoH(seen, va, SIZE), CUDA_SUCCESS);
		check(!memcmp(seen, model, SIZE));
	}
	free(seen);
	tear_down();
}

static void bytes(void)
{
	child_run(random_bytes, NULL, NULL);
}

static void slow_bytes(void)
{
	child_run(random_bytes, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "30", NULL });
}

static void many(const void *arg)
{
	static bl_batch_t batches[200];

	set_up();
	for (size_t i = 0; i < 200; i++) {
		unsigned char *host = (i % 2 ? pinned : ordinary) + i * 70000;

		ops[i] = (struct bl_copy_op){ pin, i * 80000, host, 70000, BL_COPY_FROM, BL_ENGINE_CE, { 0 } };
		check_eq(bl_batch_submit(&ops[i], 1, 0, &batches[i]), 0);
	}
	/* the last one first */
	for (size_t i = 200; i-- > 0;) {
		check_eq(bl_batch_wait(batches[i], BL_BATCH_TIMEOUT, NULL), 0);
		check_eq(bl_batch_free(batches[i]), 0);
	}
	check_read(200);
	tear_down();
}

static void many_batches(void)
{
	child_run(many, NULL, NULL);
}

static void deadline(const void *arg)
{
	struct bl_batch_status status;
	int ret;

	set_up();
	reads(20, 4096, pinned);
	submit(20);
	check_eq(bl_batch_test(batch, &status), -EAGAIN);
	check_eq(status.running, 1);
	check_eq(bl_batch_wait(batch, 1000000, &status), -ETIMEDOUT);
	check_eq(bl_batch_free(batch), -EBUSY);
	ret = bl_batch_wait(batch, 30000000000ULL, &status);
	check_eq(ret, 0);
	check_read(20);
	finish();
	tear_down();
}

static void wait_with_a_deadline(void)
{
	child_run(deadline, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "20000", NULL });
}

static void others_go_on(const void *arg)
{
	struct bl_batch_status status;

	set_up();
	reads(40, 4096, pinned);
	submit(40);
	/* takes one delay, and the batch forty */
	check_eq(bl_copy(pin, 0, ordinary, 8192, BL_COPY_FROM, BL_ENGINE_CE), 0);
	check_eq(bl_batch_test(batch, &status), -EAGAIN);
	check(!memcmp(ordinary, model, 8192));
	finish();
	check_read(40);
	tear_down();
}

static void copies_beside_a_batch(void)
{
	child_run(others_go_on, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "5000", NULL });
}

static void order(const void *arg)
{
	unsigned char *host;

	set_up();
	for (int i = 0; i < 200; i++) {
		host = i % 2 ? pinned : ordinary;
		memset(host + SIZE / 2, i, 65536);
		check_eq(bl_copy_to(pin, map, host + SIZE / 2, 65536), 0);
		reads(1, 65536, host);
		submit(1);
		finish();
		check(!memcmp(host, host + SIZE / 2, 65536));
	}
	tear_down();
}

static void comes_after_earlier_copies(void)
{
	child_run(order, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "20", NULL });
}

static void unpin_meanwhile(const void *arg)
{
	struct snapshot before;
	struct bl_alloc mem;

	set_up();
	snapshot_take(&before);
	check_eq(bl_alloc(ctx, 0, SIZE / 4, &mem), 0);
	reads(20, 65536, ordinary);
	for (int i = 0; i < 20; i++)
		ops[i].pin = mem.pin;
	memset(mem.addr, 0x5a, SIZE / 4);
	memset(ordinary, 0, SIZE);
	submit(20);
	/* the memory goes with the pin: all of it is read before */
	check_eq(bl_free(ctx, mem.pin), 0);
	check_eq(bl_batch_test(batch, NULL), 0);
	check_eq(value_wrong(ordinary, 20 * 65536, 0x5a), 0);
	finish();
	snapshot_check(&before);
	reads(20, 65536, ordinary);
	submit(20);
	check_eq(bl_close(ctx), 0);
	finish();
	check_read(20);
	world_check_rules();
}

static void ends_of_pins_wait(void)
{
	child_run(unpin_meanwhile, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "2000", NULL });
}

static void left(const void *arg)
{
	struct snapshot before;
	int ret;

	world_enter();
	ctx = world_open("rm");
	check_eq(bl_pin(ctx, world_alloc(65536), 65536, 0, 0, 0, &pin), 0);
	check_eq(bl_unpin(ctx, pin), 0);
	/* what a self-test leaves is there already */
	check_eq(bl_close(ctx), 0);
	snapshot_take(&before);
	set_up();
	reads(4, 65536, pinned);
	submit(4);
	check_eq(bl_unpin(ctx, pin), -ETIMEDOUT);
	check_eq(bl_close(ctx), -ETIMEDOUT);
	check_has(bl_last_error(NULL), "a batch of copies");
	do {
		usleep(10000);
		ret = bl_batch_test(batch, NULL);
	} while (ret == -EAGAIN);
	check_eq(ret, 0);
	check_read(4);
	check_eq(bl_batch_free(batch), 0);
	snapshot_check(&before);
	world_check_rules();
}

static void close_does_not_hang(void)
{
	child_run(left, NULL,
		  (const char *[]){ "BARLANE_EMU_ASYNC_US", "300000", "BARLANE_CE_TIMEOUT_MS", "30", NULL });
}

static void context_goes(const void *arg)
{
	struct bl_batch_status status;
	CUcontext own;

	set_up();
	check_eq(bl_close(ctx), 0);
	for (int i = 0; i < 5; i++) {
		check_eq(world.cuda->cuCtxCreate(&own, 0, 0), CUDA_SUCCESS);
		use(world_alloc(SIZE), SIZE);
		reads(100, 65536, i % 2 ? pinned : ordinary);
		submit(100);
		check_eq(world.cuda->cuCtxDestroy(own), CUDA_SUCCESS);
		check_eq(bl_batch_wait(batch, BL_BATCH_TIMEOUT, &status), -ECANCELED);
		check_eq(status.done, 100);
		check_eq(bl_batch_free(batch), 0);
		/* another one is refused for want of the memory */
		check_eq(bl_batch_submit(ops, 100, 0, &batch), -EINVAL);
		check_eq(bl_close(ctx), 0);
	}
	check_eq(world.cuda->cuCtxSetCurrent(world.context), CUDA_SUCCESS);
	use(world_alloc(SIZE), SIZE);
	check_eq(world.cuda->cuMemcpyHtoD(va, model, SIZE), CUDA_SUCCESS);
	reads(100, 65536, ordinary);
	submit(100);
	finish();
	check_read(100);
	tear_down();
}

static void destroyed_context(void)
{
	child_run(context_goes, NULL, NULL);
}

static void capture(const void *arg)
{
	CUgraph graph = NULL;
	CUstream stream;

	set_up();
	check_eq(world.cuda->cuStreamCreate(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
	reads(50, 65536, ordinary);
	submit(50);
	finish();
	check_read(50);
	check_eq(world.fault("cuda.memop:*"), 0);
	reads(50, 65536, pinned);
	submit(50);
	finish();
	check_read(50);
	check_eq(world.fault(""), 0);
	check_eq(world.cuda->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	check_eq(world.cuda->cuGraphDestroy(graph), CUDA_SUCCESS);
	tear_down();
}

static void captures_are_left_alone(void)
{
	child_run(capture, NULL, NULL);
}

static int in_child(void)
{
	bl_batch_t other = 7;

	if (bl_batch_submit(ops, 1, 0, &other) != -EACCES || other != 7)
		return 1;
	if (bl_batch_test(batch, NULL) != -EACCES || bl_batch_wait(batch, 0, NULL) != -EACCES)
		return 2;
	if (bl_batch_free(batch) != -EACCES)
		return 3;
	/* a child that opens a context of its own knows nothing of the parent's batches */
	if (bl_open("rm", &ctx) || bl_batch_test(batch, NULL) != -EINVAL)
		return 4;
	if (bl_batch_submit(NULL, 0, 0, &other) || bl_batch_wait(other, 0, NULL) || bl_batch_free(other))
		return 5;
	return 0;
}

static void forks(const void *arg)
{
	int status = -1;
	pid_t child;

	set_up();
	reads(50, 65536, ordinary);
	submit(50);
	child = fork();
	if (!child)
		_exit(in_child());
	check_eq(waitpid(child, &status, 0), child);
	check_eq(status, 0);
	finish();
	check_read(50);
	tear_down();
}

static void a_forked_child_gets_eacces(void)
{
	child_run(forks, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "300", NULL });
}

/* Every point of the emulated GPU that a batch comes by, failing at every call of it. */
static void fault(const void *arg)
{
	struct bl_batch_status status;
	int ret, refused = 0, failed = 0;

	set_up();
	for (int nth = 1; nth <= 40; nth++) {
		char spec[64];

		snprintf(spec, sizeof(spec), arg, nth);
		reads(40, 65536, nth % 2 ? ordinary : pinned);
		check_eq(world.fault(spec), 0);
		ret = bl_batch_submit(ops, 40, 0, &batch);
		if (ret) {
			check_eq(world.fault(""), 0);
			refused++;
			continue;
		}
		ret = bl_batch_wait(batch, BL_BATCH_TIMEOUT, &status);
		check_eq(world.fault(""), 0);
		check(!ret || ret == -EIO || ret == -EIDRM || ret == -ECANCELED);
		check_eq(status.done, 40);
		check_eq(bl_batch_free(batch), 0);
		failed += ret != 0;
		check(ret || !memcmp(ops[39].host, model + ops[39].off, 65536));
		/* an error in the middle may leave transfers behind: they end before the next round */
		check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
		reads(40, 65536, ordinary);
		submit(40);
		finish();
		check_read(40);
	}
	check(refused + failed);
	tear_down();
}

static void faults(void)
{
	child_run(fault, "cuda.memcpy:%d", NULL);
	child_run(fault, "cuda.attr:%d", NULL);
	child_run(fault, "cuda.memop:1,cuda.stream:%d:719", NULL);
	child_run(fault, "cuda.memcpy:%d:700", NULL);
}

static void without(const void *arg)
{
	struct bl_engine_stats before, after;

	set_up();
	check_eq(world.fault(arg), 0);
	reads(40, 65536, ordinary);
	check_eq(bl_batch_submit(ops, 40, 0, &batch), -ENOMEM);
	check_has(bl_last_error(NULL), "copy 0: ");
	check_eq(bl_engine_stats(BL_ENGINE_CPU, &before), 0);
	for (int i = 0; i < 40; i++)
		ops[i].engine = BL_ENGINE_AUTO;
	submit(40);
	finish();
	check_read(40);
	check_eq(bl_engine_stats(BL_ENGINE_CPU, &after), 0);
	check_eq(after.calls[BL_COPY_FROM] - before.calls[BL_COPY_FROM], 40);
	check_eq(world.fault(""), 0);
	tear_down();
}

static void no_resources(void)
{
	child_run(without, "cuda.host:*", NULL);
	child_run(without, "cuda.newstream:*", NULL);
}

static const struct tap_test tests[] = {
	{ "random batches of all engines copy the right bytes", bytes },
	{ "they do on a GPU that is slow", slow_bytes },
	{ "hundreds of batches are under way at a time", many_batches },
	{ "waiting for a batch has a deadline", wait_with_a_deadline },
	{ "copies beside a batch need not wait for it", copies_beside_a_batch },
	{ "a batch comes after earlier copies of the CPU", comes_after_earlier_copies },
	{ "bl_free and bl_close wait for batches", ends_of_pins_wait },
	{ "bl_close does not hang, and what it leaves goes with the batch", close_does_not_hang },
	{ "a context destroyed under a batch is ECANCELED", destroyed_context },
	{ "captures are left alone by batches", captures_are_left_alone },
	{ "a forked child gets EACCES for batches", a_forked_child_gets_eacces },
	{ "faults are errors, and the next batch works", faults },
	{ "without stream or staging ce is ENOMEM, and auto takes the CPU", no_resources },
};

TAP_MAIN(tests)
