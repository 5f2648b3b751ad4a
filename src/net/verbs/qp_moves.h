/* SPDX-License-Identifier: MIT */
/* qp_moves.h - which moves a queue pair can make, and which attributes each of them needs and takes */
#ifndef BL_NET_VERBS_QP_MOVES_H
#define BL_NET_VERBS_QP_MOVES_H

#include <stddef.h>
#include <stdint.h>

#include "gpunetio/host/doca_verbs.h"

/**
 * struct bl_qp_move - one move
 * @required: DOCA_VERBS_QP_ATTR_* without which it fails, by service
 * @optional: those that it takes besides; the two of states always
 */
struct bl_qp_move {
	enum doca_verbs_qp_state from;
	enum doca_verbs_qp_state to;
	uint32_t required[2];
	uint32_t optional[2];
};

#define BL_QP_STATE_MASK ((uint32_t)(DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_CURRENT_STATE))

/* The moves, all but those that every state has: to RST and to ERR. */
extern const struct bl_qp_move bl_qp_moves[];
extern const size_t bl_qp_nr_moves;

/* "RST" and so on, also for a number that is no state. */
const char *bl_qp_state_name(enum doca_verbs_qp_state state);

/* "RQ_PSN" and so on; NULL for a bit that is no attribute. */
const char *bl_qp_attr_name(unsigned int bit);

/**
 * bl_qp_move_check() - Whether a move may be made with these attributes
 * @type: DOCA_VERBS_QP_TYPE_*
 * @from: state now
 * @to:   state wanted
 * @mask: DOCA_VERBS_QP_ATTR_*
 *
 * Return: 0, or -EINVAL: no such move, attributes missing, or of no use; each is named in the reason.
 */
int bl_qp_move_check(uint32_t type, enum doca_verbs_qp_state from, enum doca_verbs_qp_state to, uint32_t mask);

#endif
