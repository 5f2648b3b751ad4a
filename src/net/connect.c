// SPDX-License-Identifier: MIT
/*
 * Connecting a queue pair with what its program need not know: the path MTU is the smaller of both ends', and what a
 * fabric may want to have changed is in the environment.
 */
#define log_fmt(fmt) "connect: " fmt
#include <errno.h>
#include <string.h>

#include "barlane_net.h"
#include "net/export.h"
#include "net/gid.h"
#include "net/log.h"

#define MTU_LOW 256U

/**
 * struct knobs - what the environment may change
 */
struct knobs {
	uint64_t mtu;
	uint64_t ack_timeout;
	uint64_t retries;
	uint64_t rnr_retries;
	uint64_t rnr_timer;
	uint64_t hop_limit;
	uint64_t traffic_class;
	uint64_t sl;
	uint64_t pkey_index;
	uint64_t rd_atomic;
	uint64_t dest_rd_atomic;
};

static void read_knobs(struct knobs *knobs)
{
	*knobs = (struct knobs){
		.mtu = bl_net_env_number("BARLANE_NET_MTU", MTU_LOW, 4096, 4096),
		.ack_timeout = bl_net_env_number("BARLANE_NET_ACK_TIMEOUT", 0, 31, 14),
		.retries = bl_net_env_number("BARLANE_NET_RETRIES", 0, 7, 7),
		.rnr_retries = bl_net_env_number("BARLANE_NET_RNR_RETRIES", 0, 7, 7),
		.rnr_timer = bl_net_env_number("BARLANE_NET_RNR_TIMER", 0, 31, 12),
		.hop_limit = bl_net_env_number("BARLANE_NET_HOP_LIMIT", 1, 255, 255),
		.traffic_class = bl_net_env_number("BARLANE_NET_TRAFFIC_CLASS", 0, 255, 0),
		.sl = bl_net_env_number("BARLANE_NET_SL", 0, 15, 0),
		.pkey_index = bl_net_env_number("BARLANE_NET_PKEY_INDEX", 0, 0xffff, 0),
		.rd_atomic = bl_net_env_number("BARLANE_NET_RD_ATOMIC", 1, 128, 16),
	};
	knobs->dest_rd_atomic = knobs->rd_atomic;
}

/* No more than the device has. */
static int clamp_knobs(struct ibv_context *context, struct knobs *knobs)
{
	struct ibv_device_attr attr;
	int ret = bl_net_query_device(context, &attr);

	if (ret)
		return -ret;
	if (attr.max_qp_init_rd_atom > 0 && (uint64_t)attr.max_qp_init_rd_atom < knobs->rd_atomic)
		knobs->rd_atomic = (uint64_t)attr.max_qp_init_rd_atom;
	if (attr.max_qp_rd_atom > 0 && (uint64_t)attr.max_qp_rd_atom < knobs->dest_rd_atomic)
		knobs->dest_rd_atomic = (uint64_t)attr.max_qp_rd_atom;
	return 0;
}

/* Largest power of two that both ends and the environment take; an end that does not tell takes all. */
static enum doca_verbs_mtu_size choose_mtu(const struct bl_net_peer *local, const struct bl_net_peer *remote,
					   const struct knobs *knobs)
{
	uint32_t mtu = (uint32_t)knobs->mtu, size = MTU_LOW;
	int code = DOCA_VERBS_MTU_SIZE_256_BYTES;

	if (local->mtu && local->mtu < mtu)
		mtu = local->mtu;
	if (remote->mtu && remote->mtu < mtu)
		mtu = remote->mtu;
	for (; code < DOCA_VERBS_MTU_SIZE_4K_BYTES && 2 * size <= mtu; code++)
		size *= 2;
	return (enum doca_verbs_mtu_size)code;
}

static enum doca_verbs_addr_type address_type(const struct bl_net_peer *local)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (local->lid)
		return DOCA_VERBS_ADDR_TYPE_IB_GRH;
	return memcmp(local->gid, mapped, sizeof(mapped)) ? DOCA_VERBS_ADDR_TYPE_IPv6 : DOCA_VERBS_ADDR_TYPE_IPv4;
}

#define SET(what, ...) (err = err ? err : doca_verbs_##what(__VA_ARGS__))

static doca_error_t fill_way(struct doca_verbs_ah_attr *way, const struct bl_net_peer *local,
			     const struct bl_net_peer *remote, const struct knobs *knobs)
{
	struct doca_verbs_gid gid;
	doca_error_t err = DOCA_SUCCESS;

	memcpy(gid.raw, remote->gid, sizeof(gid.raw));
	SET(ah_attr_set_gid, way, gid);
	SET(ah_attr_set_addr_type, way, address_type(local));
	SET(ah_attr_set_dlid, way, remote->lid);
	SET(ah_attr_set_sgid_index, way, local->gid_index);
	SET(ah_attr_set_hop_limit, way, (uint8_t)knobs->hop_limit);
	SET(ah_attr_set_traffic_class, way, (uint8_t)knobs->traffic_class);
	SET(ah_attr_set_sl, way, (uint8_t)knobs->sl);
	return err;
}

static doca_error_t fill_attr(struct doca_verbs_qp_attr *attr, struct doca_verbs_ah_attr *way,
			      const struct bl_net_peer *local, const struct bl_net_peer *remote,
			      const struct knobs *knobs)
{
	doca_error_t err = DOCA_SUCCESS;

	SET(qp_attr_set_pkey_index, attr, (uint16_t)knobs->pkey_index);
	SET(qp_attr_set_port_num, attr, local->port);
	SET(qp_attr_set_allow_remote_write, attr, 1);
	SET(qp_attr_set_allow_remote_read, attr, 1);
	SET(qp_attr_set_allow_remote_atomic, attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
	SET(qp_attr_set_ah_attr, attr, way);
	SET(qp_attr_set_path_mtu, attr, choose_mtu(local, remote, knobs));
	SET(qp_attr_set_rq_psn, attr, remote->psn);
	SET(qp_attr_set_sq_psn, attr, local->psn);
	SET(qp_attr_set_dest_qp_num, attr, remote->qpn);
	SET(qp_attr_set_ack_timeout, attr, (uint16_t)knobs->ack_timeout);
	SET(qp_attr_set_retry_cnt, attr, (uint16_t)knobs->retries);
	SET(qp_attr_set_rnr_retry, attr, (uint16_t)knobs->rnr_retries);
	SET(qp_attr_set_min_rnr_timer, attr, (uint16_t)knobs->rnr_timer);
	SET(qp_attr_set_max_rd_atomic, attr, (uint8_t)knobs->rd_atomic);
	SET(qp_attr_set_max_dest_rd_atomic, attr, (uint8_t)knobs->dest_rd_atomic);
	return err;
}

static doca_error_t step(struct doca_verbs_qp *qp, struct doca_verbs_qp_attr *attr, enum doca_verbs_qp_state state,
			 int mask)
{
	doca_error_t err = doca_verbs_qp_attr_set_next_state(attr, state);

	return err ? err : doca_verbs_qp_modify(qp, attr, mask | DOCA_VERBS_QP_ATTR_NEXT_STATE);
}

/* An unreliable connection takes no retries, no time-outs, and nothing that reads. */
static doca_error_t move(struct doca_verbs_qp *qp, struct doca_verbs_qp_attr *attr, bool uc)
{
	int init = DOCA_VERBS_QP_ATTR_PKEY_INDEX | DOCA_VERBS_QP_ATTR_PORT_NUM | DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE;
	int rtr = DOCA_VERBS_QP_ATTR_RQ_PSN | DOCA_VERBS_QP_ATTR_DEST_QP_NUM | DOCA_VERBS_QP_ATTR_PATH_MTU |
		  DOCA_VERBS_QP_ATTR_AH_ATTR;
	int rts = DOCA_VERBS_QP_ATTR_SQ_PSN;
	doca_error_t err;

	if (!uc) {
		init |= DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ;
		rtr |= DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER | DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC;
		rts |= DOCA_VERBS_QP_ATTR_ACK_TIMEOUT | DOCA_VERBS_QP_ATTR_RETRY_CNT | DOCA_VERBS_QP_ATTR_RNR_RETRY |
		       DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC;
	}
	err = step(qp, attr, DOCA_VERBS_QP_STATE_INIT, init);
	if (!err)
		err = step(qp, attr, DOCA_VERBS_QP_STATE_RTR, rtr);
	return err ? err : step(qp, attr, DOCA_VERBS_QP_STATE_RTS, rts);
}

/* What the verbs layer decided and logged, as an errno value again. */
static int errno_of(doca_error_t err)
{
	switch (err) {
	case DOCA_SUCCESS:
		return 0;
	case DOCA_ERROR_INVALID_VALUE:
		return -EINVAL;
	case DOCA_ERROR_NO_MEMORY:
		return -ENOMEM;
	case DOCA_ERROR_NOT_CONNECTED:
		return -ENOTCONN;
	case DOCA_ERROR_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	case DOCA_ERROR_NOT_PERMITTED:
		return -EACCES;
	default:
		return -EIO;
	}
}

int bl_net_qp_connect(struct ibv_context *context, struct doca_verbs_qp *qp, int uc, const struct bl_net_peer *local,
		      const struct bl_net_peer *remote)
{
	struct doca_verbs_qp_attr *attr = NULL;
	struct doca_verbs_ah_attr *way = NULL;
	struct knobs knobs;
	doca_error_t err;
	int ret;

	if (!local || !remote)
		return fail(EINVAL, "an end is not known");
	read_knobs(&knobs);
	ret = clamp_knobs(context, &knobs);
	if (ret)
		return ret;
	err = doca_verbs_ah_attr_create(context, &way);
	if (!err)
		err = doca_verbs_qp_attr_create(&attr);
	if (!err)
		err = fill_way(way, local, remote, &knobs);
	if (!err)
		err = fill_attr(attr, way, local, remote, &knobs);
	if (!err)
		err = move(qp, attr, uc);
	if (attr)
		doca_verbs_qp_attr_destroy(attr);
	if (way)
		doca_verbs_ah_attr_destroy(way);
	return errno_of(err);
}

int bl_net_qp_local(struct ibv_context *context, struct doca_verbs_qp *qp, uint8_t port, int gid_index,
		    struct bl_net_peer *peer)
{
	struct bl_net_peer made = { .port = port };
	struct ibv_port_attr attr;
	union ibv_gid gid;
	int ret;

	if (!peer || !qp || gid_index > UINT8_MAX)
		return fail(EINVAL, "no queue pair, no place for the answer, or GID index %d", gid_index);
	ret = bl_net_query_port(context, port, &attr);
	if (ret)
		return -ret;
	if (gid_index < 0) {
		ret = bl_gid_choose(context, port, attr.gid_tbl_len, &gid, &made.gid_index);
	} else {
		made.gid_index = (uint8_t)gid_index;
		ret = -bl_net_query_gid(context, port, gid_index, &gid);
	}
	if (ret)
		return ret;
	memcpy(made.gid, gid.raw, sizeof(made.gid));
	made.qpn = doca_verbs_qp_get_qpn(qp);
	made.lid = attr.lid;
	made.mtu = attr.active_mtu ? 128U << attr.active_mtu : 0;
	*peer = made;
	log_info("qp 0x%x: port %d GID %d, MTU %u", made.qpn, port, made.gid_index, made.mtu);
	return 0;
}
