/* SPDX-License-Identifier: MIT */
/*
 * proxy.h - a CPU that rings doorbells for a GPU
 *
 * The GPU publishes a count of posted blocks, 64 bits that never wrap; the NIC is told its low 16 bits, in the record
 * and in the doorbell.
 */
#ifndef BL_NET_PROXY_H
#define BL_NET_PROXY_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>

struct bl_gpu_qp;

/* Send doorbell record. */
static inline uint32_t bl_proxy_record(uint64_t pi)
{
	return htobe32((uint32_t)pi & 0xffffU);
}

/* Doorbell: the first 8 bytes of a control segment, index << 8 and @qpn_shift8_be as it is in memory. */
static inline uint64_t bl_proxy_doorbell(uint64_t pi, uint32_t qpn_shift8_be)
{
	union {
		uint32_t words[2];
		uint64_t value;
	} doorbell = { .words = { htobe32(((uint32_t)pi & 0xffffU) << 8), qpn_shift8_be } };

	return doorbell.value;
}

/**
 * bl_proxy_serve() - Ring once if the GPU moved on
 * @qp: exported queue pair that is proxied
 *
 * Whoever comes while somebody else is at it leaves it to that one. No system call, no lock.
 * Return: whether there was something to do.
 */
bool bl_proxy_serve(struct bl_gpu_qp *qp);

/* Keep all from serving, until bl_proxy_release(). */
void bl_proxy_hold(struct bl_gpu_qp *qp);
void bl_proxy_release(struct bl_gpu_qp *qp);

#endif
