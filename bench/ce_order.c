// SPDX-License-Identifier: MIT
/*
 * ce_order: whether the bytes of a read are there when a word is that a second transfer of the same stream brought, on
 * which engine ce relies where calibration found nothing against it; and what such a word takes behind a write
 *
 *	ce_order [GPU [SECONDS]]
 *
 * Every read brings other bytes to the same place. They are compared as soon as the word is there, each time from
 * another line on, so that every line has its turn at being looked at first. It is done with the driver alone and by
 * bl_copy(), on an idle GPU and beside transfers of another stream in both directions. SECONDS, by default 10, are
 * shared by the lines.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "barlane.h"
#include "common/device.h"
#include "common/error.h"
#include "common/stats.h"

#define KIB	    1024UL
#define MIB	    (1024 * KIB)
#define LINE	    64UL
#define SIZE	    (1 * MIB)
#define WRITE_SIZE  (16 * MIB)
#define MAX_SECONDS 10U
#define PATIENCE_NS 2000000000ULL
#define NR_MARKS    4096U
#define NO_WORD	    0xffffffffU
#define NR_LINES    12U /* of the result */
#define ROUNDS	    40

enum end { END_SYNC, END_WORD, END_COPY, NR_ENDS };

static const char *const end_names[NR_ENDS] = { "async+sync", "async+word", "async+copy" };

static const struct bl_cuda *cu;
static struct tool_device device;
static bl_pin_t pin;
static CUstream stream, other;
static CUdeviceptr src, marks, target, noise;
static unsigned char *dst, *model, *host, *noise_host;
static uint32_t *word, seq;
static atomic_bool stop;

static void must(CUresult err, const char *what)
{
	if (err)
		tool_die("%s: %s", what, bl_cuda_strerror(err));
}

static void ours(int ret, const char *what)
{
	if (ret)
		tool_die("%s: %s", what, bl_last_error(NULL));
}

static void await(uint32_t value)
{
	uint64_t end = tool_now_ns() + PATIENCE_NS;

	for (unsigned int polls = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; polls++) {
		if (!(polls % 65536) && tool_now_ns() > end)
			tool_die("the word does not come");
	}
}

static void finish(enum end end)
{
	seq++;
	if (end == END_SYNC) {
		must(cu->cuStreamSynchronize(stream), "cuStreamSynchronize");
	} else if (end == END_WORD) {
		must(cu->cuStreamWriteValue32(stream, (uintptr_t)word, seq % NR_MARKS, 0), "cuStreamWriteValue32");
		await(seq % NR_MARKS);
	} else {
		must(cu->cuMemcpyDtoHAsync(word, marks + seq % NR_MARKS * sizeof(*word), sizeof(*word), stream),
		     "cuMemcpyDtoHAsync");
		await(seq % NR_MARKS);
	}
}

/* Two areas of GPU memory differ in every byte. */
static void read_one(bool by_library, unsigned int which, size_t len)
{
	if (by_library) {
		ours(bl_copy(pin, which * SIZE, dst, len, BL_COPY_FROM, BL_ENGINE_CE), "bl_copy");
		return;
	}
	__atomic_store_n(word, NO_WORD, __ATOMIC_RELAXED);
	must(cu->cuMemcpyDtoHAsync(dst, src + which * SIZE, len, stream), "cuMemcpyDtoHAsync");
	finish(END_COPY);
}

static bool is_there(const unsigned char *want, size_t from, size_t len)
{
	return !memcmp(dst + from, want + from, LINE) && !memcmp(dst, want, len);
}

static int try_reads(bool by_library, bool beside, size_t len, uint64_t ns)
{
	uint64_t end = tool_now_ns() + ns;
	unsigned long nr = 0, wrong = 0;

	for (; tool_now_ns() < end; nr++) {
		unsigned int which = nr & 1;

		read_one(by_library, which, len);
		wrong += !is_there(model + which * SIZE, nr * 37 % (len / LINE) * LINE, len);
	}
	printf("%s - reads of %zu bytes by %s%s, of which the bytes came late: %lu of %lu\n", wrong ? "not ok" : "ok", len,
	       by_library ? "bl_copy()" : "the driver", beside ? " beside other transfers" : "", wrong, nr);
	fflush(stdout);
	return wrong != 0;
}

static void *disturb(void *arg)
{
	(void)arg;
	must(cu->cuCtxSetCurrent(device.ctx), "cuCtxSetCurrent");
	while (!atomic_load(&stop)) {
		must(cu->cuMemcpyDtoHAsync(noise_host, noise, 300 * KIB, other), "cuMemcpyDtoHAsync");
		must(cu->cuMemcpyHtoDAsync(noise + SIZE, noise_host + SIZE, 500 * KIB, other), "cuMemcpyHtoDAsync");
		must(cu->cuStreamSynchronize(other), "cuStreamSynchronize");
	}
	return NULL;
}

static int try_all(bool beside, uint64_t ns)
{
	static const size_t sizes[] = { 64 * KIB, 1 * MIB, 256 * KIB };
	pthread_t thread;
	int bad = 0;

	if (beside && pthread_create(&thread, NULL, disturb, NULL))
		tool_die("no thread");
	for (unsigned int i = 0; i < 6; i++)
		bad += try_reads(i % 2, beside, sizes[i / 2], ns);
	if (beside) {
		atomic_store(&stop, true);
		pthread_join(thread, NULL);
	}
	return bad;
}

static double time_write(enum end end, size_t len)
{
	uint64_t start = tool_now_ns();

	*word = NO_WORD;
	must(cu->cuMemcpyHtoDAsync(target, host, len, stream), "cuMemcpyHtoDAsync");
	finish(end);
	return (double)(tool_now_ns() - start);
}

/* Ways take turns; the first call of a turn is not timed. */
static void show_writes(size_t len)
{
	static double ns[NR_ENDS][ROUNDS * 4];
	struct tool_stats stats;
	size_t nr = 0;

	for (int round = 0; round < ROUNDS; round++, nr += 4) {
		for (int turn = 0; turn < NR_ENDS; turn++) {
			enum end end = (enum end)((turn + round) % NR_ENDS);

			time_write(end, len);
			for (size_t i = 0; i < 4; i++)
				ns[end][nr + i] = time_write(end, len);
		}
	}
	printf("# write %8zu", len);
	for (enum end end = END_SYNC; end < NR_ENDS; end++) {
		tool_stats_fill(ns[end], nr, &stats);
		printf("  %s %.0f", end_names[end], stats.p50);
	}
	printf("  ns, p50\n");
}

static void *pinned(size_t size)
{
	void *addr;

	must(cu->cuMemHostAlloc(&addr, size, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
	memset(addr, 0, size);
	return addr;
}

static void set_up_memory(void)
{
	uint32_t numbers[NR_MARKS];

	dst = pinned(SIZE);
	host = pinned(WRITE_SIZE);
	noise_host = pinned(2 * SIZE);
	word = pinned(4096);
	model = malloc(2 * SIZE);
	if (!model)
		tool_die("out of memory");
	for (size_t i = 0; i < SIZE; i++) {
		model[i] = (unsigned char)(i * 13 + (i >> 8) + 1);
		model[SIZE + i] = (unsigned char)~model[i];
	}
	for (uint32_t i = 0; i < NR_MARKS; i++)
		numbers[i] = i;
	must(cu->cuMemAlloc(&src, 2 * SIZE) || cu->cuMemAlloc(&marks, sizeof(numbers)) ||
	     cu->cuMemAlloc(&target, WRITE_SIZE) || cu->cuMemAlloc(&noise, 2 * SIZE), "cuMemAlloc");
	must(cu->cuMemcpyHtoD(src, model, 2 * SIZE), "cuMemcpyHtoD");
	must(cu->cuMemcpyHtoD(marks, numbers, sizeof(numbers)), "cuMemcpyHtoD");
}

static void set_up(int ordinal)
{
	void *addr;
	bl_ctx_t ctx;

	if (tool_device_open(ordinal, &device))
		tool_die("%s", tool_why());
	cu = device.cu;
	if (!cu->cuStreamWriteValue32)
		tool_die("the driver is too old");
	set_up_memory();
	must(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cu->cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	ours(bl_open(NULL, &ctx), "bl_open");
	ours(bl_pin(ctx, src, 2 * SIZE, 0, 0, 0, &pin), "bl_pin");
	ours(bl_map(ctx, pin, 2 * SIZE, BL_MAP_NONE, &addr), "bl_map");
	/* the calibration, which lets the copy engine bring the number */
	ours(bl_copy(pin, 0, dst, SIZE, BL_COPY_FROM, BL_ENGINE_AUTO), "bl_copy");
	printf("# ce_order %s gpu %s%s\n", bl_version(), device.name, device.emulated ? " (emu)" : "");
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 2 ? (unsigned int)atoi(argv[2]) : MAX_SECONDS;
	uint64_t ns = seconds * 1000000000ULL / NR_LINES;
	int bad;

	setenv("BARLANE_CE_REPORT", "token", 0);
	alarm(seconds + 30);
	set_up(argc > 1 ? atoi(argv[1]) : 0);
	bad = try_all(false, ns);
	bad += try_all(true, ns);
	show_writes(64 * KIB);
	show_writes(1 * MIB);
	show_writes(16 * MIB);
	printf("# %d failed\n", bad);
	return tool_finish(bad != 0);
}
