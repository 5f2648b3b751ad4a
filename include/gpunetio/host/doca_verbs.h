/* SPDX-License-Identifier: MIT */
/**
 * DOC: doca_verbs.h - queues of a NIC, source-compatible with the verbs layer of NVIDIA's open GPUNetIO 2.0
 *
 * Names, types and values are the original's, and later names of the same functions exist beside them;
 * docs/gpunetio-compat.md goes through the functions one by one. A NIC is a struct ibv_context of bl_net_open_device()
 * (barlane_net.h); a context of somebody else's library is DOCA_ERROR_NOT_SUPPORTED.
 *
 * Every setter gives DOCA_ERROR_INVALID_VALUE for a NULL object. Values are checked where they are used, when something
 * is created or modified; only the setters of a size of entries, of the user index and of switches of type uint8_t
 * refuse them at once. Every getter of a NULL object reports it in the log and gives 0 or NULL. Attributes belong to
 * one thread at a time; queue pairs, completion queues, umems and UARs may be used from any thread. In a child that was
 * forked since the device was opened everything is DOCA_ERROR_NOT_PERMITTED but the destruction of attributes.
 *
 * Every failure is one line in the log with its cause. Out parameters are written only on success.
 */
#ifndef DOCA_VERBS_H
#define DOCA_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "doca_error.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Services of a queue pair. */
#define DOCA_VERBS_QP_TYPE_RC 0x0
#define DOCA_VERBS_QP_TYPE_UC 0x1

/* Attributes that doca_verbs_qp_modify() is to look at. */
#define DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE (1 << 0)
#define DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ  (1 << 1)
#define DOCA_VERBS_QP_ATTR_PKEY_INDEX	      (1 << 2)
#define DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER      (1 << 3)
#define DOCA_VERBS_QP_ATTR_PORT_NUM	      (1 << 4)
#define DOCA_VERBS_QP_ATTR_NEXT_STATE	      (1 << 5)
#define DOCA_VERBS_QP_ATTR_CURRENT_STATE      (1 << 6)
#define DOCA_VERBS_QP_ATTR_PATH_MTU	      (1 << 7)
#define DOCA_VERBS_QP_ATTR_RQ_PSN	      (1 << 8)
#define DOCA_VERBS_QP_ATTR_SQ_PSN	      (1 << 9)
#define DOCA_VERBS_QP_ATTR_DEST_QP_NUM	      (1 << 10)
#define DOCA_VERBS_QP_ATTR_ACK_TIMEOUT	      (1 << 11)
#define DOCA_VERBS_QP_ATTR_RETRY_CNT	      (1 << 12)
#define DOCA_VERBS_QP_ATTR_RNR_RETRY	      (1 << 13)
#define DOCA_VERBS_QP_ATTR_AH_ATTR	      (1 << 14)
#define DOCA_VERBS_QP_ATTR_ATOMIC_MODE	      (1 << 15) /* of release 3; the value counts without it */
#define DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC   (1 << 16)
#define DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC (1 << 17)

/** DOCA_VERBS_CQ_ENTRY_SIZE_64 - for doca_verbs_cq_attr_set_entry_size() */
#define DOCA_VERBS_CQ_ENTRY_SIZE_64 64

/** DOCA_VERBS_GID_BYTE_LENGTH - bytes of an address */
#define DOCA_VERBS_GID_BYTE_LENGTH 16

/** enum doca_verbs_qp_state - states of a queue pair */
enum doca_verbs_qp_state {
	DOCA_VERBS_QP_STATE_RST = 0,
	DOCA_VERBS_QP_STATE_INIT = 1,
	DOCA_VERBS_QP_STATE_RTR = 2,
	DOCA_VERBS_QP_STATE_RTS = 3,
	DOCA_VERBS_QP_STATE_ERR = 4
};

/** enum doca_verbs_addr_type - kinds of an address handle */
enum doca_verbs_addr_type {
	DOCA_VERBS_ADDR_TYPE_IPv4 = 0,
	DOCA_VERBS_ADDR_TYPE_IPv6 = 1,
	DOCA_VERBS_ADDR_TYPE_IB_GRH = 2,
	DOCA_VERBS_ADDR_TYPE_IB_NO_GRH = 3
};

/** enum doca_verbs_mtu_size - path MTUs */
enum doca_verbs_mtu_size {
	DOCA_VERBS_MTU_SIZE_256_BYTES = 0,
	DOCA_VERBS_MTU_SIZE_512_BYTES = 1,
	DOCA_VERBS_MTU_SIZE_1K_BYTES = 2,
	DOCA_VERBS_MTU_SIZE_2K_BYTES = 3,
	DOCA_VERBS_MTU_SIZE_4K_BYTES = 4,
	DOCA_VERBS_MTU_SIZE_RAW_ETHERNET = 5
};

/* The SDK's spelling. */
#define DOCA_MTU_SIZE_256_BYTES	   DOCA_VERBS_MTU_SIZE_256_BYTES
#define DOCA_MTU_SIZE_512_BYTES	   DOCA_VERBS_MTU_SIZE_512_BYTES
#define DOCA_MTU_SIZE_1K_BYTES	   DOCA_VERBS_MTU_SIZE_1K_BYTES
#define DOCA_MTU_SIZE_2K_BYTES	   DOCA_VERBS_MTU_SIZE_2K_BYTES
#define DOCA_MTU_SIZE_4K_BYTES	   DOCA_VERBS_MTU_SIZE_4K_BYTES
#define DOCA_MTU_SIZE_RAW_ETHERNET DOCA_VERBS_MTU_SIZE_RAW_ETHERNET

/** enum doca_verbs_uar_allocation_type - how a doorbell page is mapped */
enum doca_verbs_uar_allocation_type {
	DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME = 0,
	DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE = 1,
	DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED = 2
};

/** enum doca_verbs_cq_overrun - whether completions may overwrite those that were not consumed */
enum doca_verbs_cq_overrun { DOCA_VERBS_CQ_DISABLE_OVERRUN = 0, DOCA_VERBS_CQ_ENABLE_OVERRUN = 1 };

/**
 * enum doca_verbs_srq_type - shape of a shared receive queue
 *
 * WQEs of a linked list begin with a segment of 16 bytes that has the number of the next WQE at offset 2 (16 bits, big
 * endian). The first is number 0; the last one that is posted names one that is not. Those of a contiguous queue follow
 * each other in the order of the ring. Data segments follow; one of key 0x100 ends a list that is shorter than a WQE.
 */
enum doca_verbs_srq_type { DOCA_VERBS_SRQ_TYPE_LINKED_LIST = 0, DOCA_VERBS_SRQ_TYPE_CONTIGUOUS = 1 };

/** enum doca_verbs_qp_atomic_type - atomic operations that the peer may do */
enum doca_verbs_qp_atomic_type {
	DOCA_VERBS_QP_ATOMIC_MODE_NONE = 0,
	DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC = 1,
	DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES = 3
};

/** enum doca_verbs_qp_send_dbr_mode - whether the NIC may look at the send doorbell record */
enum doca_verbs_qp_send_dbr_mode {
	DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID = 0,
	DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT = 1
};

/** struct doca_verbs_gid - address of a port; @raw: in network byte order */
struct doca_verbs_gid {
	uint8_t raw[DOCA_VERBS_GID_BYTE_LENGTH];
};

struct doca_verbs_qp_init_attr;
struct doca_verbs_qp_attr;
struct doca_verbs_qp;
struct doca_verbs_cq_attr;
struct doca_verbs_cq;
struct doca_verbs_srq_init_attr;
struct doca_verbs_srq;
struct doca_verbs_ah_attr;
struct doca_verbs_umem;
struct doca_verbs_uar;
struct doca_verbs_device_attr;

/* --- Attributes a queue pair is made with --- */

/**
 * doca_verbs_qp_init_attr_create() - New attributes to make a queue pair with
 * @qp_init_attr: receives them
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NO_MEMORY.
 */
doca_error_t doca_verbs_qp_init_attr_create(struct doca_verbs_qp_init_attr **qp_init_attr);

/**
 * doca_verbs_qp_init_attr_destroy() - Free attributes to make a queue pair with
 * @qp_init_attr: attributes; objects made with them stay
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_destroy(struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_pd() - Protection domain, whose keys the WQEs may use
 * @qp_init_attr: attributes
 * @pd: of bl_net_alloc_pd() on the same device; required
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_pd(struct doca_verbs_qp_init_attr *qp_init_attr, struct ibv_pd *pd);

/**
 * doca_verbs_qp_init_attr_get_pd() - What doca_verbs_qp_init_attr_set_pd() set
 * @qp_init_attr: attributes
 *
 * Return: the domain; NULL: not set.
 */
struct ibv_pd *doca_verbs_qp_init_attr_get_pd(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_send_cq() - Queue for completions of sends
 * @qp_init_attr: attributes
 * @send_cq: required with a send queue
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_send_cq(struct doca_verbs_qp_init_attr *qp_init_attr,
						 struct doca_verbs_cq *send_cq);

/**
 * doca_verbs_qp_init_attr_get_send_cq() - What doca_verbs_qp_init_attr_set_send_cq() set
 * @qp_init_attr: attributes
 *
 * Return: the queue; NULL: not set.
 */
struct doca_verbs_cq *doca_verbs_qp_init_attr_get_send_cq(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_receive_cq() - Queue for completions of receives
 * @qp_init_attr: attributes
 * @receive_cq: required with a receive queue; may be that of the sends
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_receive_cq(struct doca_verbs_qp_init_attr *qp_init_attr,
						    struct doca_verbs_cq *receive_cq);

/**
 * doca_verbs_qp_init_attr_get_receive_cq() - What doca_verbs_qp_init_attr_set_receive_cq() set
 * @qp_init_attr: attributes
 *
 * Return: the queue; NULL: not set.
 */
struct doca_verbs_cq *doca_verbs_qp_init_attr_get_receive_cq(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_sq_sig_all() - Whether every send makes a completion
 * @qp_init_attr: attributes
 * @sq_sig_all: 0: as its flags say; 1: always
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_sq_sig_all(struct doca_verbs_qp_init_attr *qp_init_attr, int sq_sig_all);

/**
 * doca_verbs_qp_init_attr_get_sq_sig_all() - What doca_verbs_qp_init_attr_set_sq_sig_all() set
 * @qp_init_attr: attributes
 *
 * Return: 0 or 1.
 */
int doca_verbs_qp_init_attr_get_sq_sig_all(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_sq_wr() - Depth of the send queue
 * @qp_init_attr: attributes
 * @sq_wr: WQEs of the size that the other attributes need, rounded up to a power of two in bytes; 0: none
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_sq_wr(struct doca_verbs_qp_init_attr *qp_init_attr, uint32_t sq_wr);

/**
 * doca_verbs_qp_init_attr_get_sq_wr() - What doca_verbs_qp_init_attr_set_sq_wr() set
 * @qp_init_attr: attributes
 *
 * Return: WQEs.
 */
uint32_t doca_verbs_qp_init_attr_get_sq_wr(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_rq_wr() - Depth of the receive queue
 * @qp_init_attr: attributes
 * @rq_wr: WQEs, rounded up likewise; 0: none
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_rq_wr(struct doca_verbs_qp_init_attr *qp_init_attr, uint32_t rq_wr);

/**
 * doca_verbs_qp_init_attr_get_rq_wr() - What doca_verbs_qp_init_attr_set_rq_wr() set
 * @qp_init_attr: attributes
 *
 * Return: WQEs.
 */
uint32_t doca_verbs_qp_init_attr_get_rq_wr(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_send_max_sges() - Data segments of a send
 * @qp_init_attr: attributes
 * @send_max_sges: segments
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_send_max_sges(struct doca_verbs_qp_init_attr *qp_init_attr,
						       uint32_t send_max_sges);

/**
 * doca_verbs_qp_init_attr_get_send_max_sges() - What doca_verbs_qp_init_attr_set_send_max_sges() set
 * @qp_init_attr: attributes
 *
 * Return: segments.
 */
uint32_t doca_verbs_qp_init_attr_get_send_max_sges(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_receive_max_sges() - Data segments of a receive
 * @qp_init_attr: attributes
 * @receive_max_sges: segments, rounded up to a power of two
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_receive_max_sges(struct doca_verbs_qp_init_attr *qp_init_attr,
							  uint32_t receive_max_sges);

/**
 * doca_verbs_qp_init_attr_get_receive_max_sges() - What doca_verbs_qp_init_attr_set_receive_max_sges() set
 * @qp_init_attr: attributes
 *
 * Return: segments.
 */
uint32_t doca_verbs_qp_init_attr_get_receive_max_sges(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_max_inline_data() - Bytes that a send may carry in its WQE
 * @qp_init_attr: attributes
 * @max_inline_data: bytes
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_max_inline_data(struct doca_verbs_qp_init_attr *qp_init_attr,
							 uint32_t max_inline_data);

/**
 * doca_verbs_qp_init_attr_get_max_inline_data() - What doca_verbs_qp_init_attr_set_max_inline_data() set
 * @qp_init_attr: attributes
 *
 * Return: bytes.
 */
uint32_t doca_verbs_qp_init_attr_get_max_inline_data(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_user_index() - Number that completions carry where the NIC can
 * @qp_init_attr: attributes
 * @user_index: 24 bits
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_user_index(struct doca_verbs_qp_init_attr *qp_init_attr, uint32_t user_index);

/**
 * doca_verbs_qp_init_attr_get_user_index() - What doca_verbs_qp_init_attr_set_user_index() set
 * @qp_init_attr: attributes
 *
 * Return: the number.
 */
uint32_t doca_verbs_qp_init_attr_get_user_index(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_qp_type() - Service
 * @qp_init_attr: attributes
 * @qp_type: DOCA_VERBS_QP_TYPE_*
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_qp_type(struct doca_verbs_qp_init_attr *qp_init_attr, uint32_t qp_type);

/**
 * doca_verbs_qp_init_attr_get_qp_type() - What doca_verbs_qp_init_attr_set_qp_type() set
 * @qp_init_attr: attributes
 *
 * Return: DOCA_VERBS_QP_TYPE_*.
 */
uint32_t doca_verbs_qp_init_attr_get_qp_type(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_external_umem() - Memory of the caller for the queues
 * @qp_init_attr: attributes
 * @external_umem: memory, receive queue first, send queue behind it; NULL: the library makes its own
 * @external_umem_offset: bytes, where the queues begin; multiple of 64
 *
 * Goes with doca_verbs_qp_init_attr_set_external_dbr_umem(): both or none.
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_external_umem(struct doca_verbs_qp_init_attr *qp_init_attr,
						       struct doca_verbs_umem *external_umem,
						       uint64_t external_umem_offset);

/**
 * doca_verbs_qp_init_attr_get_external_umem() - What doca_verbs_qp_init_attr_set_external_umem() set
 * @qp_init_attr: attributes
 * @external_umem: receives the memory
 * @external_umem_offset: receives the offset
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_get_external_umem(const struct doca_verbs_qp_init_attr *qp_init_attr,
						       struct doca_verbs_umem **external_umem,
						       uint64_t *external_umem_offset);

/**
 * doca_verbs_qp_init_attr_set_external_dbr_umem() - Memory of the caller for the doorbell records
 * @qp_init_attr: attributes
 * @external_dbr_umem: memory that a CPU can read, 8 bytes of it; NULL: the library makes its own
 * @external_dbr_umem_offset: bytes; multiple of 8
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_external_dbr_umem(struct doca_verbs_qp_init_attr *qp_init_attr,
							   struct doca_verbs_umem *external_dbr_umem,
							   uint64_t external_dbr_umem_offset);

/**
 * doca_verbs_qp_init_attr_set_external_umem_dbr() - As doca_verbs_qp_init_attr_set_external_dbr_umem(), its name in
 * release 3
 * @qp_init_attr: attributes
 * @external_umem_dbr: memory that a CPU can read, 8 bytes of it; NULL: the library makes its own
 * @external_umem_dbr_offset: bytes; multiple of 8
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_external_umem_dbr(struct doca_verbs_qp_init_attr *qp_init_attr,
							   struct doca_verbs_umem *external_umem_dbr,
							   uint64_t external_umem_dbr_offset);

/**
 * doca_verbs_qp_init_attr_set_external_uar() - Doorbell page
 * @qp_init_attr: attributes
 * @external_uar: page, may be shared; NULL: one of its own
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_external_uar(struct doca_verbs_qp_init_attr *qp_init_attr,
						      struct doca_verbs_uar *external_uar);

/**
 * doca_verbs_qp_init_attr_get_external_uar() - What doca_verbs_qp_init_attr_set_external_uar() set
 * @qp_init_attr: attributes
 * @external_uar: receives the page
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_get_external_uar(const struct doca_verbs_qp_init_attr *qp_init_attr,
						      struct doca_verbs_uar **external_uar);

/**
 * doca_verbs_qp_init_attr_set_qp_context() - Pointer of the caller
 * @qp_init_attr: attributes
 * @qp_context: anything
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_qp_context(struct doca_verbs_qp_init_attr *qp_init_attr, void *qp_context);

/**
 * doca_verbs_qp_init_attr_get_qp_context() - What doca_verbs_qp_init_attr_set_qp_context() set
 * @qp_init_attr: attributes
 *
 * Return: the pointer.
 */
void *doca_verbs_qp_init_attr_get_qp_context(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_srq() - Shared receive queue
 * @qp_init_attr: attributes
 * @srq: queue, in place of one of its own, so that rq_wr does not count; a receive completion queue is needed. NULL: none
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_srq(struct doca_verbs_qp_init_attr *qp_init_attr, struct doca_verbs_srq *srq);

/**
 * doca_verbs_qp_init_attr_get_srq() - What doca_verbs_qp_init_attr_set_srq() set
 * @qp_init_attr: attributes
 *
 * Return: the queue; NULL: none.
 */
struct doca_verbs_srq *doca_verbs_qp_init_attr_get_srq(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_core_direct_master() - Whether it may wait for completions of other queue pairs
 * @qp_init_attr: attributes
 * @core_direct_master: 0 or 1
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_core_direct_master(struct doca_verbs_qp_init_attr *qp_init_attr,
							    uint8_t core_direct_master);

/**
 * doca_verbs_qp_init_attr_get_core_direct_master() - What doca_verbs_qp_init_attr_set_core_direct_master() set
 * @qp_init_attr: attributes
 *
 * Return: 0 or 1.
 */
uint8_t doca_verbs_qp_init_attr_get_core_direct_master(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_send_dbr_mode() - Whether the NIC may look at the send doorbell record
 * @qp_init_attr: attributes
 * @send_dbr_mode: mode
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_send_dbr_mode(struct doca_verbs_qp_init_attr *qp_init_attr,
						       enum doca_verbs_qp_send_dbr_mode send_dbr_mode);

/**
 * doca_verbs_qp_init_attr_get_send_dbr_mode() - What doca_verbs_qp_init_attr_set_send_dbr_mode() set
 * @qp_init_attr: attributes
 *
 * Return: the mode.
 */
enum doca_verbs_qp_send_dbr_mode
doca_verbs_qp_init_attr_get_send_dbr_mode(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_emulate_no_dbr_ext() - Whether software stands in for a NIC that needs no doorbell
 * record
 * @qp_init_attr: attributes
 * @emulate_no_dbr_ext: true: somebody on the CPU writes the record
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_emulate_no_dbr_ext(struct doca_verbs_qp_init_attr *qp_init_attr,
							    bool emulate_no_dbr_ext);

/**
 * doca_verbs_qp_init_attr_get_emulate_no_dbr_ext() - What doca_verbs_qp_init_attr_set_emulate_no_dbr_ext() set
 * @qp_init_attr: attributes
 *
 * Return: what was set.
 */
bool doca_verbs_qp_init_attr_get_emulate_no_dbr_ext(const struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_init_attr_set_external_datapath_en() - Whether a GPU posts the WQEs; a name of the SDK
 * @qp_init_attr: attributes
 * @external_datapath_en: 0 or 1; both are served alike
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_init_attr_set_external_datapath_en(struct doca_verbs_qp_init_attr *qp_init_attr,
							      uint8_t external_datapath_en);

/* --- Attributes that change a queue pair --- */

/**
 * doca_verbs_qp_attr_create() - New attributes to change a queue pair with
 * @qp_attr: receives them
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NO_MEMORY.
 */
doca_error_t doca_verbs_qp_attr_create(struct doca_verbs_qp_attr **qp_attr);

/**
 * doca_verbs_qp_attr_destroy() - Free attributes to change a queue pair with
 * @qp_attr: attributes; objects made with them stay
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_destroy(struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_next_state() - State to go to
 * @qp_attr: attributes
 * @next_state: state
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_next_state(struct doca_verbs_qp_attr *qp_attr, enum doca_verbs_qp_state next_state);

/**
 * doca_verbs_qp_attr_get_next_state() - What doca_verbs_qp_attr_set_next_state() set
 * @qp_attr: attributes
 *
 * Return: the state.
 */
enum doca_verbs_qp_state doca_verbs_qp_attr_get_next_state(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_current_state() - State that the caller takes the queue pair to be in
 * @qp_attr: attributes
 * @current_state: state; a wrong one fails the move
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_current_state(struct doca_verbs_qp_attr *qp_attr,
						  enum doca_verbs_qp_state current_state);

/**
 * doca_verbs_qp_attr_get_current_state() - What doca_verbs_qp_attr_set_current_state() set
 * @qp_attr: attributes
 *
 * Return: the state.
 */
enum doca_verbs_qp_state doca_verbs_qp_attr_get_current_state(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_path_mtu() - Largest payload of a packet
 * @qp_attr: attributes
 * @path_mtu: 256 to 4096 bytes
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_path_mtu(struct doca_verbs_qp_attr *qp_attr, enum doca_verbs_mtu_size path_mtu);

/**
 * doca_verbs_qp_attr_get_path_mtu() - What doca_verbs_qp_attr_set_path_mtu() set
 * @qp_attr: attributes
 *
 * Return: the MTU.
 */
enum doca_verbs_mtu_size doca_verbs_qp_attr_get_path_mtu(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_rq_psn() - First sequence number that the peer sends
 * @qp_attr: attributes
 * @rq_psn: 24 bits
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_rq_psn(struct doca_verbs_qp_attr *qp_attr, uint32_t rq_psn);

/**
 * doca_verbs_qp_attr_get_rq_psn() - What doca_verbs_qp_attr_set_rq_psn() set
 * @qp_attr: attributes
 *
 * Return: the number.
 */
uint32_t doca_verbs_qp_attr_get_rq_psn(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_sq_psn() - First sequence number to send
 * @qp_attr: attributes
 * @sq_psn: 24 bits
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_sq_psn(struct doca_verbs_qp_attr *qp_attr, uint32_t sq_psn);

/**
 * doca_verbs_qp_attr_get_sq_psn() - What doca_verbs_qp_attr_set_sq_psn() set
 * @qp_attr: attributes
 *
 * Return: the number.
 */
uint32_t doca_verbs_qp_attr_get_sq_psn(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_dest_qp_num() - Number of the queue pair of the peer
 * @qp_attr: attributes
 * @dest_qp_num: 24 bits
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_dest_qp_num(struct doca_verbs_qp_attr *qp_attr, uint32_t dest_qp_num);

/**
 * doca_verbs_qp_attr_get_dest_qp_num() - What doca_verbs_qp_attr_set_dest_qp_num() set
 * @qp_attr: attributes
 *
 * Return: the number.
 */
uint32_t doca_verbs_qp_attr_get_dest_qp_num(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_allow_remote_write() - Whether the peer may write
 * @qp_attr: attributes
 * @allow_remote_write: 0 or 1
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_allow_remote_write(struct doca_verbs_qp_attr *qp_attr, int allow_remote_write);

/**
 * doca_verbs_qp_attr_get_allow_remote_write() - What doca_verbs_qp_attr_set_allow_remote_write() set
 * @qp_attr: attributes
 *
 * Return: 0 or 1.
 */
int doca_verbs_qp_attr_get_allow_remote_write(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_allow_remote_read() - Whether the peer may read
 * @qp_attr: attributes
 * @allow_remote_read: 0 or 1
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_allow_remote_read(struct doca_verbs_qp_attr *qp_attr, int allow_remote_read);

/**
 * doca_verbs_qp_attr_get_allow_remote_read() - What doca_verbs_qp_attr_set_allow_remote_read() set
 * @qp_attr: attributes
 *
 * Return: 0 or 1.
 */
int doca_verbs_qp_attr_get_allow_remote_read(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_allow_remote_atomic() - Atomic operations that the peer may do
 * @qp_attr: attributes
 * @allow_remote_atomic: mode
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_allow_remote_atomic(struct doca_verbs_qp_attr *qp_attr,
							enum doca_verbs_qp_atomic_type allow_remote_atomic);

/**
 * doca_verbs_qp_attr_get_allow_remote_atomic() - What doca_verbs_qp_attr_set_allow_remote_atomic() set
 * @qp_attr: attributes
 *
 * Return: the mode.
 */
enum doca_verbs_qp_atomic_type doca_verbs_qp_attr_get_allow_remote_atomic(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_atomic_mode() - As doca_verbs_qp_attr_set_allow_remote_atomic(), its name in release 3
 * @qp_attr: attributes
 * @atomic_mode: mode
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_atomic_mode(struct doca_verbs_qp_attr *qp_attr,
						enum doca_verbs_qp_atomic_type atomic_mode);

/**
 * doca_verbs_qp_attr_set_ah_attr() - Way to the peer
 * @qp_attr: attributes
 * @ah_attr: not copied: it stays in place as long as these attributes are used
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_ah_attr(struct doca_verbs_qp_attr *qp_attr, struct doca_verbs_ah_attr *ah_attr);

/**
 * doca_verbs_qp_attr_get_ah_attr() - What doca_verbs_qp_attr_set_ah_attr() set
 * @qp_attr: attributes
 *
 * Return: the way; NULL: not set.
 */
struct doca_verbs_ah_attr *doca_verbs_qp_attr_get_ah_attr(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_pkey_index() - Index of the partition key
 * @qp_attr: attributes
 * @pkey_index: index
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_pkey_index(struct doca_verbs_qp_attr *qp_attr, uint16_t pkey_index);

/**
 * doca_verbs_qp_attr_get_pkey_index() - What doca_verbs_qp_attr_set_pkey_index() set
 * @qp_attr: attributes
 *
 * Return: the index.
 */
uint16_t doca_verbs_qp_attr_get_pkey_index(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_port_num() - Port
 * @qp_attr: attributes
 * @port_num: 1 is the first
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_port_num(struct doca_verbs_qp_attr *qp_attr, uint16_t port_num);

/**
 * doca_verbs_qp_attr_get_port_num() - What doca_verbs_qp_attr_set_port_num() set
 * @qp_attr: attributes
 *
 * Return: the port.
 */
uint16_t doca_verbs_qp_attr_get_port_num(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_ack_timeout() - Time until a request is sent again
 * @qp_attr: attributes
 * @ack_timeout: 4.096 us << value, 0 to 31; 0: for ever
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_ack_timeout(struct doca_verbs_qp_attr *qp_attr, uint16_t ack_timeout);

/**
 * doca_verbs_qp_attr_get_ack_timeout() - What doca_verbs_qp_attr_set_ack_timeout() set
 * @qp_attr: attributes
 *
 * Return: the value.
 */
uint16_t doca_verbs_qp_attr_get_ack_timeout(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_retry_cnt() - Times that a request is sent again
 * @qp_attr: attributes
 * @retry_cnt: 0 to 7
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_retry_cnt(struct doca_verbs_qp_attr *qp_attr, uint16_t retry_cnt);

/**
 * doca_verbs_qp_attr_get_retry_cnt() - What doca_verbs_qp_attr_set_retry_cnt() set
 * @qp_attr: attributes
 *
 * Return: the value.
 */
uint16_t doca_verbs_qp_attr_get_retry_cnt(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_rnr_retry() - Times that a request is sent again when the peer had no receive posted
 * @qp_attr: attributes
 * @rnr_retry: 0 to 7; 7: for ever
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_rnr_retry(struct doca_verbs_qp_attr *qp_attr, uint16_t rnr_retry);

/**
 * doca_verbs_qp_attr_get_rnr_retry() - What doca_verbs_qp_attr_set_rnr_retry() set
 * @qp_attr: attributes
 *
 * Return: the value.
 */
uint16_t doca_verbs_qp_attr_get_rnr_retry(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_min_rnr_timer() - Time that a peer waits after it met no posted receive
 * @qp_attr: attributes
 * @min_rnr_timer: code, 0 to 31
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_min_rnr_timer(struct doca_verbs_qp_attr *qp_attr, uint16_t min_rnr_timer);

/**
 * doca_verbs_qp_attr_get_min_rnr_timer() - What doca_verbs_qp_attr_set_min_rnr_timer() set
 * @qp_attr: attributes
 *
 * Return: the code.
 */
uint16_t doca_verbs_qp_attr_get_min_rnr_timer(const struct doca_verbs_qp_attr *qp_attr);

/**
 * doca_verbs_qp_attr_set_max_rd_atomic() - Reads and atomics under way at a time
 * @qp_attr: attributes
 * @max_rd_atomic: number
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_max_rd_atomic(struct doca_verbs_qp_attr *qp_attr, uint8_t max_rd_atomic);

/**
 * doca_verbs_qp_attr_set_max_dest_rd_atomic() - The same of the peer
 * @qp_attr: attributes
 * @max_dest_rd_atomic: number
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_attr_set_max_dest_rd_atomic(struct doca_verbs_qp_attr *qp_attr, uint8_t max_dest_rd_atomic);

/* --- Way to a peer --- */

/**
 * doca_verbs_ah_attr_create() - New attributes of a way to a peer
 * @context: device
 * @ah_attr: receives them
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED (not a device of this library),
 * DOCA_ERROR_NO_MEMORY.
 */
doca_error_t doca_verbs_ah_attr_create(struct ibv_context *context, struct doca_verbs_ah_attr **ah_attr);

/**
 * doca_verbs_ah_attr_destroy() - Free attributes of a way to a peer
 * @ah_attr: attributes; objects made with them stay
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_ah_attr_destroy(struct doca_verbs_ah_attr *ah_attr);

/**
 * doca_verbs_ah_attr_set_gid() - Address of the port of the peer
 * @ah_attr: attributes
 * @gid: address
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_ah_attr_set_gid(struct doca_verbs_ah_attr *ah_attr, struct doca_verbs_gid gid);

/**
 * doca_verbs_ah_get_gid() - What doca_verbs_ah_attr_set_gid() set
 * @ah_attr: attributes
 *
 * Return: the address.
 */
struct doca_verbs_gid doca_verbs_ah_get_gid(const struct doca_verbs_ah_attr *ah_attr);

/**
 * doca_verbs_ah_attr_set_addr_type() - Kind of the address
 * @ah_attr: attributes
 * @addr_type: kind
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_ah_attr_set_addr_type(struct doca_verbs_ah_attr *ah_attr, enum doca_verbs_addr_type addr_type);

/**
 * doca_verbs_ah_get_addr_type() - What doca_verbs_ah_attr_set_addr_type() set
 * @ah_attr: attributes
 *
 * Return: the kind.
 */
enum doca_verbs_addr_type doca_verbs_ah_get_addr_type(const struct doca_verbs_ah_attr *ah_attr);

/**
 * doca_verbs_ah_attr_set_dlid() - Local identifier of the port of the peer; InfiniBand only
 * @ah_attr: attributes
 * @dlid: identifier
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_ah_attr_set_dlid(struct doca_verbs_ah_attr *ah_attr, uint32_t dlid);

/**
 * doca_verbs_ah_get_dlid() - What doca_verbs_ah_attr_set_dlid() set
 * @ah_attr: attributes
 *
 * Return: the identifier.
 */
uint32_t doca_verbs_ah_get_dlid(const struct doca_verbs_ah_attr *ah_attr);

/**
 * doca_verbs_ah_attr_set_sl() - Service level
 * @ah_attr: attributes
 * @sl: 0 to 15
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_ah_attr_set_sl(struct doca_verbs_ah_attr *ah_attr, uint8_t sl);

/**
 * doca_verbs_ah_get_sl() - What doca_verbs_ah_attr_set_sl() set
 * @ah_attr: attributes
 *
 * Return: the level.
 */
uint8_t doca_verbs_ah_get_sl(const struct doca_verbs_ah_attr *ah_attr);

/**
 * doca_verbs_ah_attr_set_sgid_index() - Index of the own address
 * @ah_attr: attributes
 * @sgid_index: index
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_ah_attr_set_sgid_index(struct doca_verbs_ah_attr *ah_attr, uint8_t sgid_index);

/**
 * doca_verbs_ah_get_sgid_index() - What doca_verbs_ah_attr_set_sgid_index() set
 * @ah_attr: attributes
 *
 * Return: the index.
 */
uint8_t doca_verbs_ah_get_sgid_index(const struct doca_verbs_ah_attr *ah_attr);

/**
 * doca_verbs_ah_attr_set_static_rate() - Rate limit code
 * @ah_attr: attributes
 * @static_rate: code
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_ah_attr_set_static_rate(struct doca_verbs_ah_attr *ah_attr, uint8_t static_rate);

/**
 * doca_verbs_ah_get_static_rate() - What doca_verbs_ah_attr_set_static_rate() set
 * @ah_attr: attributes
 *
 * Return: the code.
 */
uint8_t doca_verbs_ah_get_static_rate(const struct doca_verbs_ah_attr *ah_attr);

/**
 * doca_verbs_ah_attr_set_hop_limit() - Hop limit
 * @ah_attr: attributes
 * @hop_limit: hops
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_ah_attr_set_hop_limit(struct doca_verbs_ah_attr *ah_attr, uint8_t hop_limit);

/**
 * doca_verbs_ah_get_hop_limit() - What doca_verbs_ah_attr_set_hop_limit() set
 * @ah_attr: attributes
 *
 * Return: hops.
 */
uint8_t doca_verbs_ah_get_hop_limit(const struct doca_verbs_ah_attr *ah_attr);

/**
 * doca_verbs_ah_attr_set_traffic_class() - Traffic class
 * @ah_attr: attributes
 * @traffic_class: class
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_ah_attr_set_traffic_class(struct doca_verbs_ah_attr *ah_attr, uint8_t traffic_class);

/**
 * doca_verbs_ah_get_traffic_class() - What doca_verbs_ah_attr_set_traffic_class() set
 * @ah_attr: attributes
 *
 * Return: the class.
 */
uint8_t doca_verbs_ah_get_traffic_class(const struct doca_verbs_ah_attr *ah_attr);

/* --- Queue pairs --- */

/**
 * doca_verbs_qp_create() - Make a queue pair, in state RST
 * @context: device
 * @qp_init_attr: what it shall be; read now, and free to be changed afterwards
 * @qp: receives it
 *
 * The CQs, memory, UAR and domain that it uses stay until it is destroyed: their destruction is DOCA_ERROR_IN_USE.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (a value; sizes that do not fit the memory),
 * DOCA_ERROR_NOT_SUPPORTED (not a device of this library; what the device lacks), DOCA_ERROR_NO_MEMORY,
 * DOCA_ERROR_DRIVER.
 */
doca_error_t doca_verbs_qp_create(struct ibv_context *context, struct doca_verbs_qp_init_attr *qp_init_attr,
				  struct doca_verbs_qp **qp);

/**
 * doca_verbs_qp_destroy() - Destroy a queue pair
 * @qp: queue pair; nothing of its memory is touched any more when this returns
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_qp_destroy(struct doca_verbs_qp *qp);

/**
 * doca_verbs_qp_modify() - Change state or attributes of a queue pair
 * @qp: queue pair
 * @qp_attr: values
 * @attr_mask: DOCA_VERBS_QP_ATTR_*: which of them
 *
 * Each move has attributes that it needs and some that it takes; a missing or surplus one is named in the log and
 * nothing changes. Without NEXT_STATE the state stays.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (a value, or no such move), DOCA_ERROR_NOT_CONNECTED (no port has
 * the address of the peer), DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER.
 */
doca_error_t doca_verbs_qp_modify(struct doca_verbs_qp *qp, struct doca_verbs_qp_attr *qp_attr, int attr_mask);

/**
 * doca_verbs_qp_query() - State and attributes of a queue pair
 * @qp: queue pair
 * @qp_attr: receives what was set, and the state as the NIC has it; its ah_attr, when it has one, receives the way to
 * the peer
 * @qp_init_attr: receives what it was made with
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_DRIVER.
 */
doca_error_t doca_verbs_qp_query(struct doca_verbs_qp *qp, struct doca_verbs_qp_attr *qp_attr,
				 struct doca_verbs_qp_init_attr *qp_init_attr);

/**
 * doca_verbs_qp_get_wq() - Where the queues are
 * @qp: queue pair
 * @sq_buf: receives the address of the send queue; NULL: none
 * @sq_num_entries: receives its length in blocks of 64 bytes
 * @rq_buf: receives the address of the receive queue; NULL: none
 * @rq_num_entries: receives its length in WQEs
 * @rwqe_size_bytes: receives the bytes of a receive WQE
 *
 * In external memory these are addresses of that memory.
 */
void doca_verbs_qp_get_wq(const struct doca_verbs_qp *qp, void **sq_buf, uint32_t *sq_num_entries, void **rq_buf,
			  uint32_t *rq_num_entries, uint32_t *rwqe_size_bytes);

/**
 * doca_verbs_qp_get_dbr_addr() - Doorbell records: receive counter, then send counter, 32 bits each in network byte
 * order
 * @qp: queue pair
 *
 * Return: their address.
 */
void *doca_verbs_qp_get_dbr_addr(const struct doca_verbs_qp *qp);

/**
 * doca_verbs_qp_get_uar_addr() - Send doorbell
 * @qp: queue pair
 *
 * Return: address of the register.
 */
void *doca_verbs_qp_get_uar_addr(const struct doca_verbs_qp *qp);

/**
 * doca_verbs_qp_get_qpn() - Number
 * @qp: queue pair
 *
 * Return: the number, 24 bits.
 */
uint32_t doca_verbs_qp_get_qpn(const struct doca_verbs_qp *qp);

/**
 * doca_verbs_qp_get_send_dbr_mode() - Whether the NIC may look at the send doorbell record
 * @qp: queue pair
 *
 * Return: the mode.
 */
enum doca_verbs_qp_send_dbr_mode doca_verbs_qp_get_send_dbr_mode(const struct doca_verbs_qp *qp);

/**
 * doca_verbs_qp_get_emulate_no_dbr_ext() - Whether software stands in for a NIC that needs no doorbell record
 * @qp: queue pair
 *
 * Return: what it was made with.
 */
bool doca_verbs_qp_get_emulate_no_dbr_ext(const struct doca_verbs_qp *qp);

/* --- Completion queues --- */

/**
 * doca_verbs_cq_attr_create() - New attributes to make a completion queue with
 * @cq_attr: receives them
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NO_MEMORY.
 */
doca_error_t doca_verbs_cq_attr_create(struct doca_verbs_cq_attr **cq_attr);

/**
 * doca_verbs_cq_attr_destroy() - Free attributes to make a completion queue with
 * @cq_attr: attributes; objects made with them stay
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_cq_attr_destroy(struct doca_verbs_cq_attr *cq_attr);

/**
 * doca_verbs_cq_attr_set_cq_size() - Entries
 * @cq_attr: attributes
 * @cq_size: power of two
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_cq_attr_set_cq_size(struct doca_verbs_cq_attr *cq_attr, uint32_t cq_size);

/**
 * doca_verbs_cq_attr_set_cq_context() - Pointer of the caller
 * @cq_attr: attributes
 * @cq_context: anything
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_cq_attr_set_cq_context(struct doca_verbs_cq_attr *cq_attr, void *cq_context);

/**
 * doca_verbs_cq_attr_set_external_umem() - Memory of the caller for the entries
 * @cq_attr: attributes
 * @external_umem: memory that holds entries of opcode 15 and owner 1; NULL: the library makes its own
 * @external_umem_offset: bytes; multiple of 64
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_cq_attr_set_external_umem(struct doca_verbs_cq_attr *cq_attr,
						  struct doca_verbs_umem *external_umem, uint64_t external_umem_offset);

/**
 * doca_verbs_cq_attr_set_external_dbr_umem() - Memory of the caller for the doorbell records
 * @cq_attr: attributes
 * @external_dbr_umem: memory that a CPU can read, 8 bytes of it; NULL: the library makes its own
 * @external_dbr_umem_offset: bytes; multiple of 8
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_cq_attr_set_external_dbr_umem(struct doca_verbs_cq_attr *cq_attr,
						      struct doca_verbs_umem *external_dbr_umem,
						      uint64_t external_dbr_umem_offset);

/**
 * doca_verbs_cq_attr_set_external_umem_dbr() - As doca_verbs_cq_attr_set_external_dbr_umem(), its name in release 3
 * @cq_attr: attributes
 * @external_umem_dbr: memory that a CPU can read, 8 bytes of it; NULL: the library makes its own
 * @external_umem_dbr_offset: bytes; multiple of 8
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_cq_attr_set_external_umem_dbr(struct doca_verbs_cq_attr *cq_attr,
						      struct doca_verbs_umem *external_umem_dbr,
						      uint64_t external_umem_dbr_offset);

/**
 * doca_verbs_cq_attr_set_external_uar() - Doorbell page
 * @cq_attr: attributes
 * @external_uar: page, may be shared; NULL: none is needed
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_cq_attr_set_external_uar(struct doca_verbs_cq_attr *cq_attr,
						 struct doca_verbs_uar *external_uar);

/**
 * doca_verbs_cq_attr_set_cq_overrun() - Whether completions may overwrite those that were not consumed
 * @cq_attr: attributes
 * @cq_overrun: ENABLE: the consumer index is never looked at
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_cq_attr_set_cq_overrun(struct doca_verbs_cq_attr *cq_attr,
					       enum doca_verbs_cq_overrun cq_overrun);

/**
 * doca_verbs_cq_attr_set_cq_collapsed() - Whether every completion goes to the first entry
 * @cq_attr: attributes
 * @cq_collapsed: 0 or 1
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_cq_attr_set_cq_collapsed(struct doca_verbs_cq_attr *cq_attr, uint8_t cq_collapsed);

/**
 * doca_verbs_cq_attr_set_entry_size() - Bytes of an entry; a name of the SDK
 * @cq_attr: attributes
 * @entry_size: DOCA_VERBS_CQ_ENTRY_SIZE_64
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_cq_attr_set_entry_size(struct doca_verbs_cq_attr *cq_attr, uint8_t entry_size);

/**
 * doca_verbs_cq_attr_set_external_datapath_en() - Whether a GPU reads the completions; a name of the SDK
 * @cq_attr: attributes
 * @external_datapath_en: 0 or 1; both are served alike
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_cq_attr_set_external_datapath_en(struct doca_verbs_cq_attr *cq_attr,
							 uint8_t external_datapath_en);

/**
 * doca_verbs_cq_create() - Make a completion queue
 * @context: device
 * @cq_attr: what it shall be; read now
 * @cq: receives it
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED, DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER.
 */
doca_error_t doca_verbs_cq_create(struct ibv_context *context, struct doca_verbs_cq_attr *cq_attr,
				  struct doca_verbs_cq **cq);

/**
 * doca_verbs_cq_destroy() - Destroy a completion queue
 * @cq: completion queue
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_IN_USE (a queue pair uses it).
 */
doca_error_t doca_verbs_cq_destroy(struct doca_verbs_cq *cq);

/**
 * doca_verbs_cq_get_wq() - Where the entries are
 * @cq: completion queue
 * @cq_buf: receives their address
 * @cq_num_entries: receives their number
 * @cq_entry_size: receives the bytes of one
 */
void doca_verbs_cq_get_wq(const struct doca_verbs_cq *cq, void **cq_buf, uint32_t *cq_num_entries,
			  uint8_t *cq_entry_size);

/**
 * doca_verbs_cq_get_dbr_addr() - Where the doorbell and the records are
 * @cq: completion queue
 * @uar_db_reg: receives the address of the register that arms it; NULL: it has no page
 * @ci_dbr: receives the address of the consumer index, network byte order
 * @arm_dbr: receives the address of the arm record
 */
void doca_verbs_cq_get_dbr_addr(const struct doca_verbs_cq *cq, uint64_t **uar_db_reg, uint32_t **ci_dbr,
				uint32_t **arm_dbr);

/**
 * doca_verbs_cq_get_cqn() - Number
 * @cq: completion queue
 *
 * Return: the number, 24 bits.
 */
uint32_t doca_verbs_cq_get_cqn(const struct doca_verbs_cq *cq);

/* --- Shared receive queues --- */

/**
 * doca_verbs_srq_init_attr_create() - New attributes to make a shared receive queue with
 * @srq_init_attr: receives them
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NO_MEMORY.
 */
doca_error_t doca_verbs_srq_init_attr_create(struct doca_verbs_srq_init_attr **srq_init_attr);

/**
 * doca_verbs_srq_init_attr_destroy() - Free attributes to make a shared receive queue with
 * @srq_init_attr: attributes; objects made with them stay
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_srq_init_attr_destroy(struct doca_verbs_srq_init_attr *srq_init_attr);

/**
 * doca_verbs_srq_init_attr_set_srq_wr() - Depth
 * @srq_init_attr: attributes
 * @srq_wr: WQEs that may be posted at a time, 1 to the device's max_srq_wr; the queue has a power of two, and a linked
 *	     list at least one more
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_srq_init_attr_set_srq_wr(struct doca_verbs_srq_init_attr *srq_init_attr, uint32_t srq_wr);

/**
 * doca_verbs_srq_init_attr_get_srq_wr() - What doca_verbs_srq_init_attr_set_srq_wr() set
 * @srq_init_attr: attributes
 *
 * Return: WQEs.
 */
uint32_t doca_verbs_srq_init_attr_get_srq_wr(const struct doca_verbs_srq_init_attr *srq_init_attr);

/**
 * doca_verbs_srq_init_attr_set_receive_max_sges() - Data segments of a receive
 * @srq_init_attr: attributes
 * @receive_max_sges: segments
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_srq_init_attr_set_receive_max_sges(struct doca_verbs_srq_init_attr *srq_init_attr,
							   uint32_t receive_max_sges);

/**
 * doca_verbs_srq_init_attr_get_receive_max_sges() - What doca_verbs_srq_init_attr_set_receive_max_sges() set
 * @srq_init_attr: attributes
 *
 * Return: segments.
 */
uint32_t doca_verbs_srq_init_attr_get_receive_max_sges(const struct doca_verbs_srq_init_attr *srq_init_attr);

/**
 * doca_verbs_srq_init_attr_set_type() - Shape
 * @srq_init_attr: attributes
 * @type: shape
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_srq_init_attr_set_type(struct doca_verbs_srq_init_attr *srq_init_attr,
					       enum doca_verbs_srq_type type);

/**
 * doca_verbs_srq_init_attr_get_type() - What doca_verbs_srq_init_attr_set_type() set
 * @srq_init_attr: attributes
 *
 * Return: the shape.
 */
enum doca_verbs_srq_type doca_verbs_srq_init_attr_get_type(const struct doca_verbs_srq_init_attr *srq_init_attr);

/**
 * doca_verbs_srq_init_attr_set_pd() - Protection domain
 * @srq_init_attr: attributes
 * @pd: domain
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_srq_init_attr_set_pd(struct doca_verbs_srq_init_attr *srq_init_attr, struct ibv_pd *pd);

/**
 * doca_verbs_srq_init_attr_get_pd() - What doca_verbs_srq_init_attr_set_pd() set
 * @srq_init_attr: attributes
 *
 * Return: the domain; NULL: not set.
 */
struct ibv_pd *doca_verbs_srq_init_attr_get_pd(const struct doca_verbs_srq_init_attr *srq_init_attr);

/**
 * doca_verbs_srq_init_attr_set_external_umem() - Memory of the caller for the queue
 * @srq_init_attr: attributes
 * @external_umem: memory; NULL: the library makes its own
 * @external_umem_offset: bytes; multiple of 64
 *
 * The doorbell record lies at the next multiple of 64 bytes behind the WQEs, in the same memory. The caller links the WQEs
 * of a linked list; in memory of the library each names the one behind it, and the last one the first.
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_srq_init_attr_set_external_umem(struct doca_verbs_srq_init_attr *srq_init_attr,
							struct doca_verbs_umem *external_umem,
							uint64_t external_umem_offset);

/**
 * doca_verbs_srq_init_attr_get_external_umem() - What doca_verbs_srq_init_attr_set_external_umem() set
 * @srq_init_attr: attributes
 * @external_umem: receives the memory
 * @external_umem_offset: receives the offset
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_srq_init_attr_get_external_umem(const struct doca_verbs_srq_init_attr *srq_init_attr,
							struct doca_verbs_umem **external_umem,
							uint64_t *external_umem_offset);

/**
 * doca_verbs_srq_create() - Make a shared receive queue
 * @context: device
 * @srq_init_attr: what it shall be
 * @srq: receives it
 *
 * To post is to write the data segments of a WQE, and then the number of WQEs posted, modulo 2^16, to the doorbell record
 * (32 bits, big endian). A completion goes to the receive completion queue of the queue pair that took the WQE. It has the
 * number of this queue at offset 32, and as wqe_counter that of the WQE: in a linked list its place, in a contiguous one how
 * many were posted before, modulo 2^16. Then a WQE of a linked list may be posted again, one of a contiguous queue when it
 * is its turn. Keys of data segments are those of this queue's protection domain.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED (the provider has none: all but software NICs),
 * DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER.
 */
doca_error_t doca_verbs_srq_create(struct ibv_context *context, struct doca_verbs_srq_init_attr *srq_init_attr,
				   struct doca_verbs_srq **srq);

/**
 * doca_verbs_srq_destroy() - Destroy a shared receive queue
 * @srq: queue
 *
 * What is posted and not taken is forgotten, without completions.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_IN_USE (a queue pair uses it).
 */
doca_error_t doca_verbs_srq_destroy(struct doca_verbs_srq *srq);

/**
 * doca_verbs_srq_get_srqn() - Number
 * @srq: queue
 *
 * Return: the number, 24 bits.
 */
uint32_t doca_verbs_srq_get_srqn(const struct doca_verbs_srq *srq);

/**
 * doca_verbs_srq_get_wq() - Where the queue is
 * @srq: queue
 * @srq_buf: receives its address
 * @srq_num_entries: receives its length in WQEs
 * @rwqe_size_bytes: receives the bytes of a WQE
 */
void doca_verbs_srq_get_wq(const struct doca_verbs_srq *srq, void **srq_buf, uint32_t *srq_num_entries,
			   uint32_t *rwqe_size_bytes);

/**
 * doca_verbs_srq_get_dbr_addr() - Doorbell record
 * @srq: queue
 *
 * Return: its address.
 */
void *doca_verbs_srq_get_dbr_addr(const struct doca_verbs_srq *srq);

/* --- What a device can do --- */

/**
 * doca_verbs_query_device() - Ask a device what it can do
 * @context: device
 * @device_attr: receives the answers; doca_verbs_device_attr_free() frees them
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED (not a device of this library),
 * DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER.
 */
doca_error_t doca_verbs_query_device(struct ibv_context *context, struct doca_verbs_device_attr **device_attr);

/**
 * doca_verbs_device_attr_free() - Free the answers
 * @device_attr: of doca_verbs_query_device()
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_device_attr_free(struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_qp() - Queue pairs
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint32_t doca_verbs_device_attr_get_max_qp(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_qp_wr() - Blocks of a send queue, WQEs of a receive queue
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint32_t doca_verbs_device_attr_get_max_qp_wr(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_sge() - Data segments of a WQE
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint32_t doca_verbs_device_attr_get_max_sge(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_cq() - Completion queues
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint32_t doca_verbs_device_attr_get_max_cq(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_cqe() - Entries of a completion queue
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint32_t doca_verbs_device_attr_get_max_cqe(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_mr() - Memory regions
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint32_t doca_verbs_device_attr_get_max_mr(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_pd() - Protection domains
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint32_t doca_verbs_device_attr_get_max_pd(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_ah() - Address handles
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint32_t doca_verbs_device_attr_get_max_ah(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_srq() - Shared receive queues
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint32_t doca_verbs_device_attr_get_max_srq(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_srq_wr() - WQEs of a shared receive queue
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint32_t doca_verbs_device_attr_get_max_srq_wr(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_srq_sge() - Data segments of its WQEs
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint32_t doca_verbs_device_attr_get_max_srq_sge(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_pkeys() - Partition keys
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint16_t doca_verbs_device_attr_get_max_pkeys(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_send_dbr_mode_no_dbr_ext() - Whether it can do without send doorbell records
 * @device_attr: answers
 *
 * Return: 1 or 0.
 */
uint8_t doca_verbs_device_attr_get_send_dbr_mode_no_dbr_ext(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_qp_rd_atom() - Reads and atomics that a queue pair answers at a time
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint8_t doca_verbs_device_attr_get_max_qp_rd_atom(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_max_qp_init_rd_atom() - Reads and atomics that a queue pair has under way at a time
 * @device_attr: answers
 *
 * Return: the largest number.
 */
uint8_t doca_verbs_device_attr_get_max_qp_init_rd_atom(const struct doca_verbs_device_attr *device_attr);

/**
 * doca_verbs_device_attr_get_is_qp_type_supported() - Whether it has a service
 * @device_attr: answers
 * @qp_type: DOCA_VERBS_QP_TYPE_*
 *
 * Return: DOCA_SUCCESS: it has; DOCA_ERROR_NOT_SUPPORTED; DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_device_attr_get_is_qp_type_supported(const struct doca_verbs_device_attr *device_attr,
							     uint32_t qp_type);

/* --- Memory that a NIC uses for queues --- */

/**
 * doca_verbs_umem_create() - Have a NIC reach memory for queues
 * @context: device
 * @address: host or GPU memory, or where the dma-buf is mapped
 * @size: bytes, > 0
 * @access_flags: IBV_ACCESS_*
 * @dmabuf_fd: dma-buf of that memory; -1: none
 * @dmabuf_offset: where @address lies in it
 * @umem: receives it
 *
 * The memory stays in place until doca_verbs_umem_destroy(). The descriptor may be closed afterwards.
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED, DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER
 * (the memory cannot be reached; the log says why).
 */
doca_error_t doca_verbs_umem_create(struct ibv_context *context, void *address, size_t size, uint32_t access_flags,
				    int dmabuf_fd, size_t dmabuf_offset, struct doca_verbs_umem **umem);

/**
 * doca_verbs_umem_destroy() - Have the NIC leave memory alone
 * @umem: memory
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_IN_USE (a queue lies in it).
 */
doca_error_t doca_verbs_umem_destroy(struct doca_verbs_umem *umem);

/**
 * doca_verbs_umem_get_id() - Number
 * @umem: memory
 * @umem_id: receives the number
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_umem_get_id(const struct doca_verbs_umem *umem, uint32_t *umem_id);

/**
 * doca_verbs_umem_get_size() - Size
 * @umem: memory
 * @umem_size: receives the bytes
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_umem_get_size(const struct doca_verbs_umem *umem, size_t *umem_size);

/**
 * doca_verbs_umem_get_address() - Address
 * @umem: memory
 * @umem_address: receives the address as it was registered
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_umem_get_address(const struct doca_verbs_umem *umem, void **umem_address);

/* --- Doorbell pages --- */

/**
 * doca_verbs_uar_create() - Get a page of doorbells
 * @context: device
 * @allocation_type: how it is mapped
 * @uar: receives it
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED (no page of that kind),
 * DOCA_ERROR_NO_MEMORY, DOCA_ERROR_DRIVER.
 */
doca_error_t doca_verbs_uar_create(struct ibv_context *context, enum doca_verbs_uar_allocation_type allocation_type,
				   struct doca_verbs_uar **uar);

/**
 * doca_verbs_uar_destroy() - Give a page of doorbells back
 * @uar: page
 *
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_IN_USE (a queue uses it).
 */
doca_error_t doca_verbs_uar_destroy(struct doca_verbs_uar *uar);

/**
 * doca_verbs_uar_id_get() - Number
 * @uar: page
 * @uar_id: receives the number
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_uar_id_get(const struct doca_verbs_uar *uar, uint32_t *uar_id);

/**
 * doca_verbs_uar_reg_addr_get() - Send doorbell
 * @uar: page
 * @reg_addr: receives the address of the register
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_uar_reg_addr_get(const struct doca_verbs_uar *uar, void **reg_addr);

/**
 * doca_verbs_uar_dbr_less_addr_get() - Send doorbell of queue pairs without doorbell record
 * @uar: page
 * @dbr_less_addr: receives the address of the register
 *
 * Return: DOCA_SUCCESS or DOCA_ERROR_INVALID_VALUE.
 */
doca_error_t doca_verbs_uar_dbr_less_addr_get(const struct doca_verbs_uar *uar, void **dbr_less_addr);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
