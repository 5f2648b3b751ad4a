/* SPDX-License-Identifier: MIT */
/*
 * nic.h - the NIC itself
 *
 * One lock per NIC, @lock, guards everything that is not said to be free of it: objects, queues, counters, the
 * transport. The thread holds it while it works and while it sleeps; who wants it says so in @wanted, and wakes it.
 */
#ifndef SOFTNIC_NIC_H
#define SOFTNIC_NIC_H

#include <pthread.h>
#include <stdatomic.h>

#include "job.h"
#include "map.h"
#include "snic.h"
#include "transport.h"
#include "util/shown.h"

#define BL_SNIC_MS 1000000ULL

/* Of a packet, whatever the transport says. */
#define BL_SNIC_MAX_PAYLOAD (1U << 20)

/* A CQE of which the last word, which makes it one, is still to be written; or all of it, @whole, by one store. */
struct bl_cq_late {
	struct bl_snic_cq *cq;
	uint64_t off;
	bool whole;
	uint8_t raw[BL_SNIC_CQE_SIZE];
};

#define BL_CQ_MAX_LATE 32

/**
 * struct bl_show - what others are shown, show.h
 * @memory:  that it is written to
 * @due:     when that goes on; @begun: when the present round began
 * @next_qp: where the round goes on, @at: how many were before; NULL: at the first
 * @nr_qps:  of the last round
 * @changed: there was a call since
 * @port_due: when the port is asked whether it is up; @down: it was not
 */
struct bl_show {
	struct bl_shown memory;
	uint64_t due, begun;
	struct bl_snic_qp *next_qp;
	uint64_t port_due;
	uint32_t at, nr_qps;
	bool changed, down;
};

/**
 * struct bl_snic - a NIC
 * @attr:	 as opened, defaults filled in
 * @name:	 in messages
 * @ops, @link:	 transport; with faults, the one that injects them
 * @max_payload: of a packet of this transport
 * @path_mtu:	 largest that a queue pair may be given
 * @wire, @window, @qpn_bits: struct bl_snic_port
 * @owner:	 BL_SNIC_OWNED in the process that opened the NIC, in a page that is wiped in children
 * @wanted:	 callers that wait for @lock
 * @in_call:	 a call has the lock, and may be half-way through a change of the lists of objects
 * @stop:	 the thread has to end
 * @now:	 time of the present pass or call
 * @path_check:	 when paths are looked at again
 * @pds, @mrs, @cqs, @uars, @qps, @srqs: by number, memory regions by key
 * @first_qp:	 list in order of creation
 * @first_active, @last_active: those of them that have something to do, active.h
 * @scan_at:	 the next of the others to be looked at; NULL: the first
 * @unseen:	 that were not looked at since something was done
 * @next_*:	 where the search for a free number begins
 * @dirty:	 memory that was written and not flushed since, or NULL
 * @placed:	 ordinary memory was written since a fence
 * @loose:	 memory with @put was written since a store fence
 * @late, @nr_late: last words of CQEs that are not written yet
 * @jobs, @nr_jobs: that movers have
 * @flushed:	 source of a job that was flushed in this pass: what is placed in one was posted before it began
 * @nr_placing:	 messages that queue pairs are placing
 * @shares, @next_share: own memory, as other NICs know it
 * @attaches:	 memory of other NICs' processes
 * @share_check: when both are looked at again
 * @show:	 what "barlane dump" is told
 * @port_check:	 when it is looked at whether the port is up
 * @port_down:	 it was not
 */
struct bl_snic {
	struct bl_snic_attr attr;
	char name[32];
	const struct bl_snic_transport_ops *ops;
	struct bl_snic_link *link;
	uint8_t gid[BL_SNIC_GID_LEN];
	uint32_t max_payload;
	uint32_t path_mtu;
	uint32_t window;
	unsigned int qpn_bits;
	bool wire;
	volatile uint32_t *owner;

	pthread_mutex_t lock;
	atomic_uint wanted;
	bool in_call;
	atomic_bool stop;
	pthread_t thread;

	uint64_t now;
	uint64_t path_check;
	struct bl_snic_map pds, mrs, cqs, uars, qps, srqs;
	struct bl_snic_qp *first_qp;
	struct bl_snic_qp *first_active, *last_active, *scan_at;
	uint32_t unseen;
	uint32_t next_pd, next_mr, next_cq, next_uar, next_qp, next_srq;
	const struct bl_snic_mem *dirty;
	bool placed;
	bool loose;
	struct bl_cq_late late[BL_CQ_MAX_LATE];
	unsigned int nr_late;
	struct bl_job jobs[BL_JOBS];
	unsigned int nr_jobs;
	const struct bl_snic_mem *flushed;
	unsigned int nr_placing;
	struct bl_share *shares;
	struct bl_attach *attaches;
	uint64_t next_share;
	uint64_t share_check;
	struct bl_show show;
	uint64_t port_check;
	bool port_down;
	uint64_t counters[BL_SNIC_NR_COUNTERS];
};

/* For every call but the hot ones. Return: 0 with the lock held, or -EACCES in a child. */
int bl_snic_lock(struct bl_snic *nic);
void bl_snic_unlock(struct bl_snic *nic);

/*
 * Doorbells, packets and timers once. Return: things done. When that is 0, and @unseen too, there is nothing to be done.
 * The lock is held.
 */
int bl_snic_pass(struct bl_snic *nic);

/* Earliest time at which a timer of a queue pair ends; UINT64_MAX: none. @polled_p: whether queues have to be looked
 * at. */
uint64_t bl_snic_next_timer(const struct bl_snic *nic, bool *polled_p);

/*
 * port.c: what the transport's port is, when it is opened. On a wire both ends count packets of the path MTU, so that a
 * smaller size that was asked for is the port's.
 */
void bl_snic_port_begin(struct bl_snic *nic);

/* port.c: now and then, tell when the port has gone down or come up, and what the transport has to tell. */
void bl_snic_port_watch(struct bl_snic *nic);

/* The NIC's thread. Return: 0 or -errno. */
int bl_snic_thread_start(struct bl_snic *nic);
void bl_snic_thread_stop(struct bl_snic *nic);

/*
 * A number for a new object that is free in @map, at least 1, searched from *@next_p on in its lowest @bits bits; it is
 * added.
 * Return: 0, -ENOMEM (also: no number is free).
 */
int bl_snic_number(struct bl_snic_map *map, uint32_t *next_p, unsigned int bits, void *object, uint32_t *number_p);

static inline void bl_snic_tell(struct bl_snic *nic, enum bl_snic_event_type type, uint32_t num)
{
	const struct bl_snic_event event = {type, num};

	if (nic->attr.event)
		nic->attr.event(nic->attr.event_arg, &event);
}

static inline void bl_snic_count(struct bl_snic *nic, enum bl_snic_counter counter, uint64_t nr)
{
	nic->counters[counter] += nr;
}

/* A request of a peer was carried out. */
static inline void bl_snic_count_served(struct bl_snic *nic, uint64_t bytes)
{
	bl_snic_count(nic, BL_SNIC_SERVED, 1);
	bl_snic_count(nic, BL_SNIC_SERVED_BYTES, bytes);
}

/* A refusal with a syndrome of an acknowledgement, of BL_SNIC_NAK_SENT or BL_SNIC_NAK_RECEIVED, and by its cause. */
static inline void bl_snic_count_nak(struct bl_snic *nic, enum bl_snic_counter counter, uint8_t syndrome)
{
	enum bl_snic_counter first = counter == BL_SNIC_NAK_SENT ? BL_SNIC_NAK_SENT_SEQUENCE : BL_SNIC_NAK_RECEIVED_SEQUENCE;

	bl_snic_count(nic, counter, 1);
	if (syndrome >= BL_AETH_SEQUENCE && syndrome <= BL_AETH_UNPLACED)
		bl_snic_count(nic, first + (syndrome - BL_AETH_SEQUENCE), 1);
}

#endif
