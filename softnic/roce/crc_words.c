// SPDX-License-Identifier: MIT
/*
 * CRC by shifts, without tables
 *
 * x^300 + x^155 + x^117 + x^89 + 1 is a multiple of the CRC's polynomial, the shortest of five terms. So a bit is worth the
 * same as the four that come 145, 183, 211 and 300 bits after it, and a word of 64 bits the same as that word added to what
 * comes so much later. Words go on in this way until the last ones are left, whose worth the tables know. It takes one load
 * for eight bytes where tables take nine: that counts where loads are dear, on an emulated CPU above all.
 */
#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "crc_isa.h"

#define WORD sizeof(uint64_t)
/* Words that one adds to, the next one among them. */
#define REACH 5

static uint64_t word_at(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return le64toh(word);
}

/* The word at @at is done with: @due[n] is what has to be added to the one n words behind it. */
static inline void pass_on(uint64_t due[REACH], const uint8_t *at)
{
	uint64_t word = word_at(at) ^ due[0];

	due[0] = due[1];
	due[1] = due[2] ^ word << 17 ^ word << 55;
	due[2] = due[3] ^ word >> 47 ^ word >> 9 ^ word << 19;
	due[3] = due[4] ^ word >> 45 ^ word << 44;
	due[4] = word >> 20;
}

/* @len is at least REACH words, and less than REACH and one. */
static uint32_t finish(const uint64_t due[REACH], const uint8_t *at, size_t len)
{
	uint8_t rest[(REACH + 1) * WORD];
	uint64_t word;

	memcpy(rest, at, len);
	for (size_t i = 0; i < REACH; i++) {
		word = htole64(word_at(rest + i * WORD) ^ due[i]);
		memcpy(rest + i * WORD, &word, sizeof(word));
	}
	return bl_roce_crc_table(0, rest, len);
}

uint32_t bl_roce_crc_words(uint32_t reg, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint64_t due[REACH] = {reg};

	if (len < 2 * REACH * WORD)
		return bl_roce_crc_table(reg, bytes, len);
	for (; len >= 2 * REACH * WORD; len -= REACH * WORD, at += REACH * WORD) {
		for (size_t i = 0; i < REACH; i++)
			pass_on(due, at + i * WORD);
	}
	for (; len >= (REACH + 1) * WORD; len -= WORD, at += WORD)
		pass_on(due, at);
	return finish(due, at, len);
}
