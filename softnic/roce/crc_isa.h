/* SPDX-License-Identifier: MIT */
/* crc_isa.h - ways to compute the CRC: two for every CPU, and one by instructions that some have, in one file each */
#ifndef SOFTNIC_ROCE_CRC_ISA_H
#define SOFTNIC_ROCE_CRC_ISA_H

#include <stddef.h>
#include <stdint.h>

/* By tables. */
uint32_t bl_roce_crc_table(uint32_t reg, const void *bytes, size_t len);

/* By shifts; what is short, and what is left, by tables. */
uint32_t bl_roce_crc_words(uint32_t reg, const void *bytes, size_t len);

/* The fastest that this CPU has, or NULL. */
uint32_t (*bl_roce_crc_isa(void))(uint32_t reg, const void *bytes, size_t len);

#endif
