/* SPDX-License-Identifier: MIT */
/* pattern.h - bytes that tell their place, made and compared without a look of the sanitizer at each one */
#ifndef TESTS_EMU_PATTERN_H
#define TESTS_EMU_PATTERN_H

#include <stddef.h>

/* The byte of the pattern of @seed at @pos. */
unsigned char pattern_at(unsigned int seed, size_t pos);

/* @len bytes of the pattern of @seed, from @pos on. */
void pattern_fill(unsigned char *bytes, size_t len, unsigned int seed, size_t pos);

/* How many of @len bytes differ from those. */
size_t pattern_wrong(const unsigned char *bytes, size_t len, unsigned int seed, size_t pos);

/* How many of @len bytes are not @value. */
size_t value_wrong(const unsigned char *bytes, size_t len, unsigned char value);

#endif
