/* SPDX-License-Identifier: MIT */
/* cqe.h - rings of completions as memory */
#ifndef BL_NET_CQE_H
#define BL_NET_CQE_H

#include <stddef.h>
#include <stdint.h>

#define BL_CQE_SIZE 64U

/* Entries that were never written: opcode 15, owner 1. */
void bl_cqe_ring_init(uint8_t *ring, uint32_t nr);

/**
 * bl_cqe_ring_position() - Where the NIC goes on in a ring
 * @ring:  @nr entries
 * @nr:	   power of two
 * @begin: position that the ring was last made empty at
 *
 * Found by the owner bits, so that it does not matter how many requests were signalled.
 * Return: a number that equals the NIC's count of completions modulo 2 * @nr: all that finding an entry and its owner
 * bit takes.
 */
uint64_t bl_cqe_ring_position(const uint8_t *ring, uint32_t nr, uint64_t begin);

#endif
