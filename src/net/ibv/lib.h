/* SPDX-License-Identifier: MIT */
/*
 * lib.h - libibverbs, loaded at run time
 *
 * libibverbs.so.1 is never linked; its header alone is needed to build. Functions that its header has inline go through
 * the table of an open device, and need nothing of this.
 */
#ifndef BL_NET_IBV_LIB_H
#define BL_NET_IBV_LIB_H

#include <stddef.h>

#include <infiniband/verbs.h>

/* X(return type, field, symbol, (parameters)): without one of these loading fails. */
#define BL_IBV_REQUIRED(X)                                                                                             \
	X(struct ibv_device **, get_device_list, "ibv_get_device_list", (int *nr))                                     \
	X(void, free_device_list, "ibv_free_device_list", (struct ibv_device **list))                                  \
	X(const char *, get_device_name, "ibv_get_device_name", (struct ibv_device *device))                           \
	X(struct ibv_context *, open_device, "ibv_open_device", (struct ibv_device *device))                           \
	X(int, close_device, "ibv_close_device", (struct ibv_context *context))                                        \
	X(int, query_device, "ibv_query_device", (struct ibv_context *context, struct ibv_device_attr *attr))          \
	X(int, query_port_old, "ibv_query_port",                                                                       \
	  (struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr))                             \
	X(int, query_gid_old, "ibv_query_gid",                                                                         \
	  (struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid))                                  \
	X(struct ibv_pd *, alloc_pd, "ibv_alloc_pd", (struct ibv_context *context))                                    \
	X(int, dealloc_pd, "ibv_dealloc_pd", (struct ibv_pd *pd))                                                      \
	X(struct ibv_mr *, reg_mr_plain, "ibv_reg_mr", (struct ibv_pd *pd, void *addr, size_t len, int access))        \
	X(int, dereg_mr, "ibv_dereg_mr", (struct ibv_mr *mr))                                                          \
	X(struct ibv_cq *, create_cq, "ibv_create_cq",                                                                 \
	  (struct ibv_context *context, int nr, void *arg, struct ibv_comp_channel *channel, int vector))              \
	X(int, destroy_cq, "ibv_destroy_cq", (struct ibv_cq *cq))                                                      \
	X(struct ibv_qp *, create_qp, "ibv_create_qp", (struct ibv_pd *pd, struct ibv_qp_init_attr *attr))             \
	X(int, destroy_qp, "ibv_destroy_qp", (struct ibv_qp *qp))                                                      \
	X(int, modify_qp, "ibv_modify_qp", (struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask))                    \
	X(struct ibv_ah *, create_ah, "ibv_create_ah", (struct ibv_pd *pd, struct ibv_ah_attr *attr))                  \
	X(int, destroy_ah, "ibv_destroy_ah", (struct ibv_ah *ah))                                                      \
	X(int, get_async_event, "ibv_get_async_event", (struct ibv_context *context, struct ibv_async_event *event))   \
	X(void, ack_async_event, "ibv_ack_async_event", (struct ibv_async_event *event))

/* Entries that older releases lack; NULL when absent. */
#define BL_IBV_OPTIONAL(X)                                                                                             \
	X(int, query_gid_entry, "_ibv_query_gid_ex",                                                                   \
	  (struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry, uint32_t flags,    \
	   size_t size))                                                                                               \
	X(struct ibv_mr *, reg_mr_at, "ibv_reg_mr_iova",                                                               \
	  (struct ibv_pd *pd, void *addr, size_t len, uint64_t iova, int access))                                      \
	X(struct ibv_mr *, reg_dmabuf, "ibv_reg_dmabuf_mr",                                                            \
	  (struct ibv_pd *pd, uint64_t off, size_t len, uint64_t iova, int fd, int access))

#define BL_IBV_FIELD(ret, field, symbol, args) ret(*field) args;
struct bl_ibv {
	BL_IBV_REQUIRED(BL_IBV_FIELD)
	BL_IBV_OPTIONAL(BL_IBV_FIELD)
};
#undef BL_IBV_FIELD

/**
 * bl_ibv() - The library
 * @reason: receives why not, one line; may be NULL
 * @size:   bytes of @reason
 *
 * Loaded by the first call, for ever. Return: NULL: it cannot be used.
 */
const struct bl_ibv *bl_ibv(char *reason, size_t size);

#endif
