/* SPDX-License-Identifier: MIT */
/* objects.h - what doca_verbs.h gives out and a NIC knows of; their keys are their addresses */
#ifndef BL_NET_VERBS_OBJECTS_H
#define BL_NET_VERBS_OBJECTS_H

#include <pthread.h>

#include "../context.h"
#include "attr.h"

/* Memory for queues; its parent is the context. */
struct doca_verbs_umem {
	struct bl_object object;
	struct bl_context *context;
	struct bl_nic_umem *nic_umem;
	void *addr;
	size_t size;
	uint32_t id;
};

/* A page of doorbells; its parent is the context. */
struct doca_verbs_uar {
	struct bl_object object;
	struct bl_context *context;
	struct bl_nic_uar *nic_uar;
	struct bl_nic_uar_info info;
};

/**
 * struct bl_queue_mem - where a queue and its records lie
 * @ring, @dbr: memory of the program, in use; NULL: the library's own
 * @own:	memory of the library
 * @nic_own:	the same for the NIC
 * @nic_ring, @ring_off, @nic_dbr, @dbr_off: what the NIC is told
 * @ring_addr, @dbr_addr: what the program is told
 */
struct bl_queue_mem {
	struct doca_verbs_umem *ring;
	struct doca_verbs_umem *dbr;
	void *own;
	struct bl_nic_umem *nic_own;
	struct bl_nic_umem *nic_ring;
	uint64_t ring_off;
	struct bl_nic_umem *nic_dbr;
	uint64_t dbr_off;
	char *ring_addr;
	char *dbr_addr;
};

/* A completion queue; its parent is the context. */
struct doca_verbs_cq {
	struct bl_object object;
	struct bl_context *context;
	struct bl_nic_cq *nic_cq;
	struct bl_queue_mem mem;
	struct doca_verbs_uar *uar;
	uint32_t num;
	uint32_t entries;
	struct bl_event_source source;
};

/**
 * struct doca_verbs_srq - a shared receive queue; its parent is the protection domain
 * @entries, @wqe_len: WQEs, and bytes of one
 * @linked: each begins with a segment for the next one
 */
struct doca_verbs_srq {
	struct bl_object object;
	struct bl_context *context;
	struct bl_nic_srq *nic_srq;
	struct bl_queue_mem mem;
	uint32_t num;
	uint32_t entries;
	uint32_t wqe_len;
	bool linked;
};

/* Look a pointer of the program up; 0, -EINVAL, -EACCES with the reason. To be given back with bl_object_put(). */
int bl_umem_get(struct doca_verbs_umem *umem, const struct bl_context *context, struct doca_verbs_umem **umem_p);
int bl_uar_get(struct doca_verbs_uar *uar, const struct bl_context *context, struct doca_verbs_uar **uar_p);
int bl_cq_get(struct doca_verbs_cq *cq, const struct bl_context *context, struct doca_verbs_cq **cq_p);
int bl_srq_get(struct doca_verbs_srq *srq, const struct bl_context *context, struct doca_verbs_srq **srq_p);

/**
 * struct bl_queue_mem_attr - what memory a queue wants
 * @ring, @ring_off, @dbr, @dbr_off: of the program; both NULL: of the library
 * @len: bytes of the ring
 */
struct bl_queue_mem_attr {
	struct doca_verbs_umem *ring;
	uint64_t ring_off;
	struct doca_verbs_umem *dbr;
	uint64_t dbr_off;
	size_t len;
};

/**
 * bl_queue_mem_get() - Memory for a queue, checked or made
 * @context: device
 * @attr:    what is wanted
 * @mem:     receives it, to be given to bl_queue_mem_put(); zeroed where it is the library's
 *
 * Return: 0, -EINVAL (one umem and not the other, of another device, alignment, length), -ENOMEM, or what the provider
 * says; with the reason.
 */
int bl_queue_mem_get(struct bl_context *context, const struct bl_queue_mem_attr *attr, struct bl_queue_mem *mem);
void bl_queue_mem_put(struct bl_context *context, struct bl_queue_mem *mem);

#endif
