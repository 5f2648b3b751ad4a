/* SPDX-License-Identifier: MIT */
/* atomic.h - what the atomic requests compute */
#ifndef SOFTNIC_ATOMIC_H
#define SOFTNIC_ATOMIC_H

#include "nic.h"
#include "packet.h"

/* Operands of masks that say everything are those of the plain atomics; of 4 bytes, the upper halves are not looked at.
 */

/**
 * bl_atomic_result() - The new value of a word
 * @packet: one of the four atomic requests
 * @old:    value that is there
 *
 * Return: what is there afterwards.
 */
uint64_t bl_atomic_result(const struct bl_packet *packet, uint64_t old);

/**
 * bl_atomic_do() - Do it in memory
 * @nic:    NIC
 * @mem:    memory; in ordinary memory a CPU sees it happen at once, elsewhere it is a read and a write
 * @off:    of the word, which is aligned to its length
 * @packet: request
 * @old_p:  receives the value that was there
 *
 * Return: 0 or what the memory says.
 */
int bl_atomic_do(struct bl_snic *nic, const struct bl_snic_mem *mem, uint64_t off, const struct bl_packet *packet,
		 uint64_t *old_p);

#endif
