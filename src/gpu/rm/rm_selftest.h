/* SPDX-License-Identifier: MIT */
/*
 * rm_selftest.h - proof by contents that an address leads to its memory, once per GPU and way
 *
 * Allocations of our own are written by the GPU and read through a mapping, then the other way round, at several places.
 * Reading comes first: nothing is written through a mapping that has not shown the right contents. A way that fails is
 * not used on that GPU for the rest of the process, and the reason is kept. A shortage of memory or descriptors proves
 * nothing and is tried again.
 *
 * The test allocations (up to 4 MiB) are kept until their context is destroyed: cuMemFree would wait for every kernel
 * that is running, and an application may have one that waits for us.
 */
#ifndef BL_GPU_RM_SELFTEST_H
#define BL_GPU_RM_SELFTEST_H

#include "rm_target.h"

/**
 * rm_selftest_plain() - Whether cuMemAlloc memory can be found, and the layout of the blob that names it
 * @conn:     client
 * @gpu:      GPU
 * @cuda:     driver library; a context of the GPU is current and the capture mode relaxed
 * @layout_p: receives the layout
 *
 * Return: 0; -EOPNOTSUPP when it cannot be trusted; -ENOMEM, -EMFILE; with the reason.
 */
int rm_selftest_plain(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda,
		      struct rm_blob_layout *layout_p);

/* Whether exportable VMM memory can be found; as above. */
int rm_selftest_vmm(const struct rm_conn *conn, struct rm_gpu *gpu, const struct bl_cuda *cuda);

/* Forget all results, in a child that starts anew. */
void rm_selftest_forget(void);

#endif
