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

#include "map.h"
#include "snic.h"
#include "transport.h"

#define BL_SNIC_MS 1000000ULL

/* Of a packet, whatever the transport says. */
#define BL_SNIC_MAX_PAYLOAD (1U << 20)

/**
 * struct bl_snic - a NIC
 * @attr:	 as opened, defaults filled in
 * @name:	 in messages
 * @ops, @link:	 transport; with faults, the one that injects them
 * @max_payload: of a packet of this transport
 * @owner:	 BL_SNIC_OWNED in the process that opened the NIC, in a page that is wiped in children
 * @wanted:	 callers that wait for @lock
 * @in_call:	 a call has the lock, and may be half-way through a change of the lists of objects
 * @stop:	 the thread has to end
 * @now:	 time of the present pass or call
 * @path_check:	 when paths are looked at again
 * @pds, @mrs, @cqs, @uars, @qps: by number, memory regions by key
 * @first_qp:	 list in order of creation
 * @next_*:	 where the search for a free number begins
 * @dirty:	 memory that was written and not flushed since, or NULL
 * @placed:	 ordinary memory was written since a fence
 */
struct bl_snic {
	struct bl_snic_attr attr;
	char name[32];
	const struct bl_snic_transport_ops *ops;
	struct bl_snic_link *link;
	uint8_t gid[BL_SNIC_GID_LEN];
	uint32_t max_payload;
	volatile uint32_t *owner;

	pthread_mutex_t lock;
	atomic_uint wanted;
	bool in_call;
	atomic_bool stop;
	pthread_t thread;

	uint64_t now;
	uint64_t path_check;
	struct bl_snic_map pds, mrs, cqs, uars, qps;
	struct bl_snic_qp *first_qp;
	uint32_t next_pd, next_mr, next_cq, next_uar, next_qp;
	const struct bl_snic_mem *dirty;
	bool placed;
	uint64_t counters[BL_SNIC_NR_COUNTERS];
};

/* For every call but the hot ones. Return: 0 with the lock held, or -EACCES in a child. */
int bl_snic_lock(struct bl_snic *nic);
void bl_snic_unlock(struct bl_snic *nic);

/* Doorbells, packets and timers once. Return: things done. The lock is held. */
int bl_snic_pass(struct bl_snic *nic);

/* Earliest time at which a timer of a queue pair ends; UINT64_MAX: none. @polled_p: whether queues have to be looked
 * at. */
uint64_t bl_snic_next_timer(const struct bl_snic *nic, bool *polled_p);

/* The NIC's thread. Return: 0 or -errno. */
int bl_snic_thread_start(struct bl_snic *nic);
void bl_snic_thread_stop(struct bl_snic *nic);

/*
 * A number for a new object that is free in @map, of @bits bits, at least 1, searched from *@next_p on; it is added.
 * Return: 0, -ENOMEM (also: no number is free).
 */
int bl_snic_number(struct bl_snic_map *map, uint32_t *next_p, unsigned int bits, void *object, uint32_t *number_p);

static inline void bl_snic_count(struct bl_snic *nic, enum bl_snic_counter counter, uint64_t nr)
{
	nic->counters[counter] += nr;
}

#endif
