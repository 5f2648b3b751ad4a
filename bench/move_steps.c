// SPDX-License-Identifier: MIT
/*
 * What move_trial asks. The kernel alone first, from what cannot fail to what libcufile does; then what waits for what
 * while code is loaded. Host memory is registered as src/file/bounce.c does it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"
#include "common/stats.h"
#include "gpu/kernels/move.h"
#include "move_trial.h"

#define SLOT	 (1UL << 20)
#define NR_SLOTS 4U
#define HOST_LEN (NR_SLOTS * SLOT + 4096)
#define CHUNKS	 64U

static const struct bl_cuda *cu;
static struct move_share *share;
static CUcontext context;
static CUstream stream, other;
static CUfunction move;
static CUdeviceptr device, host_va;
static unsigned char *host;
static struct bl_move_job *jobs;	/* one in a line of 64 bytes for each slot */
static _Atomic(uint32_t) *word;		/* what streams wait for */

/* Note which call is under way, for whoever watches, and what it took. */
#define CALL(what, ...)                                                                                                \
	do {                                                                                                           \
		uint64_t start_ns = tool_now_ns();                                                                     \
		atomic_store(&share->at, #what);                                                                       \
		must(cu->what(__VA_ARGS__), #what);                                                                    \
		note(#what, start_ns);                                                                                 \
	} while (0)

static void must(CUresult err, const char *what)
{
	if (err)
		tool_die("%s: %s", what, bl_cuda_strerror(err));
}

static void note(const char *what, uint64_t start_ns)
{
	size_t len = strlen(share->times);

	/* those that are made in great numbers are not interesting one by one */
	if (len < sizeof(share->times) / 2)
		snprintf(share->times + len, sizeof(share->times) - len, " %s %.3f", what,
			 1e-6 * (double)(tool_now_ns() - start_ns));
}

static unsigned char byte(size_t i)
{
	return (unsigned char)(i * 131 + (i >> 8) + 1);
}

static void *open_word(void *arg)
{
	(void)arg;
	while (!atomic_load(&share->gate))
		usleep(100);
	atomic_store_explicit(word, 1, memory_order_release);
	return NULL;
}

static void set_up(const struct bl_cuda *cuda, struct move_share *shared)
{
	void *memory = mmap(NULL, HOST_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cu = cuda;
	share = shared;
	if (!cu->cuMemHostRegister || !cu->cuMemHostGetDevicePointer || !cu->cuStreamWaitValue32 ||
	    !cu->cuLaunchHostFunc)
		tool_die("the driver is too old");
	if (memory == MAP_FAILED || madvise(memory, HOST_LEN, MADV_DONTFORK))
		tool_die("out of memory");
	must(cu->cuCtxGetCurrent(&context), "cuCtxGetCurrent");
	must(cu->cuMemHostRegister(memory, HOST_LEN, CU_MEMHOSTREGISTER_DEVICEMAP), "cuMemHostRegister");
	must(cu->cuMemHostGetDevicePointer(&host_va, memory, 0), "cuMemHostGetDevicePointer");
	must(cu->cuMemAlloc(&device, NR_SLOTS * SLOT), "cuMemAlloc");
	must(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cu->cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	host = memory;
	jobs = (struct bl_move_job *)(host + NR_SLOTS * SLOT);
	word = (void *)(host + NR_SLOTS * SLOT + 2048);
}

static struct bl_move_job *job(unsigned int slot)
{
	return jobs + slot * 64 / sizeof(*jobs);
}

static void tell(unsigned int slot, uint64_t dst, uint64_t src, uint64_t len)
{
	__atomic_store_n(&job(slot)->dst, dst, __ATOMIC_RELAXED);
	__atomic_store_n(&job(slot)->src, src, __ATOMIC_RELAXED);
	__atomic_store_n(&job(slot)->len, len, __ATOMIC_RELAXED);
}

static void load(void)
{
	CUmodule module;

	CALL(cuModuleLoadData, &module, bl_move_ptx);
	CALL(cuModuleGetFunction, &move, module, "bl_move");
}

static void launch(unsigned int slot, CUstream where)
{
	uint64_t param = host_va + ((uintptr_t)job(slot) - (uintptr_t)host);
	void *params[] = { &param };

	CALL(cuLaunchKernel, move, BL_MOVE_BLOCKS, 1, 1, BL_MOVE_THREADS, 1, 1, 0, where, params, NULL);
}

static void wait_word(CUstream where, uint32_t value)
{
	CUdeviceptr at = host_va + ((uintptr_t)word - (uintptr_t)host);

	CALL(cuStreamWaitValue32, where, at, value, CU_STREAM_WAIT_VALUE_GEQ);
}

static void stop_at_gate(void *arg)
{
	(void)arg;
	while (!atomic_load(&share->gate))
		usleep(100);
}

/* From here on it may hang. */
static void begin(void)
{
	share->times[0] = '\0';
	atomic_store(&share->ready, 1);
}

/* Loaded and launched, so that nothing is left to be loaded. */
static void warm(void)
{
	load();
	tell(0, 0, 0, 0);
	launch(0, stream);
	CALL(cuStreamSynchronize, stream);
}

static void fill(void)
{
	for (size_t i = 0; i < SLOT; i++)
		host[i] = byte(i);
	must(cu->cuMemsetD8(device, 0, NR_SLOTS * SLOT), "cuMemsetD8");
	must(cu->cuCtxSynchronize(), "cuCtxSynchronize");
}

/* What is on the GPU from @device + @off on, which came from @host + @from. */
static int arrived(size_t off, size_t from, size_t len)
{
	unsigned char *got = malloc(SLOT);
	size_t bad = 0;

	if (!got)
		tool_die("out of memory");
	must(cu->cuMemcpyDtoH(got, device + off, len), "cuMemcpyDtoH");
	for (size_t i = 0; i < len; i++)
		bad += got[i] != byte(from + i);
	free(got);
	return !bad;
}

/* All lengths that differ, both ways, words written before the launch. */
static int told_before(const struct bl_cuda *cuda, struct move_share *shared)
{
	static const size_t lens[] = { 1, 15, 16, 1000, 65536, SLOT - 64 };
	int right = 1;

	set_up(cuda, shared);
	begin();
	load();
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]) && right; i++) {
		for (size_t shift = 0; shift < 18; shift += 17) {
			fill();
			tell(0, device + shift, host_va + 1, lens[i]);
			launch(0, stream);
			CALL(cuStreamSynchronize, stream);
			right = right && arrived(shift, 1, lens[i]);
			memset(host, 0, SLOT);
			tell(0, host_va + 3, device + shift, lens[i]);
			launch(0, stream);
			CALL(cuStreamSynchronize, stream);
			for (size_t at = 0; at < lens[i]; at++)
				right = right && host[3 + at] == byte(1 + at);
		}
	}
	return right;
}

static int told_by_cpu(const struct bl_cuda *cuda, struct move_share *shared)
{
	set_up(cuda, shared);
	warm();
	fill();
	begin();
	CALL(cuLaunchHostFunc, stream, stop_at_gate, NULL);
	launch(0, stream);
	tell(0, device, host_va, SLOT);
	atomic_store(&share->gate, 1);
	CALL(cuStreamSynchronize, stream);
	return arrived(0, 0, SLOT);
}

static void tell_and_count(void *arg)
{
	(void)arg;
	tell(0, device, host_va, SLOT);
	atomic_store_explicit(word, 1, memory_order_release);
}

static int told_by_other_stream(const struct bl_cuda *cuda, struct move_share *shared)
{
	set_up(cuda, shared);
	warm();
	fill();
	begin();
	wait_word(stream, 1);
	launch(0, stream);
	CALL(cuLaunchHostFunc, other, tell_and_count, NULL);
	CALL(cuStreamSynchronize, stream);
	return arrived(0, 0, SLOT);
}

static int told_behind_wait(const struct bl_cuda *cuda, struct move_share *shared)
{
	set_up(cuda, shared);
	warm();
	fill();
	begin();
	wait_word(stream, 1);
	launch(0, stream);
	usleep(50000);
	tell_and_count(NULL);
	CALL(cuStreamSynchronize, stream);
	return arrived(0, 0, SLOT);
}

/* As a read does: a bell, and for each chunk a wait, a copy, and a bell for who fills the slot again. */
static atomic_uint bells;

static void bell(void *arg)
{
	(void)arg;
	atomic_fetch_add(&bells, 1);
}

/* The crew: a slot's chunk is another part of what host[] was filled with. */
static void *serve(void *arg)
{
	(void)arg;
	for (unsigned int chunk = 0; chunk < CHUNKS; chunk++) {
		while (atomic_load(&bells) < (chunk < NR_SLOTS ? 1 : chunk - NR_SLOTS + 2))
			usleep(10);
		tell(chunk % NR_SLOTS, device + chunk * 1000, host_va + chunk * 1000, 1000);
		atomic_store_explicit(word, chunk + 1, memory_order_release);
	}
	return NULL;
}

static int chunks(const struct bl_cuda *cuda, struct move_share *shared)
{
	pthread_t thread;

	set_up(cuda, shared);
	warm();
	fill();
	if (pthread_create(&thread, NULL, serve, NULL))
		tool_die("no thread");
	begin();
	CALL(cuLaunchHostFunc, stream, bell, NULL);
	for (unsigned int chunk = 0; chunk < CHUNKS; chunk++) {
		wait_word(stream, chunk + 1);
		launch(chunk % NR_SLOTS, stream);
		CALL(cuLaunchHostFunc, stream, bell, NULL);
	}
	CALL(cuStreamSynchronize, stream);
	pthread_join(thread, NULL);
	return arrived(0, 0, CHUNKS * 1000);
}

/* In the stream that is stopped, and at the end everything goes on, whoever let it. */
static int use(CUstream where)
{
	tell(0, device, host_va, SLOT);
	launch(0, where);
	atomic_store(&share->gate, 1);
	CALL(cuCtxSynchronize);
	return arrived(0, 0, SLOT);
}

static void stop_in_function(void)
{
	CALL(cuLaunchHostFunc, stream, stop_at_gate, NULL);
	usleep(20000);
}

static void stop_at_word(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, open_word, NULL))
		tool_die("no thread");
	pthread_detach(thread);
	wait_word(stream, 1);
	usleep(20000);
}

static int load_beside(const struct bl_cuda *cuda, struct move_share *shared, void (*stop)(void))
{
	set_up(cuda, shared);
	fill();
	begin();
	stop();
	load();
	if (cu->cuFuncLoad)
		CALL(cuFuncLoad, move);
	return use(other);
}

static int load_beside_function(const struct bl_cuda *cuda, struct move_share *shared)
{
	return load_beside(cuda, shared, stop_in_function);
}

static int load_beside_word(const struct bl_cuda *cuda, struct move_share *shared)
{
	return load_beside(cuda, shared, stop_at_word);
}

static int launch_beside(const struct bl_cuda *cuda, struct move_share *shared, void (*stop)(void), int to_the_end)
{
	set_up(cuda, shared);
	fill();
	load();
	if (to_the_end && cu->cuFuncLoad)
		CALL(cuFuncLoad, move);
	begin();
	stop();
	return use(stop == stop_at_word ? stream : other);
}

static int launch_beside_function(const struct bl_cuda *cuda, struct move_share *shared)
{
	return launch_beside(cuda, shared, stop_in_function, 0);
}

static int launch_behind_word(const struct bl_cuda *cuda, struct move_share *shared)
{
	return launch_beside(cuda, shared, stop_at_word, 0);
}

static int launch_loaded(const struct bl_cuda *cuda, struct move_share *shared)
{
	return launch_beside(cuda, shared, stop_in_function, 1);
}

static void *load_apart(void *arg)
{
	CUmodule module;

	(void)arg;
	must(cu->cuCtxSetCurrent(context), "cuCtxSetCurrent");
	must(cu->cuModuleLoadData(&module, bl_move_ptx), "cuModuleLoadData of another thread");
	must(cu->cuModuleGetFunction(&move, module, "bl_move"), "cuModuleGetFunction of another thread");
	return NULL;
}

/* What others can do in the context meanwhile. */
static int others_beside_load(const struct bl_cuda *cuda, struct move_share *shared)
{
	pthread_t thread;

	set_up(cuda, shared);
	fill();
	begin();
	stop_in_function();
	if (pthread_create(&thread, NULL, load_apart, NULL))
		tool_die("no thread");
	usleep(500000);
	CALL(cuStreamQuery, other);
	CALL(cuLaunchHostFunc, other, bell, NULL);
	CALL(cuMemcpyHtoDAsync, device, host, SLOT, other);
	CALL(cuStreamSynchronize, other);
	atomic_store(&share->gate, 1);
	pthread_join(thread, NULL);
	return use(other);
}

const struct move_step move_steps[] = {
	{ "words told before the launch", 0, told_before },
	{ "told by the CPU while a host function holds the stream", 0, told_by_cpu },
	{ "told by a host function of another stream", 0, told_by_other_stream },
	{ "told by the CPU behind a wait for a word", 0, told_behind_wait },
	{ "64 chunks in 4 slots, as a read does", 0, chunks },
	{ "loading beside a host function", 1, load_beside_function },
	{ "loading beside a wait for a word", 1, load_beside_word },
	{ "first launch beside a host function", 1, launch_beside_function },
	{ "first launch behind a wait for a word", 1, launch_behind_word },
	{ "first launch after cuFuncLoad, beside a host function", 1, launch_loaded },
	{ "other calls while a thread loads beside a host function", 1, others_beside_load },
};

const unsigned int nr_move_steps = sizeof(move_steps) / sizeof(move_steps[0]);
