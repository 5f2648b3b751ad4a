// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "net/qp: " fmt
#include "qp_values.h"

#include <string.h>

#define PSN_MASK 0xffffffU
#define MIN_MTU	 256U

/* A value that must not exceed a limit. */
static int limit(const char *name, unsigned int value, unsigned int max)
{
	return value > max ? fail(EINVAL, "%s %u is more than %u", name, value, max) : 0;
}

static uint32_t psn_of(const char *name, uint32_t psn)
{
	if (psn & ~PSN_MASK)
		log_warn("%s 0x%x has more than 24 bits: taken as 0x%x", name, psn, psn & PSN_MASK);
	return psn & PSN_MASK;
}

static int take_way(const struct doca_verbs_ah_attr *ah, const struct bl_nic_caps *caps, struct bl_nic_qp_mod *mod)
{
	if (!ah)
		return fail(EINVAL, "AH_ATTR: no address handle was set");
	if ((unsigned int)ah->addr_type > DOCA_VERBS_ADDR_TYPE_IB_NO_GRH)
		return fail(EINVAL, "address type %d: there is none", (int)ah->addr_type);
	if (ah->sgid_index >= caps->gids)
		return fail(EINVAL, "sgid index %u: the port has %u addresses", ah->sgid_index, caps->gids);
	if (ah->sl > 15)
		return fail(EINVAL, "service level %u is more than 15", ah->sl);
	mod->addr_type = ah->addr_type;
	memcpy(mod->gid, ah->gid.raw, sizeof(mod->gid));
	mod->dlid = ah->dlid;
	mod->sl = ah->sl;
	mod->sgid_index = ah->sgid_index;
	mod->static_rate = ah->static_rate;
	mod->hop_limit = ah->hop_limit;
	mod->traffic_class = ah->traffic_class;
	return 0;
}

static int take_access(const struct doca_verbs_qp_attr *attr, uint32_t mask, struct bl_nic_qp_mod *mod)
{
	bool wants_atomic = mask & DOCA_VERBS_QP_ATTR_ATOMIC_MODE ||
			    attr->allow_remote_atomic != DOCA_VERBS_QP_ATOMIC_MODE_NONE;

	if (mask & DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE)
		mod->access = (mod->access & ~(unsigned int)IBV_ACCESS_REMOTE_WRITE) |
			      (attr->allow_remote_write ? IBV_ACCESS_REMOTE_WRITE : 0);
	if (mask & DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ)
		mod->access = (mod->access & ~(unsigned int)IBV_ACCESS_REMOTE_READ) |
			      (attr->allow_remote_read ? IBV_ACCESS_REMOTE_READ : 0);
	if (!wants_atomic || mod->to == DOCA_VERBS_QP_STATE_RST || mod->to == DOCA_VERBS_QP_STATE_ERR)
		return 0;
	switch (attr->allow_remote_atomic) {
	case DOCA_VERBS_QP_ATOMIC_MODE_NONE:
		mod->access &= ~(unsigned int)IBV_ACCESS_REMOTE_ATOMIC;
		break;
	case DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC:
	case DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES:
		mod->access |= IBV_ACCESS_REMOTE_ATOMIC;
		break;
	default:
		return fail(EINVAL, "atomic mode %d: there is none", (int)attr->allow_remote_atomic);
	}
	mod->atomic_mode = attr->allow_remote_atomic;
	return 0;
}

static int take_path(const struct doca_verbs_qp_attr *attr, uint32_t mask, const struct bl_nic_caps *caps,
		     struct bl_nic_qp_mod *mod)
{
	if (mask & DOCA_VERBS_QP_ATTR_PKEY_INDEX) {
		if (attr->pkey_index >= caps->max_pkeys)
			return fail(EINVAL, "pkey index %u: the port has %u keys", attr->pkey_index, caps->max_pkeys);
		mod->pkey_index = attr->pkey_index;
	}
	if (mask & DOCA_VERBS_QP_ATTR_PORT_NUM) {
		if (!attr->port_num || attr->port_num > caps->ports)
			return fail(EINVAL, "port %u: there are %u from 1 on", attr->port_num, caps->ports);
		mod->port = (uint8_t)attr->port_num;
	}
	if (mask & DOCA_VERBS_QP_ATTR_PATH_MTU) {
		if ((unsigned int)attr->path_mtu > DOCA_VERBS_MTU_SIZE_4K_BYTES)
			return fail(EINVAL, "path MTU %d: only 256 to 4096 bytes", (int)attr->path_mtu);
		mod->mtu = MIN_MTU << attr->path_mtu;
	}
	if (mask & DOCA_VERBS_QP_ATTR_DEST_QP_NUM) {
		if (attr->dest_qp_num & ~PSN_MASK)
			return fail(EINVAL, "queue pair number 0x%x of the peer has more than 24 bits", attr->dest_qp_num);
		mod->dest_qpn = attr->dest_qp_num;
	}
	return mask & DOCA_VERBS_QP_ATTR_AH_ATTR ? take_way(attr->ah_attr, caps, mod) : 0;
}

/* What is a small number with an upper bound. */
static int take_numbers(const struct doca_verbs_qp_attr *attr, uint32_t mask, const struct bl_nic_caps *caps,
			struct bl_nic_qp_mod *mod)
{
	const struct {
		uint32_t bit;
		const char *name;
		unsigned int value;
		unsigned int max;
		uint8_t *to;
	} numbers[] = {
		{ DOCA_VERBS_QP_ATTR_ACK_TIMEOUT, "ack timeout", attr->ack_timeout, 31, &mod->ack_timeout },
		{ DOCA_VERBS_QP_ATTR_RETRY_CNT, "retry count", attr->retry_cnt, 7, &mod->retry_cnt },
		{ DOCA_VERBS_QP_ATTR_RNR_RETRY, "RNR retry count", attr->rnr_retry, 7, &mod->rnr_retry },
		{ DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER, "RNR timer", attr->min_rnr_timer, 31, &mod->min_rnr_timer },
		{ DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC, "reads and atomics under way", attr->max_rd_atomic,
		  caps->max_qp_init_rd_atom, &mod->max_rd_atomic },
		{ DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC, "reads and atomics of the peer", attr->max_dest_rd_atomic,
		  caps->max_qp_rd_atom, &mod->max_dest_rd_atomic },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!(mask & numbers[i].bit))
			continue;
		if (limit(numbers[i].name, numbers[i].value, numbers[i].max))
			return -EINVAL;
		*numbers[i].to = (uint8_t)numbers[i].value;
	}
	return 0;
}

int bl_qp_values_take(const struct doca_verbs_qp_attr *attr, uint32_t mask, const struct bl_nic_caps *caps,
		      struct bl_nic_qp_mod *mod)
{
	int ret;

	if (mask & DOCA_VERBS_QP_ATTR_RQ_PSN)
		mod->rq_psn = psn_of("rq_psn", attr->rq_psn);
	if (mask & DOCA_VERBS_QP_ATTR_SQ_PSN)
		mod->sq_psn = psn_of("sq_psn", attr->sq_psn);
	ret = take_path(attr, mask, caps, mod);
	if (!ret)
		ret = take_numbers(attr, mask, caps, mod);
	return ret ? ret : take_access(attr, mask, mod);
}

static enum doca_verbs_mtu_size mtu_code(uint32_t bytes)
{
	enum doca_verbs_mtu_size code = DOCA_VERBS_MTU_SIZE_256_BYTES;

	while (code < DOCA_VERBS_MTU_SIZE_4K_BYTES && MIN_MTU << code < bytes)
		code++;
	return code;
}

static void give_way(const struct bl_nic_qp_mod *mod, struct doca_verbs_ah_attr *ah)
{
	memcpy(ah->gid.raw, mod->gid, sizeof(ah->gid.raw));
	ah->addr_type = mod->addr_type;
	ah->dlid = mod->dlid;
	ah->sl = mod->sl;
	ah->sgid_index = mod->sgid_index;
	ah->static_rate = mod->static_rate;
	ah->hop_limit = mod->hop_limit;
	ah->traffic_class = mod->traffic_class;
}

void bl_qp_values_give(const struct bl_nic_qp_mod *mod, struct doca_verbs_qp_attr *attr)
{
	attr->path_mtu = mtu_code(mod->mtu);
	attr->rq_psn = mod->rq_psn;
	attr->sq_psn = mod->sq_psn;
	attr->dest_qp_num = mod->dest_qpn;
	attr->allow_remote_write = !!(mod->access & IBV_ACCESS_REMOTE_WRITE);
	attr->allow_remote_read = !!(mod->access & IBV_ACCESS_REMOTE_READ);
	attr->allow_remote_atomic = (enum doca_verbs_qp_atomic_type)mod->atomic_mode;
	attr->pkey_index = mod->pkey_index;
	attr->port_num = mod->port;
	attr->ack_timeout = mod->ack_timeout;
	attr->retry_cnt = mod->retry_cnt;
	attr->rnr_retry = mod->rnr_retry;
	attr->min_rnr_timer = mod->min_rnr_timer;
	attr->max_rd_atomic = mod->max_rd_atomic;
	attr->max_dest_rd_atomic = mod->max_dest_rd_atomic;
	if (attr->ah_attr)
		give_way(mod, attr->ah_attr);
}
