/* SPDX-License-Identifier: MIT */
/*
 * link.h - a link of the shared-memory transport, and what belongs to it
 *
 * A connection carries packets one way: who wants to send makes a ring and a socket to the other's listener. So two
 * that connect to each other at the same time do not get in each other's way, and a link has inlets (connections that
 * others have made) and outlets (its paths) that know nothing of each other. The own address is a ring with both ends
 * here and no socket.
 *
 * Locks: none. Calls come one at a time (transport.h), but for bl_shm_kick(), which touches @kicked, @sleeping and the
 * bell.
 */
#ifndef SOFTNIC_SHM_LINK_H
#define SOFTNIC_SHM_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "address.h"
#include "ring.h"
#include "softnic/transport.h"

enum bl_shm_kind { BL_SHM_LISTENER, BL_SHM_BELL, BL_SHM_INLET, BL_SHM_OUTLET };

/* First member of everything that epoll watches. @fd: -1 when there is none. */
struct bl_shm_watch {
	enum bl_shm_kind kind;
	int fd;
};

/**
 * enum bl_shm_state - of an inlet
 * @BL_SHM_GREETING: accepted, the greeting has not come
 * @BL_SHM_OPEN:     in use
 * @BL_SHM_ENDING:   its sender is gone; what it had sent is still handed out
 * @BL_SHM_GONE:     to be freed as soon as nobody goes through the inlets
 */
enum bl_shm_state { BL_SHM_GREETING, BL_SHM_OPEN, BL_SHM_ENDING, BL_SHM_GONE };

/**
 * struct bl_shm_inlet - a connection that a sender has made
 * @watch:     its socket; none: a loop
 * @state:     where in its life it is
 * @greet_by:  coarse time in ns at which waiting for the greeting ends
 * @gid:       of the sender, as it says
 * @ring:      memory
 * @rx:	       receiver's side of it
 */
struct bl_shm_inlet {
	struct bl_shm_watch watch;
	enum bl_shm_state state;
	uint64_t greet_by;
	uint8_t gid[BL_SHM_GID_LEN];
	struct bl_shm_ring ring;
	struct bl_shm_rx rx;
};

/**
 * struct bl_snic_path - a connection that this link has made
 * @watch: its socket; none: a loop
 * @link:  owner
 * @next:  in its list
 * @loop:  other end of a loop, which owns the memory
 * @refs:  times it was opened
 * @dead:  the receiver is gone
 * @heard: tick at which the socket was last read
 * @gid:   of the receiver
 * @ring:  memory
 * @tx:	   sender's side of it
 */
struct bl_snic_path {
	struct bl_shm_watch watch;
	struct bl_snic_link *link;
	struct bl_snic_path *next;
	struct bl_shm_inlet *loop;
	unsigned int refs;
	bool dead;
	uint64_t heard;
	uint8_t gid[BL_SHM_GID_LEN];
	struct bl_shm_ring ring;
	struct bl_shm_tx tx;
};

/**
 * struct bl_snic_link - a port
 * @listener: where others connect
 * @bell:     eventfd that kick() writes; nobody else has it
 * @epoll:    watches all of them
 * @spare:    a descriptor to give up when there are no more, to turn a peer away with
 * @name:     in messages
 * @gid:      own address
 * @file:     name of the listener in the file system, or empty
 * @refusals: peers that were refused; the first ones are worth a line each
 * @short_of_fds: peers are being turned away; said once
 * @accept_again: there may be more connections than were taken
 * @more_events:  there may be more events than were looked at
 * @woken:    something happened since the last wait(), which need not sleep
 * @ring_size: of the rings of paths
 * @paths:    outlets
 * @inlets:   @nr_inlets pointers, room for @max_inlets
 * @nr_rings: inlets that have a ring
 * @turn:     inlet that comes first at the next poll()
 * @idle:     polls in a row that found nothing
 * @tick:     coarse time at which the sockets were last looked at by poll()
 * @nr_gone:  inlets to be freed
 * @kicked:   by kick(), until a wait() has seen it
 * @sleeping: wait() is, or is about to be, asleep
 */
struct bl_snic_link {
	struct bl_shm_watch listener;
	struct bl_shm_watch bell;
	int epoll;
	int spare;
	char name[32];
	uint8_t gid[BL_SHM_GID_LEN];
	char file[sizeof(((struct sockaddr_un *)0)->sun_path)];
	unsigned int refusals;
	bool short_of_fds;
	bool accept_again;
	bool more_events;
	bool woken;
	size_t ring_size;
	struct bl_snic_path *paths;
	struct bl_shm_inlet **inlets;
	unsigned int nr_inlets;
	unsigned int max_inlets;
	unsigned int nr_rings;
	unsigned int turn;
	unsigned int idle;
	unsigned int nr_gone;
	uint64_t tick;
	_Alignas(128) atomic_bool kicked;
	atomic_bool sleeping;
};

/* link.c */
int bl_shm_watch(struct bl_snic_link *link, struct bl_shm_watch *watch, uint32_t events);
void bl_shm_unwatch(struct bl_snic_link *link, struct bl_shm_watch *watch);
uint64_t bl_shm_tick(void);

/* inlet.c */
void bl_shm_accept(struct bl_snic_link *link);
void bl_shm_inlet_hear(struct bl_snic_link *link, struct bl_shm_inlet *inlet);
int bl_shm_inlet_loop(struct bl_snic_link *link, const struct bl_shm_ring *ring, struct bl_shm_inlet **inlet_p);
void bl_shm_inlet_end(struct bl_snic_link *link, struct bl_shm_inlet *inlet, enum bl_shm_state state);
void bl_shm_inlets_sweep(struct bl_snic_link *link);
void bl_shm_inlets_check(struct bl_snic_link *link);

/* path.c */
int bl_shm_path_open(struct bl_snic_link *link, const uint8_t gid[BL_SHM_GID_LEN], struct bl_snic_path **path_p);
void bl_shm_path_close(struct bl_snic_path *path);
void *bl_shm_reserve(struct bl_snic_path *path, size_t len);
void bl_shm_commit(struct bl_snic_path *path, const struct bl_packet *packet);
int bl_shm_path_state(struct bl_snic_path *path);
void bl_shm_path_hear(struct bl_snic_path *path);

/* poll.c */
int bl_shm_poll(struct bl_snic_link *link, bl_snic_receive_fn *fn, void *arg, unsigned int budget);
void bl_shm_look(struct bl_snic_link *link);
void bl_shm_wait(struct bl_snic_link *link, uint64_t timeout_ns);
void bl_shm_kick(struct bl_snic_link *link);

#endif
