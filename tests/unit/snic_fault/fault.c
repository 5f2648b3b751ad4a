// SPDX-License-Identifier: MIT
/* Faults: what is told, what happens, and that it is counted. */
#include <sys/random.h>

#include "tap.h"
#include "util/clock.h"
#include "util/log.h"
#include "wire.h"

static void texts_are_understood(void)
{
	struct bl_snic_fault fault = {0};
	const char *bad;

	check_eq(bl_snic_fault_parse("seed=18446744073709551615,drop=1,reorder=22,duplicate=1000000,nak=0", &fault,
				     &bad),
		 0);
	check(fault.seed == UINT64_MAX);
	check_eq(fault.drop, 1);
	check_eq(fault.reorder, 22);
	check_eq(fault.duplicate, 1000000);
	check_eq(fault.nak, 0);
	check_eq(bl_snic_fault_parse("nak=5", &fault, &bad), 0);
	check_eq(fault.nak, 5);
	/* what is not named is zero, but for the time of a delay */
	check_eq(fault.drop, 0);
	check_eq(fault.delay_us, 1000);
	check_eq(bl_snic_fault_parse("corrupt=6,delay=7,delay_us=8", &fault, &bad), 0);
	check(fault.corrupt == 6 && fault.delay == 7 && fault.delay_us == 8);
	check_eq(fault.seed, 0);
}

static void errors_in_texts_are_pointed_at(void)
{
	static const struct {
		const char *text;
		size_t at;
	} bad[] = {
		{"", 0},
		{"drop", 0},
		{"drop=", 5},
		{"drop=1,", 7},
		{"drop=x", 5},
		{"drop=1x", 6},
		{"drop=-1", 5},
		{"drop=1000001", 5},
		{"seed=1,lose=3", 7},
		{"drop=1,drop=2", 7},
		{" drop=1", 0},
		{"drop=1 ,nak=1", 6},
		{"nak=1,,drop=1", 6},
		{"Drop=1", 0},
		{"drop =1", 0},
		{"drop=4294967297", 5},
		{"corrupt=1000001", 8},
		{"delay_us=1000001", 9},
		{"delay_ms=1", 0},
		{"seed=18446744073709551616", 5},
		{"seed=99999999999999999999", 5},
	};
	struct bl_snic_fault fault, before = {.drop = 77, .seed = 5};
	const char *place;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fault = before;
		place = NULL;
		printf("# %s\n", bad[i].text);
		check_eq(bl_snic_fault_parse(bad[i].text, &fault, &place), -EINVAL);
		check_eq(place - bad[i].text, bad[i].at);
		check_eq(fault.drop, 77);
		check_eq(fault.seed, 5);
	}
}

static void more_than_a_million_is_refused(void)
{
	struct bl_snic_fault fault = {.nak = 1000001};

	check_eq(bl_snic_fault_open(&wire_ops, &bed.wire, &fault, bed.counts, &bed.ops, &bed.link), -EINVAL);
	check_eq(bed.wire.closed, 0);
}

static void without_faults_all_arrive_in_order(void)
{
	bed_make(&(struct bl_snic_fault){.seed = 3}, 1000);
	poll_all(7);
	check_eq(bed.nr_seen, 1000);
	for (unsigned int i = 0; i < 1000; i++)
		check_eq(bed.seen[i].psn, i);
	for (int i = 0; i < 4; i++)
		check_eq(bed.counts[i], 0);
	bed_free();
}

static void what_is_dropped_does_not_arrive(void)
{
	bed_make(&(struct bl_snic_fault){.drop = 1000000}, 1000);
	poll_all(16);
	check_eq(bed.nr_seen, 0);
	check_eq(bed.counts[0], 1000);
	bed_free();
	bed_make(&(struct bl_snic_fault){.seed = 9, .drop = 100000}, 20000);
	poll_all(16);
	check_eq(bed.nr_seen + bed.counts[0], 20000);
	/* about a tenth; five standard deviations to either side */
	check(bed.counts[0] > 1788 && bed.counts[0] < 2212);
	bed_free();
}

static uint32_t order_seen(void)
{
	uint32_t hash = 0;

	for (unsigned int i = 0; i < bed.nr_seen; i++)
		hash = hash * 16777619U + bed.seen[i].psn;
	return hash;
}

static void the_same_seed_gives_the_same_faults(void)
{
	struct bl_snic_fault fault = {.seed = 42, .drop = 50000, .reorder = 50000, .duplicate = 50000};
	uint32_t hashes[3], dropped[2];

	for (int i = 0; i < 3; i++) {
		fault.seed = i == 2 ? 43 : 42;
		bed_make(&fault, 5000);
		/* however it is polled */
		poll_all(i == 1 ? 3 : 64);
		hashes[i] = order_seen();
		bed_free();
	}
	check_eq(hashes[0], hashes[1]);
	check(hashes[0] != hashes[2]);
	/* one kind does not change when another does */
	for (int i = 0; i < 2; i++) {
		bed_make(
			&(struct bl_snic_fault){
				.seed = 1, .drop = 50000, .reorder = i ? 300000 : 0, .duplicate = i ? 9999 : 0},
			5000);
		poll_all(16);
		dropped[i] = (uint32_t)bed.counts[0];
		bed_free();
	}
	check_eq(dropped[0], dropped[1]);
}

static void late_ones_let_up_to_eight_pass(void)
{
	static unsigned int place[MAX];
	unsigned int late = 0, most = 0;

	bed_make(&(struct bl_snic_fault){.seed = 5, .reorder = 100000}, 10000);
	memset(place, 0xff, sizeof(place));
	poll_all(16);
	check_eq(bed.nr_seen, 10000);
	for (unsigned int i = 0; i < 10000; i++) {
		check(place[bed.seen[i].psn] == UINT32_MAX);
		place[bed.seen[i].psn] = i;
	}
	for (unsigned int psn = 0; psn < 10000; psn++) {
		unsigned int passed = 0;

		/* later ones that came before it; further on than this there are none */
		for (unsigned int k = psn + 1; k < psn + 40 && k < 10000; k++)
			passed += place[k] < place[psn];
		late += passed > 0;
		most = passed > most ? passed : most;
	}
	check(most > 4 && most <= 8);
	check(late > 500 && late <= bed.counts[1]);
	check(bed.counts[1] > 850 && bed.counts[1] < 1150);
	bed_free();
}

static void what_is_held_does_not_wait_for_ever(void)
{
	int polls = 1;

	bed_make(&(struct bl_snic_fault){.reorder = 1000000}, 1);
	check_eq(poll_once(16), 0);
	check_eq(bed.wire.taken, 1);
	while (!poll_once(16) && polls < 1000)
		polls++;
	check(polls >= 60 && polls <= 70);
	check_eq(bed.nr_seen, 1);
	bed_free();
	/* a sleep is as long as many polls; and it is short, but only while something is held */
	bed_make(&(struct bl_snic_fault){.reorder = 1000000}, 1);
	bed.ops->wait(bed.link, 1000000000);
	check_eq(bed.wire.waited_ns, 1000000000);
	check_eq(poll_once(16), 0);
	bed.ops->wait(bed.link, 1000000000);
	check_eq(bed.wire.waited_ns, 1000000);
	check_eq(poll_once(16), 1);
	bed.ops->wait(bed.link, 5);
	check_eq(bed.wire.waited_ns, 5);
	bed_free();
}

static void what_is_held_at_the_end_is_freed(void)
{
	bed_make(&(struct bl_snic_fault){.reorder = 1000000}, 5);
	poll_once(16);
	bed_free();
	bed_make(&(struct bl_snic_fault){.reorder = 1000000}, 5);
	poll_once(16);
	bed.ops->forget(bed.link);
	check_eq(bed.wire.forgotten, 1);
	check_eq(bed.wire.closed, 0);
}

static void doubled_ones_arrive_twice(void)
{
	static unsigned int times[MAX];

	bed_make(&(struct bl_snic_fault){.duplicate = 1000000}, 1000);
	memset(times, 0, sizeof(times));
	/* a budget that ends between the two */
	poll_all(1);
	check_eq(bed.nr_seen, 2000);
	check_eq(bed.counts[2], 1000);
	for (unsigned int i = 0; i < 2000; i++)
		times[bed.seen[i].psn]++;
	for (unsigned int i = 0; i < 1000; i++)
		check_eq(times[i], 2);
	bed_free();
}

/* An answer of the responder to psn, over the path back. */
static void answer(struct bl_snic_path *path, uint8_t opcode, uint8_t syndrome, uint32_t psn)
{
	struct bl_packet packet = {
		.opcode = opcode,
		.syndrome = syndrome,
		.dest_qpn = 10,
		.src_qpn = 20,
		.psn = psn,
		.msn = 4,
	};

	check(bed.ops->reserve(path, 0));
	bed.ops->commit(path, &packet);
}

static void a_nak_asks_for_what_is_not_acknowledged(void)
{
	struct bl_snic_path *path = NULL;
	struct bl_packet *nak;

	bed_make(&(struct bl_snic_fault){.nak = 1000000}, 8);
	check_eq(bed.ops->path_open(bed.link, bed.wire.gid, &path), 0);
	/* nothing acknowledged: let through */
	check_eq(poll_once(3), 3);
	/* and answers that acknowledge nothing do not change that */
	answer(path, BL_PKT_ACK, BL_AETH_RNR | 3, 0);
	answer(path, BL_PKT_ACK, BL_AETH_ACCESS, 1);
	answer(path, BL_PKT_READ_FIRST, 0, 1);
	check_eq(poll_once(1), 1);
	answer(path, BL_PKT_ACK, BL_AETH_ACK, 1);
	check_eq(bed.wire.nr_out, 4);
	/* 4 is not let through: everything after 1 is asked for */
	check_eq(poll_once(1), 0);
	check_eq(bed.counts[3], 1);
	check_eq(bed.wire.nr_out, 5);
	nak = &bed.wire.out[4];
	check_eq(nak->opcode, BL_PKT_ACK);
	check_eq(nak->syndrome, BL_AETH_SEQUENCE);
	check_eq(nak->psn, 2);
	check_eq(nak->msn, 4);
	check_eq(nak->dest_qpn, 10);
	check_eq(nak->src_qpn, 20);
	check_eq(nak->len, 0);
	answer(path, BL_PKT_READ_LAST, 0, 3);
	check_eq(poll_once(1), 0);
	check_eq(bed.wire.out[6].psn, 4);
	answer(path, BL_PKT_ATOMIC_ACK, 0, 4);
	check_eq(poll_once(1), 0);
	check_eq(bed.wire.out[8].psn, 5);
	/* without room for the NAK the request is let through */
	bed.wire.path.room = false;
	check_eq(poll_once(1), 1);
	check_eq(bed.counts[3], 3);
	bed.ops->path_close(path);
	bed_free();
}

static void a_number_is_asked_for_once(void)
{
	struct bl_snic_path *path = NULL;

	bed_make(&(struct bl_snic_fault){.nak = 1000000}, 5);
	check_eq(bed.ops->path_open(bed.link, bed.wire.gid, &path), 0);
	answer(path, BL_PKT_ACK, 0, BL_PSN_MASK);
	check_eq(poll_once(1), 0);
	check_eq(poll_once(1), 1);
	/* the same answer once more is no progress */
	answer(path, BL_PKT_ACK, 0, BL_PSN_MASK);
	check_eq(poll_once(1), 1);
	answer(path, BL_PKT_ACK, 0, 2);
	check_eq(poll_once(2), 1);
	check_eq(bed.counts[3], 2);
	check_eq(bed.wire.out[bed.wire.nr_out - 1].psn, 3);
	bed.ops->path_close(path);
	bed_free();
}

static void what_cannot_get_a_true_nak_is_let_through(void)
{
	struct bl_snic_path *path = NULL;

	for (int i = 0; i < 9; i++) {
		bed_make(&(struct bl_snic_fault){.nak = 1000000}, 1);
		if (i != 0)
			check_eq(bed.ops->path_open(bed.link, bed.wire.gid, &path), 0);
		if (i != 0)
			answer(path, BL_PKT_ACK, BL_AETH_ACK, i == 1 ? 5 : BL_PSN_MASK);
		if (i == 2)
			bed.wire.no_gid = true;
		else if (i == 3)
			bed.wire.in[0].src_qpn = 0;
		else if (i == 4)
			bed.wire.in[0].dest_qpn++;
		else if (i == 5)
			bed.wire.in[0].opcode |= BL_PKT_UC;
		else if (i == 6)
			bed.wire.in[0].opcode = BL_PKT_ACK;
		else if (i == 7)
			bed.wire.in[0].opcode = BL_PKT_READ_ONLY;
		/* 8: nothing is in the way */
		check_eq(poll_once(4), i != 8);
		check_eq(bed.counts[3], i == 8);
		if (i != 0)
			bed.ops->path_close(path);
		bed_free();
	}
}

static void all_kinds_of_requests_get_naks(void)
{
	static const uint8_t opcodes[] = {
		BL_PKT_SEND_FIRST,     BL_PKT_SEND_LAST_IMM,   BL_PKT_WRITE_MIDDLE,
		BL_PKT_WRITE_ONLY_IMM, BL_PKT_READ_REQUEST,    BL_PKT_CMP_SWAP,
		BL_PKT_FETCH_ADD,      BL_PKT_MASKED_CMP_SWAP, BL_PKT_MASKED_FETCH_ADD,
	};
	struct bl_snic_path *path = NULL;

	bed_make(&(struct bl_snic_fault){.nak = 1000000}, sizeof(opcodes));
	check_eq(bed.ops->path_open(bed.link, bed.wire.gid, &path), 0);
	for (uint32_t i = 0; i < sizeof(opcodes); i++) {
		bed.wire.in[i].opcode = opcodes[i];
		answer(path, BL_PKT_ACK, 0, (i - 1) & BL_PSN_MASK);
		check_eq(poll_once(1), 0);
	}
	check_eq(bed.counts[3], sizeof(opcodes));
	check_eq(bed.nr_seen, 0);
	bed.ops->path_close(path);
	bed_free();
}

static void the_rest_is_the_transports(void)
{
	struct bl_snic_path *one = NULL, *two = NULL;
	uint8_t nobody[16] = {0xff};

	bed_make(&(struct bl_snic_fault){.nak = 1}, 0);
	check_eq(bed.ops->max_payload(bed.link), 12345);
	check_eq(bed.ops->path_open(bed.link, nobody, &one), -ENOTCONN);
	check_eq(bed.ops->path_open(bed.link, bed.wire.gid, &one), 0);
	check_eq(bed.ops->path_open(bed.link, bed.wire.gid, &two), 0);
	check(one == two);
	check_eq(bed.wire.path.refs, 2);
	check_eq(bed.ops->path_state(one), -ECONNRESET);
	check(bed.ops->reserve(one, 10) == bed.wire.path.payload);
	check(!bed.ops->reserve(one, 100));
	bed.ops->path_close(one);
	check_eq(bed.wire.path.refs, 1);
	/* many queue pairs over one path */
	for (uint32_t i = 1; i < 1000; i++)
		bed.ops->commit(two, &(struct bl_packet){.opcode = BL_PKT_ACK, .dest_qpn = i, .src_qpn = i});
	check_eq(bed.wire.nr_out, 999);
	bed.ops->path_close(two);
	bed.ops->kick(bed.link);
	check_eq(bed.wire.kicks, 1);
	bed.ops->wait(bed.link, 17);
	check_eq(bed.wire.waits, 1);
	bed_free();
}

static void any_faults_lose_nothing_that_is_not_counted(void)
{
	uint64_t seed = 0;
	const char *text = getenv("SEED");

	if (text)
		seed = strtoull(text, NULL, 0);
	else
		check_eq(getrandom(&seed, sizeof(seed), 0), sizeof(seed));
	printf("# SEED=%llu\n", (unsigned long long)seed);
	for (int i = 0; i < 20; i++) {
		struct bl_snic_fault fault = {
			.seed = seed + (uint64_t)i,
			.drop = (uint32_t)(seed >> 8) % 300000,
			.reorder = (uint32_t)(seed >> 16) % 1000001,
			.duplicate = (uint32_t)(seed >> 24) % 1000001,
		};

		bed_make(&fault, 3000);
		poll_all(1 + (unsigned int)i);
		check_eq(bed.nr_seen, 3000 - bed.counts[0] + bed.counts[2]);
		bed_free();
	}
}

/* By the clock, and not by what comes after them. */
static void delayed_ones_arrive_when_their_time_has_come(void)
{
	uint64_t begin = bl_now_ns(), end = begin + 20000000000ULL;

	bed_make(&(struct bl_snic_fault){.seed = 4, .delay = 500000, .delay_us = 5000}, 60);
	while (bed.nr_seen < 60 && bl_now_ns() < end)
		poll_once(16);
	check_eq(bed.nr_seen, 60);
	check(bed.counts[1] > 10 && bed.counts[1] < 50);
	/* the last of them was later than all that were not */
	check(bl_now_ns() - begin >= 5000000);
	bed_free();
	/* some are still away at the end */
	bed_make(&(struct bl_snic_fault){.delay = 1000000, .delay_us = 1000000}, 10);
	poll_all(16);
	check_eq(bed.nr_seen, 0);
	bed_free();
}

static void a_wire_without_check_corrupts_nothing(void)
{
	struct bl_snic_fault fault = {.corrupt = 1};

	bl_fail_hush(1);
	check_eq(bl_snic_fault_open(&wire_ops, &bed.wire, &fault, bed.counts, &bed.ops, &bed.link), -EOPNOTSUPP);
	bl_fail_hush(-1);
}

static const struct tap_test tests[] = {
	{"texts are understood", texts_are_understood},
	{"errors in texts are pointed at", errors_in_texts_are_pointed_at},
	{"more than a million is refused", more_than_a_million_is_refused},
	{"without faults all arrive, in order", without_faults_all_arrive_in_order},
	{"what is dropped does not arrive", what_is_dropped_does_not_arrive},
	{"the same seed gives the same faults", the_same_seed_gives_the_same_faults},
	{"late ones let up to eight pass", late_ones_let_up_to_eight_pass},
	{"what is held does not wait for ever", what_is_held_does_not_wait_for_ever},
	{"what is held at the end is freed", what_is_held_at_the_end_is_freed},
	{"doubled ones arrive twice", doubled_ones_arrive_twice},
	{"delayed ones arrive when their time has come", delayed_ones_arrive_when_their_time_has_come},
	{"a wire without check corrupts nothing", a_wire_without_check_corrupts_nothing},
	{"a NAK asks for what is not acknowledged", a_nak_asks_for_what_is_not_acknowledged},
	{"a number is asked for once", a_number_is_asked_for_once},
	{"what cannot get a true NAK is let through", what_cannot_get_a_true_nak_is_let_through},
	{"all kinds of requests get NAKs", all_kinds_of_requests_get_naks},
	{"the rest is the transport's", the_rest_is_the_transports},
	{"any faults lose nothing that is not counted", any_faults_lose_nothing_that_is_not_counted},
};

TAP_MAIN(tests)
