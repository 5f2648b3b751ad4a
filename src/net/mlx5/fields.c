// SPDX-License-Identifier: MIT
#include "fields.h"

static uint64_t mask_of(const struct bl_field *field)
{
	unsigned int bits = field->high - field->low + 1U;

	return bits == 64 ? UINT64_MAX : (1ULL << bits) - 1;
}

static uint64_t read_word(const uint8_t *bytes, size_t len)
{
	uint64_t word = 0;

	for (size_t i = 0; i < len; i++)
		word = word << 8 | bytes[i];
	return word;
}

static void write_word(uint8_t *bytes, size_t len, uint64_t word)
{
	for (size_t i = len; i--; word >>= 8)
		bytes[i] = (uint8_t)word;
}

bool bl_field_fits(const struct bl_field *field, uint64_t value)
{
	return !(value & ~mask_of(field));
}

void bl_field_put(uint8_t *msg, const struct bl_field *field, uint64_t value)
{
	uint64_t mask = mask_of(field) << field->low, word = read_word(msg + field->at, bl_field_word(field));

	word = (word & ~mask) | (value << field->low & mask);
	write_word(msg + field->at, bl_field_word(field), word);
}

uint64_t bl_field_get(const uint8_t *msg, const struct bl_field *field)
{
	return read_word(msg + field->at, bl_field_word(field)) >> field->low & mask_of(field);
}
