/* SPDX-License-Identifier: MIT */
/*
 * link.h - a link of the transport over a network, and what belongs to it
 *
 * A link is one network interface. It carries packets in one of two ways: by packet sockets, which see and make whole
 * Ethernet frames, or by UDP sockets, which need no privilege. An address of the interface is claimed when the first
 * path from it is opened: from then on this link has the UDP port of RoCE there, so that the kernel does not refuse
 * what it does not know, and nobody else has.
 *
 * Locks: none. Calls come one at a time (transport.h), but for kick(), which touches @kicked, @sleeping and the bell.
 */
#ifndef SOFTNIC_ROCE_LINK_H
#define SOFTNIC_ROCE_LINK_H

#include <netinet/in.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "capture.h"
#include "device.h"
#include "ring.h"
#include "rtnl.h"
#include "softnic/shm/fds.h"
#include "softnic/transport.h"
#include "util/fork.h"

#define BL_ROCE_ETHERNET_LEN 14
#define BL_ROCE_BATCH	     64
/* Bytes from which on a frame and what the kernel needs around it may take more than a page of 4 KiB. */
#define BL_ROCE_LONG_FRAME   3500
/* Of a packet that is sent: what is before the headers of IP, those, payload, tail; rounded up so that payloads are aligned. */
#define BL_ROCE_ROOM_HEAD ((sizeof(struct virtio_net_hdr) + BL_ROCE_ETHERNET_LEN + BL_ROCE_HEAD_ROOM + 63) / 64 * 64)
#define BL_ROCE_ROOM	  (BL_ROCE_ROOM_HEAD + BL_ROCE_MAX_PAYLOAD + 64)
#define BL_ROCE_WHY	  80

/**
 * struct bl_roce_local - an own address
 * @index:   in the list of addresses
 * @claimed: the sockets below are open
 * @port:    UDP socket of RoCE's port: carries packets, or keeps the port for the packet sockets
 * @errors:  with packet sockets: UDP socket of the port that packets come from, to which ICMP answers; else -1
 * @sport:   port that packets come from
 * @rings:   packet sockets, of the interface and of the loopback interface; their descriptors are -1 when there is none
 */
struct bl_roce_local {
	unsigned int index;
	bool claimed;
	int port;
	int errors;
	uint16_t sport;
	struct bl_roce_ring rings[2];
};

union bl_roce_address {
	struct sockaddr any;
	struct sockaddr_ll ll;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Hop limit and traffic class, as sendmsg() takes them. */
struct bl_roce_control {
	_Alignas(struct cmsghdr) char bytes[2 * CMSG_SPACE(sizeof(int))];
};

/**
 * struct bl_snic_path - to an address
 * @link, @next: its list
 * @local:   own address
 * @refs:    times it was opened
 * @flow:    addresses in its packets
 * @to:	     where its packets are sent
 * @to_len:  of @to
 * @control: with UDP sockets
 * @header:  Ethernet header
 * @hop:     where packets go first; with packet sockets
 * @ready:   its Ethernet address is known
 * @looked:  coarse time at which the kernel was last asked for it
 * @asked:   coarse time at which the kernel was last made to ask for it
 * @error, @error_at: what the network said last, and when; 0: nothing
 * @refuser: who said it, if not this host
 * @largest: payload of a packet that was sent
 * @why:     text
 */
struct bl_snic_path {
	struct bl_snic_link *link;
	struct bl_snic_path *next;
	struct bl_roce_local *local;
	unsigned int refs;
	struct bl_roce_flow flow;
	union bl_roce_address to;
	socklen_t to_len;
	struct bl_roce_control control;
	uint8_t header[BL_ROCE_ETHERNET_LEN];
	struct bl_roce_hop hop;
	bool ready;
	uint64_t looked;
	uint64_t asked;
	int error;
	uint64_t error_at;
	uint32_t largest;
	char why[BL_ROCE_WHY];
};

/* A packet that waits to be sent by @fd, @len bytes at @frame; @path is NULL when that was closed. */
struct bl_roce_out {
	struct bl_snic_path *path;
	uint8_t *frame;
	size_t len;
	int fd;
};

/**
 * struct bl_snic_link - an interface
 * @name:    of the NIC, in messages
 * @device:  as it was when the link was opened
 * @control: socket to ask the kernel about interfaces with
 * @packet:  by packet sockets; else by UDP sockets
 * @tx:	     packet socket that sends, or -1
 * @tx_long: another one for long frames, which takes them with a header before them, or -1
 * @share, @shared: of the numbers of queue pairs, and the descriptor that keeps it; with packet sockets
 * @rtnl:    to ask the kernel for routes and neighbours, or -1
 * @bell:    eventfd that kick() writes; nobody else has it
 * @locals:  own addresses, as many as @device has
 * @paths:   all of them
 * @outs:    packets to be sent, those of the counts @head to @tail
 * @spoil, @spoil_bits: the next packet leaves with a bit changed, and which
 * @rooms:   memory for each of them
 * @inbox:   memory for packets that UDP sockets receive; or NULL
 * @capture: file that all packets are written to, or NULL
 * @drops:   by reason
 * @full, @unsent: packets that the kernel dropped for lack of room, and that could not be sent
 * @tick:    coarse time at which sockets were last asked for errors
 * @turn:    address that is asked first by the next poll()
 * @kicked:  by kick(), until a wait() has seen it
 * @sleeping: wait() is, or is about to be, asleep
 */
struct bl_snic_link {
	char name[32];
	struct bl_roce_device device;
	int control;
	bool packet;
	int tx;
	int tx_long;
	uint8_t share;
	int shared;
	int rtnl;
	int bell;
	struct bl_roce_local locals[BL_ROCE_MAX_GIDS];
	struct bl_snic_path *paths;
	struct bl_roce_out outs[BL_ROCE_BATCH];
	uint32_t head, tail;
	bool spoil;
	uint64_t spoil_bits;
	uint8_t *rooms;
	uint8_t *inbox;
	struct bl_roce_capture *capture;
	uint64_t drops[BL_ROCE_NR_DROPS];
	uint64_t full;
	uint64_t unsent;
	uint64_t tick;
	unsigned int turn;
	_Alignas(128) atomic_bool kicked;
	atomic_bool sleeping;
};

/* A descriptor of this process alone, as @call makes it, or -errno. */
#define BL_ROCE_OWN(call)                                                                                              \
	({                                                                                                             \
		int own_fd;                                                                                            \
		bl_fork_window_enter();                                                                                \
		own_fd = bl_shm_fd_own(call);                                                                          \
		bl_fork_window_leave();                                                                                \
		own_fd;                                                                                                \
	})

static inline const uint8_t *bl_roce_local_gid(const struct bl_snic_link *link, const struct bl_roce_local *local)
{
	return link->device.gids[local->index];
}

/* Coarse: some nanoseconds per call, a few milliseconds per tick. */
uint64_t bl_roce_tick(void);

/* local.c: make an address usable, also for peers on this host. Return: 0, -EADDRINUSE, other -errno; logged. */
int bl_roce_local_claim(struct bl_snic_link *link, struct bl_roce_local *local, bool loopback);
void bl_roce_local_release(struct bl_roce_local *local);
void bl_roce_local_forget(struct bl_roce_local *local);

/* path.c */
int bl_roce_path_open(struct bl_snic_link *link, const uint8_t gid[BL_ROCE_GID_LEN], struct bl_snic_path **path_p);
int bl_roce_way_open(struct bl_snic_link *link, const struct bl_snic_way *way, struct bl_snic_path **path_p);
void bl_roce_path_close(struct bl_snic_path *path);
int bl_roce_path_state(struct bl_snic_path *path);

/* neighbour.c: whether packets of a path can be sent; if not, what is needed for it is under way. */
bool bl_roce_path_is_ready(struct bl_snic_path *path);

/* neighbour.c: with packet sockets, an ordinary datagram to a port of the peer, so that the network speaks of it. */
void bl_roce_probe(struct bl_snic_path *path, uint16_t port);

/* why.c */
const char *bl_roce_path_why(struct bl_snic_path *path);
const char *bl_roce_path_flaw(struct bl_snic_path *path);
/* why.c: the network, or this host, has said that a path does not work. */
void bl_roce_path_error(struct bl_snic_path *path, int err);
/* why.c: read what sockets have been told by others. */
void bl_roce_hear_errors(struct bl_snic_link *link);

/* send.c */
void *bl_roce_reserve(struct bl_snic_path *path, size_t len);
void bl_roce_commit(struct bl_snic_path *path, const struct bl_packet *packet);
void bl_roce_flush(struct bl_snic_link *link);
void bl_roce_spoil(struct bl_snic_path *path, uint64_t bits);
/* send.c: what still waits on a path is lost. */
void bl_roce_send_drop(struct bl_snic_path *path);

/* poll.c */
int bl_roce_poll(struct bl_snic_link *link, bl_snic_receive_fn *fn, void *arg, unsigned int budget);
void bl_roce_wait(struct bl_snic_link *link, uint64_t timeout_ns);
void bl_roce_kick(struct bl_snic_link *link);

/* receive.c: packets of one address, at most @budget. Return: how many were handed out. */
unsigned int bl_roce_receive(struct bl_snic_link *link, struct bl_roce_local *local, bl_snic_receive_fn *fn, void *arg,
			     unsigned int budget);
/* receive.c: memory that UDP sockets receive into. */
size_t bl_roce_inbox_size(void);

#endif
