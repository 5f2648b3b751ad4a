/* SPDX-License-Identifier: MIT */
/* fake_bytes.h - numbers at stated offsets, for fakes that share no definition with what they test */
#ifndef TESTS_UNIT_FAKE_BYTES_H
#define TESTS_UNIT_FAKE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint32_t get32(const void *arg, size_t off)
{
	uint32_t v;

	memcpy(&v, (const char *)arg + off, sizeof(v));
	return v;
}

static inline uint64_t get64(const void *arg, size_t off)
{
	uint64_t v;

	memcpy(&v, (const char *)arg + off, sizeof(v));
	return v;
}

static inline void put32(void *arg, size_t off, uint32_t v)
{
	memcpy((char *)arg + off, &v, sizeof(v));
}

static inline void put64(void *arg, size_t off, uint64_t v)
{
	memcpy((char *)arg + off, &v, sizeof(v));
}

static inline void *get_ptr(const void *arg, size_t off)
{
	return (void *)(uintptr_t)get64(arg, off);
}

#endif
