// SPDX-License-Identifier: MIT
/* Bytes of a process that lies, or is stopped while it writes. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "look.h"
#include "softnic/snic.h"
#include "tap.h"
#include "util/clock.h"

static struct bl_shown_nic *nic;
static size_t nic_len;

static ssize_t read_nic(const struct netstat_source *source, void *to, size_t len, uint64_t off)
{
	size_t left = off < nic_len ? nic_len - (size_t)off : 0;

	if (len > left)
		len = left;
	memcpy(to, (const char *)nic + off, len);
	return (ssize_t)len;
}

static const struct netstat_source source = {.read = read_nic};

/* One that is as it should be, with one object of each kind. */
static void begin(void)
{
	free(nic);
	nic = calloc(1, sizeof(*nic));
	check(nic);
	nic_len = sizeof(*nic);
	nic->head.magic = BL_SHOWN_MAGIC;
	nic->head.kind = BL_SHOWN_NIC;
	nic->head.version = BL_SHOWN_NIC_VERSION;
	nic->head.size = sizeof(*nic);
	strcpy(nic->port.name, "soft0");
	nic->port.first_qps = nic->port.first_cqs = nic->port.first_mrs = nic->port.first_srqs = 1;
	nic->qps[0].num = nic->cqs[0].num = nic->mrs[0].key = nic->srqs[0].num = 1;
}

static void expect(int wanted)
{
	struct netstat_nic loaded;
	int ret = netstat_nic_load(&source, true, &loaded);

	check_eq(ret, wanted);
	if (!ret)
		netstat_nic_free(&loaded);
}

static void versions_are_told_apart(void)
{
	begin();
	expect(0);
	nic->head.version++;
	expect(-EPROTO);
	begin();
	nic->head.size--;
	expect(-EPROTO);
	begin();
	nic->head.kind = BL_SHOWN_GPU;
	expect(-EPROTO);
	begin();
	nic->head.kind = 77;
	expect(-EPROTO);
	begin();
	nic->head.magic = 0;
	expect(-ENODATA);
	nic->head.magic = 5;
	expect(-EPROTO);
}

static void a_file_that_ends_early_is_refused(void)
{
	static const size_t ends[] = {0, 1, sizeof(struct bl_shown_head), offsetof(struct bl_shown_nic, port) + 1,
				      offsetof(struct bl_shown_nic, qps), offsetof(struct bl_shown_nic, qps) + 100,
				      offsetof(struct bl_shown_nic, cqs) + 3, offsetof(struct bl_shown_nic, mrs),
				      offsetof(struct bl_shown_nic, srqs)};

	begin();
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		nic_len = ends[i];
		expect(-EPROTO);
	}
	nic_len = sizeof(*nic);
	expect(0);
}

static void counts_are_kept_inside_their_tables(void)
{
	struct netstat_nic loaded;
	struct netstat_wqe wqe;
	uint32_t nr = 0;

	begin();
	memset(&nic->port, 0xff, sizeof(nic->port));
	nic->port.seq = 2;
	for (int i = 0; i < BL_SHOWN_QPS; i++) {
		memset(&nic->qps[i], 0xff, sizeof(nic->qps[i]));
		nic->qps[i].seq = 2;
		nic->qps[i].num = (uint32_t)i;
	}
	check_eq(netstat_nic_load(&source, true, &loaded), 0);
	check_eq(loaded.port.nr_counters, BL_SHOWN_COUNTERS);
	/* number 0 is none; the other tables have one entry each, whatever was said */
	check_eq(loaded.nr_qps, BL_SHOWN_QPS - 1);
	check_eq(loaded.nr_cqs, 1);
	check_eq(loaded.nr_mrs, 1);
	check_eq(loaded.nr_srqs, 1);
	check_eq(loaded.qps[0].nr_blocks, BL_SHOWN_BLOCKS);
	check_eq(strlen(loaded.port.name), sizeof(loaded.port.name) - 1);
	check_eq(strspn(loaded.port.name, "?"), strlen(loaded.port.name));
	check_str(netstat_state(loaded.qps[0].state), "unknown");
	for (uint32_t at = 0; (at = netstat_next_wqe(&loaded.qps[0], at, &wqe));)
		nr++;
	check_eq(nr, 1);
	netstat_nic_free(&loaded);
}

/* The writer was stopped in between, or never ends: what there is, marked as such, and soon. */
static void a_record_that_is_being_written_is_shown_and_marked(void)
{
	struct netstat_nic loaded;

	begin();
	nic->qps[0].seq = 3;
	nic->qps[0].sq_posted = 7;
	check_eq(netstat_nic_load(&source, true, &loaded), 0);
	check_eq(loaded.torn, 1);
	check_eq(loaded.nr_qps, 1);
	check_eq(loaded.qps[0].sq_posted, 7);
	netstat_nic_free(&loaded);
	nic->port.first_mrs = BL_SHOWN_MRS;
	for (int i = 0; i < BL_SHOWN_MRS; i++)
		nic->mrs[i] = (struct bl_shown_mr){.seq = 1, .key = (uint32_t)i + 1};
	check_eq(netstat_nic_load(&source, true, &loaded), 0);
	check_eq(loaded.torn, 1 + BL_SHOWN_MRS);
	netstat_nic_free(&loaded);
}

static void an_object_that_is_there_twice_is_shown_once(void)
{
	struct netstat_nic loaded;

	begin();
	nic->port.first_qps = 4;
	nic->qps[1].num = 5;
	nic->qps[2].num = 1;
	check_eq(netstat_nic_load(&source, true, &loaded), 0);
	check_eq(loaded.nr_qps, 2);
	check_eq(loaded.qps[1].num, 5);
	netstat_nic_free(&loaded);
}

static void a_request_that_goes_on_behind_what_is_shown_is_cut(void)
{
	struct bl_shown_qp qp = {.nr_blocks = 2, .block = 10};
	struct netstat_wqe wqe;

	/* 63 segments of which 4 are shown */
	qp.blocks[1][1] = 0;
	qp.blocks[1][2] = 11;
	qp.blocks[1][3] = BL_WQE_SEND;
	qp.blocks[1][7] = 63;
	check_eq(netstat_next_wqe(&qp, 0, &wqe), 2);
	check_eq(wqe.number, 11);
	check_eq(wqe.nr_shown, BL_SHOWN_BLOCK);
	check(!wqe.whole);
	check_eq(wqe.wqe.nr_segs, 63);
	/* none at all */
	qp.blocks[1][7] = 0;
	check_eq(netstat_next_wqe(&qp, 0, &wqe), 2);
	check(wqe.whole);
	check_str(wqe.why, "no segments");
}

/* Of a NIC that wrote that @age_ns ago. Return: the one hint that there is. */
static const char *hint_of_age(char state, uint32_t flags, uint64_t age_ns)
{
	struct netstat_process process = {.pid = 1, .state = state};
	struct netstat_nic late = {.port = {.flags = flags | BL_SHOWN_UP, .now_ns = bl_now_ns() - age_ns}};
	static char hints[2][NETSTAT_HINT];

	return netstat_nic_hints(&process, &late, hints, 2) == 1 ? hints[0] : "";
}

static void a_nic_that_does_not_run_is_named(void)
{
	check_str(hint_of_age('S', 0, 20000000), "");
	check_has(hint_of_age('S', 0, 5000000000), "the NIC's thread has not run for 5.");
	check_has(hint_of_age('R', BL_SHOWN_MANUAL, 5000000000), "the program has not called for progress for 5.");
	check_has(hint_of_age('t', 0, 5000000000), "the process is stopped by a debugger");
	/* a clock that is another namespace's says nothing */
	check_str(hint_of_age('S', 0, (uint64_t)-5000000000), "");
	check_has(hint_of_age('S', BL_SHOWN_FAULTS, 0), "faults are injected");
}

static void addresses_are_written_as_people_do(void)
{
	uint8_t gid[16] = {0};
	char text[48];

	check_str(netstat_gid(gid, text), "none");
	gid[15] = 1;
	check_str(netstat_gid(gid, text), "::1");
	gid[10] = gid[11] = 0xff;
	gid[12] = 10;
	check_str(netstat_gid(gid, text), "10.0.0.1");
}

static const struct tap_test tests[] = {
	{"versions_are_told_apart", versions_are_told_apart},
	{"a_file_that_ends_early_is_refused", a_file_that_ends_early_is_refused},
	{"counts_are_kept_inside_their_tables", counts_are_kept_inside_their_tables},
	{"a_record_that_is_being_written_is_shown_and_marked", a_record_that_is_being_written_is_shown_and_marked},
	{"an_object_that_is_there_twice_is_shown_once", an_object_that_is_there_twice_is_shown_once},
	{"a_nic_that_does_not_run_is_named", a_nic_that_does_not_run_is_named},
	{"addresses_are_written_as_people_do", addresses_are_written_as_people_do},
	{"a_request_that_goes_on_behind_what_is_shown_is_cut", a_request_that_goes_on_behind_what_is_shown_is_cut},
};

TAP_MAIN(tests)
