// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/qp: " fmt
#include "qp_moves.h"

#include <errno.h>
#include <stdio.h>

#include "net/log.h"

#define NR_ATTRS 18

static const char *const attr_names[NR_ATTRS] = {
	"ALLOW_REMOTE_WRITE", "ALLOW_REMOTE_READ", "PKEY_INDEX", "MIN_RNR_TIMER", "PORT_NUM",	       "NEXT_STATE",
	"CURRENT_STATE",      "PATH_MTU",	   "RQ_PSN",	 "SQ_PSN",	  "DEST_QP_NUM",       "ACK_TIMEOUT",
	"RETRY_CNT",	      "RNR_RETRY",	   "AH_ATTR",	 "ATOMIC_MODE",	  "MAX_QP_RD_ATOMIC", "MAX_DEST_RD_ATOMIC",
};

#define A(name) DOCA_VERBS_QP_ATTR_##name
#define S(name) DOCA_VERBS_QP_STATE_##name

/* Of each pair the first is for RC, the second for UC, which has nothing that is answered. */
const struct bl_qp_move bl_qp_moves[] = {
	{ S(RST),
	  S(INIT),
	  { A(PKEY_INDEX) | A(PORT_NUM) | A(ALLOW_REMOTE_WRITE) | A(ALLOW_REMOTE_READ),
	    A(PKEY_INDEX) | A(PORT_NUM) | A(ALLOW_REMOTE_WRITE) },
	  { A(ATOMIC_MODE), 0 } },
	{ S(INIT),
	  S(INIT),
	  { 0, 0 },
	  { A(PKEY_INDEX) | A(PORT_NUM) | A(ALLOW_REMOTE_WRITE) | A(ALLOW_REMOTE_READ) | A(ATOMIC_MODE),
	    A(PKEY_INDEX) | A(PORT_NUM) | A(ALLOW_REMOTE_WRITE) } },
	{ S(INIT),
	  S(RTR),
	  { A(RQ_PSN) | A(DEST_QP_NUM) | A(PATH_MTU) | A(AH_ATTR) | A(MIN_RNR_TIMER),
	    A(RQ_PSN) | A(DEST_QP_NUM) | A(PATH_MTU) | A(AH_ATTR) },
	  { A(PKEY_INDEX) | A(ALLOW_REMOTE_WRITE) | A(ALLOW_REMOTE_READ) | A(MAX_DEST_RD_ATOMIC) | A(ATOMIC_MODE),
	    A(PKEY_INDEX) | A(ALLOW_REMOTE_WRITE) } },
	{ S(RTR),
	  S(RTS),
	  { A(SQ_PSN) | A(ACK_TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY), A(SQ_PSN) },
	  { A(MIN_RNR_TIMER) | A(ALLOW_REMOTE_WRITE) | A(MAX_QP_RD_ATOMIC) | A(ATOMIC_MODE), A(ALLOW_REMOTE_WRITE) } },
	{ S(RTS),
	  S(RTS),
	  { 0, 0 },
	  { A(ALLOW_REMOTE_WRITE) | A(ALLOW_REMOTE_READ) | A(MIN_RNR_TIMER) | A(AH_ATTR) | A(ATOMIC_MODE),
	    A(ALLOW_REMOTE_WRITE) | A(AH_ATTR) } },
};

const size_t bl_qp_nr_moves = sizeof(bl_qp_moves) / sizeof(bl_qp_moves[0]);

const char *bl_qp_state_name(enum doca_verbs_qp_state state)
{
	static const char *const names[] = { "RST", "INIT", "RTR", "RTS", "ERR" };

	return (unsigned int)state < sizeof(names) / sizeof(names[0]) ? names[state] : "no state";
}

const char *bl_qp_attr_name(unsigned int bit)
{
	return bit < NR_ATTRS ? attr_names[bit] : NULL;
}

/* The names of all bits of a mask, in one line. */
static void name_all(uint32_t mask, char *text, size_t size)
{
	size_t used = 0;
	int len;

	*text = '\0';
	for (unsigned int bit = 0; bit < 32 && used < size; bit++) {
		if (!(mask & (1U << bit)))
			continue;
		len = bit < NR_ATTRS ? snprintf(text + used, size - used, " %s", attr_names[bit]) :
				       snprintf(text + used, size - used, " bit %u", bit);
		used += len > 0 ? (size_t)len : 0;
	}
}

static const struct bl_qp_move *find(enum doca_verbs_qp_state from, enum doca_verbs_qp_state to)
{
	static const struct bl_qp_move always;

	if (to == S(RST) || to == S(ERR))
		return &always;
	for (size_t i = 0; i < bl_qp_nr_moves; i++) {
		if (bl_qp_moves[i].from == from && bl_qp_moves[i].to == to)
			return &bl_qp_moves[i];
	}
	return NULL;
}

int bl_qp_move_check(uint32_t type, enum doca_verbs_qp_state from, enum doca_verbs_qp_state to, uint32_t mask)
{
	const struct bl_qp_move *move = find(from, to);
	uint32_t missing, surplus;
	char names[512];

	if (!move)
		return fail(EINVAL, "a queue pair does not go from %s to %s", bl_qp_state_name(from),
			    bl_qp_state_name(to));
	missing = move->required[type] & ~mask;
	surplus = mask & ~(move->required[type] | move->optional[type] | BL_QP_STATE_MASK);
	if (missing) {
		name_all(missing, names, sizeof(names));
		return fail(EINVAL, "%s to %s: missing:%s", bl_qp_state_name(from), bl_qp_state_name(to), names);
	}
	if (surplus) {
		name_all(surplus, names, sizeof(names));
		return fail(EINVAL, "%s to %s: cannot be set here:%s", bl_qp_state_name(from), bl_qp_state_name(to),
			    names);
	}
	return 0;
}
