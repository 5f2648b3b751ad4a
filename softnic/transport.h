/* SPDX-License-Identifier: MIT */
/*
 * transport.h - what carries packets from one software NIC to another
 *
 * One link per NIC, one path per peer. All calls come from the NIC's thread or under its lock, one at a time, except
 * kick(). A transport may lose, reorder and double packets; it never changes or invents one.
 */
#ifndef SOFTNIC_TRANSPORT_H
#define SOFTNIC_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet.h"

struct bl_snic;
struct bl_snic_link;
struct bl_snic_path;
struct bl_snic_offload_ops;
struct bl_snic_event;
struct bl_snic_port;
struct bl_snic_way;

/**
 * struct bl_snic_way - to a peer
 * @gid:	   its address
 * @sgid_index:	   own address
 * @hop_limit:	   0: as the transport likes
 * @traffic_class: of IP headers
 */
struct bl_snic_way {
	uint8_t gid[16];
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
};

/* Takes a packet; @payload is valid until it returns. @gid: where it came from, NULL where the transport cannot tell. */
typedef void bl_snic_receive_fn(void *arg, const uint8_t *gid, const struct bl_packet *packet, const void *payload);

struct bl_snic_transport_ops {
	const char *name;

	/*
	 * A packet to the own address comes back as it was sent, and nothing but this NIC's work decides when: it may be
	 * left out.
	 */
	bool loops_back;

	/* Makes the port, with an address of its own that goes to @gid. Return: 0 or -errno, logged. */
	int (*open)(const char *name, uint8_t gid[16], struct bl_snic_link **link_p);
	/* Paths are closed. */
	void (*close)(struct bl_snic_link *link);

	/* Largest payload of a packet; what suits messages best. */
	uint32_t (*max_payload)(struct bl_snic_link *link);

	/*
	 * path_open - A way to the port at @gid; the own address is allowed and is a loop
	 * Counted: the same path for the same address. Return: 0, -ENOTCONN (nobody there), -ENOMEM, other -errno.
	 */
	int (*path_open)(struct bl_snic_link *link, const uint8_t gid[16], struct bl_snic_path **path_p);
	void (*path_close)(struct bl_snic_path *path);

	/*
	 * reserve - Room for one packet with @len bytes of payload
	 * The payload is written to where the result points, then commit() sends it; nothing else on this path between
	 * the two. commit() with a smaller packet->len is allowed; cancel by the next reserve(). NULL: full, try later.
	 */
	void *(*reserve)(struct bl_snic_path *path, size_t len);
	void (*commit)(struct bl_snic_path *path, const struct bl_packet *packet);

	/* Hands at most @budget packets to @fn. Return: how many. */
	int (*poll)(struct bl_snic_link *link, bl_snic_receive_fn *fn, void *arg, unsigned int budget);

	/* 0: as far as is known the peer lives; -ECONNRESET: it is gone, for good. */
	int (*path_state)(struct bl_snic_path *path);

	/* Sleeps until there may be a packet, a kick, or @timeout_ns is over. Peers see the sleep and wake this link. */
	void (*wait)(struct bl_snic_link *link, uint64_t timeout_ns);
	/* Ends the present or the next wait(); from any thread; no system call when nobody waits. */
	void (*kick)(struct bl_snic_link *link);

	/* After fork, in the child: frees memory and descriptors, sends nothing. */
	void (*forget)(struct bl_snic_link *link);

	/* A transport that carries whole requests; packets are never asked of it. NULL: packets. */
	const struct bl_snic_offload_ops *offload;
	/* What follows may be NULL: a transport of one address, on which nothing is worth telling. */

	/* The port as it is now. */
	void (*port)(struct bl_snic_link *link, struct bl_snic_port *port);
	/* Own address by index, 0: that of open(). Return: 0 or -EINVAL, quiet. */
	int (*gid)(struct bl_snic_link *link, unsigned int index, uint8_t gid[16]);
	/* path_open() of one that has several addresses. */
	int (*way_open)(struct bl_snic_link *link, const struct bl_snic_way *way, struct bl_snic_path **path_p);
	/* Sends what commit() has put by. Else wait() and poll() do. */
	void (*flush)(struct bl_snic_link *link);
	/*
	 * Why nobody may have answered, as a part of a sentence, valid until the next call; NULL: nothing is known. At
	 * each time-out, so that the transport can find out.
	 */
	const char *(*path_why)(struct bl_snic_path *path);
	/* Why nothing can go out, or come in, on this side, in the same way; NULL: nothing is wrong here. */
	const char *(*path_flaw)(struct bl_snic_path *path);
	/* The next packet leaves with one bit changed, by chance of @bits; NULL: receivers would not notice. */
	void (*spoil)(struct bl_snic_path *path, uint64_t bits);
	/* The next thing that it has to tell of itself. Return: 1, or 0: nothing. */
	int (*event)(struct bl_snic_link *link, struct bl_snic_event *event);
	/* Adds what the transport counts itself to the NIC's counters. */
	void (*counts)(struct bl_snic_link *link, uint64_t *counters);
};

/* The link of a NIC that is open, for who made the transport. */
struct bl_snic_link *bl_snic_link(struct bl_snic *nic);

/* Between processes of one user on one host, and within one: rings in shared memory. */
extern const struct bl_snic_transport_ops bl_snic_shm;

/* RoCEv2 by a network interface; NICs are named "soft_" and it. */
extern const struct bl_snic_transport_ops bl_snic_roce;

/* Interfaces that are up and have an address, at most @nr. Return: how many. */
size_t bl_snic_roce_interfaces(char names[][16], size_t nr);

/**
 * struct bl_snic_fault - a wire that loses, delays, doubles and answers wrongly
 * @seed:  of the dice; the same seed and the same packets give the same faults
 * @drop, @reorder, @duplicate, @nak: packets of a million; reorder: it arrives after up to 8 later ones; nak: a sequence
 *	   error NAK goes back to the sender in place of a request
 * @corrupt: packets of a million that leave with a bit changed, where the transport has a check that finds it
 * @delay: packets of a million that arrive @delay_us microseconds later
 */
struct bl_snic_fault {
	uint64_t seed;
	uint32_t drop;
	uint32_t reorder;
	uint32_t duplicate;
	uint32_t nak;
	uint32_t corrupt;
	uint32_t delay;
	uint32_t delay_us;
};

/*
 * Text "seed=1,drop=10000,reorder=...,duplicate=...,nak=...,corrupt=...,delay=...,delay_us=..." of BARLANE_SNIC_FAULT.
 * Return: 0 or -EINVAL with the place in *@bad_p.
 */
int bl_snic_fault_parse(const char *text, struct bl_snic_fault *fault, const char **bad_p);

/*
 * A link over another that injects @fault. It has @ops' own operations; counts are added to the five words of @counts
 * (dropped, delayed, doubled, nak, corrupted), in that order.
 */
int bl_snic_fault_open(const struct bl_snic_transport_ops *ops, struct bl_snic_link *link, const struct bl_snic_fault *fault,
		       uint64_t *counts, const struct bl_snic_transport_ops **ops_p, struct bl_snic_link **link_p);

#endif
