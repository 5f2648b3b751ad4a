/* SPDX-License-Identifier: MIT */
/* bed.h - GPU, NIC, queue pair and peer of one end */
#ifndef TOOLS_NET_BED_H
#define TOOLS_NET_BED_H

#include "barlane_net.h"
#include "barlane_net_gpu.h"
#include "common/device.h"
#include "net/kernels/kernels.h"
#include "net/options.h"

struct net_cpu;
struct net_pair;
struct net_ptx;

/* What an end is made of. */
enum {
	NET_BED_COLLAPSED = 1, /* one completion for all sends */
	NET_BED_RECEIVES = 2,  /* a receive queue of NET_SLOTS */
	NET_BED_CPU = 4,       /* no GPU: a CPU posts and polls */
	NET_BED_COUNTS = 8,    /* each queue pair of the client has a companion, connected with itself */
};

#define NET_SLOTS 64U

/**
 * struct net_region - memory that the other end writes
 * @addr:     its address there
 * @len:      bytes
 * @key:      rkey, host order
 * @reserved: 0
 */
struct net_region {
	uint64_t addr;
	uint64_t len;
	uint32_t key;
	uint32_t reserved;
};

/**
 * struct net_bed - one end
 * @options: what the user asked for
 * @sock:    to the peer, -1: none yet
 * @device:  GPU for CUDA
 * @gpu:     GPU for the library
 * @nic:     NIC
 * @nic_name: its name
 * @pd:	     domain
 * @kind:    NET_BED_*
 * @qps:     queue pairs
 * @qp_devs: their objects on the GPU
 * @nr_qps:  how many
 * @groups:  of NET_BED_COUNTS: what the queue pairs are parts of
 * @companions: objects on the GPU of their companions
 * @path:    how it works
 * @local:   this end, of the last queue pair
 * @remote:  the other end
 * @cpu:     the queue pair of NET_BED_CPU
 * @listen_fd: where a server waits for its client; -1: nowhere
 * @pair:    with the other end in this process; NULL: there is none
 * @left:    net_session_leave() was here
 * @until_end: a kernel is to run until the peer says NET_END
 * @stream:  of the kernels
 * @module:  the kernels
 * @state:   the kernels', CPU's address
 * @state_gpu: GPU's address
 */
struct net_bed {
	const struct net_options *options;
	int sock;
	int listen_fd;
	struct net_pair *pair;
	bool left;
	struct tool_device device;
	struct doca_gpu *gpu;
	struct ibv_context *nic;
	const char *nic_name;
	struct ibv_pd *pd;
	unsigned int kind;
	struct doca_gpu_verbs_qp_hl *qps[BL_NET_MAX_QPS];
	struct doca_gpu_dev_verbs_qp *qp_devs[BL_NET_MAX_QPS];
	unsigned int nr_qps;
	struct doca_gpu_verbs_qp_group_hl *groups[BL_NET_MAX_QPS];
	struct doca_gpu_dev_verbs_qp *companions[BL_NET_MAX_QPS];
	struct bl_net_qp_path path;
	struct bl_net_peer local, remote;
	struct net_cpu *cpu;
	bool until_end;
	CUstream stream;
	CUmodule module;
	struct bl_net_state *state;
	struct bl_net_state *state_gpu;
};

/** struct net_buffer - registered memory; @cpu is NULL where a CPU does not reach it */
struct net_buffer {
	void *gpu;
	void *cpu;
	size_t len;
	struct ibv_mr *mr;
};

/* What CUDA and the library read from the environment, from the options; what the user has set there stays. */
void net_bed_limits(const struct net_options *options);

/* Whether two PCI addresses are one GPU's. */
bool net_same_gpu(const char *a, const char *b);

/**
 * net_bed_open() - Open GPU and NIC and make a queue pair
 * @bed:  its options are set; to be given to net_bed_close() also after a failure
 * @kind: NET_BED_*
 *
 * Return: 0, or -errno with tool_why().
 */
int net_bed_open(struct net_bed *bed, unsigned int kind);

/* Make one more queue pair. */
int net_bed_qp_make(struct net_bed *bed);

/* Undo it for the last one. */
void net_bed_qp_drop(struct net_bed *bed);

/* Exchange the ends of the connections with the peer, and connect; all but the first of @nr queue pairs are made here. */
int net_bed_connect(struct net_bed *bed, unsigned int nr);

/* Have kernels end, now. */
void net_bed_stop(struct net_bed *bed);

/* The first queue pair that has failed, and why; false: none has, and the text is what one waits for, or empty. */
bool net_bed_error(const struct net_bed *bed, struct bl_net_qp_error *error);

/*
 * Ask the NIC whether the queue pairs work: 0, or -EIO with tool_why(), the cause. What the NIC wrote before, and what the
 * caller did, are in order afterwards: the NIC answers under the lock that it moves bytes under.
 */
int net_bed_check(struct net_bed *bed);

/* Load the kernels and get one of them. */
int net_bed_kernel(struct net_bed *bed, const struct net_ptx *ptx, const char *name, CUfunction *fn);

void net_bed_close(struct net_bed *bed);

/* Memory that the NIC reaches; @mtype is that of doca_gpu_mem_alloc(). */
int net_buffer_alloc(struct net_bed *bed, enum doca_gpu_mem_type mtype, size_t len, struct net_buffer *buffer);
void net_buffer_free(struct net_bed *bed, struct net_buffer *buffer);

/* All bytes become one value; waits until that is so for everybody. */
int net_buffer_fill(struct net_bed *bed, const struct net_buffer *buffer, size_t len, unsigned char value);

/**
 * net_run() - Run a kernel to its end
 * @bed:     one end
 * @fn:	     kernel
 * @blocks:  of its grid
 * @threads: of a block
 * @arg:     its one parameter
 *
 * The kernel is told to stop when the peer ends or gives up and when a signal comes; the peer is told each second that
 * this end is alive. A kernel that does not stop ends the program.
 * Return: 0, or -errno with tool_why(), one line with the first cause.
 */
int net_run(struct net_bed *bed, CUfunction fn, unsigned int blocks, unsigned int threads, void *arg);

/* The first queue pair, whoever uses it. */
struct doca_verbs_qp *net_bed_qp(const struct net_bed *bed);

/* A failure of the library as -errno, with tool_why(). */
int net_doca_fail(doca_error_t err, const char *what);

/* A failure that errno says, or the library. */
int net_fail_errno(const char *what);

#endif
