/* SPDX-License-Identifier: MIT */
/* bytes.h - big-endian numbers in memory of any alignment */
#ifndef SOFTNIC_BYTES_H
#define SOFTNIC_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t bl_be16(const void *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return be16toh(value);
}

static inline uint32_t bl_be32(const void *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

static inline uint64_t bl_be64(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return be64toh(value);
}

static inline void bl_be16_put(void *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
}

static inline void bl_be32_put(void *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static inline void bl_be64_put(void *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

#endif
