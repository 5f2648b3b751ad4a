// SPDX-License-Identifier: MIT
/* Commands that move a queue pair. */
#include <string.h>

#include "model.h"

#define RRE	    (1U << 1)
#define RAE	    (1U << 2)
#define RWE	    (1U << 3)
#define PKEY	    (1U << 4)
#define RNR	    (1U << 6)
#define PORT	    (1U << 16)
#define NO_MAC	    0

/**
 * struct move - a command
 * @optional: what its mask may name, of RC; UC has RWE, PKEY and PORT of these
 * @words:    what may be other than zero
 */
struct move {
	uint16_t opcode;
	enum bl_snic_qp_state from, to;
	uint32_t optional;
	const struct model_known *words;
};

#define QPN { 0x00, 0xffff0000 }, { 0x08, 0x00ffffff }
#define END { 0, 0 }

static const struct model_known short_words[] = { QPN, END };
static const struct model_known rst2init_words[] = {
	QPN, { 0x18, 0x00001800 }, { 0x30, 0x0000ffff }, { 0x54, 0x00ff0000 }, { 0xa8, 0x000fe000 }, END
};
static const struct model_known init2init_words[] = {
	QPN, { 0x10, ~0U }, { 0x18, 0x00001800 }, { 0x30, 0x0000ffff }, { 0x54, 0x00ff0000 }, { 0xa8, 0x000fe000 }, END
};
static const struct model_known init2rtr_words[] = {
	QPN, { 0x10, ~0U }, { 0x20, 0xff000000 }, { 0x2c, 0x00ffffff },
	/* the path */
	{ 0x30, 0x0000ffff }, { 0x34, 0x0080ffff }, { 0x38, 0x00ff0fff }, { 0x3c, 0x0ff00000 }, { 0x40, ~0U },
	{ 0x44, ~0U }, { 0x48, ~0U }, { 0x4c, ~0U }, { 0x50, 0x003fffff }, { 0x54, 0x0fffffff }, { 0x58, ~0U },
	{ 0xa8, 0x00efe000 }, { 0xac, 0x1fffffff }, END
};
static const struct model_known rtr2rts_words[] = {
	QPN, { 0x10, ~0U }, { 0x38, 0xf8000000 }, { 0x88, 0x00e7e000 }, { 0x90, 0x00ffffff }, { 0xa8, 0x000fe000 },
	{ 0xac, 0x1f000000 }, END
};
static const struct model_known rts2rts_words[] = {
	QPN, { 0x10, ~0U }, { 0xa8, 0x000fe000 }, { 0xac, 0x1f000000 }, END
};

static const struct move moves[] = {
	{ 0x502, BL_SNIC_RST, BL_SNIC_INIT, 0, rst2init_words },
	{ 0x50e, BL_SNIC_INIT, BL_SNIC_INIT, RRE | RAE | RWE | PKEY | PORT, init2init_words },
	{ 0x503, BL_SNIC_INIT, BL_SNIC_RTR, RRE | RAE | RWE | PKEY, init2rtr_words },
	{ 0x504, BL_SNIC_RTR, BL_SNIC_RTS, RRE | RAE | RWE | RNR, rtr2rts_words },
	{ 0x505, BL_SNIC_RTS, BL_SNIC_RTS, RRE | RAE | RWE | RNR, rts2rts_words },
};

static const struct move *find(uint16_t opcode)
{
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		if (moves[i].opcode == opcode)
			return &moves[i];
	}
	return NULL;
}

/* Rights: of RST2INIT all, of others those that the mask names. */
static void take_access(struct model_qp *qp, const uint8_t *in, bool all)
{
	static const struct {
		uint32_t opt;
		unsigned int shift, access;
	} rights[] = {
		{ RRE, 15, BL_SNIC_REMOTE_READ }, { RWE, 14, BL_SNIC_REMOTE_WRITE }, { RAE, 13, BL_SNIC_REMOTE_ATOMIC },
	};

	for (size_t i = 0; i < 3; i++) {
		if (!all && !(get32(in, 0x10) & rights[i].opt))
			continue;
		qp->mod.access &= ~rights[i].access;
		if (get32(in, 0xa8) >> rights[i].shift & 1)
			qp->mod.access |= rights[i].access;
	}
}

static bool is_v2(unsigned int index)
{
	return fake_ibv.gid_types[index] == IBV_GID_TYPE_ROCE_V2;
}

/* What only RoCE, only its second version, or only InfiniBand has. */
static const char *way_fault(const uint8_t *in)
{
	unsigned int index = get32(in, 0x38) >> 16 & 0xff, sport = get32(in, 0x50) & 0xffff;
	uint8_t mac[6], given[6];
	bool v2;

	for (int i = 0; i < 6; i++)
		given[i] = in[0x56 + i];
	if (fake_ibv.infiniband) {
		if (sport || get32(in, 0x50) || memcmp(given, (uint8_t[6]){ NO_MAC }, 6) != 0)
			return "an InfiniBand path with a MAC, a DSCP or a UDP port";
		return !(get32(in, 0x34) & 0xffff) ? "an InfiniBand path without LID" : NULL;
	}
	if (get32(in, 0x34))
		return "a RoCE path with a LID or a GRH bit";
	if ((int)index >= fake_ibv.nr_gids || fake_ibv.gid_types[index] == 0xff)
		return "there is no such address";
	v2 = is_v2(index);
	model_mac(in + 0x40, mac);
	if (memcmp(mac, given, 6) != 0)
		return "the MAC is not the peer's";
	if (v2 ? get32(in, 0x3c) : get32(in, 0x50))
		return "RoCE v1 has a traffic class, v2 DSCP and UDP port";
	if (v2 && (fake_mlx5.own_sport ? sport : sport < FAKE_MIN_SPORT))
		return "UDP source port";
	return NULL;
}

static bool take_path(struct model_qp *qp, const uint8_t *in)
{
	const char *fault = way_fault(in);
	uint32_t mtu = get32(in, 0x20) >> 29;

	if (!fault && (mtu < 1 || mtu > 5 || (get32(in, 0x20) >> 24 & 0x1f) != 30))
		fault = "MTU or largest message";
	if (fault) {
		model_complain("INIT2RTR: %s", fault);
		return false;
	}
	memcpy(qp->mod.dest_gid, in + 0x40, sizeof(qp->mod.dest_gid));
	qp->mod.hop_limit = (uint8_t)get32(in, 0x38);
	qp->mod.traffic_class = (uint8_t)((get32(in, 0x50) >> 16 & 0x3f) << 2 | (get32(in, 0x3c) >> 20 & 0xff));
	qp->mod.sl = get32(in, 0x54) >> 24 & 0xf;
	qp->mod.static_rate = get32(in, 0x38) >> 8 & 0xf;
	qp->mod.mtu = 128U << mtu;
	qp->mod.dest_qpn = get32(in, 0x2c);
	qp->mod.rq_psn = get32(in, 0xac) & 0xffffff;
	qp->mod.min_rnr_timer = get32(in, 0xac) >> 24;
	qp->mod.max_dest_rd_atomic = (uint8_t)(1U << (get32(in, 0xa8) >> 21 & 7));
	return true;
}

static void take_timers(struct model_qp *qp, const uint8_t *in)
{
	qp->mod.sq_psn = get32(in, 0x90);
	qp->mod.ack_timeout = get32(in, 0x38) >> 27;
	qp->mod.max_rd_atomic = (uint8_t)(1U << (get32(in, 0x88) >> 21 & 7));
	qp->mod.retry_cnt = get32(in, 0x88) >> 16 & 7;
	qp->mod.rnr_retry = get32(in, 0x88) >> 13 & 7;
}

static bool step(struct model_qp *qp, enum bl_snic_qp_state to)
{
	qp->mod.state = to;
	return !bl_snic_qp_modify(qp->snic, &qp->mod);
}

/* The software NIC takes rights and timers at fewer moves, and then makes two. */
static bool carry_out(struct model_qp *qp, const struct move *move)
{
	if (move->from == BL_SNIC_INIT && move->to == BL_SNIC_RTR && !step(qp, BL_SNIC_INIT))
		return false;
	if (!step(qp, move->to))
		return false;
	return move->from != BL_SNIC_RTR || step(qp, BL_SNIC_RTS);
}

static uint8_t refuse(struct model_qp *qp, uint16_t opcode, const char *why, uint8_t status)
{
	model_complain("command 0x%x of qp 0x%x: %s", opcode, qp->obj.object.number, why);
	return status;
}

static bool has_good_port(const uint8_t *in, const struct move *move)
{
	return move->from != BL_SNIC_RST || ((get32(in, 0x54) >> 16 & 0xff) == 1 && (get32(in, 0x18) >> 11 & 3) == 3);
}

static uint8_t move_on(struct model_qp *qp, const uint8_t *in, const struct move *move)
{
	uint32_t optional = move->optional & (qp->uc ? RWE | PKEY | PORT : ~0U);

	if (!model_is_clean(in, FAKE_COMMAND_MAX, move->words))
		return STATUS_BAD_PARAM;
	if (qp->mod.state != move->from)
		return refuse(qp, move->opcode, "not from this state", STATUS_BAD_STATE);
	if (get32(in, 0x10) & ~optional)
		return refuse(qp, move->opcode, "its optional parameters", STATUS_BAD_PARAM);
	if (!has_good_port(in, move))
		return refuse(qp, move->opcode, "port or state of migration", STATUS_BAD_PARAM);
	take_access(qp, in, move->from == BL_SNIC_RST);
	if (move->to == BL_SNIC_RTR && !take_path(qp, in))
		return STATUS_BAD_PARAM;
	if (move->from == BL_SNIC_RTR)
		take_timers(qp, in);
	if (get32(in, 0x10) & RNR)
		qp->mod.min_rnr_timer = get32(in, 0xac) >> 24;
	return carry_out(qp, move) ? 0 : STATUS_BAD_PARAM;
}

uint8_t model_move(struct model_qp *qp, const uint8_t *in)
{
	uint16_t opcode = (uint16_t)(get32(in, 0) >> 16);
	const struct move *move = find(opcode);
	struct bl_snic_qp_mod none = { .state = BL_SNIC_RST };

	if ((get32(in, 8) & 0xffffff) != qp->obj.object.number)
		return refuse(qp, opcode, "it names another one", STATUS_BAD_RESOURCE);
	if (move)
		return move_on(qp, in, move);
	if ((opcode != 0x507 && opcode != 0x50a) || !model_is_clean(in, 16, short_words))
		return refuse(qp, opcode, "no such move", STATUS_BAD_PARAM);
	if (opcode == 0x507)
		return step(qp, BL_SNIC_ERR) ? 0 : STATUS_BAD_STATE;
	qp->mod = none;
	if (!step(qp, BL_SNIC_RST))
		return STATUS_BAD_STATE;
	/* now the NIC does not look at them */
	qp->shown[0] = qp->shown[1] = 0;
	return 0;
}
