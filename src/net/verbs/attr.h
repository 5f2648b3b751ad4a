/* SPDX-License-Identifier: MIT */
/*
 * attr.h - objects that only hold values, and their setters and getters
 *
 * Each line of BL_ATTR_...() in a file of attributes is one function of doca_verbs.h.
 */
#ifndef BL_NET_VERBS_ATTR_H
#define BL_NET_VERBS_ATTR_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "error.h"
#include "gpunetio/host/doca_verbs.h"
#include "net/log.h"

struct doca_verbs_qp_init_attr {
	struct ibv_pd *pd;
	struct doca_verbs_cq *send_cq;
	struct doca_verbs_cq *receive_cq;
	struct doca_verbs_srq *srq;
	int sq_sig_all;
	uint32_t sq_wr;
	uint32_t rq_wr;
	uint32_t send_max_sges;
	uint32_t receive_max_sges;
	uint32_t max_inline_data;
	uint32_t user_index;
	uint32_t qp_type;
	struct doca_verbs_umem *external_umem;
	uint64_t external_umem_offset;
	struct doca_verbs_umem *external_dbr_umem;
	uint64_t external_dbr_umem_offset;
	struct doca_verbs_uar *external_uar;
	void *qp_context;
	enum doca_verbs_qp_send_dbr_mode send_dbr_mode;
	bool emulate_no_dbr_ext;
	uint8_t core_direct_master;
	uint8_t external_datapath_en;
};

struct doca_verbs_ah_attr {
	struct doca_verbs_gid gid;
	enum doca_verbs_addr_type addr_type;
	uint32_t dlid;
	uint8_t sl;
	uint8_t sgid_index;
	uint8_t static_rate;
	uint8_t hop_limit;
	uint8_t traffic_class;
};

struct doca_verbs_qp_attr {
	enum doca_verbs_qp_state next_state;
	enum doca_verbs_qp_state current_state;
	enum doca_verbs_mtu_size path_mtu;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qp_num;
	int allow_remote_write;
	int allow_remote_read;
	enum doca_verbs_qp_atomic_type allow_remote_atomic;
	struct doca_verbs_ah_attr *ah_attr;
	uint16_t pkey_index;
	uint16_t port_num;
	uint16_t ack_timeout;
	uint16_t retry_cnt;
	uint16_t rnr_retry;
	uint16_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
};

struct doca_verbs_cq_attr {
	uint32_t cq_size;
	void *cq_context;
	struct doca_verbs_umem *external_umem;
	uint64_t external_umem_offset;
	struct doca_verbs_umem *external_dbr_umem;
	uint64_t external_dbr_umem_offset;
	struct doca_verbs_uar *external_uar;
	enum doca_verbs_cq_overrun cq_overrun;
	uint8_t cq_collapsed;
	uint8_t entry_size;
	uint8_t external_datapath_en;
};

struct doca_verbs_srq_init_attr {
	struct ibv_pd *pd;
	uint32_t srq_wr;
	uint32_t receive_max_sges;
	enum doca_verbs_srq_type type;
	struct doca_verbs_umem *external_umem;
	uint64_t external_umem_offset;
};

/* Constructor of zeroed attributes, and destructor. */
#define BL_ATTR_CREATE(object)                                                                                         \
	doca_error_t doca_verbs_##object##_create(struct doca_verbs_##object **attr_p)                                 \
	{                                                                                                              \
		if (!attr_p)                                                                                           \
			return bl_doca_null(__func__, #object);                                                        \
		*attr_p = calloc(1, sizeof(**attr_p));                                                                 \
		return *attr_p ? DOCA_SUCCESS                                                                          \
			       : bl_doca_error(bl_net_fail(ENOMEM, BL_NET_HERE, "%s: out of memory", __func__));       \
	}

#define BL_ATTR_DESTROY(object)                                                                                        \
	doca_error_t doca_verbs_##object##_destroy(struct doca_verbs_##object *attr)                                   \
	{                                                                                                              \
		if (!attr)                                                                                             \
			return bl_doca_null(__func__, #object);                                                        \
		free(attr);                                                                                            \
		return DOCA_SUCCESS;                                                                                   \
	}

#define BL_ATTR_SET_AS(object, name, field, type)                                                                      \
	doca_error_t doca_verbs_##object##_set_##name(struct doca_verbs_##object *attr, type value)                    \
	{                                                                                                              \
		if (!attr)                                                                                             \
			return bl_doca_null(__func__, #object);                                                        \
		attr->field = value;                                                                                   \
		return DOCA_SUCCESS;                                                                                   \
	}

#define BL_ATTR_SET(object, field, type) BL_ATTR_SET_AS(object, field, field, type)

/* A setter that refuses all but the values up to @max. */
#define BL_ATTR_SET_MAX(object, field, type, max)                                                                      \
	doca_error_t doca_verbs_##object##_set_##field(struct doca_verbs_##object *attr, type value)                   \
	{                                                                                                              \
		if (!attr)                                                                                             \
			return bl_doca_null(__func__, #object);                                                        \
		if (value > (max))                                                                                     \
			return bl_doca_error(bl_net_fail(EINVAL, BL_NET_HERE, "%s: %u is more than %u", __func__,      \
							 (unsigned int)value, (unsigned int)(max)));                   \
		attr->field = value;                                                                                   \
		return DOCA_SUCCESS;                                                                                   \
	}

#define BL_ATTR_SET_UMEM(object, name, field)                                                                          \
	doca_error_t doca_verbs_##object##_set_##name(struct doca_verbs_##object *attr, struct doca_verbs_umem *umem,  \
						      uint64_t off)                                                    \
	{                                                                                                              \
		if (!attr)                                                                                             \
			return bl_doca_null(__func__, #object);                                                        \
		attr->field = umem;                                                                                    \
		attr->field##_offset = off;                                                                            \
		return DOCA_SUCCESS;                                                                                   \
	}

#define BL_ATTR_GET_UMEM(object)                                                                                       \
	doca_error_t doca_verbs_##object##_get_external_umem(const struct doca_verbs_##object *attr,                   \
							     struct doca_verbs_umem **umem_p, uint64_t *off_p)         \
	{                                                                                                              \
		if (!attr || !umem_p || !off_p)                                                                        \
			return bl_doca_null(__func__, !attr ? #object : "place for the answer");                       \
		*umem_p = attr->external_umem;                                                                         \
		*off_p = attr->external_umem_offset;                                                                   \
		return DOCA_SUCCESS;                                                                                   \
	}

#define BL_ATTR_GET_AS(object, getter, field, type)                                                                    \
	type doca_verbs_##getter(const struct doca_verbs_##object *attr)                                               \
	{                                                                                                              \
		if (!attr) {                                                                                           \
			bl_doca_null(__func__, #object);                                                               \
			return (type)0;                                                                                \
		}                                                                                                      \
		return attr->field;                                                                                    \
	}

#define BL_ATTR_GET(object, field, type) BL_ATTR_GET_AS(object, object##_get_##field, field, type)

#define BL_ATTR(object, field, type)                                                                                   \
	BL_ATTR_SET(object, field, type)                                                                               \
	BL_ATTR_GET(object, field, type)

#define BL_ATTR_MAX(object, field, type, max)                                                                          \
	BL_ATTR_SET_MAX(object, field, type, max)                                                                      \
	BL_ATTR_GET(object, field, type)

#endif
