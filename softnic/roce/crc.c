// SPDX-License-Identifier: MIT
#include "crc.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#include "crc_isa.h"
#include "util/clock.h"

#define POLYNOMIAL 0xedb88320U
#define SLICES	   16
#define BACK_STEPS 17 /* powers of two of bytes: any IP packet */

/*
 * slices[n][b]: what byte b does to the register n bytes later. unslice[]: the byte that has a value of slices[0] with
 * this most significant byte; they are all different. back[k]: columns of the matrix that takes the register back by
 * 2^k bytes of zero.
 */
static uint32_t slices[SLICES][256];
static uint8_t unslice[256];
static uint32_t back[BACK_STEPS][32];

typedef uint32_t crc_fn(uint32_t reg, const void *bytes, size_t len);

static crc_fn *chosen;

static uint32_t times(const uint32_t matrix[32], uint32_t vector)
{
	uint32_t product = 0;

	for (; vector; vector &= vector - 1)
		product ^= matrix[__builtin_ctz(vector)];
	return product;
}

static void make_slices(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t reg = byte;

		for (int bit = 0; bit < 8; bit++)
			reg = reg & 1 ? reg >> 1 ^ POLYNOMIAL : reg >> 1;
		slices[0][byte] = reg;
		unslice[reg >> 24] = (uint8_t)byte;
	}
	for (int n = 1; n < SLICES; n++) {
		for (int byte = 0; byte < 256; byte++) {
			uint32_t reg = slices[n - 1][byte];

			slices[n][byte] = reg >> 8 ^ slices[0][reg & 0xff];
		}
	}
}

static void make_back(void)
{
	for (int bit = 0; bit < 32; bit++) {
		uint32_t reg = 1U << bit;
		uint8_t byte = unslice[reg >> 24];

		back[0][bit] = (reg ^ slices[0][byte]) << 8 | byte;
	}
	for (int k = 1; k < BACK_STEPS; k++) {
		for (int bit = 0; bit < 32; bit++)
			back[k][bit] = times(back[k - 1], back[k - 1][bit]);
	}
}

/* The least time of some runs, in which nothing came between, in ns. */
static uint64_t time_of(crc_fn *fn)
{
	static const uint8_t bytes[4096];
	volatile uint32_t reg = 0;
	uint64_t least = UINT64_MAX, start, ns;

	for (int i = 0; i < 5; i++) {
		start = bl_now_ns();
		reg = fn(reg, bytes, sizeof(bytes));
		ns = bl_now_ns() - start;
		least = ns < least ? ns : least;
	}
	return least;
}

/* Which is the fastest is not for the CPU to say: instructions that are emulated are slow, and loads are then too. */
static crc_fn *fastest(void)
{
	crc_fn *const fns[] = {bl_roce_crc_table, bl_roce_crc_words, bl_roce_crc_isa()}, *best = NULL;
	uint64_t least = UINT64_MAX, ns;

	for (size_t i = 0; i < sizeof(fns) / sizeof(fns[0]); i++) {
		ns = fns[i] ? time_of(fns[i]) : UINT64_MAX;
		if (!best || ns < least) {
			best = fns[i];
			least = ns;
		}
	}
	return best;
}

static void make_tables(void)
{
	make_slices();
	make_back();
	chosen = fastest();
}

void bl_roce_crc_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_tables);
}

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return le32toh(word);
}

/* The four bytes of @word, of which the last is @n bytes before the end of the slice. */
static uint32_t slice(uint32_t word, int n)
{
	return slices[n + 3][word & 0xff] ^ slices[n + 2][word >> 8 & 0xff] ^ slices[n + 1][word >> 16 & 0xff] ^
	       slices[n][word >> 24];
}

uint32_t bl_roce_crc_table(uint32_t reg, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	for (; len >= SLICES; len -= SLICES, at += SLICES)
		reg = slice(word_at(at) ^ reg, 12) ^ slice(word_at(at + 4), 8) ^ slice(word_at(at + 8), 4) ^
		      slice(word_at(at + 12), 0);
	for (; len; len--)
		reg = reg >> 8 ^ slices[0][(reg ^ *at++) & 0xff];
	return reg;
}

uint32_t bl_roce_crc(uint32_t reg, const void *bytes, size_t len)
{
	return chosen(reg, bytes, len);
}

bool bl_roce_crc_two_bytes(uint32_t diff, size_t behind, uint8_t bytes[2])
{
	uint32_t before;
	uint8_t index;

	for (int k = 0; behind; k++, behind >>= 1) {
		if (k == BACK_STEPS)
			return false;
		if (behind & 1)
			diff = times(back[k], diff);
	}
	/* the second byte: what went into the table, and the register before it but for its low byte */
	index = unslice[diff >> 24];
	before = diff ^ slices[0][index];
	/* the first byte met a register of zero, so that what it left is in the table */
	bytes[0] = unslice[before >> 16 & 0xff];
	bytes[1] = (uint8_t)(index ^ slices[0][bytes[0]]);
	return slices[0][bytes[0]] >> 8 == before;
}
