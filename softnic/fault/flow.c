// SPDX-License-Identifier: MIT
#include "flow.h"

#include <stdlib.h>

#define WINDOW 0x100000U /* more than any message has packets; what is further off belongs to an earlier connection */

static struct bl_flow *find(const struct bl_flows *flows, uint32_t requester, uint32_t responder)
{
	for (size_t i = 0; i < flows->nr; i++) {
		if (flows->flows[i].requester == requester && flows->flows[i].responder == responder)
			return &flows->flows[i];
	}
	return NULL;
}

static struct bl_flow *add(struct bl_flows *flows, uint32_t requester, uint32_t responder)
{
	size_t max = flows->max ? 2 * flows->max : 8;
	struct bl_flow *grown;

	if (flows->nr == flows->max) {
		grown = realloc(flows->flows, max * sizeof(*grown));
		if (!grown)
			return NULL;
		flows->flows = grown;
		flows->max = max;
	}
	flows->flows[flows->nr] = (struct bl_flow){.requester = requester, .responder = responder};
	return &flows->flows[flows->nr++];
}

/* Number after the last that a response acknowledges, or BL_PSN_MASK + 1: it acknowledges none. */
static uint32_t acknowledged(const struct bl_packet *packet)
{
	uint32_t after = (packet->psn + 1) & BL_PSN_MASK;

	switch (packet->opcode) {
	case BL_PKT_ACK:
	case BL_PKT_ATOMIC_ACK:
		return packet->syndrome <= BL_AETH_ACK ? after : BL_PSN_MASK + 1;
	case BL_PKT_READ_PLACED:
		return (packet->psn + (uint32_t)packet->compare_mask) & BL_PSN_MASK;
	case BL_PKT_READ_LAST:
	case BL_PKT_READ_ONLY:
		return after;
	default:
		return BL_PSN_MASK + 1;
	}
}

void bl_flow_note(struct bl_flows *flows, const struct bl_packet *packet)
{
	uint32_t next = acknowledged(packet);
	struct bl_flow *flow;

	if (next > BL_PSN_MASK || !packet->src_qpn)
		return;
	flow = find(flows, packet->dest_qpn, packet->src_qpn);
	if (!flow)
		flow = add(flows, packet->dest_qpn, packet->src_qpn);
	if (!flow)
		return;
	/* an answer to something doubled takes it back, which is true as well */
	flow->refused = flow->refused && flow->next == next;
	flow->next = next;
	flow->msn = packet->msn;
}

static bool is_request(const struct bl_packet *packet)
{
	return packet->opcode <= BL_PKT_READ_REQUEST ||
	       (packet->opcode >= BL_PKT_PLACE_SEND && packet->opcode <= BL_PKT_PLACE_WRITE_IMM) || packet->opcode == BL_PKT_CMP_SWAP ||
	       packet->opcode == BL_PKT_FETCH_ADD || packet->opcode == BL_PKT_MASKED_CMP_SWAP ||
	       packet->opcode == BL_PKT_MASKED_FETCH_ADD;
}

bool bl_flow_nak(struct bl_flows *flows, const struct bl_packet *request, struct bl_packet *nak)
{
	struct bl_flow *flow;

	if (!is_request(request))
		return false;
	flow = find(flows, request->src_qpn, request->dest_qpn);
	if (!flow || flow->refused || ((request->psn - flow->next) & BL_PSN_MASK) >= WINDOW)
		return false;
	*nak = (struct bl_packet){
		.opcode = BL_PKT_ACK,
		.syndrome = BL_AETH_SEQUENCE,
		.dest_qpn = request->src_qpn,
		.src_qpn = request->dest_qpn,
		.psn = flow->next,
		.msn = flow->msn,
	};
	flow->refused = true;
	return true;
}

void bl_flows_clear(struct bl_flows *flows)
{
	free(flows->flows);
	*flows = (struct bl_flows){0};
}
