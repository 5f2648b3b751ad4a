// SPDX-License-Identifier: MIT
/* Bit fields of big-endian messages, and that the fields of each layout lie apart. */
#include <stdlib.h>

#include "net/mlx5/cqc.h"
#include "net/mlx5/qpc.h"
#include "tap.h"

#define LEN 16

static void a_field_is_at_its_bits_of_a_big_endian_word(void)
{
	static const struct bl_field high = { "high", 0, 31, 28 }, low = { "low", 4, 2, 0 };
	static const struct bl_field middle = { "middle", 8, 19, 12 };
	uint8_t msg[LEN] = { 0 };
	const uint8_t want[LEN] = { 0xa0, 0, 0, 0, 0, 0, 0, 5, 0, 0x0c, 0x30, 0, 0, 0, 0, 0 };

	bl_field_put(msg, &high, 0xa);
	bl_field_put(msg, &low, 5);
	bl_field_put(msg, &middle, 0xc3);
	check(!memcmp(msg, want, LEN));
	check_eq(bl_field_get(msg, &high), 0xa);
	check_eq(bl_field_get(msg, &low), 5);
	check_eq(bl_field_get(msg, &middle), 0xc3);
}

static void a_field_of_a_whole_word_has_its_bytes(void)
{
	static const struct bl_field word = { "word", 4, 31, 0 }, two = { "two", 8, 63, 0 };
	const uint8_t want[LEN] = {
		0, 0, 0, 0, 0x12, 0x34, 0x56, 0x78, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10,
	};
	uint8_t msg[LEN] = { 0 };

	bl_field_put(msg, &word, 0x12345678);
	bl_field_put(msg, &two, 0xfedcba9876543210ULL);
	check(!memcmp(msg, want, LEN));
	check_eq(bl_field_get(msg, &word), 0x12345678);
	check(bl_field_get(msg, &two) == 0xfedcba9876543210ULL);
}

static void other_bits_of_the_word_stay(void)
{
	static const struct bl_field field = { "field", 4, 23, 8 };
	uint8_t msg[LEN];

	memset(msg, 0xff, LEN);
	bl_field_put(msg, &field, 0);
	for (size_t i = 0; i < LEN; i++)
		check_eq(msg[i], i == 5 || i == 6 ? 0 : 0xff);
	bl_field_put(msg, &field, 0x1234);
	check_eq(msg[4], 0xff);
	check_eq(msg[5], 0x12);
	check_eq(msg[6], 0x34);
	check_eq(msg[7], 0xff);
}

static void what_is_too_large_does_not_fit(void)
{
	static const struct bl_field three = { "three", 0, 18, 16 }, all = { "all", 0, 63, 0 };
	uint8_t msg[LEN] = { 0 };

	check(bl_field_fits(&three, 7));
	check(!bl_field_fits(&three, 8));
	check(bl_field_fits(&all, UINT64_MAX));
	bl_field_put(msg, &three, 0xf);
	check_eq(bl_field_get(msg, &three), 7);
	check_eq(msg[1], 7);
}

/* Any bits of any word, against a reader that goes bit by bit. */
static void random_fields_are_read_as_they_were_written(void)
{
	const char *text = getenv("SEED");
	unsigned int seed = text ? (unsigned int)strtoul(text, NULL, 0) : 20261130;

	printf("# seed %u\n", seed);
	srand(seed);
	for (int round = 0; round < 5000; round++) {
		unsigned int top = rand() & 1 ? 63 : 31;
		struct bl_field field = { "random", (uint16_t)(rand() % 2 * 4), 0, 0 };
		uint8_t msg[LEN], before[LEN];
		uint64_t value = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
		unsigned int bits, at;

		field.low = (uint8_t)((unsigned int)rand() % (top + 1));
		field.high = (uint8_t)(field.low + (unsigned int)rand() % (top + 1 - field.low));
		top = field.high > 31 ? 63 : 31;
		bits = field.high - field.low + 1U;
		for (size_t i = 0; i < LEN; i++)
			before[i] = msg[i] = (uint8_t)rand();
		bl_field_put(msg, &field, value);
		for (unsigned int bit = 0; bit < LEN * 8; bit++) {
			bool is = msg[bit / 8] >> (7 - bit % 8) & 1, was = before[bit / 8] >> (7 - bit % 8) & 1;

			at = top - (bit - field.at * 8U);
			if (bit < field.at * 8U || at > top || at < field.low || at > field.high)
				check_eq(is, was);
			else
				check_eq(is, value >> (at - field.low) & 1);
		}
		check(bl_field_get(msg, &field) == (bits == 64 ? value : value & ((1ULL << bits) - 1)));
	}
}

static void lie_apart(const struct bl_field *fields, size_t nr, size_t bytes)
{
	uint8_t taken[512] = { 0 }, one[512];

	for (size_t i = 0; i < nr; i++) {
		check(fields[i].name && fields[i].high >= fields[i].low && fields[i].at % 4 == 0);
		check(fields[i].at + bl_field_word(&fields[i]) <= bytes);
		memset(one, 0, sizeof(one));
		bl_field_put(one, &fields[i], UINT64_MAX);
		for (size_t j = 0; j < bytes; j++) {
			if (taken[j] & one[j])
				tap_end(TAP_FAILED, "%s overlaps another field at byte %zu", fields[i].name, j);
			taken[j] |= one[j];
		}
	}
}

static void the_fields_of_a_layout_lie_apart(void)
{
	uint8_t qpc[BL_QPC_BYTES] = { 0 };

	lie_apart(bl_qpc, BL_QPC_NR_FIELDS, BL_QPC_BYTES);
	lie_apart(bl_path, BL_PATH_NR_FIELDS, BL_QPC_PATH_BYTES);
	lie_apart(bl_cqc, BL_CQC_NR_FIELDS, BL_CQC_BYTES);
	/* nor does the path run into the context around it */
	for (size_t i = 0; i < BL_QPC_NR_FIELDS; i++)
		bl_field_put(qpc, &bl_qpc[i], UINT64_MAX);
	for (size_t i = 0; i < BL_QPC_PATH_BYTES; i++)
		check_eq(qpc[BL_QPC_PATH + i], 0);
}

static const struct tap_test tests[] = {
	{ "mlx5_a_field_is_at_its_bits_of_a_big_endian_word", a_field_is_at_its_bits_of_a_big_endian_word },
	{ "mlx5_a_field_of_a_whole_word_has_its_bytes", a_field_of_a_whole_word_has_its_bytes },
	{ "mlx5_other_bits_of_the_word_stay", other_bits_of_the_word_stay },
	{ "mlx5_what_is_too_large_does_not_fit", what_is_too_large_does_not_fit },
	{ "mlx5_random_fields_are_read_as_they_were_written", random_fields_are_read_as_they_were_written },
	{ "mlx5_the_fields_of_a_layout_lie_apart", the_fields_of_a_layout_lie_apart },
};

TAP_MAIN(tests)
