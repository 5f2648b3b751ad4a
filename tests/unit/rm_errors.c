// SPDX-License-Identifier: MIT
/* Provider "rm" when calls fail: nothing is left behind, and nothing is freed that a mapping may still reach. */
#include <errno.h>

#include "barlane.h"
#include "rm_fixture.h"

enum kind { PLAIN, VMM };

/* Connect, find, map and take it all down; the first error, after which everything that was made is gone. */
static int whole_way(enum kind kind, uint64_t va)
{
	const struct rm_conn *conn;
	struct rm_target target;
	struct rm_gpu *gpu;
	struct rm_view view;
	int ret;

	ret = rm_connect(&conn, &gpu);
	if (ret)
		return ret;
	ret = rm_find(conn, gpu, va, &target);
	if (ret)
		goto put;
	ret = rm_view_open(conn, gpu, target.memory, 0, 0x10000, &view);
	if (ret)
		goto free_target;
	/* only making is made to fail here */
	fake_sys_fail_at(-1, 0);
	fake_rm.fail_at = -1;
	check_eq(rm_view_close(conn, gpu, &view), 0);
free_target:
	check_eq(rm_target_free(conn, gpu, &target), 0);
put:
	rm_client_put();
	return ret;
}

static uint64_t memory_of(enum kind kind)
{
	return fake_cuda_alloc(kind == PLAIN ? FAKE_PLAIN : FAKE_VMM, 2 << 20);
}

/* With errno values that calls have: each leaves through the same doors. */
static void any_system_call_that_fails_leaves_nothing(void)
{
	static const int errs[] = {EIO, ENOMEM, EMFILE, EPERM, ENOTTY};
	static const unsigned int branches[] = {515, 535, 545, 580};

	for (size_t b = 0; b < NR_OF(branches); b++) {
		for (size_t e = 0; e < NR_OF(errs); e++) {
			for (int kind = PLAIN; kind <= VMM; kind++) {
				int nr = 0, failed = 0, ret;

				do {
					rm_world(branches[b]);
					fake_sys_fail_at(nr++, errs[e]);
					ret = whole_way((enum kind)kind, memory_of((enum kind)kind));
					failed += ret != 0;
					rm_world_end();
				} while (fake_sys_failed());
				check_eq(ret, 0);
				/* all but those that are a choice: the version's file */
				check_eq(failed, nr - 2);
				check(failed >= 13);
			}
		}
	}
}

static void any_escape_that_is_refused_leaves_nothing(void)
{
	static const uint32_t statuses[] = {0x1b, 0x40, 0x51, 0x57, 0xffff};
	static const unsigned int branches[] = {515, 535, 545, 580};

	for (size_t b = 0; b < NR_OF(branches); b++) {
		for (size_t s = 0; s < NR_OF(statuses); s++) {
			for (int kind = PLAIN; kind <= VMM; kind++) {
				int nr = 0, ret;

				do {
					rm_world(branches[b]);
					fake_rm.fail_at = nr++;
					fake_rm.status = statuses[s];
					ret = whole_way((enum kind)kind, memory_of((enum kind)kind));
					rm_world_end();
					if (fake_rm.refused)
						check_eq(ret, -rm_status_errno(statuses[s]));
				} while (fake_rm.refused);
				check_eq(ret, 0);
				check(nr >= 9);
			}
		}
	}
}

static void any_call_of_cuda_that_fails_leaves_nothing(void)
{
	for (int kind = PLAIN; kind <= VMM; kind++) {
		int nr = 0, failed = 0, ret;

		do {
			rm_world(580);
			fake_cuda_fail_at(nr++, CUDA_ERROR_UNKNOWN);
			ret = whole_way((enum kind)kind, memory_of((enum kind)kind));
			failed += ret != 0;
			rm_world_end();
		} while (fake_cuda_failed());
		check_eq(ret, 0);
		check(failed >= 5);
	}
}

struct opened {
	const struct rm_conn *conn;
	struct rm_gpu *gpu;
	struct rm_target target;
	struct rm_view view;
};

static struct opened all_open(void)
{
	struct opened o;

	rm_world(580);
	check_eq(rm_connect(&o.conn, &o.gpu), 0);
	check_eq(rm_find(o.conn, o.gpu, memory_of(PLAIN), &o.target), 0);
	check_eq(rm_view_open(o.conn, o.gpu, o.target.memory, 0, 0x10000, &o.view), 0);
	return o;
}

static void a_mapping_that_cannot_be_removed_keeps_everything(void)
{
	static const char *const calls[] = {"munmap len 0x10000 fails"};
	struct opened o = all_open();

	fake_sys_fail_next(FAKE_MUNMAP, ENOMEM);
	fake_trace_begin();
	check_eq(rm_view_close(o.conn, o.gpu, &o.view), -EBUSY);
	check_has(bl_last_error(NULL), "stays allocated until the process ends");
	/* the last user goes, and still nothing is freed */
	rm_client_put();
	fake_trace_expect(calls, 1);
	check_eq(fake_rm_maps(), 1);
	check_eq(fake_rm_objects(), 4);
	check_eq(fake_sys_vmas(), 1);
	check_str(fake_violations(), "");
	rm_keep();
}

static void a_mapping_that_cannot_be_marked_nor_removed_keeps_everything(void)
{
	struct opened o = all_open();

	check_eq(rm_view_close(o.conn, o.gpu, &o.view), 0);
	fake_sys_fail_next(FAKE_MADVISE, ENOMEM);
	fake_sys_fail_next(FAKE_MUNMAP, ENOMEM);
	check_eq(rm_view_open(o.conn, o.gpu, o.target.memory, 0, 0x10000, &o.view), -EBUSY);
	rm_client_put();
	check_eq(fake_rm_maps(), 1);
	check_eq(fake_rm_objects(), 4);
	check_str(fake_violations(), "");
	rm_keep();
}

static void a_mapping_that_cannot_be_marked_is_removed(void)
{
	static const char *const calls[] = {
		"open /dev/nvidia3",
		"nvidia3 c9/4: c",
		"nvidiactl 4e/56: c1d00077 caf00001 caf00003 0*3 10000 0*3 ffff 0 d 0",
		"mmap nvidia3 len 0x10000 off 0x0",
		"madvise len 0x10000 advice 10 fails",
		"munmap len 0x10000",
		"nvidiactl 4f/32: c1d00077 caf00001 caf00003 0*2 38 ffff 0",
		"close nvidia3",
	};
	struct opened o = all_open();

	check_eq(rm_view_close(o.conn, o.gpu, &o.view), 0);
	fake_sys_fail_next(FAKE_MADVISE, EAGAIN);
	fake_trace_begin();
	check_eq(rm_view_open(o.conn, o.gpu, o.target.memory, 0, 0x10000, &o.view), -EAGAIN);
	fake_trace_expect(calls, NR_OF(calls));
	check_eq(rm_target_free(o.conn, o.gpu, &o.target), 0);
	rm_client_put();
	rm_world_end();
}

static void an_unmap_that_is_refused_is_told(void)
{
	struct opened o = all_open();

	fake_rm.fail_at = 0;
	check_eq(rm_view_close(o.conn, o.gpu, &o.view), -EIO);
	check_has(bl_last_error(NULL), "unmap object");
	check_eq(fake_sys_vmas(), 0);
	rm_client_put();
}

static void exhaustion_tells_how_much_is_free(void)
{
	static const uint32_t statuses[] = {0x51, 0x1a};
	struct opened o;

	for (size_t i = 0; i < NR_OF(statuses); i++) {
		o = all_open();
		check_eq(rm_view_close(o.conn, o.gpu, &o.view), 0);
		fake_rm.fail_at = 0;
		fake_rm.status = statuses[i];
		check_eq(rm_view_open(o.conn, o.gpu, o.target.memory, 0, 0x40000, &o.view), -ENOMEM);
		check_has(bl_last_error(NULL), "need 256 KiB, free 1024 of 262144 KiB");
		check_has(bl_last_error(NULL), rm_status_name(statuses[i]));
		check_eq(rm_target_free(o.conn, o.gpu, &o.target), 0);
		rm_client_put();
		rm_world_end();
	}
}

static void addresses_outside_bar1_are_refused(void)
{
	static const int64_t shifts[] = {-0x10000, FAKE_VRAM_SIZE, FAKE_VRAM_SIZE - 0x8000, -(int64_t)FAKE_RM_BAR1,
					 INT64_MAX};
	struct opened o;

	for (size_t i = 0; i < NR_OF(shifts); i++) {
		o = all_open();
		check_eq(rm_view_close(o.conn, o.gpu, &o.view), 0);
		fake_rm.phys_shift = shifts[i];
		check_eq(rm_view_open(o.conn, o.gpu, o.target.memory, 0, 0x10000, &o.view), -EPROTO);
		check_has(bl_last_error(NULL), "outside BAR1");
		check_eq(rm_target_free(o.conn, o.gpu, &o.target), 0);
		rm_client_put();
		rm_world_end();
	}
}

static void the_type_follows_the_caching_that_rm_reports(void)
{
	static const struct {
		uint32_t caching;
		enum bl_map_type type;
	} cases[] = {{0, BL_MAP_CACHED}, {1, BL_MAP_WC}, {2, BL_MAP_WC}, {6, BL_MAP_WC}, {7, BL_MAP_WC}};
	struct opened o;

	for (size_t i = 0; i < NR_OF(cases); i++) {
		o = all_open();
		check_eq(rm_view_close(o.conn, o.gpu, &o.view), 0);
		fake_rm.caching = cases[i].caching;
		/* a coherent link's addresses are not in BAR1 */
		fake_rm.phys_shift = cases[i].caching ? 0 : 0x7000000000;
		check_eq(rm_view_open(o.conn, o.gpu, o.target.memory, 0, 0x10000, &o.view), 0);
		check_eq(o.view.type, cases[i].type);
		check_eq(rm_view_close(o.conn, o.gpu, &o.view), 0);
		check_eq(rm_target_free(o.conn, o.gpu, &o.target), 0);
		rm_client_put();
		rm_world_end();
	}
}

/* What is said of an object and does not add up, one thing at a time. */
static void objects_that_do_not_add_up_are_refused(void)
{
	static const struct {
		enum kind kind;
		int what;
		int err;
		const char *text;
	} cases[] = {
		{PLAIN, 0, EOPNOTSUPP, "not video memory"},	{VMM, 0, EOPNOTSUPP, "not video memory"},
		{PLAIN, 1, EPROTO, "RM says"},			{VMM, 1, EPROTO, "are mapped from an object of"},
		{PLAIN, 2, EPROTO, "RM says"},			{VMM, 3, EOPNOTSUPP, "consists of 2 RM objects"},
		{VMM, 4, EPROTO, "exported from RM device 6"},	{VMM, 5, EOPNOTSUPP, "RM object of type 2"},
		{VMM, 6, EOPNOTSUPP, "consists of 0 RM objects"},
	};
	const struct rm_conn *conn;
	struct rm_target target;
	struct rm_gpu *gpu;

	for (size_t i = 0; i < NR_OF(cases); i++) {
		uint64_t va;

		rm_world(580);
		va = memory_of(cases[i].kind);
		fake_rm.space = cases[i].what == 0 ? 1 : 2;
		fake_rm.size_delta = cases[i].what == 1 ? -1 : cases[i].what == 2 ? 512 : 0;
		fake_rm.export_nr = cases[i].what == 3 ? 2 : cases[i].what == 6 ? 0 : 1;
		fake_rm.export_instance += cases[i].what == 4;
		fake_rm.import_type = cases[i].what == 5 ? 2 : 1;
		check_eq(rm_connect(&conn, &gpu), 0);
		check_eq(rm_find(conn, gpu, va, &target), -cases[i].err);
		check_has(bl_last_error(NULL), cases[i].text);
		rm_client_put();
		rm_world_end();
	}
}

static void a_gpu_that_cannot_be_identified_is_refused(void)
{
	const struct rm_conn *conn;
	struct rm_gpu *gpu;

	rm_world(580);
	fake_rm.listed = false;
	check_eq(rm_connect(&conn, &gpu), -ENODEV);
	check_has(bl_last_error(NULL), "0000:C1:00.0: the kernel driver lists no such GPU");
	rm_world_end();
	rm_world(580);
	fake_sys_device(FAKE_RM_NODE, NULL);
	check_eq(rm_connect(&conn, &gpu), -ENODEV);
	check_has(bl_last_error(NULL), "open /dev/nvidia3: ");
	check_has(bl_last_error(NULL), "not in this container");
	rm_world_end();
	rm_world(580);
	fake_rm.uuid[15]++;
	check_eq(rm_connect(&conn, &gpu), -ENODEV);
	check_has(bl_last_error(NULL), "different GPUs");
	rm_world_end();
	/* without CUDA's identifier there is nothing to compare */
	rm_world(580);
	fake_rm.uuid[15]++;
	fake_cuda.no_uuid = true;
	check_eq(rm_connect(&conn, &gpu), 0);
	rm_client_put();
	rm_world_end();
	rm_world(580);
	check_eq(rm_client_get(&conn), 0);
	check_eq(rm_client_gpu(fake_cuda_table(), 1, &gpu), -ENODEV);
	rm_client_put();
	rm_world_end();
}

static const struct tap_test tests[] = {
	{"any system call that fails leaves nothing", any_system_call_that_fails_leaves_nothing},
	{"any escape that is refused leaves nothing", any_escape_that_is_refused_leaves_nothing},
	{"any call of CUDA that fails leaves nothing", any_call_of_cuda_that_fails_leaves_nothing},
	{"a mapping that cannot be removed keeps everything", a_mapping_that_cannot_be_removed_keeps_everything},
	{"a mapping that can neither be marked nor removed keeps everything",
	 a_mapping_that_cannot_be_marked_nor_removed_keeps_everything},
	{"a mapping that cannot be marked is removed", a_mapping_that_cannot_be_marked_is_removed},
	{"an unmap that is refused is told", an_unmap_that_is_refused_is_told},
	{"exhaustion tells how much is free", exhaustion_tells_how_much_is_free},
	{"addresses outside BAR1 are refused", addresses_outside_bar1_are_refused},
	{"the type follows the caching that RM reports", the_type_follows_the_caching_that_rm_reports},
	{"objects that do not add up are refused", objects_that_do_not_add_up_are_refused},
	{"a GPU that cannot be identified is refused", a_gpu_that_cannot_be_identified_is_refused},
};

TAP_MAIN(tests)
