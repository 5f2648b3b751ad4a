/* SPDX-License-Identifier: MIT */
/*
 * nic.h - what the network lane asks of a NIC, and who can be one
 *
 * A provider is one struct bl_nic_ops in one file, named in table.c. Its objects are opaque here and never mixed with
 * another provider's. Functions return 0 or -errno, with the reason by bl_fail(): whoever passes it on stays quiet.
 * Callers see to it that objects outlive what uses them, and that no two calls destroy or modify one object at a time.
 */
#ifndef BL_NET_NIC_H
#define BL_NET_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpunetio/host/doca_verbs.h"

struct bl_nic;
struct bl_nic_pd;
struct bl_nic_mr;
struct bl_nic_umem;
struct bl_nic_uar;
struct bl_nic_cq;
struct bl_nic_qp;
struct bl_nic_srq;

#define BL_NIC_GID_LEN 16

/**
 * struct bl_nic_caps - what a NIC can do
 * @max_qp_wr:	   blocks of a send queue, and receive WQEs
 * @max_qp_rd_atom, @max_qp_init_rd_atom: reads and atomics under way, as responder and as requester
 * @gids:	   addresses of its port
 * @rc, @uc:	   services
 * @no_dbrec:	   a send queue may do without doorbell record; two such queue pairs may need two UARs
 * @no_atomics:	   none
 * @max_srq, @max_srq_wr, @max_srq_sge: shared receive queues, WQEs of one that may be posted at a time, whatever its type, and
 *		   segments of one; 0: there are none
 * @lids:	   ports have local identifiers: InfiniBand
 * @cpu:	   it is a CPU: queues that it reads are better off in host memory, where a GPU reaches them too
 * @brings:	   it takes bytes that requests bring along, doca_gpunetio_verbs_dev.h, for those of their memory
 */
struct bl_nic_caps {
	uint32_t max_qp;
	uint32_t max_qp_wr;
	uint32_t max_sge;
	uint32_t max_cq;
	uint32_t max_cqe;
	uint32_t max_mr;
	uint32_t max_pd;
	uint32_t max_ah;
	uint32_t max_srq;
	uint32_t max_srq_wr;
	uint32_t max_srq_sge;
	uint16_t max_pkeys;
	uint16_t gids;
	uint8_t ports;
	uint8_t max_qp_rd_atom;
	uint8_t max_qp_init_rd_atom;
	bool rc;
	bool uc;
	bool no_dbrec;
	bool no_atomics;
	bool lids;
	bool cpu;
	bool brings;
};

/**
 * struct bl_nic_port - a port as it is now
 * @mtu: largest path MTU in bytes
 */
struct bl_nic_port {
	uint32_t mtu;
	uint16_t lid;
	bool active;
};

/* Kinds of addresses: what packets from there are. BL_NIC_GID_IB where there is one kind only. */
enum bl_nic_gid_type { BL_NIC_GID_IB, BL_NIC_GID_ROCE_V1, BL_NIC_GID_ROCE_V2 };

/**
 * struct bl_nic_memory - memory of the program that a NIC shall reach
 * @addr:	host or GPU memory; with a dma-buf where it is mapped, if it is
 * @len:	bytes
 * @access:	IBV_ACCESS_*
 * @dmabuf_fd:	-1: none
 * @dmabuf_off: where @addr lies in it
 */
struct bl_nic_memory {
	void *addr;
	size_t len;
	unsigned int access;
	int dmabuf_fd;
	uint64_t dmabuf_off;
};

/**
 * struct bl_nic_uar_info - a page of doorbells as the CPU reaches it
 * @page: its start
 * @db: send doorbell
 * @no_dbrec_db: send doorbell of queue pairs without record
 * @cq_db: arm doorbell of completion queues
 */
struct bl_nic_uar_info {
	uint32_t id;
	void *page;
	void *db;
	void *no_dbrec_db;
	void *cq_db;
};

/**
 * struct bl_nic_cq_attr - a completion queue
 * @ring, @ring_off: entries of 64 bytes, initialised
 * @dbr, @dbr_off: consumer index record
 * @nr:	       entries, power of two
 * @uar:       may be NULL
 */
struct bl_nic_cq_attr {
	struct bl_nic_umem *ring;
	uint64_t ring_off;
	struct bl_nic_umem *dbr;
	uint64_t dbr_off;
	uint32_t nr;
	struct bl_nic_uar *uar;
	bool overrun;
	bool collapsed;
};

/**
 * struct bl_nic_srq_attr - a shared receive queue
 * @ring, @ring_off: WQEs; those of a linked list hang together
 * @dbr, @dbr_off: doorbell record
 * @type:  linked or contiguous
 * @nr:	   WQEs, a power of two, one of which a linked list keeps back
 * @sges:  data segments of a WQE, which is a power of two of bytes with the segment for the next one
 */
struct bl_nic_srq_attr {
	struct bl_nic_umem *ring;
	uint64_t ring_off;
	struct bl_nic_umem *dbr;
	uint64_t dbr_off;
	enum doca_verbs_srq_type type;
	uint32_t nr;
	uint32_t sges;
};

/**
 * struct bl_nic_qp_attr - a queue pair
 * @type:	  DOCA_VERBS_QP_TYPE_*
 * @ring:	  memory of both queues
 * @rq_off, @rq_nr, @rq_sges: receive queue: WQEs, a power of two or 0, of data segments, a power of two
 * @sq_off, @sq_nr: send queue: blocks of 64 bytes, a power of two or 0
 * @dbr, @dbr_off: doorbell records, receive and send
 * @srq:	  where it receives from when @rq_nr is 0; NULL: nowhere
 * @no_dbrec:	  the send record is never looked at
 * @core_direct:  it may wait for completions of others
 */
struct bl_nic_qp_attr {
	uint32_t type;
	struct bl_nic_umem *ring;
	uint64_t rq_off;
	uint32_t rq_nr;
	uint32_t rq_sges;
	uint64_t sq_off;
	uint32_t sq_nr;
	struct bl_nic_umem *dbr;
	uint64_t dbr_off;
	struct bl_nic_cq *send_cq;
	struct bl_nic_cq *recv_cq;
	struct bl_nic_srq *srq;
	struct bl_nic_uar *uar;
	uint32_t user_index;
	bool sq_sig_all;
	bool no_dbrec;
	bool core_direct;
};

/**
 * struct bl_nic_qp_mod - a move of a queue pair
 * @mask:	 DOCA_VERBS_QP_ATTR_* of what was given; the rest holds what was set before
 * @from, @to:	 states
 * @addr_type:	 of the way to the peer
 * @mtu:	 path MTU in bytes
 * @access:	 IBV_ACCESS_REMOTE_*: all that the peer may do
 * @atomic_mode: enum doca_verbs_qp_atomic_type
 */
struct bl_nic_qp_mod {
	uint32_t mask;
	enum doca_verbs_qp_state from;
	enum doca_verbs_qp_state to;
	enum doca_verbs_addr_type addr_type;
	uint8_t gid[BL_NIC_GID_LEN];
	uint32_t dlid;
	uint8_t sl;
	uint8_t sgid_index;
	uint8_t static_rate;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t port;
	uint16_t pkey_index;
	uint32_t dest_qpn;
	uint32_t mtu;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint8_t ack_timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	unsigned int access;
	uint32_t atomic_mode;
};

/**
 * struct bl_nic_qp_info - a queue pair as the NIC has it
 * @state:	 now
 * @syndrome, @vendor, @hw, @hw_type, @opcode, @wqe_counter: first cause of ERR where the NIC tells, else 0
 *		 (@wqe_counter where no request is the cause: the first that is not done)
 * @responder:	 the cause is a request of the peer
 * @text:	 the cause in words; in RTS: what a request waits for that is tried again and again, or what is wrong with
 *		 the port; or ""
 * @sq_pi, @sq_ci: blocks taken over from the program, and completed; 0 where the NIC does not tell
 * @send_cqes, @recv_cqes: CQEs written to its completion queues since they were made; 0 where the NIC does not tell
 */
struct bl_nic_qp_info {
	enum doca_verbs_qp_state state;
	uint8_t syndrome;
	uint8_t vendor;
	uint8_t hw;
	uint8_t hw_type;
	uint8_t opcode;
	uint16_t wqe_counter;
	bool responder;
	char text[160];
	uint64_t sq_pi;
	uint64_t sq_ci;
	uint64_t send_cqes;
	uint64_t recv_cqes;
};

/**
 * struct bl_nic_ops - one provider
 * @name:	"soft"
 * @about:	who carries out requests, part of a sentence
 * @probe:	whether it can serve on this machine; writes one line to @reason either way
 * @devices:	names of its devices into the first @nr places; returns how many there are
 * @open:	the same device may be open several times
 * @close:	everything made with it is gone
 * @forget:	in a child that was forked: free memory, touch nothing that is shared
 * @gid:	an entry that cannot be read is an error that is not logged
 * @mr_create:	@iova: address of the first byte in work requests
 * @umem_cpu:	where a CPU reaches a umem, NULL: not at all; optional
 * @srq_create:	optional, where caps say that there are none; so is @srq_destroy
 * @qp_watch:	take a count of posted send blocks from this 64-bit word too, NULL: no longer; optional
 * @qp_express:	take requests that are given whole from this line of words too, as bl_snic_qp_express() says; optional
 * @kick:	the CPU has posted work: a NIC that may sleep looks; optional, any thread
 */
struct bl_nic_ops {
	const char *name;
	const char *about;
	int (*probe)(char *reason, size_t size);
	size_t (*devices)(const char **names, size_t nr);
	int (*open)(const char *device, struct bl_nic **nic_p);
	void (*close)(struct bl_nic *nic);
	void (*forget)(struct bl_nic *nic);
	int (*caps)(struct bl_nic *nic, struct bl_nic_caps *caps);
	int (*port)(struct bl_nic *nic, uint8_t port, struct bl_nic_port *info);
	int (*gid)(struct bl_nic *nic, uint8_t port, unsigned int index, uint8_t gid[BL_NIC_GID_LEN],
		   enum bl_nic_gid_type *type_p);

	int (*pd_create)(struct bl_nic *nic, struct bl_nic_pd **pd_p, uint32_t *num_p);
	int (*pd_destroy)(struct bl_nic *nic, struct bl_nic_pd *pd);
	int (*mr_create)(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_memory *memory, uint64_t iova,
			 struct bl_nic_mr **mr_p, uint32_t *lkey_p, uint32_t *rkey_p);
	int (*mr_destroy)(struct bl_nic *nic, struct bl_nic_mr *mr);
	int (*umem_create)(struct bl_nic *nic, const struct bl_nic_memory *memory, struct bl_nic_umem **umem_p,
			   uint32_t *id_p);
	int (*umem_destroy)(struct bl_nic *nic, struct bl_nic_umem *umem);
	void *(*umem_cpu)(struct bl_nic_umem *umem);
	int (*uar_create)(struct bl_nic *nic, enum doca_verbs_uar_allocation_type type, struct bl_nic_uar **uar_p,
			  struct bl_nic_uar_info *info);
	int (*uar_destroy)(struct bl_nic *nic, struct bl_nic_uar *uar);

	int (*cq_create)(struct bl_nic *nic, const struct bl_nic_cq_attr *attr, struct bl_nic_cq **cq_p,
			 uint32_t *num_p);
	int (*cq_destroy)(struct bl_nic *nic, struct bl_nic_cq *cq);
	int (*srq_create)(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_srq_attr *attr,
			  struct bl_nic_srq **srq_p, uint32_t *num_p);
	int (*srq_destroy)(struct bl_nic *nic, struct bl_nic_srq *srq);
	int (*qp_create)(struct bl_nic *nic, struct bl_nic_pd *pd, const struct bl_nic_qp_attr *attr,
			 struct bl_nic_qp **qp_p, uint32_t *num_p);
	int (*qp_destroy)(struct bl_nic *nic, struct bl_nic_qp *qp);
	int (*qp_modify)(struct bl_nic *nic, struct bl_nic_qp *qp, const struct bl_nic_qp_mod *mod);
	int (*qp_query)(struct bl_nic *nic, struct bl_nic_qp *qp, struct bl_nic_qp_info *info);
	int (*qp_watch)(struct bl_nic *nic, struct bl_nic_qp *qp, const uint64_t *word);
	int (*qp_express)(struct bl_nic *nic, struct bl_nic_qp *qp, const uint64_t *line);
	void (*kick)(struct bl_nic *nic);
};

extern const struct bl_nic_ops bl_nic_mlx5;
extern const struct bl_nic_ops bl_nic_soft;
extern const struct bl_nic_ops bl_nic_verbs;

/* All providers in the order in which they are asked, ended by NULL; in table.c. Hardware comes first. */
extern const struct bl_nic_ops *const bl_nic_providers[];

/**
 * bl_nic_find() - Provider and device of a name
 * @device:   name
 * @after:    NULL: the first provider that has it; else one that comes after this one, and that there is none is not logged
 * @ops_p:    receives the provider
 * @device_p: receives the name as the provider has it, valid for ever
 *
 * BARLANE_NIC names the one provider that is asked.
 * Return: 0, -EINVAL (BARLANE_NIC names no provider), -ENODEV with what there is and why others cannot serve.
 */
int bl_nic_find(const char *device, const struct bl_nic_ops *after, const struct bl_nic_ops **ops_p,
		const char **device_p);

/**
 * bl_nic_each() - Go through the devices of all providers that can serve
 * @fn:	 is given each; returns not 0 to end
 * @arg: for @fn
 *
 * Return: 0, what @fn returned, or -EINVAL (BARLANE_NIC names no provider).
 */
int bl_nic_each(int (*fn)(const struct bl_nic_ops *ops, const char *device, void *arg), void *arg);

#endif
