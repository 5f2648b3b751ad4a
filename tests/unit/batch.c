// SPDX-License-Identifier: MIT
/* Batches of copies over a driver library whose copies run when the test says so: which calls are made, and when. */
#include <errno.h>
#include <sys/mman.h>

#include "barlane_batch.h"
#include "batch_cuda.h"
#include "child.h"
#include "fake_gdrdrv.h"
#include "tap.h"

#define KIB (1UL << 10)
#define MIB (1UL << 20)
#define MAX_OPS 2048

static bl_ctx_t ctx;
static bl_pin_t pin;
static void *map;
static bl_batch_t batch;
static struct bl_batch_status status;
static struct bl_copy_op ops[MAX_OPS];
static unsigned char ordinary[8 * MIB];

static void set_up(void)
{
	fake_gdrdrv_begin(6);
	gpu_begin();
	for (size_t i = 0; i < GPU_BUFFER; i += 64)
		memset(fake_vram() + i, (int)(i >> 6) * 7 + (int)(i >> 14), 64);
	check_eq(bl_open("gdrdrv", &ctx), 0);
	check_eq(bl_pin(ctx, FAKE_VRAM_VA, GPU_BUFFER, 0, 0, 0, &pin), 0);
	check_eq(bl_map(ctx, pin, GPU_BUFFER, BL_MAP_NONE, &map), 0);
}

static void tear_down(void)
{
	check_eq(bl_close(ctx), 0);
	fake_gdrdrv_end();
}

static struct bl_copy_op op(uint64_t off, void *host, size_t len, uint32_t dir)
{
	return (struct bl_copy_op){
		.pin = pin, .off = off, .host = host, .len = len, .dir = dir, .engine = BL_ENGINE_CE,
	};
}

/* @nr reads of @len bytes whose offsets are @step apart, one behind the other in host memory. */
static void reads(size_t nr, size_t len, size_t step, unsigned char *host)
{
	for (size_t i = 0; i < nr; i++)
		ops[i] = op(i * step, len ? host + i * len : host, len, BL_COPY_FROM);
}

static void submit(size_t nr)
{
	if (bl_batch_submit(ops, nr, 0, &batch))
		tap_end(TAP_FAILED, "submit: %s", bl_last_error(NULL));
}

static int test(void)
{
	return bl_batch_test(batch, &status);
}

static void must_end(void)
{
	for (int i = 0; i < 1000 && test() == -EAGAIN; i++)
		gpu_run(SIZE_MAX);
	if (test())
		tap_end(TAP_FAILED, "batch: %s", bl_last_error(NULL));
	check_eq(status.done, status.nr);
	check_eq(status.failed, status.nr);
	check_eq(status.running, 0);
	check_eq(bl_batch_free(batch), 0);
}

static void check_read(size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		check(!memcmp(ops[i].host, fake_vram() + ops[i].off, ops[i].len));
}

static void one_call_each(const void *arg)
{
	set_up();
	gpu.hold = true;
	reads(64, 4 * KIB, 8 * KIB, host_buffers);
	submit(64);
	check_eq(gpu.copies, 64);
	check_eq(gpu.marks, 2);
	/* one call per copy and some for all of them */
	check(gpu.calls < 64 + 30);
	check_eq(gpu.streams, 1);
	check_eq(test(), -EAGAIN);
	check_eq(status.running, 1);
	check_eq(status.nr, 64);
	check_eq(status.done, 0);
	/* the first mark, behind 32 transfers */
	gpu_run(33);
	check_eq(test(), -EAGAIN);
	check_eq(status.done, 32);
	gpu_run(33);
	must_end();
	check_read(64);
	/* as long as the counter is looked at soon enough, nobody asks CUDA */
	check(gpu.queries <= 2);
	tear_down();
}

static void adjacent_are_one(const void *arg)
{
	set_up();
	reads(16, 4 * KIB, 4 * KIB, host_buffers);
	submit(16);
	check_eq(gpu.copies, 1);
	must_end();
	check_read(16);
	/* not across two buffers that happen to lie side by side */
	reads(16, 4 * KIB, 4 * KIB, host_buffers + HOST_BUFFER - 8 * 4 * KIB);
	submit(16);
	check_eq(gpu.copies, 3);
	must_end();
	check_read(16);
	/* not in the other direction, not with a gap on one side */
	reads(4, 4 * KIB, 4 * KIB, host_buffers);
	ops[1].dir = BL_COPY_TO;
	ops[3].host = host_buffers + 64 * KIB;
	submit(4);
	check_eq(gpu.copies, 3 + 4);
	must_end();
	tear_down();
}

static void through_the_ring(const void *arg)
{
	set_up();
	gpu.hold = true;
	reads(6, MIB, 2 * MIB, ordinary);
	memset(ordinary, 0, sizeof(ordinary));
	submit(6);
	/* four megabytes at a time: the rest waits until the first is fetched */
	check_eq(gpu.copies, 16);
	check_eq(test(), -EAGAIN);
	check_eq(status.done, 0);
	check(!ordinary[1]);
	/* a part of the ring that is fetched is used again while the GPU is at the others */
	gpu_run(3);
	check(!ordinary[1]);
	check_eq(test(), -EAGAIN);
	check(!memcmp(ordinary, fake_vram(), MIB / 2));
	check(!ordinary[MIB / 2 + 1]);
	check_eq(gpu.copies, 18);
	gpu_run(SIZE_MAX);
	check_eq(test(), -EAGAIN);
	check_eq(status.done, 4);
	check(!memcmp(ordinary, fake_vram(), MIB));
	check(gpu.waiting);
	must_end();
	check_read(6);
	tear_down();
}

static void writes_are_staged(const void *arg)
{
	set_up();
	gpu.hold = true;
	for (size_t i = 0; i < sizeof(ordinary); i++)
		ordinary[i] = (unsigned char)(i * 11 + (i >> 10));
	for (size_t i = 0; i < 100; i++)
		ops[i] = op(i * 70 * KIB + 1, ordinary + i * 77 * KIB, 50 * KIB + i, BL_COPY_TO);
	submit(100);
	must_end();
	for (size_t i = 0; i < 100; i++)
		check(!memcmp(ops[i].host, fake_vram() + ops[i].off, ops[i].len));
	tear_down();
}

static void window(const void *arg)
{
	set_up();
	gpu.hold = true;
	reads(1500, KIB, 2 * KIB, host_buffers);
	submit(1500);
	check_eq(gpu.copies, 512);
	gpu_run(SIZE_MAX);
	check_eq(test(), -EAGAIN);
	check_eq(status.done, 512);
	check_eq(gpu.copies, 1024);
	must_end();
	check_read(1500);
	tear_down();
}

/* A held batch does not hold up bl_copy(), nor a batch that comes later; after four the lanes are shared. */
static void lanes(const void *arg)
{
	bl_batch_t others[8];

	set_up();
	gpu.hold = true;
	reads(2, MIB, MIB, host_buffers);
	ops[1].dir = BL_COPY_TO;
	submit(2);
	check_eq(gpu.streams, 2);
	gpu.hold = false;
	check_eq(bl_copy(pin, 0, ordinary, 100000, BL_COPY_FROM, BL_ENGINE_CE), 0);
	check_eq(gpu.streams, 3);
	gpu.hold = true;
	for (int i = 0; i < 8; i++) {
		reads(1, 64 * KIB, 0, host_buffers + HOST_BUFFER + i * 64 * KIB);
		check_eq(bl_batch_submit(ops, 1, 0, &others[i]), 0);
	}
	check_eq(gpu.streams, 5);
	gpu_run(SIZE_MAX);
	for (int i = 7; i >= 0; i--) {
		check_eq(bl_batch_test(others[i], NULL), 0);
		check_eq(bl_batch_free(others[i]), 0);
	}
	must_end();
	tear_down();
}

static void refused(size_t nr, size_t index, int error, const char *why)
{
	int copies = gpu.copies;
	char text[40];

	snprintf(text, sizeof(text), "copy %zu: ", index);
	batch = 12345;
	check_eq(bl_batch_submit(ops, nr, 0, &batch), error);
	check_has(bl_last_error(NULL), text);
	check_has(bl_last_error(NULL), why);
	check_eq(batch, 12345);
	check_eq(gpu.copies, copies);
}

/* The first copy is good, and of the CPU's: its bytes would show. */
static void bad_op(struct bl_copy_op bad, int error, const char *why)
{
	unsigned char before = fake_vram()[0], other = (unsigned char)~before;

	reads(4, 4 * KIB, 8 * KIB, host_buffers);
	ops[0] = op(0, &other, 1, BL_COPY_TO);
	ops[0].engine = BL_ENGINE_CPU;
	ops[2] = bad;
	refused(4, 2, error, why);
	check_eq(fake_vram()[0], before);
}

static void arguments(const void *arg)
{
	struct bl_copy_op good;
	bl_pin_t unmapped;

	set_up();
	good = op(0, host_buffers, 4096, BL_COPY_FROM);
#define BAD(field, value, error, why)                                                                                  \
	do {                                                                                                           \
		struct bl_copy_op bad = good;                                                                          \
		bad.field = value;                                                                                     \
		bad_op(bad, error, why);                                                                               \
	} while (0)
	BAD(dir, 2, -EINVAL, "no direction 2");
	BAD(engine, 9, -EINVAL, "no engine 9");
	BAD(reserved[0], 1, -EINVAL, "reserved");
	BAD(reserved[1], 1, -EINVAL, "reserved");
	BAD(host, NULL, -EINVAL, "host");
	BAD(pin, 0, -EINVAL, "no such pin");
	BAD(pin, pin + (1ULL << 32), -EINVAL, "no such pin");
	BAD(off, GPU_BUFFER, -EINVAL, "not inside the mapping");
	BAD(off, UINT64_MAX, -EINVAL, "not inside the mapping");
	BAD(len, GPU_BUFFER + 1, -EINVAL, "not inside the mapping");
	check_eq(bl_pin(ctx, FAKE_VRAM_VA, 65536, 0, 0, 0, &unmapped), 0);
	BAD(pin, unmapped, -EINVAL, "not a mapped pin");
	ops[0] = op(0, ordinary, 100, BL_COPY_FROM);
	ops[0].engine = BL_ENGINE_CPU;
	ops[1] = good;
	gpu.no_memory = true;
	refused(2, 1, -EINVAL, "va 0x");
	gpu.no_memory = false;
	ops[0] = good;
	check_eq(bl_batch_submit(ops, 1, 1, &batch), -EINVAL);
	check_eq(bl_batch_submit(ops, 1, 0, NULL), -EINVAL);
	check_eq(bl_batch_submit(NULL, 1, 0, &batch), -EINVAL);
	check_eq(bl_batch_submit(ops, BL_BATCH_COPIES + 1, 0, &batch), -E2BIG);
	check_eq(bl_batch_test(0, NULL), -EINVAL);
	check_eq(bl_batch_wait(1, 0, NULL), -EINVAL);
	check_eq(bl_batch_free(UINT64_MAX), -EINVAL);
	check_eq(gpu.copies, 0);
	/* no pin is kept by what was refused */
	check_eq(bl_unmap(ctx, pin, map, GPU_BUFFER), 0);
	tear_down();
}

static void nothing_to_do(const void *arg)
{
	set_up();
	check_eq(bl_batch_submit(NULL, 0, 0, &batch), 0);
	check_eq(bl_batch_wait(batch, 0, &status), 0);
	check_eq(status.nr, 0);
	check_eq(bl_batch_free(batch), 0);
	check_eq(bl_batch_free(batch), -EINVAL);
	reads(3, 0, 0, NULL);
	submit(3);
	check_eq(test(), 0);
	check_eq(status.done, 3);
	check_eq(bl_batch_free(batch), 0);
	check_eq(gpu.calls, 0);
	tear_down();
}

static void auto_takes_the_cpu(const void *arg)
{
	set_up();
	reads(40, KIB, 4 * KIB, ordinary);
	for (int i = 0; i < 40; i++)
		ops[i].engine = BL_ENGINE_AUTO;
	submit(40);
	check_eq(gpu.calls, 0);
	check_eq(test(), 0);
	check_read(40);
	check_eq(bl_batch_free(batch), 0);
	/* in all no more than 64 KiB */
	reads(100, KIB, 4 * KIB, ordinary);
	for (int i = 0; i < 100; i++)
		ops[i].engine = BL_ENGINE_AUTO;
	submit(100);
	check_eq(gpu.copies, 36);
	must_end();
	check_read(100);
	/* where the copy engine cannot be used, all */
	gpu.no_memory = true;
	submit(100);
	check_eq(gpu.copies, 36);
	must_end();
	check_read(100);
	tear_down();
}

static void limit(const void *arg)
{
	static bl_batch_t many[BL_BATCH_LIMIT];

	set_up();
	for (size_t i = 0; i < BL_BATCH_LIMIT; i++)
		check_eq(bl_batch_submit(NULL, 0, 0, &many[i]), 0);
	reads(1, 4096, 0, host_buffers);
	check_eq(bl_batch_submit(ops, 1, 0, &batch), -EAGAIN);
	check_has(bl_last_error(NULL), "4096 batches exist");
	check_eq(gpu.copies, 0);
	check_eq(bl_batch_free(many[17]), 0);
	submit(1);
	must_end();
	tear_down();
}

static void free_is_busy(const void *arg)
{
	set_up();
	gpu.hold = true;
	reads(1, 4096, 0, host_buffers);
	submit(1);
	check_eq(bl_batch_free(batch), -EBUSY);
	check_eq(bl_batch_wait(batch, 0, &status), -ETIMEDOUT);
	check_eq(bl_batch_wait(batch, 3000000, &status), -ETIMEDOUT);
	check_eq(status.running, 1);
	/* this one by the library's own deadline, set by the environment of this test */
	check_eq(bl_batch_wait(batch, BL_BATCH_TIMEOUT, NULL), -ETIMEDOUT);
	gpu_run(SIZE_MAX);
	check_eq(bl_batch_wait(batch, BL_BATCH_TIMEOUT, NULL), 0);
	check_eq(bl_batch_wait(batch, 0, NULL), 0);
	must_end();
	tear_down();
}

/* The ends of a pin wait for the batch, and leave it as it is when that does not end. */
static void pin_in_use(const void *arg)
{
	set_up();
	gpu.hold = true;
	reads(1, 4096, 0, host_buffers);
	submit(1);
	check_eq(bl_unmap(ctx, pin, map, GPU_BUFFER), -ETIMEDOUT);
	check_has(bl_last_error(NULL), "a batch of copies");
	check_eq(bl_unpin(ctx, pin), -ETIMEDOUT);
	check_eq(bl_copy_from(pin, ordinary, map, 64), 0);
	gpu_run(SIZE_MAX);
	/* nobody asked about the batch: unmapping does its work */
	check_eq(bl_unmap(ctx, pin, map, GPU_BUFFER), 0);
	check_eq(bl_unpin(ctx, pin), 0);
	check_read(1);
	must_end();
	tear_down();
}

static void close_in_use(const void *arg)
{
	set_up();
	gpu.hold = true;
	reads(4, 4096, 8192, ordinary);
	submit(4);
	check_eq(bl_close(ctx), -ETIMEDOUT);
	check_eq(bl_close(ctx), -EINVAL);
	check_eq(bl_copy_from(pin, ordinary, map, 64), -EINVAL);
	check_eq(fake_gdrdrv_pins(), 1);
	gpu_run(SIZE_MAX);
	check_eq(test(), 0);
	check_read(4);
	/* the last batch took the pin with it, and the last pin the context */
	check_eq(fake_gdrdrv_pins(), 0);
	must_end();
	fake_gdrdrv_end();
}

static void context_goes(const void *arg)
{
	bl_batch_t other;

	set_up();
	gpu.hold = true;
	reads(3000 / 2, 4096, 4096 * 2, ordinary);
	submit(100);
	check_eq(bl_batch_submit(ops, 1000, 0, &other), 0);
	gpu_destroy_context();
	check_eq(test(), -ECANCELED);
	check_has(bl_last_error(NULL), "destroyed");
	check_eq(status.error, -ECANCELED);
	check_eq(status.failed, 0);
	check_eq(status.done, 100);
	check_eq(bl_batch_free(batch), 0);
	check_eq(bl_unmap(ctx, pin, map, GPU_BUFFER), 0);
	check_eq(bl_batch_wait(other, BL_BATCH_TIMEOUT, NULL), -ECANCELED);
	check_eq(bl_batch_free(other), 0);
	tear_down();
}

static void memory_goes(const void *arg)
{
	set_up();
	gpu.hold = true;
	/* more than the ring takes: the rest would be posted after the memory was freed */
	reads(6, MIB, 2 * MIB, ordinary);
	submit(6);
	gpu_run(SIZE_MAX);
	gpu.no_memory = true;
	check_eq(test(), -EIDRM);
	check_eq(status.failed, 4);
	check_has(bl_last_error(NULL), "copy 4: ");
	check_eq(status.done, 6);
	gpu.no_memory = false;
	check_read(4);
	check_eq(bl_batch_free(batch), 0);
	tear_down();
}

static int *calls_p; /* shared with children */

static void mixed(void)
{
	for (size_t i = 0; i < 80; i++)
		ops[i] = op(i * 70 * KIB, i % 3 ? ordinary + i * 70 * KIB : host_buffers + i * 70 * KIB % HOST_BUFFER,
			    60 * KIB, i % 2 ? BL_COPY_FROM : BL_COPY_TO);
	for (size_t i = 60; i < 80; i++)
		ops[i].engine = BL_ENGINE_AUTO;
}

/* One call fails: the batch is refused, or fails with the copy's index, or works; and nothing is left. */
static void one_failure(const void *arg)
{
	int nth = *(const int *)arg, ret;

	set_up();
	gpu.hold = nth % 2;
	mixed();
	gpu.fail_at = nth;
	ret = bl_batch_submit(ops, 80, 0, &batch);
	if (ret) {
		check_has(bl_last_error(NULL), "copy ");
		check_eq(gpu.copies, 0);
		tear_down();
		return;
	}
	while ((ret = test()) == -EAGAIN)
		gpu_run(7);
	check_eq(status.done, 80);
	check_eq(ret, status.error);
	check(ret ? status.failed < 80 : status.failed == 80);
	check(!ret || ret == -EIO || ret == -ECANCELED || ret == -EIDRM);
	gpu_run(SIZE_MAX);
	check_eq(bl_batch_free(batch), 0);
	gpu.fail_at = -1;
	/* the next one works, if the GPU did not lose its context */
	reads(40, 60 * KIB, 70 * KIB, ordinary);
	submit(40);
	must_end();
	check_read(40);
	tear_down();
}

static void no_failure(const void *arg)
{
	set_up();
	mixed();
	submit(80);
	must_end();
	*calls_p = gpu.calls;
	tear_down();
}

static void without_marks(const void *arg)
{
	set_up();
	gpu.no_marks = true;
	gpu.hold = true;
	reads(100, 4 * KIB, 8 * KIB, ordinary);
	submit(100);
	check_eq(test(), -EAGAIN);
	gpu_run(99);
	check_eq(test(), -EAGAIN);
	gpu_run(1);
	check_eq(test(), 0);
	check_read(100);
	must_end();
	tear_down();
}

#define IN_A_CHILD(name, run)                                                                                          \
	static void name(void)                                                                                         \
	{                                                                                                              \
		child_run(run, NULL, (const char *[]){ "BARLANE_CE_TIMEOUT_MS", "20", NULL });                         \
	}

IN_A_CHILD(in_child_one_call_each, one_call_each)
IN_A_CHILD(in_child_adjacent, adjacent_are_one)
IN_A_CHILD(in_child_ring, through_the_ring)
IN_A_CHILD(in_child_writes, writes_are_staged)
IN_A_CHILD(in_child_window, window)
IN_A_CHILD(in_child_lanes, lanes)
IN_A_CHILD(in_child_arguments, arguments)
IN_A_CHILD(in_child_nothing, nothing_to_do)
IN_A_CHILD(in_child_auto, auto_takes_the_cpu)
IN_A_CHILD(in_child_limit, limit)
IN_A_CHILD(in_child_free, free_is_busy)
IN_A_CHILD(in_child_pin, pin_in_use)
IN_A_CHILD(in_child_close, close_in_use)
IN_A_CHILD(in_child_context, context_goes)
IN_A_CHILD(in_child_memory, memory_goes)
IN_A_CHILD(in_child_marks, without_marks)

/* Lanes outlive a test, so that each failure has a process of its own. */
static void in_children_failures(void)
{
	calls_p = mmap(NULL, sizeof(*calls_p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(calls_p != MAP_FAILED);
	child_run(no_failure, NULL, NULL);
	check(*calls_p > 100);
	for (int nth = 0; nth < *calls_p; nth++)
		child_run(one_failure, &nth, NULL);
}

static const struct tap_test tests[] = {
	{ "a pinned copy is one call, and 32 of them one mark", in_child_one_call_each },
	{ "adjacent copies are one transfer", in_child_adjacent },
	{ "reads of ordinary memory are fetched when asked about", in_child_ring },
	{ "writes of ordinary memory are staged", in_child_writes },
	{ "512 transfers are under way at most", in_child_window },
	{ "a long batch holds nobody up", in_child_lanes },
	{ "a bad copy refuses the batch, and nothing is copied", in_child_arguments },
	{ "batches of nothing end at once", in_child_nothing },
	{ "small copies of auto are the CPU's, up to a sum", in_child_auto },
	{ "too many batches are EAGAIN", in_child_limit },
	{ "a batch that goes on is EBUSY to free and ETIMEDOUT to wait for", in_child_free },
	{ "unmap and unpin wait for a batch, with a deadline", in_child_pin },
	{ "a pin left by close goes with its last batch", in_child_close },
	{ "a destroyed context is ECANCELED, and its memory is not touched", in_child_context },
	{ "freed memory is EIDRM for what was not begun", in_child_memory },
	{ "without the counter the stream is asked", in_child_marks },
	{ "each call that fails is an error, and nothing is left", in_children_failures },
};

TAP_MAIN(tests)
