/* SPDX-License-Identifier: MIT */
/*
 * world.h - two software NICs, a wire between them, and a clock, all in the hands of a test
 *
 * Nothing happens but in world_run() and its relatives, and time stands still but for world_wait(). The wire asks the
 * test about every packet.
 */
#ifndef TESTS_UNIT_SNIC_WORLD_H
#define TESTS_UNIT_SNIC_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/snic.h"
#include "softnic/transport.h"

#define WORLD_MS 1000000ULL

/* What becomes of a packet; held: it arrives after the next one that is not. */
enum world_fate { WORLD_PASS, WORLD_DROP, WORLD_DOUBLE, WORLD_HOLD };

/**
 * struct world_options - what two connected queue pairs are made with; zero: the default
 * @uc:		unreliable
 * @sq_nr, @rq_nr, @cq_nr: sizes; 64
 * @rq_sges:	1
 * @mtu:	path MTU, 1024
 * @max_payload: of the transport, 4096
 * @nic_mtu:	of both NICs
 * @sq_psn:	first sequence number of either side, where it is sent
 * @retry_cnt:	7; @no_retry: 0
 * @rnr_retry:	3
 * @max_rd:	reads and atomics, 4
 * @access:	of queue pair and memory; everything
 * @no_access:	nothing remote
 * @sig_all:	a CQE for each request
 * @bytes:	memory of a side, 64 KiB
 * @checked_cq:	CQEs are not overwritten before they are consumed
 * @collapsed:	completion queues of one entry
 * @uar:	doorbells by register
 * @thread:	NICs with threads, and real time
 * @fault:	to inject, besides those of the wire
 * @shm:	the transport in shared memory in place of the wire
 * @one_nic:	both sides on one NIC
 * @loops:	the wire may be left out where it would bring a packet back to its NIC
 * @mover:	of the memory of both, and of the NICs; @no_moved: of the NICs only
 * @srq:	each side receives from a shared receive queue in place of a ring; its WQEs lie in @rq, of @rq_sges segments
 * @srq_linked:	with a segment for the next one before these
 * @names:	interfaces, as "soft_eth0": the transport over a network in place of the wire
 * @sgid:	addresses of them, by index
 * @enter:	called before anything is done with a NIC, with 0 for the first and 1 for the second; or NULL
 * @floor_ns:	least time-out; 0: the NIC's own
 */
struct world_options {
	bool uc;
	uint32_t sq_nr, rq_nr, cq_nr, rq_sges;
	uint32_t mtu, max_payload, nic_mtu;
	uint32_t sq_psn;
	uint8_t retry_cnt, rnr_retry, max_rd;
	bool no_retry;
	unsigned int access;
	bool no_access;
	bool sig_all;
	size_t bytes;
	bool checked_cq, collapsed, uar, thread, shm, one_nic, loops, no_moved, srq, srq_linked;
	const struct bl_snic_mover *mover;
	const char *names[2];
	uint8_t sgid[2];
	void (*enter)(int side);
	uint64_t floor_ns;
	const struct bl_snic_fault *fault;
};

/* A CQE as its reader sees it. */
struct world_cqe {
	uint8_t opcode, send_opcode, syndrome, vendor;
	bool solicited;
	uint16_t counter;
	uint32_t len, imm, qpn, srqn;
};

struct world_queue {
	struct bl_snic_cq *cq;
	uint8_t *ring;
	uint32_t nr;
	uint64_t ci;
	uint32_t record[2];
};

#define WORLD_EVENTS 8

/**
 * struct world_side - one end: a NIC, a queue pair, its memory
 * @iova: address of @mem[0] for work requests
 * @pi, @rpi: blocks and receive lists posted
 * @events, @nr_events: what its NIC has told, those that there is room for, and how many there were
 */
struct world_side {
	struct bl_snic *nic;
	struct bl_snic_pd *pd;
	struct bl_snic_mr *mr;
	struct bl_snic_uar *uar;
	struct bl_snic_qp *qp;
	struct bl_snic_srq *srq;
	struct world_queue send, recv;
	uint8_t *sq, *rq;
	uint32_t sq_nr, rq_nr, rq_sges;
	uint32_t dbrec[2];
	uint8_t *mem;
	uint64_t iova;
	size_t bytes;
	uint64_t pi, rpi;
	uint32_t key;
	struct bl_snic_event events[WORLD_EVENTS];
	unsigned int nr_events;
};

struct world {
	struct world_options options;
	struct world_side a, b;
};

/* Ends the test when a side's NIC has not told exactly one thing, and this; it is forgotten then. */
void world_expect_event(struct world_side *side, enum bl_snic_event_type type, uint32_t num);

/* Asked about each packet, with its number from 0 on; NULL: all pass. */
extern enum world_fate (*world_fate)(const struct bl_packet *packet, unsigned int nr);

/* Packets on their way at most; further ones find the path full. */
extern unsigned int world_room;

/* All peers are gone, as far as the transport knows. */
extern bool world_gone;

extern const struct bl_snic_transport_ops world_transport;

/* The same with @loops. */
const struct bl_snic_transport_ops *world_loops(void);

/* Everything, from the beginning; a world that an earlier test left is taken down first. */
struct world *world_begin(const struct world_options *options);

/* Takes it down, and checks that nothing is left. */
void world_end(struct world *world);

/* Connect both queue pairs, which are in RST. */
void world_connect(struct world *world);
void world_side_to_rts(struct world *world, struct world_side *side, struct world_side *peer);

/* One end alone, where the other is another process's; @options as world_defaults() has completed them. */
void world_defaults(struct world_options *options);
void world_side_make(struct world_side *side, const struct world_options *options, int number);
void world_side_connect(struct world_side *side, const struct world_options *options, uint8_t sgid_index,
			const uint8_t gid[BL_SNIC_GID_LEN], uint32_t qpn);
void world_side_drop(struct world_side *side);

/* A completion queue of @options->cq_nr, with its ring. */
void world_queue_make(struct bl_snic *nic, struct world_queue *queue, const struct world_options *options);

uint64_t world_now(void);

/* Progress until there is none. */
void world_run(struct world *world);

/* The same, while time goes by in steps of a millisecond. */
void world_wait(struct world *world, uint64_t ns);

/* The same in one step. */
void world_leap(struct world *world, uint64_t ns);

/* Everything that waits on the wire is lost. */
void world_lose(void);

/* The next completion. Return: whether there is one. */
bool world_poll(struct world_queue *queue, struct world_cqe *cqe);

/* There is one, and it is as it should be. */
struct world_cqe world_expect(struct world_queue *queue, uint8_t opcode, uint8_t syndrome, uint16_t counter);
void world_expect_none(struct world_queue *queue);

uint64_t world_counter(const struct world_side *side, enum bl_snic_counter counter);
struct bl_snic_qp_info world_query(const struct world_side *side);

/* ---- posting ---- */

/* A request that is put together segment by segment. */
struct world_wqe {
	uint8_t raw[64 * 16];
	unsigned int nr_segs;
};

#define WORLD_SIGNAL 0x08

void wqe_begin(struct world_wqe *wqe, struct world_side *side, uint8_t opmod, uint8_t opcode, uint8_t flags,
	       uint32_t imm);
void wqe_raddr(struct world_wqe *wqe, uint64_t raddr, uint32_t rkey);
void wqe_data(struct world_wqe *wqe, uint64_t addr, uint32_t lkey, uint32_t len);
void wqe_inline(struct world_wqe *wqe, const void *bytes, uint32_t len);
void wqe_seg64(struct world_wqe *wqe, uint64_t first, uint64_t second);
void wqe_seg32(struct world_wqe *wqe, uint32_t a, uint32_t b, uint32_t c, uint32_t d);

/* Into the ring, without doorbell. Return: its index. */
uint16_t wqe_put(struct world_wqe *wqe, struct world_side *side);
void side_ring(struct world_side *side);

/* Put and ring. */
uint16_t wqe_post(struct world_wqe *wqe, struct world_side *side);

/* A word of a request into the line of words that is watched, as @count blocks posted with it; and all of them. */
void wqe_give_word(const struct world_wqe *wqe, uint64_t *line, unsigned int i, uint64_t count);
void wqe_give(const struct world_wqe *wqe, uint64_t *line, uint64_t count);

/* Whole requests between offsets of the memory of @side and of its peer; signalled. Return: the index. */
uint16_t post_write(struct world_side *side, struct world_side *peer, size_t to, size_t from, uint32_t len);
uint16_t post_read(struct world_side *side, struct world_side *peer, size_t to, size_t from, uint32_t len);
uint16_t post_send(struct world_side *side, size_t from, uint32_t len);
uint16_t post_add(struct world_side *side, struct world_side *peer, size_t where, size_t result, uint64_t value);
uint16_t post_nop(struct world_side *side, uint8_t flags);
void post_recv(struct world_side *side, size_t to, uint32_t len);

/* Some bytes that are all different from those of another seed. */
void fill(uint8_t *at, size_t len, unsigned int seed);
bool is_filled(const uint8_t *at, size_t len, unsigned int seed);

#endif
