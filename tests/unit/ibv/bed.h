/* SPDX-License-Identifier: MIT */
/* bed.h - two queue pairs of provider "verbs", on the two devices of fake_ibv.h, with memory and queues of their own */
#ifndef BL_TESTS_IBV_BED_H
#define BL_TESTS_IBV_BED_H

#include "fake/fake_ibv.h"
#include "net/nic.h"
#include "tests/unit/snic/world.h"

#define BED_BYTES 65536
#define BED_MS	  1000000ULL

/**
 * struct bed_options - zero: the default
 * @uc:	       unreliable
 * @sq_nr, @rq_nr, @cq_nr: 64
 * @rq_sges:   1
 * @rnr_retry: 7; @no_rnr: 0
 * @max_wr:    of the devices, 512
 * @no_atomics, @vendor: of the devices
 * @interface: of the devices' addresses
 * @loopback: their addresses of IPv4 are 127.0.77.3
 * @unconnected: both stay in RST
 */
struct bed_options {
	bool uc;
	uint32_t sq_nr, rq_nr, cq_nr, rq_sges;
	uint8_t rnr_retry;
	bool no_rnr;
	int max_wr;
	bool no_atomics;
	uint32_t vendor;
	unsigned int interface;
	bool loopback;
	bool unconnected;
};

/**
 * struct bed_side - one end
 * @side: as the helpers for posting take it; its key is the local one
 * @far:  the same as its peer sees it: the key is the remote one
 */
struct bed_side {
	struct bl_nic *nic;
	struct bl_nic_pd *pd;
	struct bl_nic_mr *mr;
	struct bl_nic_uar *uar;
	struct bl_nic_umem *ring, *send_ring, *recv_ring, *dbr;
	struct bl_nic_cq *send_cq, *recv_cq;
	struct bl_nic_qp *qp;
	uint32_t qpn;
	void *memory;
	struct bl_nic_qp_mod mod;
	struct world_side side;
	struct world_side far;
};

struct bed {
	struct bed_options options;
	struct bed_side a, b;
};

/* What an earlier test left is taken down first. */
struct bed *bed_begin(const struct bed_options *options);

/* Takes it down, and checks that nothing is left and nobody complained. */
void bed_end(struct bed *bed);

/* From RST on, to a state. Return: of the move that failed, 0. */
int bed_move(struct bed *bed, struct bed_side *side, const struct bed_side *peer, enum doca_verbs_qp_state to);
void bed_connect(struct bed *bed);

/* The next completion comes, in time, and is as it should be. */
struct world_cqe bed_expect(struct world_queue *queue, uint8_t opcode, uint8_t syndrome, uint16_t counter);

/* The device has been given so many requests, or receive lists. */
void bed_wait_count(struct bed *bed, const unsigned int *count, unsigned int nr);

/* Nothing comes for some milliseconds. */
void bed_expect_none(struct world_queue *queue);

struct bl_nic_qp_info bed_query(const struct bed_side *side);

/* Both sides take what comes and change what they like, until the state is this one. */
void bed_wait_state(const struct bed_side *side, enum doca_verbs_qp_state state);

#endif
