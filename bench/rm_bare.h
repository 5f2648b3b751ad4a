/* SPDX-License-Identifier: MIT */
/*
 * rm_bare.h - the driver calls of one pin, map, unmap, unpin and nothing else
 *
 * What the library cannot do without, written plainly: no checks, no locks, no bookkeeping. The floor that the library
 * is compared with.
 */
#ifndef BENCH_RM_BARE_H
#define BENCH_RM_BARE_H

#include "gpu/cuda.h"
#include "gpu/rm/rm_client.h"

/**
 * struct rm_bare - where the calls go
 * @cuda: driver library
 * @conn: RM client
 * @gpu:  GPU
 * @va:   start of a cuMemAlloc allocation of that GPU that is an RM object of its own
 */
struct rm_bare {
	const struct bl_cuda *cuda;
	const struct rm_conn *conn;
	const struct rm_gpu *gpu;
	CUdeviceptr va;
};

/**
 * rm_bare_round() - One round over the first @len bytes
 * @bare: where
 * @len:  bytes, whole pages
 *
 * Return: 0, or the number of the call that failed.
 */
int rm_bare_round(const struct rm_bare *bare, size_t len);

#endif
