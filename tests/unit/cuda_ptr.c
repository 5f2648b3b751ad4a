// SPDX-License-Identifier: MIT
#include "gpu/cuda_ptr.h"

#include <errno.h>

#include "barlane.h"
#include "rm_fixture.h"

static void begin(void)
{
	rm_world(580);
}

static void plain_memory_is_described(void)
{
	struct bl_cuda_ptr ptr;
	uint64_t va;

	begin();
	va = fake_cuda_alloc(FAKE_PLAIN, 4096);
	check_eq(bl_cuda_ptr_query(fake_cuda_table(), va + 5, &ptr), 0);
	check_eq(ptr.va, va + 5);
	check_eq(ptr.ordinal, 0);
	check_eq(ptr.base, va);
	check_eq(ptr.size, 4096);
	check_eq(ptr.buffer_id, 100);
	check(ptr.context && ptr.legacy_ipc && !ptr.pool && !ptr.handle_types);
}

static void other_kinds_are_told_apart(void)
{
	struct bl_cuda_ptr ptr;

	begin();
	check_eq(bl_cuda_ptr_query(fake_cuda_table(), fake_cuda_alloc(FAKE_VMM, 4096), &ptr), 0);
	check(!ptr.context && !ptr.legacy_ipc && !ptr.pool && ptr.handle_types == 1);
	check_eq(bl_cuda_ptr_query(fake_cuda_table(), fake_cuda_alloc(FAKE_VMM_PRIVATE, 4096), &ptr), 0);
	check(!ptr.legacy_ipc && !ptr.handle_types);
	check_eq(bl_cuda_ptr_query(fake_cuda_table(), fake_cuda_alloc(FAKE_POOL, 4096), &ptr), 0);
	check(!ptr.legacy_ipc && ptr.pool);
	check_eq(bl_cuda_ptr_query(fake_cuda_table(), fake_cuda_alloc(FAKE_MANAGED, 4096), &ptr), -EOPNOTSUPP);
	check_eq(bl_cuda_ptr_query(fake_cuda_table(), fake_cuda_alloc(FAKE_HOST, 4096), &ptr), -EINVAL);
	check_eq(bl_cuda_ptr_query(fake_cuda_table(), 0x10, &ptr), -EINVAL);
}

static void errors_of_cuda_become_errno(void)
{
	static const struct {
		CUresult cuda;
		int err;
	} cases[] = {
		{CUDA_ERROR_NOT_INITIALIZED, ENODEV}, {CUDA_ERROR_DEINITIALIZED, ENODEV}, {CUDA_ERROR_NO_DEVICE, ENODEV},
		{CUDA_ERROR_INVALID_VALUE, EINVAL},   {CUDA_ERROR_OUT_OF_MEMORY, ENOMEM}, {CUDA_ERROR_NOT_SUPPORTED, EOPNOTSUPP},
		{CUDA_ERROR_NOT_PERMITTED, EOPNOTSUPP}, {CUDA_ERROR_UNKNOWN, EIO}, {CUDA_ERROR_ILLEGAL_ADDRESS, EIO},
		{CUDA_ERROR_CONTEXT_IS_DESTROYED, EINVAL}, {CUDA_ERROR_NOT_FOUND, ENOENT}, {12345, EIO},
	};
	struct bl_cuda_ptr ptr;

	for (size_t i = 0; i < NR_OF(cases); i++) {
		begin();
		check_eq(bl_cuda_errno(cases[i].cuda), cases[i].err);
		fake_cuda_fail_at(0, cases[i].cuda);
		check_eq(bl_cuda_ptr_query(fake_cuda_table(), FAKE_VRAM_VA, &ptr), -cases[i].err);
	}
}

/* Entering and leaving, with each call failing in turn; everything is as before in the end. */
static void the_thread_is_left_as_it_was(void)
{
	static const enum fake_kind kinds[] = {FAKE_PLAIN, FAKE_VMM};

	for (size_t k = 0; k < NR_OF(kinds); k++) {
		bool hit;
		int nr = 0;

		do {
			const struct bl_cuda *cuda = fake_cuda_table();
			struct bl_cuda_scope scope;
			struct bl_cuda_ptr ptr;
			int mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;

			begin();
			check_eq(bl_cuda_ptr_query(cuda, fake_cuda_alloc(kinds[k], 4096), &ptr), 0);
			cuda->cuThreadExchangeStreamCaptureMode(&mode);
			fake_cuda_fail_at(nr++, CUDA_ERROR_UNKNOWN);
			if (!bl_cuda_enter(cuda, &ptr, &scope)) {
				int inside = CU_STREAM_CAPTURE_MODE_RELAXED;

				cuda->cuThreadExchangeStreamCaptureMode(&inside);
				check_eq(inside, CU_STREAM_CAPTURE_MODE_RELAXED);
				bl_cuda_leave(cuda, &scope);
			}
			hit = fake_cuda_failed();
			fake_cuda_fail_at(-1, 0);
			mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
			cuda->cuThreadExchangeStreamCaptureMode(&mode);
			check_eq(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
			fake_cuda_end();
		} while (hit);
		check(nr > 2);
	}
}

static void a_context_that_is_current_is_not_pushed_again(void)
{
	const struct bl_cuda *cuda = fake_cuda_table();
	struct bl_cuda_scope outer, inner;
	struct bl_cuda_ptr ptr;

	begin();
	check_eq(bl_cuda_ptr_query(cuda, fake_cuda_alloc(FAKE_PLAIN, 4096), &ptr), 0);
	check_eq(bl_cuda_enter(cuda, &ptr, &outer), 0);
	check(outer.pushed);
	check_eq(bl_cuda_enter(cuda, &ptr, &inner), 0);
	check(!inner.pushed);
	check_eq(inner.retained, -1);
	bl_cuda_leave(cuda, &inner);
	bl_cuda_leave(cuda, &outer);
	fake_cuda_end();
}

static const struct tap_test tests[] = {
	{"plain memory is described", plain_memory_is_described},
	{"other kinds are told apart", other_kinds_are_told_apart},
	{"errors of CUDA become errno values", errors_of_cuda_become_errno},
	{"the thread is left as it was", the_thread_is_left_as_it_was},
	{"a context that is current is not pushed again", a_context_that_is_current_is_not_pushed_again},
};

TAP_MAIN(tests)
