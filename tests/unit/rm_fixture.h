/* SPDX-License-Identifier: MIT */
/* rm_fixture.h - steps that tests of the resource manager's client share */
#ifndef TESTS_UNIT_RM_FIXTURE_H
#define TESTS_UNIT_RM_FIXTURE_H

#include "fake_cuda.h"
#include "fake_rm.h"
#include "gpu/rm/rm_selftest.h"
#include "gpu/rm/rm_target.h"
#include "gpu/rm/rm_view.h"
#include "tap.h"

#define NR_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A fresh driver and library, and nothing remembered of earlier ones. */
static inline void rm_world(unsigned int branch)
{
	bl_rm_forget();
	fake_rm_begin(branch);
	fake_cuda_begin();
}

/* What is kept on purpose until the process ends stays reachable, so that it is no leak of memory. */
static inline void rm_keep(void)
{
	static struct rm_gpu *kept[64];
	static size_t nr;

	check(nr < NR_OF(kept));
	check_eq(rm_client_gpu(fake_cuda_table(), 0, &kept[nr++]), 0);
}

/* Everything was given back. */
static inline void rm_world_end(void)
{
	fake_rm_end();
	fake_cuda_end();
}

static inline int rm_connect(const struct rm_conn **conn_p, struct rm_gpu **gpu_p)
{
	int ret = rm_client_get(conn_p);

	if (ret)
		return ret;
	ret = rm_client_gpu(fake_cuda_table(), 0, gpu_p);
	if (ret)
		rm_client_put();
	return ret;
}

/* From an address to an object of ours, with the measured layout. */
static inline int rm_find(const struct rm_conn *conn, struct rm_gpu *gpu, uint64_t va, struct rm_target *target)
{
	const struct bl_cuda *cuda = fake_cuda_table();
	struct bl_cuda_scope scope;
	struct bl_cuda_ptr ptr;
	int ret;

	ret = bl_cuda_ptr_query(cuda, va, &ptr);
	if (!ret)
		ret = bl_cuda_enter(cuda, &ptr, &scope);
	if (ret)
		return ret;
	if (ptr.legacy_ipc)
		ret = rm_target_plain(conn, gpu, cuda, &rm_blob_measured, &ptr, target);
	else
		ret = rm_target_vmm(conn, gpu, cuda, &ptr, target);
	bl_cuda_leave(cuda, &scope);
	return ret;
}

#endif
