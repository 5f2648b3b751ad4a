// SPDX-License-Identifier: MIT
/* Parts of fpga_peer: what frames carry, which of them come back, and how long that took. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/fpga/data.h"
#include "net/fpga/hist.h"
#include "net/fpga/track.h"
#include "tap.h"

#define LEN 20000U

static uint8_t frame[LEN];

static struct fpga_stamp make(uint64_t number, uint32_t len, uint32_t mtu)
{
	struct fpga_stamp stamp = {.run = 3, .number = number, .sent_ns = 77, .len = len};

	fpga_data_begin();
	for (uint32_t off = 0; off < len; off += mtu)
		fpga_data_put(&stamp, off, frame + off, len - off < mtu ? len - off : mtu);
	return stamp;
}

static bool is_right(uint32_t len, uint32_t mtu)
{
	struct fpga_check check;

	fpga_check_begin(&check);
	for (uint32_t off = 0; off < len; off += mtu)
		fpga_check_part(&check, frame + off, len - off < mtu ? len - off : mtu);
	return fpga_check_end(&check);
}

static void a_frame_in_packets_of_any_size_is_right(void)
{
	static const uint32_t lens[] = {FPGA_STAMP_LEN, 33, 64, 256, 257, 4095, 4096, 4097, 8192, LEN};

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
			make(UINT64_MAX - i, lens[i], mtu);
			check(is_right(lens[i], mtu));
			/* the bytes do not depend on how they were cut */
			check(is_right(lens[i], LEN));
		}
	}
}

static void a_stamp_comes_out_as_it_went_in(void)
{
	const struct fpga_stamp stamp = make(0x123456789abcULL, 100, 256);
	struct fpga_check check;

	fpga_check_begin(&check);
	fpga_check_part(&check, frame, 100);
	check(fpga_check_end(&check));
	check_eq(check.stamp.run, stamp.run);
	check_eq(check.stamp.number, stamp.number);
	check_eq(check.stamp.sent_ns, stamp.sent_ns);
	check_eq(check.stamp.len, stamp.len);
	/* big-endian, as documented */
	check(!memcmp(frame, "BLFP", 4));
	check_eq(frame[15], 0xbc);
	check_eq(frame[27], 100);
	check_eq(frame[40], (0x123456789abcULL + 40) % 251);
}

static void a_changed_byte_is_seen_wherever_it_is(void)
{
	for (uint32_t at = 0; at < 9000; at += at < 40 ? 1 : 61) {
		make(5, 9000, 1024);
		frame[at] ^= 0x10;
		/* run, number and time are the sender's affair, but the number decides what follows */
		check(!is_right(9000, 1024) || (at >= 4 && at < 8) || (at >= 16 && at < 24));
	}
}

static void packets_in_another_order_are_seen(void)
{
	uint8_t packet[1024];

	make(9, 4096, 1024);
	memcpy(packet, frame + 1024, 1024);
	memcpy(frame + 1024, frame + 2048, 1024);
	memcpy(frame + 2048, packet, 1024);
	check(!is_right(4096, 1024));
}

static void a_short_or_long_frame_is_wrong(void)
{
	make(1, 512, 256);
	check(is_right(512, 256));
	check(!is_right(511, 256));
	check(!is_right(256, 256));
	check(!is_right(FPGA_STAMP_LEN - 1, 256));
	check(!is_right(0, 256));
	fpga_data_begin();
	check(!is_right(513, 1024));
}

static void frames_are_counted_once_twice_and_out_of_order(void)
{
	static const uint64_t order[] = {0, 1, 3, 2, 2, 70, 69, 71, 0};
	struct fpga_track track;

	check_eq(fpga_track_open(&track, 100), 0);
	for (int turn = 0; turn < 2; turn++) {
		fpga_track_begin(&track);
		for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
			fpga_track_add(&track, order[i]);
		check_eq(track.returned, 7);
		check_eq(track.twice, 2);
		check_eq(track.reordered, 2);
	}
	fpga_track_close(&track);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void shares_are_those_of_sorted_times_within_a_64th(void)
{
	static const unsigned int shares[] = {1, 500, 990, 999, 1000};
	static struct fpga_hist hist;
	static uint64_t times[5000];
	const char *text = getenv("FPGA_SEED");
	unsigned int seed = text ? (unsigned int)strtoul(text, NULL, 0) : 4711;

	printf("# seed %u (FPGA_SEED)\n", seed);
	srand(seed);
	fpga_hist_begin(&hist);
	for (size_t i = 0; i < 5000; i++) {
		times[i] = (uint64_t)rand() >> (rand() % 31);
		fpga_hist_add(&hist, times[i]);
	}
	qsort(times, 5000, sizeof(times[0]), compare);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		uint64_t exact = times[(5000ULL * shares[i] + 999) / 1000 - 1], got = fpga_hist_share(&hist, shares[i]);

		check(got >= exact);
		check(got <= exact + exact / FPGA_HIST_PARTS);
	}
	check_eq(hist.min, times[0]);
	check_eq(fpga_hist_share(&hist, 1000), times[4999]);
}

static void the_ends_of_the_range_have_a_place(void)
{
	static struct fpga_hist hist;

	fpga_hist_begin(&hist);
	check_eq(fpga_hist_share(&hist, 500), 0);
	fpga_hist_add(&hist, 0);
	fpga_hist_add(&hist, UINT64_MAX);
	check_eq(fpga_hist_share(&hist, 500), 0);
	check(fpga_hist_share(&hist, 1000) == UINT64_MAX);
	fpga_hist_add(&hist, FPGA_HIST_PARTS - 1);
	fpga_hist_add(&hist, FPGA_HIST_PARTS);
	fpga_hist_add(&hist, 2 * FPGA_HIST_PARTS);
	check_eq(fpga_hist_share(&hist, 400), FPGA_HIST_PARTS - 1);
	check_eq(fpga_hist_share(&hist, 600), FPGA_HIST_PARTS);
	check_eq(fpga_hist_share(&hist, 800), 2 * FPGA_HIST_PARTS + 1);
}

static const struct tap_test tests[] = {
	{"a_frame_in_packets_of_any_size_is_right", a_frame_in_packets_of_any_size_is_right},
	{"a_stamp_comes_out_as_it_went_in", a_stamp_comes_out_as_it_went_in},
	{"a_changed_byte_is_seen_wherever_it_is", a_changed_byte_is_seen_wherever_it_is},
	{"packets_in_another_order_are_seen", packets_in_another_order_are_seen},
	{"a_short_or_long_frame_is_wrong", a_short_or_long_frame_is_wrong},
	{"frames_are_counted_once_twice_and_out_of_order", frames_are_counted_once_twice_and_out_of_order},
	{"shares_are_those_of_sorted_times_within_a_64th", shares_are_those_of_sorted_times_within_a_64th},
	{"the_ends_of_the_range_have_a_place", the_ends_of_the_range_have_a_place},
};

TAP_MAIN(tests)
