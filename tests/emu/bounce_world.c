// SPDX-License-Identifier: MIT
#include "bounce_world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/tap.h"

struct tested tested;
CUstream stream;
atomic_int gate;

const char *const supposing[NR_SUPPOSING][5] = {
	{ "BARLANE_FILE_STREAM_KERNEL", "0", NULL },
	{ "BARLANE_FILE_STREAM_KERNEL", "0", "BARLANE_EMU_CHANNELS", "1", NULL },
};

void enter(size_t file_size, int flags, unsigned int fixed)
{
	world_enter();
	check_eq(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	tested_make(&tested, "disk", O_RDWR | flags);
	tested_fill(&tested, file_size, 5);
	check_eq(world.cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	/* the kernel is loaded for a stream that leaves something open; then all of the context use it */
	check_eq(cuFileStreamRegister(stream, 0).err, CU_FILE_SUCCESS);
	check_eq(cuFileStreamDeregister(stream).err, CU_FILE_SUCCESS);
	check_eq(cuFileStreamRegister(stream, fixed).err, CU_FILE_SUCCESS);
}

void leave(void)
{
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamDestroy(stream), CUDA_SUCCESS);
	check_eq(cuFileStreamDeregister(stream).err, CU_FILE_SUCCESS);
	tested_drop(&tested);
	check_eq(cuFileDriverClose().err, CU_FILE_SUCCESS);
	world_check_rules();
}

CUfileError_t submit(const struct memory *memory, struct transfer *transfer, int write)
{
	transfer->bytes = NOT_ENDED;
	if (write)
		return cuFileWriteAsync(tested.handle, memory->base, &transfer->size, &transfer->pos, &transfer->off,
					&transfer->bytes, stream);
	return cuFileReadAsync(tested.handle, memory->base, &transfer->size, &transfer->pos, &transfer->off,
			       &transfer->bytes, stream);
}

void run(const struct memory *memory, struct transfer *transfer, int write)
{
	check_eq(submit(memory, transfer, write).err, CU_FILE_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
}

unsigned char *host_bytes(size_t size)
{
	unsigned char *bytes = malloc(size);

	check(bytes);
	return bytes;
}

static void wait_for_gate(void *arg)
{
	while (!atomic_load(&gate))
		usleep(100);
}

void close_gate(void)
{
	atomic_store(&gate, 0);
	check_eq(world.cuda->cuLaunchHostFunc(stream, wait_for_gate, NULL), CUDA_SUCCESS);
}

void open_gate(void)
{
	atomic_store(&gate, 1);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
}
