// SPDX-License-Identifier: MIT
#include "pattern.h"

#include <string.h>

#define CHUNK 4096UL

/*
 * Sanitizers see what belongs to a test by the calls of memcpy() and memcmp(), one for each chunk; a look at each byte took half of
 * the time of some tests under ThreadSanitizer.
 */
#define UNSEEN __attribute__((no_sanitize("address"), no_sanitize("thread")))

static inline unsigned char byte_at(unsigned int seed, size_t pos)
{
	return (unsigned char)((pos * 2654435761U + seed) >> 13 ^ pos >> 20);
}

unsigned char pattern_at(unsigned int seed, size_t pos)
{
	return byte_at(seed, pos);
}

UNSEEN static void make_chunk(unsigned char chunk[CHUNK], size_t len, unsigned int seed, size_t pos)
{
	for (size_t i = 0; i < len; i++)
		chunk[i] = byte_at(seed, pos + i);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t differ(const unsigned char *bytes, const unsigned char *wanted, size_t len)
{
	size_t nr = 0;

	if (!memcmp(bytes, wanted, len))
		return 0;
	for (size_t i = 0; i < len; i++)
		nr += bytes[i] != wanted[i];
	return nr;
}

void pattern_fill(unsigned char *bytes, size_t len, unsigned int seed, size_t pos)
{
	unsigned char chunk[CHUNK];

	for (size_t at = 0; at < len; at += CHUNK) {
		size_t part = least(CHUNK, len - at);

		make_chunk(chunk, part, seed, pos + at);
		memcpy(bytes + at, chunk, part);
	}
}

size_t pattern_wrong(const unsigned char *bytes, size_t len, unsigned int seed, size_t pos)
{
	unsigned char chunk[CHUNK];
	size_t nr = 0;

	for (size_t at = 0; at < len; at += CHUNK) {
		size_t part = least(CHUNK, len - at);

		make_chunk(chunk, part, seed, pos + at);
		nr += differ(bytes + at, chunk, part);
	}
	return nr;
}

size_t value_wrong(const unsigned char *bytes, size_t len, unsigned char value)
{
	unsigned char chunk[CHUNK];
	size_t nr = 0;

	memset(chunk, value, CHUNK);
	for (size_t at = 0; at < len; at += CHUNK)
		nr += differ(bytes + at, chunk, least(CHUNK, len - at));
	return nr;
}
