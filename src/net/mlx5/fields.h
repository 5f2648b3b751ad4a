/* SPDX-License-Identifier: MIT */
/*
 * fields.h - bit fields of big-endian messages
 *
 * A layout is a table of fields. Each has the bits of a big-endian word of 32 bits, or of one of 64, at an offset in
 * bytes, as manuals write them: bit 31 (63) is the most significant one.
 */
#ifndef BL_NET_MLX5_FIELDS_H
#define BL_NET_MLX5_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct bl_field - where a value is
 * @name: in messages
 * @at:   offset of its word
 * @high, @low: its bits; @high above 31: the word has 64 bits
 */
struct bl_field {
	const char *name;
	uint16_t at;
	uint8_t high;
	uint8_t low;
};

/* Bytes of the word of a field. */
static inline size_t bl_field_word(const struct bl_field *field)
{
	return field->high > 31 ? 8 : 4;
}

bool bl_field_fits(const struct bl_field *field, uint64_t value);

/**
 * bl_field_put() - Write a field; the other bits of its word stay
 * @msg:   message, or a part of one that @field counts from
 * @field: where
 * @value: has to fit: bits that do not are not written
 */
void bl_field_put(uint8_t *msg, const struct bl_field *field, uint64_t value);

uint64_t bl_field_get(const uint8_t *msg, const struct bl_field *field);

#endif
