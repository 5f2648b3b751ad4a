// SPDX-License-Identifier: MIT
/* Engine ce when CUDA fails: the error says what happened, auto goes on with the CPU, and the next copy works. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "pattern.h"
#include "tests/tap.h"
#include "world.h"

#define SIZE (4UL << 20)

static bl_ctx_t ctx;
static bl_pin_t pin;
static CUdeviceptr va;
static char *map;
static unsigned char *pinned, *ordinary;

static void use(CUdeviceptr ptr, size_t len)
{
	va = ptr;
	map = world_map(va, len, &ctx, &pin);
}

static void set_up(void)
{
	void *host;

	world_enter();
	use(world_alloc(SIZE), SIZE);
	check_eq(world.cuda->cuMemHostAlloc(&host, SIZE, 0), CUDA_SUCCESS);
	pinned = host;
	ordinary = calloc(1, SIZE);
	check(ordinary);
}

static int ce(void *host, size_t len, enum bl_copy_dir dir)
{
	return bl_copy(pin, 0, host, len, dir, BL_ENGINE_CE);
}

static void must_work(void)
{
	pattern_fill(ordinary, SIZE, 1, 0);
	if (ce(ordinary, SIZE, BL_COPY_TO) || ce(pinned, SIZE, BL_COPY_FROM))
		tap_end(TAP_FAILED, "copy after a fault: %s", bl_last_error(NULL));
	check(!memcmp(ordinary, pinned, SIZE));
}

static uint64_t copies_by_ce(void)
{
	struct bl_engine_stats stats;

	check_eq(bl_engine_stats(BL_ENGINE_CE, &stats), 0);
	return stats.calls[BL_COPY_TO] + stats.calls[BL_COPY_FROM];
}

/* Every transfer of a copy fails once: the first, those in the middle, the last. */
static void a_failed_transfer_is_eio(const void *arg)
{
	int failures = 0;

	set_up();
	for (int dir = BL_COPY_TO; dir <= BL_COPY_FROM; dir++) {
		for (int nth = 1; nth <= 24; nth++) {
			char spec[32];
			int ret;

			snprintf(spec, sizeof(spec), "cuda.memcpy:%d", nth);
			check_eq(world.fault(spec), 0);
			ret = ce(ordinary, SIZE, (enum bl_copy_dir)dir);
			check_eq(world.fault(""), 0);
			check(!ret || ret == -EIO);
			if (ret)
				check_has(bl_last_error(NULL), "CUDA_ERROR_UNKNOWN");
			failures += ret != 0;
			must_work();
		}
	}
	/* at least as many transfers as there are half megabytes, both ways */
	check(failures >= 16);
	check(failures < 48);
}

static void transfers(void)
{
	child_run(a_failed_transfer_is_eio, NULL, NULL);
}

static void without_pinned_memory(const void *arg)
{
	uint64_t before;

	set_up();
	check_eq(world.fault("cuda.host:*"), 0);
	check_eq(ce(ordinary, 65536, BL_COPY_FROM), -ENOMEM);
	check_has(bl_last_error(NULL), "pinned memory");
	check_has(bl_last_error(NULL), "CUDA_ERROR_OUT_OF_MEMORY");
	before = copies_by_ce();
	check_eq(bl_copy(pin, 0, ordinary, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	check_eq(bl_copy(pin, 0, ordinary, SIZE, BL_COPY_TO, BL_ENGINE_AUTO), 0);
	check_eq(copies_by_ce(), before);
	check_eq(world.fault(""), 0);
	must_work();
}

/* Of the channel's memory the second piece is the longer ring. */
static void without_the_longer_ring(const void *arg)
{
	set_up();
	pattern_fill(pinned, SIZE, 3, 0);
	check_eq(world.cuda->cuMemcpyHtoD(va, pinned, SIZE), CUDA_SUCCESS);
	check_eq(world.fault("cuda.host:2"), 0);
	check_eq(ce(ordinary, SIZE, BL_COPY_FROM), 0);
	check_eq(world.fault(""), 0);
	check(!memcmp(ordinary, pinned, SIZE));
	must_work();
	memset(ordinary, 0, SIZE);
	check_eq(ce(ordinary, SIZE, BL_COPY_FROM), 0);
	check(!memcmp(ordinary, pinned, SIZE));
}

static void no_longer_ring(void)
{
	child_run(without_the_longer_ring, NULL, NULL);
}

static void no_pinned_memory(void)
{
	child_run(without_pinned_memory, NULL, NULL);
}

static void without_a_stream(const void *arg)
{
	set_up();
	check_eq(world.fault("cuda.newstream:*"), 0);
	check_eq(ce(pinned, 65536, BL_COPY_FROM), -ENOMEM);
	check_has(bl_last_error(NULL), "stream for copies");
	check_eq(bl_copy(pin, 0, ordinary, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	check_eq(world.fault(""), 0);
	must_work();
}

static void no_stream(void)
{
	child_run(without_a_stream, NULL, NULL);
}

static void without_the_counter(const void *arg)
{
	set_up();
	check_eq(world.fault(arg), 0);
	must_work();
	check_eq(world.fault(""), 0);
	must_work();
}

static void no_counter(void)
{
	child_run(without_the_counter, "cuda.memop:*", NULL);
	child_run(without_the_counter, "cuda.memop:1", NULL);
	child_run(without_the_counter, "cuda.memop:5", NULL);
}

static void while_waiting(const void *arg)
{
	set_up();
	must_work();
	/* without the counter every look at the stream is a call */
	check_eq(world.fault("cuda.memop:1,cuda.stream:1:719"), 0);
	check_eq(ce(pinned, 65536, BL_COPY_FROM), -EIO);
	check_has(bl_last_error(NULL), "CUDA_ERROR_LAUNCH_FAILED");
	check_eq(world.fault(""), 0);
	/* until that copy has ended, which may be now or later, others are refused */
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	must_work();
}

static void failure_while_waiting(void)
{
	child_run(while_waiting, NULL, NULL);
}

static void for_good(const void *arg)
{
	set_up();
	must_work();
	check_eq(world.fault("cuda.memcpy:*:700,cuda.stream:*:700"), 0);
	check_eq(ce(pinned, 65536, BL_COPY_FROM), -EIO);
	check_has(bl_last_error(NULL), "CUDA_ERROR_ILLEGAL_ADDRESS");
	check_eq(ce(ordinary, SIZE, BL_COPY_TO), -EIO);
	/* the CPU reaches the memory all the same */
	check_eq(bl_copy(pin, 0, ordinary, SIZE, BL_COPY_TO, BL_ENGINE_CPU), 0);
}

static void device_error_that_stays(void)
{
	child_run(for_good, NULL, NULL);
}

static void too_slow(const void *arg)
{
	int ret = -EBUSY;

	set_up();
	check_eq(ce(pinned, 65536, BL_COPY_FROM), -ETIMEDOUT);
	check_has(bl_last_error(NULL), "within 30 ms");
	check_eq(ce(pinned, 65536, BL_COPY_FROM), -EBUSY);
	check_eq(bl_copy(pin, 0, ordinary, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	/* once the GPU has answered the channel is used again; this copy is too slow as well */
	for (int i = 0; i < 200 && ret == -EBUSY; i++) {
		usleep(20000);
		ret = ce(pinned, 65536, BL_COPY_FROM);
	}
	check_eq(ret, -ETIMEDOUT);
	usleep(1000000);
}

static void timeout(void)
{
	child_run(too_slow, NULL,
		  (const char *[]){ "BARLANE_EMU_ASYNC_US", "300000", "BARLANE_CE_TIMEOUT_MS", "30", NULL });
}

static void slow_but_in_time(const void *arg)
{
	set_up();
	must_work();
}

static void slow_transfers_are_waited_for(void)
{
	child_run(slow_but_in_time, NULL, (const char *[]){ "BARLANE_EMU_ASYNC_US", "3000", NULL });
}

static void context_goes(const void *arg)
{
	CUcontext own;

	set_up();
	for (int i = 0; i < 3; i++) {
		check_eq(world.cuda->cuCtxCreate(&own, 0, 0), CUDA_SUCCESS);
		use(world_alloc(SIZE), SIZE);
		check_eq(ce(ordinary, 100000, BL_COPY_TO), 0);
		check_eq(world.cuda->cuCtxDestroy(own), CUDA_SUCCESS);
		check_eq(ce(ordinary, 100000, BL_COPY_TO), -EINVAL);
		check_has(bl_last_error(NULL), "context destroyed");
		/* the pin keeps the memory, and the CPU reaches it */
		check_eq(bl_copy(pin, 0, ordinary, SIZE, BL_COPY_TO, BL_ENGINE_AUTO), 0);
		check_eq(bl_close(ctx), 0);
	}
}

static void destroyed_context(void)
{
	child_run(context_goes, NULL, NULL);
}

/* The GPU's primary context comes back at the same address, without the stream and memory that it had. */
static void primary_context_returns(const void *arg)
{
	CUcontext again;

	set_up();
	must_work();
	check_eq(bl_close(ctx), 0);
	check_eq(world.cuda->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
	check_eq(world.cuda->cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
	check(again == world.context);
	check_eq(world.cuda->cuCtxSetCurrent(again), CUDA_SUCCESS);
	set_up();
	must_work();
}

/* And under a pin whose memory and stream went with the first one. */
static void primary_context_returns_under_a_pin(const void *arg)
{
	static unsigned char host[65536];
	CUcontext again;
	void *addr;

	set_up();
	must_work();
	check_eq(world.cuda->cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
	/* it is current still, and nothing works in it */
	check_eq(ce(host, sizeof(host), BL_COPY_FROM), -EINVAL);
	check_eq(world.cuda->cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
	check(again == world.context);
	check_eq(world.cuda->cuCtxSetCurrent(again), CUDA_SUCCESS);
	check_eq(world.cuda->cuMemHostAlloc(&addr, SIZE, 0), CUDA_SUCCESS);
	check_eq(ce(addr, 65536, BL_COPY_FROM), -EINVAL);
	check_has(bl_last_error(NULL), "context destroyed");
}

static void returning_context(void)
{
	child_run(primary_context_returns, NULL, NULL);
	child_run(primary_context_returns_under_a_pin, NULL, NULL);
}

static void memory_goes(const void *arg)
{
	CUdeviceptr other;

	set_up();
	must_work();
	world_free(va);
	check_eq(ce(ordinary, 100000, BL_COPY_FROM), -EINVAL);
	check_has(bl_last_error(NULL), "freed");
	/* other memory at the same address is not taken for it */
	other = world_alloc(SIZE);
	check_eq(ce(ordinary, 100000, BL_COPY_FROM), -EINVAL);
	check_eq(bl_copy(pin, 0, ordinary, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	check(!memcmp(ordinary, pinned, SIZE));
	world_free(other);
}

static void freed_memory(void)
{
	child_run(memory_goes, NULL, NULL);
}

static void read_what_came_instead(size_t len)
{
	unsigned char *bytes = malloc(SIZE), *spare = malloc(SIZE);

	check(bytes && spare);
	/* reads may have it in the host memory, and say that it is not what was asked for */
	check_eq(ce(pinned, len, BL_COPY_FROM), -EINVAL);
	check_has(bl_last_error(NULL), "freed");
	/* whatever that was, nothing of it comes later */
	memset(pinned, 0x55, SIZE);
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	for (size_t i = 0; i < SIZE; i++)
		check_eq(pinned[i], 0x55);
	/* where a landing area is between them it does not come so far */
	memset(spare, 0x55, SIZE);
	check_eq(ce(spare, len, BL_COPY_FROM), -EINVAL);
	for (size_t i = 0; i < SIZE; i++)
		check_eq(spare[i], 0x55);
	/* writes do not touch it */
	check_eq(ce(pinned, len, BL_COPY_TO), -EINVAL);
	check_eq(world.cuda->cuMemcpyDtoH(bytes, va, SIZE), CUDA_SUCCESS);
	for (size_t i = 0; i < SIZE; i++)
		check_eq(bytes[i], 0xaa);
	check_eq(bl_copy(pin, 0, pinned, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	check(!memcmp(ordinary, pinned, SIZE));
	free(spare);
	free(bytes);
}

/* Reads into pinned memory, and short ones, are begun before CUDA is asked whether the memory is there. */
static void memory_under_a_read_goes(const void *arg)
{
	static const size_t lengths[] = { 4096, 32768, 65536, 100001, SIZE };
	CUdeviceptr other;

	set_up();
	must_work();
	world_free(va);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		check_eq(ce(pinned, lengths[i], BL_COPY_FROM), -EINVAL);
		check_has(bl_last_error(NULL), "freed");
		check_eq(ce(ordinary, lengths[i], BL_COPY_FROM), -EINVAL);
		check_has(bl_last_error(NULL), "freed");
	}
	other = world_alloc(SIZE);
	check(other == va);
	check_eq(world.cuda->cuMemsetD8(other, 0xaa, SIZE), CUDA_SUCCESS);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		read_what_came_instead(lengths[i]);
	world_free(other);
	/* the context is as good as before */
	check_eq(bl_close(ctx), 0);
	set_up();
	must_work();
}

static void freed_under_reads(void)
{
	child_run(memory_under_a_read_goes, NULL, NULL);
	child_run(memory_under_a_read_goes, NULL, (const char *[]){ "BARLANE_CE_REPORT", "token", NULL });
	child_run(memory_under_a_read_goes, NULL, (const char *[]){ "BARLANE_CE_REPORT", "stream", NULL });
}

static void leaves(const void *arg)
{
	CUcontext own;

	world_enter();
	ordinary = calloc(1, SIZE);
	/* the first allocation of a context begins a block */
	check_eq(world.cuda->cuCtxCreate(&own, 0, 0), CUDA_SUCCESS);
	use(world_alloc(5000), 5000);
	check_eq(bl_copy(pin, 0, ordinary, 5000, BL_COPY_TO, BL_ENGINE_CE), 0);
	check_eq(bl_copy(pin, 1, ordinary, 5000, BL_COPY_TO, BL_ENGINE_CE), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "leaves the allocation");
	check_eq(bl_copy(pin, 1, ordinary, 5000, BL_COPY_TO, BL_ENGINE_AUTO), 0);
	check_eq(bl_copy(pin, 1, ordinary, 5000, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
}

static void beyond_the_allocation(void)
{
	child_run(leaves, NULL, NULL);
}

static void calibration_fails(const void *arg)
{
	struct snapshot before;
	uint64_t ce_before;

	set_up();
	must_work();
	snapshot_take(&before);
	ce_before = copies_by_ce();
	check_eq(world.fault(arg), 0);
	check_eq(bl_copy(pin, 0, pinned, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), 0);
	check_eq(world.fault(""), 0);
	check(!memcmp(ordinary, pinned, SIZE));
	check_eq(copies_by_ce(), ce_before);
	snapshot_check(&before);
	must_work();
}

static void failed_calibration(void)
{
	child_run(calibration_fails, "cuda.alloc:*", NULL);
	child_run(calibration_fails, "cuda.host:*", NULL);
	child_run(calibration_fails, "rm.dup:1", NULL);
	child_run(calibration_fails, "rm.map:1", NULL);
	child_run(calibration_fails, "cuda.memcpy:1", NULL);
}

/* The flush reads the mapping: it is noticed as a fault of a mapping that nobody may read. */
static void touched(int sig, siginfo_t *info, void *context)
{
	char *at = info->si_addr;

	_exit(at >= map && at < map + SIZE ? 0 : 1);
}

/* Does not return where the copy reads the mapping. */
static void copy_behind_closed_doors(enum bl_copy_dir dir)
{
	check_eq(mprotect(map, SIZE, PROT_NONE), 0);
	check_eq(ce(pinned, 65536, dir), 0);
	check_eq(mprotect(map, SIZE, PROT_READ | PROT_WRITE), 0);
}

static void without_writes(const void *arg)
{
	set_up();
	check_eq(bl_copy_to(pin, map, ordinary, SIZE), 0);
	check_eq(ce(pinned, 65536, BL_COPY_FROM), 0);
	check_eq(bl_copy_from(pin, ordinary, map, SIZE), 0);
	copy_behind_closed_doors(BL_COPY_FROM);
	copy_behind_closed_doors(BL_COPY_TO);
}

/* @arg: how the CPU writes after a first copy by ce; NULL: before one */
static void with_writes(const void *arg)
{
	struct sigaction action = { .sa_sigaction = touched, .sa_flags = SA_SIGINFO };

	set_up();
	if (arg)
		check_eq(ce(pinned, 65536, BL_COPY_FROM), 0);
	if (arg && !strcmp(arg, "native"))
		check_eq(bl_copy(pin, 8, ordinary, 8, BL_COPY_TO, BL_ENGINE_CPU), 0);
	else
		check_eq(bl_copy_to(pin, map, ordinary, 8), 0);
	sigaction(SIGSEGV, &action, NULL);
	copy_behind_closed_doors(BL_COPY_FROM);
	check(!"the mapping was not read");
}

static void flush_follows_writes(void)
{
	child_run(without_writes, NULL, NULL);
	child_run(with_writes, NULL, NULL);
	child_run(with_writes, "native", NULL);
	child_run(with_writes, "plain", NULL);
}

static const struct tap_test tests[] = {
	{ "a transfer that fails is EIO, and the next copy works", transfers },
	{ "without pinned memory ce is ENOMEM and auto uses the CPU", no_pinned_memory },
	{ "without the longer ring long reads take the other one", no_longer_ring },
	{ "without a stream ce is ENOMEM and auto uses the CPU", no_stream },
	{ "without the counter the stream is polled", no_counter },
	{ "an error while waiting is EIO, and the next copy works", failure_while_waiting },
	{ "a device error that stays is EIO each time", device_error_that_stays },
	{ "a GPU that does not answer is ETIMEDOUT, then EBUSY", timeout },
	{ "slow transfers are waited for", slow_transfers_are_waited_for },
	{ "memory of a destroyed context is EINVAL for ce", destroyed_context },
	{ "a primary context that returns gets a new channel", returning_context },
	{ "freed memory is EINVAL for ce, and the CPU reaches it", freed_memory },
	{ "so it is where CUDA is asked behind the transfer", freed_under_reads },
	{ "beyond the allocation ce is EOPNOTSUPP and auto uses the CPU", beyond_the_allocation },
	{ "a calibration that fails leaves the CPU", failed_calibration },
	{ "the mapping is read back after writes, and only then", flush_follows_writes },
};

TAP_MAIN(tests)
