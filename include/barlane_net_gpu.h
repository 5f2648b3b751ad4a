/* SPDX-License-Identifier: MIT */
/**
 * DOC: barlane_net_gpu.h - what libdoca_gpunetio_host.so.2 has for GPUs beyond the original's functions
 *
 * Objects are those of doca_gpunetio.h and doca_gpunetio_high_level.h; so are the rules for threads, forks and out
 * pointers. Structs that may grow begin with their size, which the caller sets.
 */
#ifndef BARLANE_NET_GPU_H
#define BARLANE_NET_GPU_H

#include "gpunetio/common/bl_gpunetio_srq.h"
#include "gpunetio/host/doca_gpunetio.h"
#include "gpunetio/host/doca_gpunetio_high_level.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/**
 * struct bl_net_qp_error - why a queue pair failed: the first cause
 * @sz:		 bytes of this struct
 * @has_error:	 1: the queue pair is in state ERR
 * @syndrome:	 of the error completion; 0: the NIC tells none
 * @vendor:	 vendor's syndrome
 * @opcode:	 of the request that failed
 * @wqe_counter: its index, 16 bits; where it is not the fault of one, that of the first that is not done
 * @responder:	 1: a request of the peer failed
 * @qpn:	 number of the queue pair
 * @dest_qpn:	 number of its peer; 0: not known
 * @text:	 one line: what failed and why; without an error: what keeps requests waiting, as far as something does
 *		 (a receiver that is not ready, a peer that does not answer, nobody who rings the doorbell), or ""
 */
struct bl_net_qp_error {
	size_t sz;
	int has_error;
	int syndrome;
	int vendor;
	int opcode;
	int wqe_counter;
	int responder;
	uint32_t qpn;
	uint32_t dest_qpn;
	char text[160];
};

/**
 * bl_net_qp_error() - Ask why a queue pair failed, or waits
 * @qp:	   exported queue pair
 * @error: @sz is set; receives the answer
 *
 * Return: 0, -EINVAL, -EACCES, or the NIC's error.
 */
int bl_net_qp_error(struct doca_gpu_verbs_qp *qp, struct bl_net_qp_error *error);

/**
 * bl_net_syndrome_text() - A syndrome of an error completion in words
 * @syndrome: from a completion, or an error word's low 8 bits
 *
 * Return: such as "remote access error"; valid for ever.
 */
const char *bl_net_syndrome_text(int syndrome);

/**
 * bl_net_qp_stop() - End the waits of kernels on a queue pair, or allow them again
 * @qp:	  exported queue pair
 * @stop: not 0: every wait gives DOCA_GPUNETIO_VERBS_WAIT_STOPPED
 *
 * A store to a word of host memory that kernels look at: works while they run, and is not a CUDA call.
 * Return: 0, -EINVAL.
 */
int bl_net_qp_stop(struct doca_gpu_verbs_qp *qp, uint32_t stop);

/** enum bl_net_ringer - who tells the NIC of new requests */
enum bl_net_ringer {
	BL_NET_RINGER_GPU = 0,	    /* kernels ring the doorbell */
	BL_NET_RINGER_NIC = 1,	    /* the NIC looks at the word that kernels write: nobody rings */
	BL_NET_RINGER_SERVICE = 2,  /* a service of the program's */
	BL_NET_RINGER_LIBRARY = 3,  /* the library's own thread */
	BL_NET_RINGER_PROGRAM = 4,  /* only who calls doca_gpu_verbs_cpu_proxy_progress() */
};

/**
 * struct bl_net_qp_path - how a queue pair works
 * @sz:		bytes of this struct
 * @handler:	what kernels do, never AUTO
 * @ringer:	who tells the NIC
 * @sq_on_host: 1: the rings of the queue pair are host memory
 * @cq_on_host: 1: the ring of its completion queue is
 * @timeout_ms: longest wait of kernels that give none; 0: for ever
 * @rings:	times that a CPU rang
 * @reason:	why AUTO came to @handler, or a fallback was taken; "" when neither
 */
struct bl_net_qp_path {
	size_t sz;
	enum doca_gpu_dev_verbs_nic_handler handler;
	enum bl_net_ringer ringer;
	int sq_on_host;
	int cq_on_host;
	uint32_t timeout_ms;
	uint64_t rings;
	char reason[160];
};

/**
 * bl_net_qp_path() - Ask how a queue pair works
 * @qp:	  exported queue pair
 * @path: @sz is set; receives the answer
 *
 * Return: 0, -EINVAL.
 */
int bl_net_qp_path(struct doca_gpu_verbs_qp *qp, struct bl_net_qp_path *path);

/**
 * bl_net_service_remove_qp() - Have a service let go of a queue pair
 * @service: from doca_gpu_verbs_create_service()
 * @qp:	     what it serves
 *
 * When this returns the service does not touch the queue pair any more, and the library's own thread serves it.
 * Return: 0, -EINVAL (no such service), -ENOENT (it does not serve that).
 */
int bl_net_service_remove_qp(doca_gpu_verbs_service_t service, struct doca_gpu_verbs_qp *qp);

/**
 * struct bl_net_export_attr - what a queue pair is shown with; zero but for @sz is a valid beginning
 * @sz:		       bytes of this struct
 * @nic_handler:       who rings
 * @send_dbr_mode_ext: who writes the send doorbell record
 * @umem_gpu_ptr:      GPU's address of the memory of its queues; NULL: ask CUDA
 * @cq_sq:	       completion queue of the send queue; NULL: there is none
 * @cq_rq:	       completion queue of the receive queue; NULL: there is none
 * @cq_collapsed:      1: @cq_sq is collapsed
 * @cq_folded:	       1: it is, in host memory, and a CPU counts for the GPU: as struct bl_net_qp_hl_attr has it
 */
struct bl_net_export_attr {
	size_t sz;
	enum doca_gpu_dev_verbs_nic_handler nic_handler;
	enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext;
	void *umem_gpu_ptr;
	struct doca_verbs_cq *cq_sq;
	struct doca_verbs_cq *cq_rq;
	int cq_collapsed;
	int cq_folded;
};

/**
 * bl_net_export_qp() - Show a queue pair to a GPU, with its receive queue
 * @gpu:   the GPU
 * @qp:	   queue pair
 * @attr:  how
 * @out_p: receives the exported queue pair, to be given to doca_gpu_verbs_unexport_qp()
 *
 * Return: as doca_gpu_verbs_export_qp().
 */
doca_error_t bl_net_export_qp(struct doca_gpu *gpu, struct doca_verbs_qp *qp, const struct bl_net_export_attr *attr,
			      struct doca_gpu_verbs_qp **out_p);

/**
 * bl_net_export_srq() - Let kernels post to a shared receive queue
 * @gpu: the GPU
 * @srq: a linked list in memory that the GPU reaches, linked in the order of the ring, with nothing posted
 * @dev: receives what kernels need, for the caller to copy to where they reach it; not valid any more when @srq is
 *	 destroyed
 *
 * Functions for kernels are in <gpunetio/device/bl_gpunetio_dev_srq.cuh>.
 * Return: DOCA_SUCCESS, DOCA_ERROR_INVALID_VALUE (also: the GPU does not reach the memory), DOCA_ERROR_NOT_SUPPORTED (a
 * contiguous queue), DOCA_ERROR_NOT_PERMITTED (forked).
 */
doca_error_t bl_net_export_srq(struct doca_gpu *gpu, struct doca_verbs_srq *srq, struct bl_dev_srq *dev);

/**
 * struct bl_net_qp_hl_attr - what doca_gpu_verbs_create_qp_hl() cannot be told; zero but for @sz: nothing
 * @sz:	     bytes of this struct
 * @rq_nwqe: receive requests, up to 32768; rounded up to a power of two; 0: no receive queue
 * @rq_sges: data segments of each; 0: 1
 * @uc:	     1: unreliable connection
 * @cq_folded: 1: all completions of the send queue go to one entry in host memory; whoever serves the queue pair, the
 *	       library's own thread if nobody else does, counts them in the GPU's object, and kernels poll that alone
 *	       (DOCA_GPUNETIO_VERBS_CQ_64B_COLLAPSED_HOST). Every request must be signalled
 */
struct bl_net_qp_hl_attr {
	size_t sz;
	uint32_t rq_nwqe;
	uint32_t rq_sges;
	int uc;
	int cq_folded;
};

/**
 * bl_net_create_qp_hl() - Make a queue pair for a GPU, with a receive queue
 * @qp_init_attr: as for doca_gpu_verbs_create_qp_hl()
 * @more:	  what that cannot be told
 * @qp:		  receives the queue pair, to be given to doca_gpu_verbs_destroy_qp_hl()
 *
 * Return: as doca_gpu_verbs_create_qp_hl().
 */
doca_error_t bl_net_create_qp_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
				 const struct bl_net_qp_hl_attr *more, struct doca_gpu_verbs_qp_hl **qp);

/**
 * struct bl_net_peer - one end of a connection, as the other end must know it
 * @gid:       address of the port
 * @qpn:       number of the queue pair
 * @mtu:       largest payload that the port takes, bytes; 0: not known
 * @psn:       first sequence number that it sends
 * @lid:       local id, 0 on Ethernet
 * @gid_index: of @gid at its own port
 * @port:      1 is the first
 * @reserved:  0
 */
struct bl_net_peer {
	uint8_t gid[16];
	uint32_t qpn;
	uint32_t mtu;
	uint32_t psn;
	uint16_t lid;
	uint8_t gid_index;
	uint8_t port;
	uint32_t reserved;
};

/**
 * bl_net_qp_local() - What the other end must know of a queue pair
 * @context:   its device
 * @qp:	       queue pair
 * @port:      1 is the first
 * @gid_index: address to use; negative: the first of RoCE version 2 that is no link-local one, else the first
 * @peer:      receives it
 *
 * Return: 0, -EINVAL, or the device's error.
 */
int bl_net_qp_local(struct ibv_context *context, struct doca_verbs_qp *qp, uint8_t port, int gid_index,
		    struct bl_net_peer *peer);

/**
 * bl_net_qp_connect() - Connect a queue pair: RST to RTS
 * @context: its device
 * @qp:	     queue pair in state RST
 * @uc:	     1: it is one of an unreliable connection
 * @local:   from bl_net_qp_local()
 * @remote:  the same of the other end
 *
 * The path MTU is the smaller of both ends'; retries and time-outs are those of the BARLANE_NET_* variables in
 * docs/gpunetio-host.md.
 * Return: 0, -EINVAL, -ENOTCONN (nobody has that address), or the device's error.
 */
int bl_net_qp_connect(struct ibv_context *context, struct doca_verbs_qp *qp, int uc, const struct bl_net_peer *local,
		      const struct bl_net_peer *remote);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
