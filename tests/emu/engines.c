// SPDX-License-Identifier: MIT
/* Copies by the CPU, by the GPU's copy engine and by whichever "auto" takes: the same bytes, in program order. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "world.h"

#define SIZE (8UL << 20)

static bl_ctx_t ctx;
static bl_pin_t pin;
static char *map;
static CUdeviceptr va;
static unsigned char *pinned, *ordinary, *seen;

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
	ordinary = malloc(SIZE);
	seen = malloc(SIZE);
	check(ordinary && seen);
}

static void tear_down(void)
{
	check_eq(world.fault(""), 0);
	check_eq(bl_close(ctx), 0);
	world_free(va);
	check_eq(world.cuda->cuMemFreeHost(pinned), CUDA_SUCCESS);
	free(ordinary);
	free(seen);
	world_check_rules();
}

static void fill(unsigned char *bytes, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)(i * 7 + (i >> 9) + seed * 31);
}

static void must_copy(uint64_t off, void *host, size_t len, enum bl_copy_dir dir, enum bl_engine engine)
{
	if (bl_copy(pin, off, host, len, dir, engine))
		tap_end(TAP_FAILED, "copy off 0x%llx len 0x%zx dir %d engine %d: %s", (unsigned long long)off, len, dir,
			engine, bl_last_error(NULL));
}

static void there_and_back(unsigned char *host, uint64_t off, size_t len, enum bl_engine engine)
{
	fill(host, len, (unsigned int)(len + off));
	must_copy(off, host, len, BL_COPY_TO, engine);
	check_eq(world.cuda->cuMemcpyDtoH(seen, va + off, len), CUDA_SUCCESS);
	check(!memcmp(host, seen, len));
	fill(seen, len, (unsigned int)(len + 1));
	check_eq(world.cuda->cuMemcpyHtoD(va + off, seen, len), CUDA_SUCCESS);
	host[len] = 0x5a; /* sizes end before the buffer does */
	must_copy(off, host, len, BL_COPY_FROM, engine);
	check(!memcmp(host, seen, len));
	check_eq(host[len], 0x5a);
}

static void every_engine_copies_every_size(void)
{
	static const size_t sizes[] = { 1, 8, 63, 4096, 16385, 65536, 131073, 524289, 1048576, 4194305, SIZE - 77 };

	set_up();
	for (int engine = BL_ENGINE_AUTO; engine <= BL_ENGINE_CE; engine++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			there_and_back(pinned, 13, sizes[i], (enum bl_engine)engine);
			there_and_back(ordinary, 64, sizes[i], (enum bl_engine)engine);
		}
	}
	tear_down();
}

static void counters_show_which_engine_copied(void)
{
	struct bl_engine_stats before, after;

	set_up();
	check_eq(bl_engine_stats(BL_ENGINE_CE, &before), 0);
	must_copy(0, ordinary, 1000, BL_COPY_FROM, BL_ENGINE_CE);
	must_copy(0, pinned, 3000, BL_COPY_FROM, BL_ENGINE_CE);
	must_copy(0, pinned, 500, BL_COPY_TO, BL_ENGINE_CPU);
	check_eq(bl_engine_stats(BL_ENGINE_CE, &after), 0);
	check_eq(after.calls[BL_COPY_FROM] - before.calls[BL_COPY_FROM], 2);
	check_eq(after.bytes[BL_COPY_FROM] - before.bytes[BL_COPY_FROM], 4000);
	check_eq(after.calls[BL_COPY_TO], before.calls[BL_COPY_TO]);
	check_eq(bl_engine_stats(BL_ENGINE_AUTO, &after), -EINVAL);
	check_eq(bl_engine_stats(BL_ENGINE_CPU, NULL), -EINVAL);
	tear_down();
}

static void small_copies_of_auto_call_no_cuda(void)
{
	struct bl_emu_counts before, after;

	set_up();
	world.counts(&before);
	for (size_t len = 1; len < 1024; len++) {
		must_copy(len, ordinary, len, BL_COPY_TO, BL_ENGINE_AUTO);
		must_copy(len, ordinary, len, BL_COPY_FROM, BL_ENGINE_AUTO);
	}
	check_eq(bl_copy_to(pin, map, ordinary, SIZE), 0);
	world.counts(&after);
	check_eq(after.cuda_calls, before.cuda_calls);
	tear_down();
}

static void auto_measures_once_and_leaves_no_mapping(void)
{
	struct snapshot before;

	set_up();
	snapshot_take(&before);
	must_copy(0, pinned, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO);
	snapshot_check(&before);
	must_copy(0, pinned, SIZE, BL_COPY_TO, BL_ENGINE_AUTO);
	snapshot_check(&before);
	tear_down();
}

static void wrong_arguments_are_einval(void)
{
	set_up();
	check_eq(bl_copy(pin, 0, pinned, 1, (enum bl_copy_dir)2, BL_ENGINE_CPU), -EINVAL);
	check_has(bl_last_error(NULL), "no direction 2");
	check_eq(bl_copy(pin, 0, pinned, 1, BL_COPY_TO, (enum bl_engine)4), -EINVAL);
	check_has(bl_last_error(NULL), "no engine 4");
	for (int engine = BL_ENGINE_AUTO; engine <= BL_ENGINE_CE; engine++) {
		check_eq(bl_copy(pin, SIZE, pinned, 1, BL_COPY_TO, (enum bl_engine)engine), -EINVAL);
		check_eq(bl_copy(pin, 1, pinned, SIZE, BL_COPY_TO, (enum bl_engine)engine), -EINVAL);
		check_eq(bl_copy(pin, UINT64_MAX, pinned, 2, BL_COPY_TO, (enum bl_engine)engine), -EINVAL);
		check_eq(bl_copy(pin, 0, NULL, 2, BL_COPY_FROM, (enum bl_engine)engine), -EINVAL);
		check_eq(bl_copy(pin, SIZE, NULL, 0, BL_COPY_TO, (enum bl_engine)engine), 0);
		check_eq(bl_copy(0, 0, pinned, 1, BL_COPY_TO, (enum bl_engine)engine), -EINVAL);
	}
	check_eq(bl_unmap(ctx, pin, map, SIZE), 0);
	check_eq(bl_copy(pin, 0, pinned, 65536, BL_COPY_TO, BL_ENGINE_CE), -EINVAL);
	check_eq(bl_unpin(ctx, pin), 0);
	check_eq(bl_copy(pin, 0, pinned, 65536, BL_COPY_TO, BL_ENGINE_CE), -EINVAL);
	check_eq(bl_copy(pin, 0, pinned, 65536, BL_COPY_FROM, BL_ENGINE_AUTO), -EINVAL);
	tear_down();
}

/* Copies of all engines on overlapping ranges, against a model. */
static void engines_keep_program_order(void)
{
	unsigned int seed = 1;
	unsigned char *model;

	set_up();
	model = calloc(1, SIZE);
	check(model);
	check_eq(world.cuda->cuMemcpyHtoD(va, model, SIZE), CUDA_SUCCESS);
	for (int i = 0; i < 600; i++) {
		unsigned char *host = rand_r(&seed) % 2 ? pinned : ordinary;
		size_t off = (size_t)rand_r(&seed) % 4096, len = (size_t)rand_r(&seed) % (i % 16 ? 9000 : 900000) + 1;
		enum bl_engine engine = (enum bl_engine)(rand_r(&seed) % 3);

		if (rand_r(&seed) % 2) {
			fill(host, len, (unsigned int)i);
			must_copy(off, host, len, BL_COPY_TO, engine);
			memcpy(model + off, host, len);
		} else {
			must_copy(off, host, len, BL_COPY_FROM, engine);
			check(!memcmp(model + off, host, len));
		}
		check_eq(bl_copy_to(pin, map + i, &i, sizeof(i)), 0);
		memcpy(model + i, &i, sizeof(i));
	}
	free(model);
	tear_down();
}

static void memory_of_no_context_is_copied(void)
{
	set_up();
	check_eq(bl_close(ctx), 0);
	world_free(va);
	use(world_vmm(SIZE, 1), SIZE);
	there_and_back(pinned, 0, 70000, BL_ENGINE_CE);
	there_and_back(ordinary, 5, 3000000, BL_ENGINE_CE);
	check_eq(bl_close(ctx), 0);
	va = world_alloc(4096);
	ctx = world_open("rm");
	tear_down();
}

static void needs_no_current_context(void)
{
	CUcontext current = NULL;

	set_up();
	check_eq(world.cuda->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	must_copy(0, pinned, 100000, BL_COPY_TO, BL_ENGINE_CE);
	check_eq(world.cuda->cuCtxGetCurrent(&current), CUDA_SUCCESS);
	check(!current);
	check_eq(world.cuda->cuCtxSetCurrent(world.context), CUDA_SUCCESS);
	tear_down();
}

/* What a thread found out of a pin it uses again, but not beyond the mapping. */
static void a_pin_is_mapped_elsewhere(void)
{
	char *before;
	void *addr;

	set_up();
	there_and_back(pinned, 0, 70000, BL_ENGINE_CE);
	there_and_back(pinned, 0, 70000, BL_ENGINE_CE);
	before = map;
	check_eq(bl_unmap(ctx, pin, map, SIZE), 0);
	check_eq(bl_copy(pin, 0, pinned, 70000, BL_COPY_FROM, BL_ENGINE_CE), -EINVAL);
	check_eq(bl_copy(pin, 0, pinned, 70000, BL_COPY_FROM, BL_ENGINE_AUTO), -EINVAL);
	check(mmap(before, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == before);
	check_eq(bl_map(ctx, pin, SIZE, BL_MAP_NONE, &addr), 0);
	map = addr;
	check(map != before);
	for (int i = 1; i < 4; i++) {
		/* the next copy reads the mapping first: this one */
		check_eq(bl_copy_to(pin, map, &i, sizeof(i)), 0);
		there_and_back(i % 2 ? pinned : ordinary, 64, 70000, BL_ENGINE_CE);
	}
	check_eq(munmap(before, SIZE), 0);
	check_eq(bl_unmap(ctx, pin, map, SIZE), 0);
	check_eq(bl_unpin(ctx, pin), 0);
	check_eq(bl_copy(pin, 0, pinned, 70000, BL_COPY_FROM, BL_ENGINE_CE), -EINVAL);
	tear_down();
}

static void pins_take_turns(void)
{
	bl_pin_t pins[2];
	CUdeviceptr places[2];
	void *addr;

	set_up();
	pins[0] = pin;
	places[0] = va;
	places[1] = world_alloc(SIZE);
	check_eq(bl_pin(ctx, places[1], SIZE, 0, 0, 0, &pins[1]), 0);
	check_eq(bl_map(ctx, pins[1], SIZE, BL_MAP_NONE, &addr), 0);
	for (unsigned int i = 0; i < 12; i++) {
		pin = pins[i / 2 % 2];
		va = places[i / 2 % 2];
		there_and_back(pinned, i * 64UL, 70000 + i, i % 3 ? BL_ENGINE_CE : BL_ENGINE_AUTO);
	}
	check_eq(bl_unmap(ctx, pins[1], addr, SIZE), 0);
	check_eq(bl_unpin(ctx, pins[1]), 0);
	world_free(places[1]);
	va = places[0];
	tear_down();
}

/* Not even by the thread that captures, in the strictest mode; also when the channel is made during the capture. */
static void captures_are_left_alone(void)
{
	CUgraph graph = NULL;
	CUstream stream;

	set_up();
	check_eq(world.cuda->cuStreamCreate(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
	must_copy(0, ordinary, 300000, BL_COPY_TO, BL_ENGINE_CE);
	must_copy(0, pinned, 300000, BL_COPY_FROM, BL_ENGINE_CE);
	must_copy(0, pinned, 300000, BL_COPY_FROM, BL_ENGINE_AUTO);
	check_eq(world.cuda->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
	check_eq(world.cuda->cuGraphDestroy(graph), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamDestroy(stream), CUDA_SUCCESS);
	check(!memcmp(ordinary, pinned, 300000));
	tear_down();
}

static void a_forked_child_gets_eacces(void)
{
	set_up();
	fflush(NULL);
	for (int engine = BL_ENGINE_AUTO; engine <= BL_ENGINE_CE; engine++) {
		pid_t child = fork();
		int status = -1;

		if (!child)
			_exit(bl_copy(pin, 0, ordinary, 65536, BL_COPY_FROM, (enum bl_engine)engine) != -EACCES);
		check(child > 0);
		check_eq(waitpid(child, &status, 0), child);
		check_eq(status, 0);
	}
	tear_down();
}

static const struct tap_test tests[] = {
	{ "every engine copies every size", every_engine_copies_every_size },
	{ "counters show which engine copied", counters_show_which_engine_copied },
	{ "small copies of auto call no CUDA", small_copies_of_auto_call_no_cuda },
	{ "auto measures once and leaves no mapping", auto_measures_once_and_leaves_no_mapping },
	{ "wrong arguments are EINVAL", wrong_arguments_are_einval },
	{ "engines keep program order", engines_keep_program_order },
	{ "memory of no context is copied", memory_of_no_context_is_copied },
	{ "ce needs no current context and leaves none", needs_no_current_context },
	{ "a pin is mapped elsewhere, and copied from there", a_pin_is_mapped_elsewhere },
	{ "two pins take turns", pins_take_turns },
	{ "captures are left alone", captures_are_left_alone },
	{ "a forked child gets EACCES", a_forked_child_gets_eacces },
};

TAP_MAIN(tests)
