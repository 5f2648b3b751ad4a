// SPDX-License-Identifier: MIT
#include <errno.h>

#include "barlane.h"
#include "rm_fixture.h"

static const struct rm_conn *conn;
static struct rm_gpu *gpu;

/* The calls are made as the provider makes them: in the context of the memory. */
static struct bl_cuda_scope scope;

static void begin(void)
{
	struct bl_cuda_ptr ptr = {.context = (CUcontext)0x2000};

	rm_world(580);
	check_eq(rm_connect(&conn, &gpu), 0);
	check_eq(bl_cuda_enter(fake_cuda_table(), &ptr, &scope), 0);
}

static void end(void)
{
	bl_cuda_leave(fake_cuda_table(), &scope);
	rm_client_put();
	rm_world_end();
}

static int plain(struct rm_blob_layout *layout)
{
	return rm_selftest_plain(conn, gpu, fake_cuda_table(), layout);
}

static int vmm(void)
{
	return rm_selftest_vmm(conn, gpu, fake_cuda_table());
}

static bool same_places(const struct rm_blob_layout *a, const struct rm_blob_layout *b)
{
	return a->size == b->size && a->pages == b->pages && a->offset == b->offset && a->client == b->client &&
	       a->memory == b->memory;
}

static void the_measured_layout_is_learned_once(void)
{
	struct rm_blob_layout layout;

	begin();
	check_eq(plain(&layout), 0);
	check(same_places(&layout, &rm_blob_measured) && layout.owner);
	check_eq(fake_cuda.nr_allocs, 3);
	memset(&layout, 0, sizeof(layout));
	fake_trace_begin();
	check_eq(plain(&layout), 0);
	fake_trace_expect((const char *const[]){""}, 0);
	check(same_places(&layout, &rm_blob_measured) && layout.owner);
	check_eq(fake_cuda.nr_allocs, 3);
	end();
}

static void memory_of_another_client_is_refused(void)
{
	struct rm_blob_layout layout;
	struct rm_target target;
	struct bl_cuda_ptr ptr;
	CUdeviceptr va;

	begin();
	check_eq(plain(&layout), 0);
	check_eq(fake_cuda_table()->cuMemAlloc(&va, 2 << 20), 0);
	check_eq(bl_cuda_ptr_query(fake_cuda_table(), va, &ptr), 0);
	check_eq(rm_target_plain(conn, gpu, fake_cuda_table(), &layout, &ptr, &target), 0);
	check_eq(rm_target_free(conn, gpu, &target), 0);
	layout.owner++;
	check_eq(rm_target_plain(conn, gpu, fake_cuda_table(), &layout, &ptr, &target), -EPROTO);
	check_has(bl_last_error(NULL), "names client");
	end();
}

static void another_layout_is_learned(void)
{
	static const struct rm_blob_layout layouts[] = {
		{.size = 0, .pages = 8, .offset = 12, .client = 16, .memory = 20},
		{.size = 56, .pages = 52, .offset = 48, .client = 4, .memory = 0},
		{.size = 20, .pages = 60, .offset = 0, .client = 36, .memory = 44},
		/* the measured places, exchanged */
		{.size = 16, .pages = 28, .offset = 24, .client = 52, .memory = 48},
	};
	struct rm_blob_layout layout;

	for (size_t i = 0; i < NR_OF(layouts); i++) {
		begin();
		fake_cuda.layout = layouts[i];
		check_eq(plain(&layout), 0);
		check(same_places(&layout, &layouts[i]) && layout.owner);
		end();
	}
}

static void a_blob_that_names_other_memory_is_not_trusted(void)
{
	struct rm_blob_layout layout = {.size = 99};
	int allocs;

	begin();
	fake_cuda.scramble = true;
	check_eq(plain(&layout), -EOPNOTSUPP);
	check_eq(layout.size, 99);
	check_has(bl_last_error(NULL), "the self-test failed");
	check_has(bl_last_error(NULL), "cuMemAlloc memory cannot be pinned");
	/* for good, without another try, and with the reason every time */
	fake_cuda.scramble = false;
	allocs = fake_cuda.nr_allocs;
	check_eq(plain(&layout), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "the self-test failed");
	check_eq(fake_cuda.nr_allocs, allocs);
	/* the other way is another matter */
	check_eq(vmm(), 0);
	end();
}

static void bytes_that_do_not_arrive_are_noticed(void)
{
	struct rm_blob_layout layout;

	begin();
	fake_cuda.lost = true;
	check_eq(plain(&layout), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "what the GPU wrote is not what the mapping shows");
	check_eq(vmm(), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "VMM memory cannot be pinned");
	end();
}

static void nothing_is_written_before_the_right_bytes_were_read(void)
{
	struct rm_blob_layout layout;
	uint8_t *vram;

	begin();
	vram = fake_vram();
	fake_cuda.lost = true;
	memset(vram, 0x77, FAKE_VRAM_SIZE);
	check_eq(plain(&layout), -EOPNOTSUPP);
	check_eq(vmm(), -EOPNOTSUPP);
	for (size_t i = 0; i < FAKE_VRAM_SIZE; i++) {
		if (vram[i] != 0x77)
			tap_end(TAP_FAILED, "byte %zu was written through a mapping that had shown other contents", i);
	}
	memset(vram, 0, FAKE_VRAM_SIZE);
	end();
}

static void a_shortage_proves_nothing(void)
{
	struct rm_blob_layout layout;

	begin();
	fake_rm.fail_at = 0;
	fake_rm.status = 0x51;
	check_eq(plain(&layout), -ENOMEM);
	check_eq(plain(&layout), 0);
	fake_sys_fail_next(FAKE_OPEN, EMFILE);
	check_eq(vmm(), -EMFILE);
	check_eq(vmm(), 0);
	/* and takes no more test memory each time */
	check_eq(fake_cuda.nr_allocs, 4);
	end();
	begin();
	fake_cuda_fail_at(1, CUDA_ERROR_OUT_OF_MEMORY);
	check_eq(plain(&layout), -ENOMEM);
	check_eq(plain(&layout), 0);
	end();
}

static void test_memory_that_is_gone_is_made_anew(void)
{
	struct rm_blob_layout layout;

	begin();
	fake_rm.fail_at = 0;
	fake_rm.status = 0x51;
	check_eq(plain(&layout), -ENOMEM);
	check_eq(fake_cuda.nr_allocs, 3);
	/* its context was destroyed */
	fake_cuda_free(FAKE_VRAM_VA);
	check_eq(plain(&layout), 0);
	check_eq(fake_cuda.nr_allocs, 6);
	end();
}

static void test_memory_is_kept_and_everything_else_given_back(void)
{
	struct rm_blob_layout layout;

	begin();
	check_eq(plain(&layout), 0);
	check_eq(vmm(), 0);
	check_eq(fake_rm_objects(), 3);
	check_eq(fake_rm_maps(), 0);
	check_eq(fake_sys_vmas(), 0);
	check_eq(fake_cuda.nr_allocs, 4);
	end();
}

static void forgetting_tests_again(void)
{
	struct rm_blob_layout layout;

	begin();
	fake_cuda.lost = true;
	check_eq(plain(&layout), -EOPNOTSUPP);
	fake_cuda.lost = false;
	rm_selftest_forget();
	check_eq(plain(&layout), 0);
	end();
}

static const struct tap_test tests[] = {
	{"the measured layout is learned once", the_measured_layout_is_learned_once},
	{"memory of another client is refused", memory_of_another_client_is_refused},
	{"another layout is learned", another_layout_is_learned},
	{"a blob that names other memory is not trusted", a_blob_that_names_other_memory_is_not_trusted},
	{"bytes that do not arrive are noticed", bytes_that_do_not_arrive_are_noticed},
	{"nothing is written before the right bytes were read", nothing_is_written_before_the_right_bytes_were_read},
	{"a shortage proves nothing", a_shortage_proves_nothing},
	{"test memory that is gone is made anew", test_memory_that_is_gone_is_made_anew},
	{"test memory is kept and everything else given back", test_memory_is_kept_and_everything_else_given_back},
	{"forgetting tests again", forgetting_tests_again},
};

TAP_MAIN(tests)
