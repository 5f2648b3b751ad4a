/* SPDX-License-Identifier: MIT */
/*
 * link.h - an RDMA device as a transport of the software NIC: it carries whole requests, offload.h
 *
 * One context of libibverbs per open NIC, and one queue pair and completion queue of the device for each of the NIC's.
 */
#ifndef BL_NET_IBV_LINK_H
#define BL_NET_IBV_LINK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lib.h"
#include "softnic/offload.h"
#include "softnic/snic.h"
#include "softnic/transport.h"

/* More of them than the NIC takes between two looks at the device are not kept. */
#define BL_IBV_MAX_TOLD 16

/* A text of what may be wrong. */
#define BL_IBV_FLAW_LEN 128

/**
 * struct bl_snic_link - a device that is open
 * @carriers:	 its queue pairs
 * @wake:	 eventfd that ends a sleep
 * @sleeping:	 somebody has to write to it
 * @kicked:	 since the last sleep
 * @event_check: when events of the device are looked at again
 * @broken:	 an event said so: nothing works any more
 * @told, @nr_told: events of the device and its ports that the NIC has not taken yet, the oldest first
 * @holds_fences: requests with a fence wait here, and the device is not told of it
 * @least_timeout, @most_retries: what it gets when less, or more, is asked for; see bl_ibv_move()
 */
struct bl_snic_link {
	char name[IBV_SYSFS_NAME_MAX];
	const struct bl_ibv *ibv;
	struct ibv_context *context;
	struct ibv_device_attr attr;
	struct bl_carrier *carriers;
	int wake;
	atomic_bool sleeping;
	atomic_bool kicked;
	uint64_t event_check;
	bool broken;
	struct bl_snic_event told[BL_IBV_MAX_TOLD];
	unsigned int nr_told;
	bool holds_fences;
	uint8_t least_timeout;
	uint8_t most_retries;
};

/**
 * struct bl_carrier - a queue pair of the device
 * @blocks:	where inline data of requests lies, registered; NULL: no send queue
 * @max_sends, @max_receives, @max_sges, @max_receive_sges, @max_inline: what it takes
 * @sends, @receives: what it has
 * @fetches:	reads and atomics of @sends
 * @event:	what an event said of it, not told yet; NULL: nothing
 * @event_syndrome: the syndrome that means the same, 0: none does
 * @port, @mtu:	port it was connected by, 0: none yet, and path MTU
 * @interface:	index of the network interface that its address is of; 0: there is none, or that is not known
 * @sgid, @dest_gid, @peer: own address (zero where packets are not UDP), the peer's, and that as text
 * @flaw, @network, @silence: texts of bl_ibv_flaw(), bl_ibv_ask_network() and of requests that nobody answers
 * @flush_why:	why the first request was flushed since it was connected; NULL: none was
 */
struct bl_carrier {
	struct bl_carrier *next;
	struct bl_snic_link *link;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *blocks;
	bool uc;
	uint32_t max_sends, max_receives;
	uint32_t max_sges, max_receive_sges;
	uint32_t max_inline;
	uint32_t sends, receives;
	uint32_t fetches;
	const char *event;
	uint8_t event_syndrome;
	uint8_t port;
	enum ibv_mtu mtu;
	int interface;
	uint8_t sgid[BL_SNIC_GID_LEN];
	uint8_t dest_gid[BL_SNIC_GID_LEN];
	char peer[48];
	char flaw[BL_IBV_FLAW_LEN];
	char network[BL_IBV_FLAW_LEN];
	char silence[BL_IBV_FLAW_LEN];
	const char *flush_why;
};

extern const struct bl_snic_transport_ops bl_ibv_transport;

/* carrier.c, moves.c, post.c, poll.c and flaw.c: struct bl_snic_offload_ops. */
int bl_ibv_carrier_open(struct bl_snic_link *link, const struct bl_snic_qp_attr *attr, void *blocks, size_t nr_blocks,
			struct bl_carrier **carrier_p, uint32_t *num_p);
void bl_ibv_carrier_close(struct bl_carrier *carrier);
int bl_ibv_move(struct bl_carrier *carrier, enum bl_snic_qp_state from, const struct bl_snic_qp_mod *mod);
int bl_ibv_send(struct bl_carrier *carrier, const struct bl_wqe *wqe, const uint8_t *raw, uint64_t id,
		const char **why_p);
int bl_ibv_receive(struct bl_carrier *carrier, const struct bl_rwqe *rwqe, uint64_t id, const char **why_p);
unsigned int bl_ibv_poll(struct bl_carrier *carrier, struct bl_carried *carried, unsigned int nr);
void bl_ibv_waits(struct bl_carrier *carrier, uint64_t ns, char *text, size_t size);

/* flaw.c: on the way to RTR. */
void bl_ibv_meet(struct bl_carrier *carrier, const struct bl_snic_qp_mod *mod);

/* flaw.c: what is wrong with this side's port or interface, valid until the next call; NULL: nothing that is known. */
const char *bl_ibv_flaw(struct bl_carrier *carrier);

/*
 * network.c: what the network says of packets to the peer, valid until the next call; NULL: nothing. Waits some
 * milliseconds for it.
 */
const char *bl_ibv_ask_network(struct bl_carrier *carrier);

/* Of ids of the device: a receive list. */
#define BL_IBV_RECEIVE (1ULL << 63)

#endif
