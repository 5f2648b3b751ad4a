// SPDX-License-Identifier: MIT
/* Sixteen threads with operations on streams of their own, on their per-thread streams, and on one that they share. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "file_world.h"
#include "tests/tap.h"

#define NR_THREADS 16
#define LEN	   20000UL
#define ROUNDS	   10

#define PER_THREAD ((CUstream)2)

static struct tested tested;
static struct memory memory;
static CUstream shared;

struct worker {
	pthread_t thread;
	unsigned int nr;
	CUstream stream; /* NULL: one of its own */
	const char *what;
};

static void set_up(void)
{
	world_enter();
	check_eq(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	tested_make(&tested, "disk", O_RDWR);
	tested_fill(&tested, NR_THREADS * LEN, 3);
	memory_make(&memory, REGISTERED, 2 * NR_THREADS * LEN);
	check_eq(world.cuda->cuStreamCreate(&shared, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
}

static void tear_down(void)
{
	check_eq(world.cuda->cuStreamDestroy(shared), CUDA_SUCCESS);
	memory_drop(&memory);
	tested_drop(&tested);
	check_eq(cuFileDriverClose().err, CU_FILE_SUCCESS);
	world_check_rules();
}

/* Read an area of the file, write it back from there, read it to another place, all before the first wait. */
static const char *trip(unsigned int nr, CUstream stream, unsigned char *host)
{
	off_t pos = (off_t)(nr * LEN), first = (off_t)(2 * nr * LEN), second = first + (off_t)LEN;
	ssize_t bytes[3] = { 0 };
	size_t size = LEN;

	if (cuFileReadAsync(tested.handle, memory.base, &size, &pos, &first, &bytes[0], stream).err ||
	    cuFileWriteAsync(tested.handle, memory.base, &size, &pos, &first, &bytes[1], stream).err ||
	    cuFileReadAsync(tested.handle, memory.base, &size, &pos, &second, &bytes[2], stream).err) {
		world.cuda->cuStreamSynchronize(stream);
		return "submit failed";
	}
	if (world.cuda->cuStreamSynchronize(stream))
		return "the stream failed";
	for (int i = 0; i < 3; i++) {
		if (bytes[i] != (ssize_t)LEN)
			return "an operation failed";
	}
	if (world.cuda->cuMemcpyDtoH(host, (uintptr_t)memory.base + (uint64_t)second, LEN))
		return "no copy";
	if (pattern_wrong(host, LEN, 3, nr * LEN))
		return "wrong bytes";
	return NULL;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	unsigned char *host = malloc(LEN);
	CUstream stream = worker->stream;

	if (!host || world.cuda->cuCtxSetCurrent(world.context))
		worker->what = "no context";
	for (int i = 0; i < ROUNDS && !worker->what; i++) {
		bool registered = false;

		if (!worker->stream && world.cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
			worker->what = "no stream";
		else if (!worker->stream && i % 2)
			registered = !cuFileStreamRegister(stream, 0).err;
		if (!worker->what)
			worker->what = trip(worker->nr, stream, host);
		if (registered && cuFileStreamDeregister(stream).err)
			worker->what = "not registered";
		if (!worker->stream)
			world.cuda->cuStreamDestroy(stream);
	}
	free(host);
	return NULL;
}

static void mix(const void *arg)
{
	struct worker workers[NR_THREADS];

	if (arg)
		check_eq(cuFileSetParameterBool(CUFILE_PARAM_STREAM_MEMOPS_BYPASS, true).err, CU_FILE_SUCCESS);
	set_up();
	for (unsigned int i = 0; i < NR_THREADS; i++)
		workers[i] = (struct worker){ .nr = i,
					      .stream = i % 3 == 0 ? NULL : (i % 3 == 1 ? shared : PER_THREAD) };
	for (unsigned int i = 0; i < NR_THREADS; i++)
		check_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	for (unsigned int i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned int i = 0; i < NR_THREADS; i++) {
		if (workers[i].what)
			tap_end(TAP_FAILED, "thread %u: %s", i, workers[i].what);
	}
	tear_down();
}

static void threads_and_streams(void)
{
	child_run(mix, NULL, NULL);
	child_run(mix, NULL, (const char *[]){ "BARLANE_FILE_PATH", "plain", NULL });
	child_run(mix, NULL, (const char *[]){ "BARLANE_FILE_PATH", "staged", "BARLANE_EMU_ASYNC_US", "50", NULL });
}

static void threads_without_words(void)
{
	child_run(mix, "bypass", NULL);
}

static const struct tap_test tests[] = {
	{ "sixteen_threads_have_operations_on_many_streams", threads_and_streams },
	{ "so_they_have_where_host_functions_wait", threads_without_words },
};

TAP_MAIN(tests)
