/* SPDX-License-Identifier: MIT */
/*
 * crc.h - the CRC at the end of a RoCE packet
 *
 * CRC-32 of Ethernet, least significant bit first. Functions take and give the register; what is sent is its complement.
 */
#ifndef SOFTNIC_ROCE_CRC_H
#define SOFTNIC_ROCE_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The register after the eight bytes of ones that stand for a header which RoCE over Ethernet does not have. */
#define BL_ROCE_CRC_SEED 0xdebb20e3U

/* Before any of the others; as often as one likes, from any thread. */
void bl_roce_crc_begin(void);

uint32_t bl_roce_crc(uint32_t reg, const void *bytes, size_t len);

/**
 * bl_roce_crc_two_bytes() - Which two bytes make a register come out right
 * @diff:    what the register at the end is off by, when both are taken for zero; exclusive or
 * @behind:  bytes between the two and the end
 * @bytes:   receives them
 *
 * Return: whether there are such bytes; by chance there are for one of 65536 differences.
 */
bool bl_roce_crc_two_bytes(uint32_t diff, size_t behind, uint8_t bytes[2]);

#endif
