// SPDX-License-Identifier: MIT
/* Bytes that say where in a file they belong: a 64-bit word per eight bytes, a hash of its offset. */
#include <string.h>

#include "gdsio/gdsio.h"

static uint64_t word(uint64_t pos)
{
	uint64_t x = (pos / 8 + 1) * 0x9e3779b97f4a7c15U;

	return x ^ x >> 29;
}

static unsigned char byte(uint64_t pos)
{
	uint64_t w = word(pos);
	unsigned char bytes[8];

	memcpy(bytes, &w, sizeof(bytes));
	return bytes[pos % 8];
}

void gdsio_pattern(void *buf, size_t len, uint64_t pos)
{
	unsigned char *to = buf;
	uint64_t w;

	for (size_t i = 0; i < len;) {
		if ((pos + i) % 8 || len - i < 8) {
			to[i] = byte(pos + i);
			i++;
			continue;
		}
		w = word(pos + i);
		memcpy(to + i, &w, sizeof(w));
		i += 8;
	}
}

size_t gdsio_pattern_differs(const void *buf, size_t len, uint64_t pos)
{
	const unsigned char *from = buf;
	uint64_t w;

	for (size_t i = 0; i < len;) {
		if (!((pos + i) % 8) && len - i >= 8) {
			w = word(pos + i);
			if (!memcmp(from + i, &w, sizeof(w))) {
				i += 8;
				continue;
			}
		}
		if (from[i] != byte(pos + i))
			return i;
		i++;
	}
	return len;
}
