// SPDX-License-Identifier: MIT
/* States of the device's queue pairs: each move has the attributes that libibverbs wants of it. */
#define log_fmt(fmt) "net/verbs: " fmt
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "link.h"
#include "net/log.h"

static enum ibv_mtu mtu_code(uint32_t bytes)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && (256U << (code - IBV_MTU_256)) < bytes)
		code++;
	return code;
}

/* An unreliable connection is only written to. */
static unsigned int access_of(const struct bl_carrier *carrier, const struct bl_snic_qp_mod *mod)
{
	return carrier->uc ? mod->access & IBV_ACCESS_REMOTE_WRITE : mod->access;
}

static int to_init(const struct bl_carrier *carrier, const struct bl_snic_qp_mod *mod, struct ibv_qp_attr *attr)
{
	attr->pkey_index = mod->pkey_index;
	attr->port_num = mod->port;
	attr->qp_access_flags = access_of(carrier, mod);
	return IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

static int to_rtr(const struct bl_carrier *carrier, const struct bl_snic_qp_mod *mod, struct ibv_qp_attr *attr)
{
	attr->path_mtu = mtu_code(mod->mtu);
	attr->dest_qp_num = mod->dest_qpn;
	attr->rq_psn = mod->rq_psn;
	attr->ah_attr = (struct ibv_ah_attr){
		.dlid = mod->dlid,
		.sl = mod->sl,
		.static_rate = mod->static_rate,
		.port_num = mod->port,
		.is_global = !mod->no_grh,
		.grh = {
			.sgid_index = mod->sgid_index,
			.hop_limit = mod->hop_limit,
			.traffic_class = mod->traffic_class,
		},
	};
	memcpy(attr->ah_attr.grh.dgid.raw, mod->dest_gid, sizeof(mod->dest_gid));
	attr->max_dest_rd_atomic = mod->max_dest_rd_atomic;
	attr->min_rnr_timer = mod->min_rnr_timer;
	return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	       (carrier->uc ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(const struct bl_carrier *carrier, const struct bl_snic_qp_mod *mod, struct ibv_qp_attr *attr)
{
	const struct bl_snic_link *link = carrier->link;

	attr->sq_psn = mod->sq_psn;
	/* 0 is without end */
	attr->timeout = mod->ack_timeout && mod->ack_timeout < link->least_timeout ? link->least_timeout : mod->ack_timeout;
	attr->retry_cnt = mod->retry_cnt < link->most_retries ? mod->retry_cnt : link->most_retries;
	attr->rnr_retry = mod->rnr_retry;
	attr->max_rd_atomic = mod->max_rd_atomic;
	return IBV_QP_SQ_PSN | (carrier->uc ? 0 :
				IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int again(const struct bl_carrier *carrier, const struct bl_snic_qp_mod *mod, struct ibv_qp_attr *attr)
{
	attr->qp_access_flags = access_of(carrier, mod);
	attr->min_rnr_timer = mod->min_rnr_timer;
	return IBV_QP_ACCESS_FLAGS | (carrier->uc ? 0 : IBV_QP_MIN_RNR_TIMER);
}

static const char *hint(enum bl_snic_qp_state to, int err)
{
	if (to != BL_SNIC_RTR)
		return "";
	switch (err) {
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return ": nobody answers at the peer's address, or no route leads there from the chosen one";
	case EINVAL:
		return ": is the peer's address of the kind (IPv4, IPv6) of the chosen one, and the MTU not above the port's?";
	default:
		return "";
	}
}

static int refuse(const struct bl_carrier *carrier, const struct bl_snic_qp_mod *mod, int err)
{
	static const char *const names[] = { "RST", "INIT", "RTR", "RTS", "ERR" };
	char gid[INET6_ADDRSTRLEN] = "";

	inet_ntop(AF_INET6, mod->dest_gid, gid, sizeof(gid));
	return fail(err, "device %s: qp 0x%x to %s (port %u, address %u, peer %s qp 0x%x, mtu %u): ibv_modify_qp: %s%s",
		    carrier->link->name, carrier->qp->qp_num, names[mod->state], mod->port, mod->sgid_index, gid,
		    mod->dest_qpn, mod->mtu, strerror(err), hint(mod->state, err));
}

/* What a queue pair is asked for again does not count any more. */
static void forget_requests(struct bl_carrier *carrier)
{
	struct ibv_wc wc[32];

	while (ibv_poll_cq(carrier->cq, 32, wc) > 0)
		;
	carrier->sends = carrier->receives = carrier->fetches = 0;
	carrier->event = carrier->flush_why = NULL;
}

int bl_ibv_move(struct bl_carrier *carrier, enum bl_snic_qp_state from, const struct bl_snic_qp_mod *mod)
{
	static const enum ibv_qp_state states[] = {
		[BL_SNIC_RST] = IBV_QPS_RESET, [BL_SNIC_INIT] = IBV_QPS_INIT, [BL_SNIC_RTR] = IBV_QPS_RTR,
		[BL_SNIC_RTS] = IBV_QPS_RTS,   [BL_SNIC_ERR] = IBV_QPS_ERR,
	};
	struct ibv_qp_attr attr = { .qp_state = states[mod->state] };
	int mask = IBV_QP_STATE, ret;

	if (mod->state == BL_SNIC_INIT)
		mask |= to_init(carrier, mod, &attr);
	else if (mod->state == BL_SNIC_RTR)
		mask |= to_rtr(carrier, mod, &attr);
	else if (mod->state == BL_SNIC_RTS)
		mask |= from == BL_SNIC_RTS ? again(carrier, mod, &attr) : to_rts(carrier, mod, &attr);
	ret = carrier->link->ibv->modify_qp(carrier->qp, &attr, mask);
	if (ret)
		return refuse(carrier, mod, ret > 0 ? ret : errno);
	if (mod->state == BL_SNIC_INIT)
		carrier->port = mod->port;
	if (mod->state == BL_SNIC_RTR) {
		carrier->mtu = attr.path_mtu;
		bl_ibv_meet(carrier, mod);
	}
	if (mod->state == BL_SNIC_RST)
		forget_requests(carrier);
	return 0;
}
