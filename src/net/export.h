/* SPDX-License-Identifier: MIT */
/*
 * export.h - queue pairs shown to a GPU
 *
 * What a program has, struct doca_gpu_verbs_qp, is the first member of what is kept here. Everything that changes after
 * the export is in words that are read and written atomically, or under the lock of the service that serves.
 */
#ifndef BL_NET_EXPORT_H
#define BL_NET_EXPORT_H

#include <stdatomic.h>

#include "barlane_net_gpu.h"
#include "net/gpu.h"
#include "net/verbs/qp.h"

struct bl_service;

/**
 * struct bl_control - words of host memory that the GPU and CPUs share, a page of its own
 * @word: producer index that the GPU publishes for a CPU, or the NIC, to serve
 * @stop: not 0: waits on the GPU end
 * @express: a request that is given whole to a NIC that is a CPU
 */
struct bl_control {
	uint64_t word;
	uint8_t reserved0[120];
	uint32_t stop;
	uint8_t reserved1[124];
	uint64_t express[BL_GPUNETIO_EXPRESS_SLOTS * BL_GPUNETIO_EXPRESS_WORDS];
};

/**
 * struct bl_qp_array - GPU's objects of several queue pairs side by side
 * @object: as it is known to others, by the GPU's address
 * @gpu:    the GPU, used
 * @block:  the array
 * @nr:	    entries, holes included
 * @members: queue pairs that have their objects here and nowhere else
 */
struct bl_qp_array {
	struct bl_object object;
	struct doca_gpu *gpu;
	struct bl_gpu_block *block;
	unsigned int nr;
	_Atomic(unsigned int) members;
};

/**
 * struct bl_gpu_qp - a queue pair shown to a GPU
 * @pub:       what the program has
 * @object:    as it is known to others, by the address of @pub
 * @gpu:       the GPU, used
 * @verbs:     the verbs object, in use
 * @begin:     what the GPU's object begins as; @pub.qp_cpu
 * @control:   words shared with the GPU
 * @control_block: their memory
 * @dbrec:     doorbell records, receive and send, as the CPU reaches them; NULL: only the GPU does
 * @dbrec_va:  the same, GPU's address; 0: it does not reach them
 * @uar:       doorbell register as the GPU reaches it; NULL: it does not ring
 * @dev_block: the GPU's object, NULL: none, or it is one of an array
 * @array:     that array
 * @lock:      guards the making of the GPU's object and its reset
 * @busy:      somebody serves it at this moment
 * @rings:     times that a CPU rang
 * @slots:     a word for each slot of the send queue, which the GPU sets to the index there plus one, and a CPU makes
 *	       @control's word of; NULL: the GPU writes that word
 * @slots_block: their memory
 * @word:      what is served: the word of @control, or the GPU's object's own index where only the record is written
 * @watched:   the NIC looks at the word itself
 * @express:   it looks at requests that are given whole
 * @brings:    requests may bring bytes along: the table of regions is shown
 * @fold_cqe:  entry in host memory that all completions of the send queue go to, which a CPU counts; NULL: none does
 * @fold_to:   where the GPU's object has the count, as the CPU reaches it; NULL: there is no object
 * @folded:    the count
 * @fold_failed: a request has failed, and nothing is counted any more
 * @service:   who serves, guarded by the lock of all services
 * @sq_on_host, @cq_on_host: where the rings are
 * @reason:    why the handler is what it is
 * @next_shown, @is_shown: in the list of show.h
 */
struct bl_gpu_qp {
	struct doca_gpu_verbs_qp pub;
	struct bl_object object;
	struct doca_gpu *gpu;
	struct doca_verbs_qp *verbs;
	struct doca_gpu_dev_verbs_qp begin;
	struct bl_control *control;
	struct bl_gpu_block *control_block;
	uint32_t *dbrec;
	uint64_t dbrec_va;
	struct bl_gpu_uar *uar;
	struct bl_gpu_block *dev_block;
	struct bl_qp_array *array;
	pthread_mutex_t lock;
	_Atomic(bool) busy;
	_Atomic(uint64_t) rings;
	uint64_t *slots;
	struct bl_gpu_block *slots_block;
	const uint64_t *_Atomic word;
	bool watched;
	bool express;
	bool brings;
	const uint8_t *fold_cqe;
	struct doca_gpu_dev_verbs_cq *_Atomic fold_to;
	uint64_t folded;
	_Atomic(bool) fold_failed;
	struct bl_service *service;
	bool sq_on_host;
	bool cq_on_host;
	char reason[160];
	struct bl_gpu_qp *next_shown;
	bool is_shown;
};

/* From what the program has. */
static inline struct bl_gpu_qp *bl_gpu_qp_of(struct doca_gpu_verbs_qp *pub)
{
	return (struct bl_gpu_qp *)pub;
}

/**
 * bl_export() - Show a queue pair to a GPU
 * @gpu:   used GPU
 * @verbs: queue pair
 * @attr:  how
 * @qp_p:  receives it, to be given to bl_unexport()
 *
 * Return: 0 or -errno as bl_net_export_qp() documents.
 */
int bl_export(struct doca_gpu *gpu, struct doca_verbs_qp *verbs, const struct bl_net_export_attr *attr,
	      struct bl_gpu_qp **qp_p);

/* 0, -EINVAL (not exported, or not any more), -EBUSY, -EACCES. */
int bl_unexport(struct doca_gpu_verbs_qp *pub);

/* Steps of bl_export(), in this order; export_fill.c. 0 or -errno. */
int bl_export_queues(struct bl_gpu_qp *qp, const struct bl_net_export_attr *attr);
int bl_export_records(struct bl_gpu_qp *qp, const struct bl_net_export_attr *attr);
int bl_export_handler(struct bl_gpu_qp *qp, const struct bl_net_export_attr *attr);
int bl_export_cq(struct bl_gpu_qp *qp, struct doca_verbs_cq *cq, uint8_t type, struct doca_gpu_dev_verbs_cq *dev);

/* Whether kernels leave the doorbell to a CPU, one way or the other. */
static inline bool bl_is_proxy(uint32_t handler)
{
	return handler & DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_CPU_PROXY;
}

/* Whether a CPU reads, or writes, the GPU's object. */
bool bl_export_shared(const struct bl_gpu_qp *qp);

/* Who tells the NIC of new requests. */
enum bl_net_ringer bl_export_ringer(struct bl_gpu_qp *qp);

/* Make the GPU's object what qp->begin says; it has one, and qp->lock is held. 0, -EIO. */
int bl_export_write_dev(struct bl_gpu_qp *qp);

/**
 * bl_qp_array_new() - Objects of several queue pairs side by side
 * @gpu:     used GPU
 * @qps:     @nr queue pairs in use; NULL entries are holes
 * @nr:	     entries, > 0
 * @kind:    what it is known as
 * @array_p: receives the array
 *
 * Return: 0, -EINVAL, -ENOMEM, -EIO.
 */
int bl_qp_array_new(struct doca_gpu *gpu, struct doca_gpu_verbs_qp **qps, unsigned int nr, enum bl_object_kind kind,
		    struct bl_qp_array **array_p);

/* Free an array that nobody finds any more. */
void bl_qp_array_free(struct bl_qp_array *array);

#endif
