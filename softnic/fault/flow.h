/* SPDX-License-Identifier: MIT */
/*
 * flow.h - how far a responder has acknowledged
 *
 * A sequence error NAK acknowledges everything before its number. One that is made up may only name a number up to
 * which the responder itself has acknowledged, or requests that were never carried out would be taken for done. So the
 * responses that leave are watched.
 */
#ifndef SOFTNIC_FAULT_FLOW_H
#define SOFTNIC_FAULT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/packet.h"

/**
 * struct bl_flow - requests of one queue pair to another
 * @requester: its queue pair
 * @responder: the other one
 * @next:      first sequence number that is not acknowledged
 * @msn:       as last told
 * @refused:   a NAK has asked for @next
 */
struct bl_flow {
	uint32_t requester;
	uint32_t responder;
	uint32_t next;
	uint32_t msn;
	bool refused;
};

/* Those over one path. All zero: none. */
struct bl_flows {
	struct bl_flow *flows;
	size_t nr;
	size_t max;
};

/* A packet leaves: if it is a response that acknowledges, note it. Without memory there is nothing noted. */
void bl_flow_note(struct bl_flows *flows, const struct bl_packet *packet);

/*
 * The NAK that a request may get instead of an answer. A responder asks for a number once; more would use up the
 * retries of a requester that has many packets under way. Return: false: none can be made that is true.
 */
bool bl_flow_nak(struct bl_flows *flows, const struct bl_packet *request, struct bl_packet *nak);

void bl_flows_clear(struct bl_flows *flows);

#endif
