// SPDX-License-Identifier: MIT
/* Bytes that are taken as a device writes them: nothing too early, nothing twice, nothing beside them. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>

#include "copy/arrive.h"
#include "tap.h"

#define MARK 0x9d3f6ac5U
#define SIZE 4096U

static uint32_t land[SIZE / 4 + 64] __attribute__((aligned(64)));
static uint8_t dst[SIZE + 256];

static uint32_t word(size_t i)
{
	return (uint32_t)i * 2654435761U + 17;
}

static void start(void)
{
	bl_arrive_reset(land, sizeof(land), MARK);
	memset(dst, 0xee, sizeof(dst));
}

static void arrive(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		land[i] = word(i);
}

static void check_taken(const uint8_t *to, size_t len)
{
	for (size_t i = 0; i < len / 4; i++) {
		uint32_t got;

		memcpy(&got, to + i * 4, 4);
		check_eq(got, word(i));
		check_eq(land[i], MARK);
	}
}

static void all_lengths_and_alignments_are_exact(void)
{
	for (size_t len = 4; len <= SIZE; len += len < 600 ? 4 : 252) {
		for (size_t shift = 0; shift < 64; shift += len < 600 ? 1 : 13) {
			start();
			arrive(0, len / 4);
			check_eq(bl_arrive(dst + 64 + shift, land, len, MARK), len);
			check_taken(dst + 64 + shift, len);
			check_eq(dst[63 + shift], 0xee);
			check_eq(dst[64 + shift + len], 0xee);
			check_eq(land[len / 4], MARK);
		}
	}
}

static void nothing_goes_past_a_word_that_is_missing(void)
{
	for (size_t missing = 0; missing < 160; missing++) {
		size_t len = 640, done;

		start();
		arrive(0, missing);
		arrive(missing + 1, len / 4);
		done = bl_arrive(dst, land, len, MARK);
		check(done <= missing * 4);
		check(done + 256 > missing * 4);
		check_eq(done % 64, 0);
		check_taken(dst, done);
		check_eq(dst[done], 0xee);
		/* what was not taken is still there */
		for (size_t i = done / 4; i < len / 4; i++)
			check_eq(land[i], i == missing ? MARK : word(i));
		arrive(missing, missing + 1);
		check_eq(bl_arrive(dst + done, (uint8_t *)land + done, len - done, MARK), len - done);
		check_taken(dst, len);
	}
}

static void every_instruction_set_takes_the_same(void)
{
	int nr = 0;

	for (const struct bl_arrive_isa *isa = bl_arrive_isas; isa->name; isa++) {
		if (!isa->supported())
			continue;
		nr++;
		for (size_t lines = 0; lines <= 20; lines++) {
			start();
			arrive(0, lines * 16);
			check_eq(isa->lines(dst + 3, (uint8_t *)land, 20 * 64, MARK), lines * 64);
			check_taken(dst + 3, lines * 64);
			check_eq(dst[3 + lines * 64], 0xee);
		}
	}
	check(nr >= 1);
}

static void a_word_that_is_the_mark_is_left_to_the_report(void)
{
	start();
	arrive(0, 64);
	land[40] = MARK;
	check(bl_arrive(dst, land, 256, MARK) <= 128);
	bl_arrive_reset(land, sizeof(land), MARK);
	arrive(0, 64);
	land[40] = MARK;
	bl_arrive_all(dst, land, 256, MARK);
	for (size_t i = 0; i < 64; i++) {
		uint32_t got;

		memcpy(&got, dst + i * 4, 4);
		check_eq(got, i == 40 ? MARK : word(i));
		check_eq(land[i], MARK);
	}
}

static void a_look_takes_nothing_and_sees_all_lengths(void)
{
	for (size_t len = 4; len <= SIZE; len += len < 600 ? 4 : 252) {
		for (size_t missing = 0; missing <= len / 4; missing += missing < 40 ? 1 : 37) {
			start();
			arrive(0, missing);
			if (missing < len / 4)
				arrive(missing + 1, len / 4);
			if (missing == len / 4)
				check_eq(bl_arrive_look(land, 0, len, MARK), len);
			else
				check_eq(bl_arrive_look(land, 0, len, MARK), missing * 4 & ~63UL);
			check_eq(bl_arrive_look(land, missing * 4 & ~63UL, len, MARK), bl_arrive_look(land, 0, len, MARK));
			for (size_t i = 0; i < len / 4; i++)
				check_eq(land[i], i == missing ? MARK : word(i));
			check_eq(land[len / 4], MARK);
		}
	}
}

static void every_instruction_set_sees_the_same(void)
{
	for (const struct bl_arrive_isa *isa = bl_arrive_isas; isa->name; isa++) {
		for (size_t missing = 0; isa->supported() && missing <= 320; missing++) {
			start();
			arrive(0, missing);
			arrive(missing + 1, 320);
			for (size_t from = 0; from <= missing / 16 * 64; from += 64)
				check_eq(isa->look((uint8_t *)land, from, 20 * 64, MARK), missing / 16 * 64);
		}
	}
}

static void a_reset_ends_where_it_is_told_to(void)
{
	for (size_t len = 0; len <= 300; len += 4) {
		arrive(0, 100);
		bl_arrive_reset(land, len, MARK);
		for (size_t i = 0; i < 100; i++)
			check_eq(land[i], i < len / 4 ? MARK : word(i));
	}
}

static unsigned int rounds_asked, rounds_done;

/* A device: words in an order of its own. */
static void *device(void *arg)
{
	uint32_t state = 1;

	for (unsigned int round = 1; round <= 2000; round++) {
		while (__atomic_load_n(&rounds_asked, __ATOMIC_ACQUIRE) < round)
			sched_yield();
		for (size_t i = 0; i < SIZE / 4; i++) {
			size_t at = (i * 37 + round) % (SIZE / 4);

			__atomic_store_n(&land[at], word(at) ^ round << 8, __ATOMIC_RELAXED);
			state = state * 1664525 + 1013904223;
			if (!(state >> 22))
				sched_yield();
		}
		__atomic_store_n(&rounds_done, round, __ATOMIC_RELEASE);
	}
	return arg;
}

static void words_in_any_order_are_taken_once_each(void)
{
	pthread_t thread;
	size_t bad = 0;

	start();
	check_eq(pthread_create(&thread, NULL, device, NULL), 0);
	for (unsigned int round = 1; round <= 2000; round++) {
		size_t done = 0;

		__atomic_store_n(&rounds_asked, round, __ATOMIC_RELEASE);
		while (done < SIZE && __atomic_load_n(&rounds_done, __ATOMIC_ACQUIRE) < round)
			done += bl_arrive(dst + done, (uint8_t *)land + done, SIZE - done, MARK);
		if (done < SIZE)
			bl_arrive_all(dst + done, (uint8_t *)land + done, SIZE - done, MARK);
		for (size_t i = 0; i < SIZE / 4; i++) {
			uint32_t got;

			memcpy(&got, dst + i * 4, 4);
			bad += got != (word(i) ^ round << 8);
		}
	}
	pthread_join(thread, NULL);
	check_eq(bad, 0);
}

static const struct tap_test tests[] = {
	{ "all lengths and alignments are exact", all_lengths_and_alignments_are_exact },
	{ "nothing goes past a word that is missing", nothing_goes_past_a_word_that_is_missing },
	{ "every instruction set takes the same", every_instruction_set_takes_the_same },
	{ "a word that is the mark is left to the report", a_word_that_is_the_mark_is_left_to_the_report },
	{ "a look takes nothing and sees all lengths", a_look_takes_nothing_and_sees_all_lengths },
	{ "every instruction set sees the same", every_instruction_set_sees_the_same },
	{ "a reset ends where it is told to", a_reset_ends_where_it_is_told_to },
	{ "words in any order are taken once each", words_in_any_order_are_taken_once_each },
};

TAP_MAIN(tests)
