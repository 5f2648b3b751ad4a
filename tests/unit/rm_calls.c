// SPDX-License-Identifier: MIT
/*
 * rm_calls.c - what provider "rm" says to the driver, word by word and in which order, for every layout
 *
 * A line is one call: node, number and size of the escape in hexadecimal and decimal, its words; behind "|" the words
 * of parameters that it points to. c, d and e stand for descriptors of the control node, the GPU's node and an export.
 */
#include <errno.h>

#include "barlane.h"
#include "rm_fixture.h"
#include "util/log.h"

/* The tail of an allocation: the word where the status was put beforehand. */
#define TAIL_515 " 0*2 ffff 0"
#define TAIL_535 " 0*3 ffff"

static const unsigned int branches[] = {515, 520, 525, 530, 535, 545, 550, 555, 560, 565, 570, 575, 580, 590, 595, 620};

static const char *tail(unsigned int branch)
{
	return branch < 535 ? TAIL_515 : TAIL_535;
}

static void opening_and_closing_speak_the_branchs_layout(void)
{
	const struct rm_conn *conn;
	struct rm_gpu *gpu;

	for (size_t i = 0; i < NR_OF(branches); i++) {
		char client[100], device[100], subdevice[100];
		const char *calls[] = {
			"open /dev/nvidiactl",
			"open /sys/module/nvidia/version",
			client,
			"nvidiactl c8/4608: 0*1152",
			"open /dev/nvidia3",
			"nvidia3 c9/4: c",
			"nvidiactl 2a/32: c1d00077 c1d00077 205 0*3 20 ffff | c100 0*7",
			device,
			subdevice,
			"nvidiactl 2a/32: c1d00077 caf00002 2080014a 0*3 10c ffff | 0 2 0*65",
			"nvidiactl 29/16: c1d00077 c1d00077 caf00001 ffff",
			"close nvidia3",
			"nvidiactl 29/16: c1d00077 c1d00077 c1d00077 ffff",
			"close nvidiactl",
		};

		snprintf(client, sizeof(client), "nvidiactl 2b/32: 0*3 41%s", tail(branches[i]));
		snprintf(device, sizeof(device), "nvidiactl 2b/32: c1d00077 c1d00077 0 80%s | 5 0*13", tail(branches[i]));
		snprintf(subdevice, sizeof(subdevice), "nvidiactl 2b/32: c1d00077 caf00001 0 2080%s | 0",
			 tail(branches[i]));
		rm_world(branches[i]);
		fake_trace_begin();
		check_eq(rm_connect(&conn, &gpu), 0);
		rm_client_put();
		fake_trace_expect(calls, NR_OF(calls));
		rm_world_end();
	}
}

static void plain_memory_is_duplicated_and_looked_at_once(void)
{
	static const char *const first[] = {
		"nvidiactl 34/28: c1d00077 caf00001 0 c1d00042 5c000010 0 ffff",
		"nvidiactl 2a/32: c1d00077 c1d00077 d01 0*3 c ffff | caf00003 0*2",
		"nvidiactl 2a/32: c1d00077 caf00003 410110 0*3 10 ffff | 1 0*3 | 7 0",
		"nvidiactl 29/16: c1d00077 caf00001 caf00003 ffff",
	};
	static const char *const again[] = {
		"nvidiactl 34/28: c1d00077 caf00001 0 c1d00042 5c000010 0 ffff",
		"nvidiactl 29/16: c1d00077 caf00001 caf00004 ffff",
	};
	const struct rm_conn *conn;
	struct rm_target target;
	struct rm_gpu *gpu;
	uint64_t va;

	for (size_t i = 0; i < NR_OF(branches); i++) {
		rm_world(branches[i]);
		fake_cuda_alloc(FAKE_PLAIN, 5000);
		va = fake_cuda_alloc(FAKE_PLAIN, 5000);
		check_eq(rm_connect(&conn, &gpu), 0);
		fake_trace_begin();
		check_eq(rm_find(conn, gpu, va + 100, &target), 0);
		check_eq(target.va, FAKE_VRAM_VA);
		check_eq(target.size, 2 << 20);
		check_eq(rm_target_free(conn, gpu, &target), 0);
		fake_trace_expect(first, NR_OF(first));
		fake_trace_begin();
		check_eq(rm_find(conn, gpu, va, &target), 0);
		check_eq(target.size, 2 << 20);
		check_eq(rm_target_free(conn, gpu, &target), 0);
		fake_trace_expect(again, NR_OF(again));
		rm_client_put();
		rm_world_end();
	}
}

static void vmm_memory_is_imported_from_a_descriptor(void)
{
	const struct rm_conn *conn;
	struct rm_target target;
	struct rm_gpu *gpu;
	uint64_t va;

	for (size_t i = 0; i < NR_OF(branches); i++) {
		const char *calls[] = {
			branches[i] < 545 ? "nvidiactl 2a/32: c1d00077 c1d00077 3d08 0*3 4c ffff | e 0*18" :
					    "nvidiactl 2a/32: c1d00077 c1d00077 3d08 0*3 50 ffff | e 0*19",
			"nvidiactl 2a/32: c1d00077 c1d00077 3d0c 0*3 28c ffff | e caf00001 0*160 1",
			"close export",
			"nvidiactl 2a/32: c1d00077 c1d00077 d01 0*3 c ffff | caf00003 0*2",
			"nvidiactl 2a/32: c1d00077 caf00003 410110 0*3 10 ffff | 1 0*3 | 7 0",
			"nvidiactl 29/16: c1d00077 caf00001 caf00003 ffff",
		};

		rm_world(branches[i]);
		va = fake_cuda_alloc(FAKE_VMM, 4 << 20);
		check_eq(rm_connect(&conn, &gpu), 0);
		fake_trace_begin();
		check_eq(rm_find(conn, gpu, va + 4096, &target), 0);
		check_eq(target.va, va);
		check_eq(target.size, 4 << 20);
		check_eq(rm_target_free(conn, gpu, &target), 0);
		fake_trace_expect(calls, NR_OF(calls));
		rm_client_put();
		rm_world_end();
	}
}

static void a_view_is_made_and_undone_in_the_safe_order(void)
{
	static const char *const made[] = {
		"open /dev/nvidia3",
		"nvidia3 c9/4: c",
		"nvidiactl 4e/56: c1d00077 caf00001 caf00003 0 30000 0 20000 0*3 ffff 0 d 0",
		"mmap nvidia3 len 0x20000 off 0x0",
		"madvise len 0x20000 advice 10",
		"close nvidia3",
	};
	/* page-table entries, RM's mapping, the object: never in another order */
	static const char *const undone[] = {
		"munmap len 0x20000",
		"nvidiactl 4f/32: c1d00077 caf00001 caf00003 0 30000 38 ffff 0",
		"nvidiactl 29/16: c1d00077 caf00001 caf00003 ffff",
	};
	const struct rm_conn *conn;
	struct rm_target target;
	struct rm_gpu *gpu;
	struct rm_view view;

	for (size_t i = 0; i < NR_OF(branches); i++) {
		rm_world(branches[i]);
		check_eq(rm_connect(&conn, &gpu), 0);
		check_eq(rm_find(conn, gpu, fake_cuda_alloc(FAKE_PLAIN, 2 << 20), &target), 0);
		fake_trace_begin();
		check_eq(rm_view_open(conn, gpu, target.memory, 0x30000, 0x20000, &view), 0);
		fake_trace_expect(made, NR_OF(made));
		check_eq(view.type, BL_MAP_WC);
		check_eq(view.phys, FAKE_RM_BAR1 + 0x30000);
		check_eq(view.len, 0x20000);
		memset(view.addr, 0x5c, 10);
		check_eq(fake_vram()[0x30009], 0x5c);
		fake_trace_begin();
		check_eq(rm_view_close(conn, gpu, &view), 0);
		check_eq(rm_target_free(conn, gpu, &target), 0);
		fake_trace_expect(undone, NR_OF(undone));
		rm_client_put();
		rm_world_end();
	}
}

static void offsets_and_lengths_beyond_32_bits_are_passed_whole(void)
{
	static const char *const calls[] = {
		"open /dev/nvidia3",
		"nvidia3 c9/4: c",
		"nvidiactl 4e/56: c1d00077 caf00001 caf00003 0 10000 3 20000 5 0*2 ffff 0 d 0",
		"close nvidia3",
	};
	const struct rm_conn *conn;
	struct rm_target target;
	struct rm_gpu *gpu;
	struct rm_view view;

	rm_world(580);
	check_eq(rm_connect(&conn, &gpu), 0);
	check_eq(rm_find(conn, gpu, fake_cuda_alloc(FAKE_PLAIN, 2 << 20), &target), 0);
	fake_trace_begin();
	/* the object is not that large */
	check_eq(rm_view_open(conn, gpu, target.memory, 0x300010000, 0x500020000, &view), -EINVAL);
	fake_trace_expect(calls, NR_OF(calls));
	check_eq(rm_target_free(conn, gpu, &target), 0);
	rm_client_put();
	rm_world_end();
}

static void a_second_user_shares_client_and_gpu(void)
{
	const struct rm_conn *conn, *other;
	struct rm_gpu *gpu, *same;

	rm_world(580);
	check_eq(rm_connect(&conn, &gpu), 0);
	fake_trace_begin();
	check_eq(rm_connect(&other, &same), 0);
	fake_trace_expect((const char *const[]){""}, 0);
	check(other == conn && same == gpu);
	rm_client_put();
	check_eq(fake_rm_objects(), 3);
	rm_client_put();
	rm_world_end();
	/* and a later one makes its own */
	check_eq(rm_connect(&conn, &gpu), 0);
	rm_client_put();
	rm_world_end();
}

static void interrupted_calls_are_made_again(void)
{
	const struct rm_conn *conn;
	struct rm_target target;
	struct rm_gpu *gpu;
	struct rm_view view;

	for (int times = 1; times <= 5; times++) {
		rm_world(580);
		fake_rm.interrupts = times;
		check_eq(rm_connect(&conn, &gpu), 0);
		check_eq(rm_find(conn, gpu, fake_cuda_alloc(FAKE_PLAIN, 2 << 20), &target), 0);
		check_eq(rm_view_open(conn, gpu, target.memory, 0, 0x10000, &view), 0);
		check_eq(rm_view_close(conn, gpu, &view), 0);
		check_eq(rm_target_free(conn, gpu, &target), 0);
		rm_client_put();
		rm_world_end();
	}
}

static void the_driver_is_asked_where_its_files_are_hidden(void)
{
	const struct rm_conn *conn;
	struct rm_gpu *gpu;
	char text[100];

	for (size_t i = 0; i < NR_OF(branches); i++) {
		rm_world(branches[i]);
		fake_sys_text("/sys/module/nvidia/version", NULL);
		check_eq(rm_connect(&conn, &gpu), 0);
		snprintf(text, sizeof(text), "%u.10.20", branches[i]);
		check_str(conn->driver, text);
		check(conn->layout == rm_layout_for(branches[i]));
		rm_client_put();
		rm_world_end();
	}
	rm_world(514);
	check_eq(rm_client_get(&conn), -EOPNOTSUPP);
	check_has(bl_last_error(NULL), "older than 515");
	rm_world_end();
}

static void a_branch_that_is_not_known_gets_the_newest_layout(void)
{
	const struct rm_conn *conn;
	struct rm_gpu *gpu;

	rm_world(999);
	check_eq(rm_connect(&conn, &gpu), 0);
	check(conn->layout == rm_layout_for(620));
	rm_client_put();
	rm_world_end();
	rm_world(620);
	fake_sys_text("/sys/module/nvidia/version", "development");
	check_eq(rm_connect(&conn, &gpu), 0);
	check(conn->layout == rm_layout_for(620));
	check_str(conn->driver, "development");
	rm_client_put();
	rm_world_end();
}

static void layouts_are_those_of_the_branches(void)
{
	static const struct {
		unsigned int branch, status, info, max;
		bool caching;
	} want[] = {
		{515, 0, 76, 8, false}, {520, 0, 76, 8, false}, {524, 0, 76, 8, false},	 {525, 0, 76, 8, true},
		{530, 0, 76, 8, true},	{534, 0, 76, 8, true},	{535, 1, 76, 8, true},	 {544, 1, 76, 8, true},
		{545, 1, 80, 12, true}, {580, 1, 80, 12, true}, {1000, 1, 80, 12, true}, {0, 1, 80, 12, true},
	};

	for (size_t i = 0; i < NR_OF(want); i++) {
		const struct rm_layout *layout = rm_layout_for(want[i].branch);

		check(layout);
		check_eq(layout->alloc_status, want[i].status);
		check_eq(layout->export_info_size, want[i].info);
		check_eq(layout->export_max, want[i].max);
		check_eq(layout->map_caching, want[i].caching);
	}
	check(!rm_layout_for(514));
	check(!rm_layout_for(1));
}

static void statuses_have_names_and_errors(void)
{
	static const struct {
		uint32_t status;
		int err;
		const char *name;
	} want[] = {
		{0x0f, ENODEV, "NV_ERR_GPU_IS_LOST"},	{0x1a, ENOMEM, "NV_ERR_INSUFFICIENT_RESOURCES"},
		{0x1b, EACCES, "NV_ERR_INSUFFICIENT_PERMISSIONS"}, {0x23, EACCES, "NV_ERR_INVALID_CLIENT"},
		{0x51, ENOMEM, "NV_ERR_NO_MEMORY"},	{0x56, EOPNOTSUPP, "NV_ERR_NOT_SUPPORTED"},
		{0x57, EINVAL, "NV_ERR_OBJECT_NOT_FOUND"}, {0x63, EBUSY, "NV_ERR_STATE_IN_USE"},
		{0xffff, EIO, "NV_ERR_GENERIC"},	{0x7777, EIO, "unknown status"},
	};
	const struct rm_conn *conn;
	struct rm_gpu *gpu;
	struct rm_target target;
	uint64_t va;

	check_str(rm_status_name(0), "NV_OK");
	for (size_t i = 0; i < NR_OF(want); i++) {
		check_str(rm_status_name(want[i].status), want[i].name);
		check_eq(rm_status_errno(want[i].status), want[i].err);
		/* and so does a call that is refused with it */
		rm_world(580);
		va = fake_cuda_alloc(FAKE_PLAIN, 4096);
		check_eq(rm_connect(&conn, &gpu), 0);
		fake_rm.status = want[i].status;
		fake_rm.fail_at = 0;
		check_eq(rm_find(conn, gpu, va, &target), -want[i].err);
		check_has(bl_last_error(NULL), want[i].name);
		check_has(bl_last_error(NULL), "duplicate object");
		check_has(bl_last_error(NULL), "driver 580.10.20");
		rm_client_put();
		rm_world_end();
	}
	/* every status that is no success has an error */
	for (uint32_t status = 1; status < 0x200; status++)
		check(rm_status_errno(status) > 0);
}

static const struct tap_test tests[] = {
	{"opening and closing speak the branch's layout", opening_and_closing_speak_the_branchs_layout},
	{"plain memory is duplicated, and looked at once", plain_memory_is_duplicated_and_looked_at_once},
	{"VMM memory is imported from a descriptor", vmm_memory_is_imported_from_a_descriptor},
	{"a view is made and undone in the safe order", a_view_is_made_and_undone_in_the_safe_order},
	{"offsets and lengths beyond 32 bits are passed whole", offsets_and_lengths_beyond_32_bits_are_passed_whole},
	{"a second user shares client and GPU", a_second_user_shares_client_and_gpu},
	{"interrupted calls are made again", interrupted_calls_are_made_again},
	{"the driver is asked where its files are hidden", the_driver_is_asked_where_its_files_are_hidden},
	{"a branch that is not known gets the newest layout", a_branch_that_is_not_known_gets_the_newest_layout},
	{"layouts are those of the branches", layouts_are_those_of_the_branches},
	{"statuses have names and errors", statuses_have_names_and_errors},
};

TAP_MAIN(tests)
