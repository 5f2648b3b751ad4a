/* SPDX-License-Identifier: MIT */
/* wire.h - a transport of the test's own: what is to arrive lies in a list until it is polled; and faults over it */
#ifndef TESTS_UNIT_SNIC_FAULT_WIRE_H
#define TESTS_UNIT_SNIC_FAULT_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "softnic/transport.h"

#define MAX 40000U

/**
 * struct bl_snic_path - of the test's transport
 * @link: owner
 * @gid:  where it goes
 * @refs: times it is open
 * @room: whether there is any
 */
struct bl_snic_path {
	struct bl_snic_link *link;
	uint8_t gid[16];
	int refs;
	bool room;
	char payload[64];
};

/**
 * struct bl_snic_link - of the test's transport
 * @in, @nr_in, @taken: what is to arrive, how much of it, and how much has
 * @out, @nr_out:       what was sent
 * @gid:                where it all comes from; @no_gid: nobody knows
 * @path:               the only one
 */
struct bl_snic_link {
	struct bl_packet in[MAX];
	unsigned int nr_in, taken;
	struct bl_packet out[MAX];
	unsigned int nr_out;
	uint8_t gid[16];
	bool no_gid;
	struct bl_snic_path path;
	int closed, forgotten, waits, kicks;
	uint64_t waited_ns;
};

/**
 * struct bed - faults over the wire
 * @seen, @nr_seen: psn of what has arrived
 * @wrong: packets whose payload or address was another
 */
struct bed {
	struct bl_snic_link wire;
	const struct bl_snic_transport_ops *ops;
	struct bl_snic_link *link;
	uint64_t counts[5];
	struct bl_packet seen[2 * MAX];
	unsigned int nr_seen;
	unsigned int wrong;
};

extern struct bed bed;
extern const struct bl_snic_transport_ops wire_ops;

/* Faults over a wire on which @nr requests wait to arrive. */
void bed_make(const struct bl_snic_fault *fault, unsigned int nr);
void bed_free(void);

/* Return: how many packets were handed out. */
int poll_once(unsigned int budget);

/* Everything, however long it is held. */
void poll_all(unsigned int budget);

#endif
