/* SPDX-License-Identifier: MIT */
/* qp_size.h - how large the queues of a queue pair are */
#ifndef BL_NET_VERBS_QP_SIZE_H
#define BL_NET_VERBS_QP_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#define BL_WQE_BLOCK 64 /* a send WQE is a number of these */
#define BL_WQE_SEG   16 /* a WQE is made of these */

/**
 * struct bl_qp_want - what a program asks for
 */
struct bl_qp_want {
	uint32_t sq_wr;
	uint32_t send_sges;
	uint32_t inline_len;
	uint32_t rq_wr;
	uint32_t recv_sges;
};

/**
 * struct bl_qp_size - what that makes; all powers of two, or 0
 * @sq_blocks: blocks of 64 bytes
 * @rq_nr:     WQEs
 * @rq_sges:   segments of one
 * @rq_len:    bytes of the receive queue, which lies first
 */
struct bl_qp_size {
	uint32_t sq_blocks;
	uint32_t rq_nr;
	uint32_t rq_sges;
	uint64_t rq_len;
	uint64_t sq_len;
};

/* Bytes of a send WQE: control and remote address, and either the data segments or the inline segment; whole blocks. */
uint64_t bl_send_wqe_len(uint32_t sges, uint32_t inline_len);

/**
 * bl_qp_size() - Sizes of both queues
 * @want:   what is asked for
 * @max_wr: blocks, and receive WQEs, that the device has at most
 * @size:   receives the answer
 *
 * Return: 0, or -EINVAL when it is more, with the reason.
 */
int bl_qp_size(const struct bl_qp_want *want, uint32_t max_wr, struct bl_qp_size *size);

/**
 * struct bl_srq_size - a shared receive queue
 * @nr:	     WQEs, a power of two; of a linked list one more than may be posted
 * @sges:    data segments of one
 * @wqe_len: bytes of one, a power of two; of a linked list with a segment for the next one
 */
struct bl_srq_size {
	uint32_t nr;
	uint32_t sges;
	uint32_t wqe_len;
};

/* Sizes of a queue of @wr WQEs of at least @sges segments, both within what the device has. */
void bl_srq_size(uint32_t wr, uint32_t sges, bool linked, struct bl_srq_size *size);

#endif
