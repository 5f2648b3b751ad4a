// SPDX-License-Identifier: MIT
#include "stream_world.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/tap.h"

struct stream_world stage;

void stream_world_enter(int bypass)
{
	void *host;

	if (bypass)
		check_eq(cuFileSetParameterBool(CUFILE_PARAM_STREAM_MEMOPS_BYPASS, true).err, CU_FILE_SUCCESS);
	world_enter();
	check_eq(cuFileDriverOpen().err, CU_FILE_SUCCESS);
	tested_make(&stage.tested, "disk", O_RDWR);
	tested_fill(&stage.tested, FILE_SIZE, 1);
	memory_make(&stage.memory, REGISTERED, FILE_SIZE);
	check_eq(world.cuda->cuMemHostAlloc(&host, 2 * LEN, 0), CUDA_SUCCESS);
	stage.pinned = host;
}

void stream_world_leave(void)
{
	check_eq(world.fault(""), 0);
	check_eq(world.cuda->cuCtxSynchronize(), CUDA_SUCCESS);
	memory_drop(&stage.memory);
	tested_drop(&stage.tested);
	check_eq(world.cuda->cuMemFreeHost(stage.pinned), CUDA_SUCCESS);
	check_eq(cuFileDriverClose().err, CU_FILE_SUCCESS);
	/* above all: no host function has called CUDA */
	world_check_rules();
}

CUstream stream_new(unsigned int flags)
{
	CUstream stream;

	check_eq(world.cuda->cuStreamCreate(&stream, flags), CUDA_SUCCESS);
	return stream;
}

void stream_end(CUstream stream)
{
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamDestroy(stream), CUDA_SUCCESS);
}

CUfileError_t stream_async(struct op *op, CUfileOpcode_t opcode, CUstream stream)
{
	op->bytes = NOT_ENDED;
	if (opcode == CUFILE_READ)
		return cuFileReadAsync(stage.tested.handle, stage.memory.base, &op->size, &op->pos, &op->off, &op->bytes, stream);
	return cuFileWriteAsync(stage.tested.handle, stage.memory.base, &op->size, &op->pos, &op->off, &op->bytes, stream);
}

static CUdeviceptr device_at(size_t off)
{
	return (uintptr_t)stage.memory.base + off;
}

void stream_round_trip(CUstream stream, unsigned char value)
{
	struct op write = { LEN, 0, 0, 0 }, read = { LEN, 0, LEN, 0 };

	memset(stage.pinned, value, LEN);
	memset(stage.pinned + LEN, 0, LEN);
	check_eq(world.cuda->cuMemcpyHtoDAsync(device_at(0), stage.pinned, LEN, stream), CUDA_SUCCESS);
	check_eq(stream_async(&write, CUFILE_WRITE, stream).err, CU_FILE_SUCCESS);
	check_eq(stream_async(&read, CUFILE_READ, stream).err, CU_FILE_SUCCESS);
	check_eq(world.cuda->cuMemcpyDtoHAsync(stage.pinned + LEN, device_at(LEN), LEN, stream), CUDA_SUCCESS);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	check_eq(write.bytes, LEN);
	check_eq(read.bytes, LEN);
	for (size_t i = 0; i < LEN; i++)
		check_eq(stage.pinned[LEN + i], value);
}

static void wait_for_gate(void *arg)
{
	while (!atomic_load(&stage.gate))
		usleep(100);
}

CUstream stream_closed(void)
{
	CUstream stream = stream_new(CU_STREAM_NON_BLOCKING);

	atomic_store(&stage.gate, 0);
	check_eq(world.cuda->cuLaunchHostFunc(stream, wait_for_gate, NULL), CUDA_SUCCESS);
	return stream;
}

void stream_open(CUstream stream)
{
	atomic_store(&stage.gate, 1);
	check_eq(world.cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
}

void stream_set_flag(void *arg)
{
	atomic_store((atomic_int *)arg, 1);
}
