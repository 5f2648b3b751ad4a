// SPDX-License-Identifier: MIT
/* CRC by instructions for just this one, which every CPU of ARMv8.1 has. */
#include <string.h>
#include <sys/auxv.h>

#include "crc_isa.h"

#define HAS_CRC32 (1UL << 7) /* HWCAP_CRC32 */

__attribute__((target("+crc"))) static uint32_t crc(uint32_t reg, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint64_t word;

	for (; len >= sizeof(word); len -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		reg = __builtin_aarch64_crc32x(reg, word);
	}
	return bl_roce_crc_table(reg, at, len);
}

uint32_t (*bl_roce_crc_isa(void))(uint32_t reg, const void *bytes, size_t len)
{
	return getauxval(AT_HWCAP) & HAS_CRC32 ? crc : NULL;
}
