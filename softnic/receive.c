// SPDX-License-Identifier: MIT
#include "receive.h"

#include <string.h>

#include "active.h"
#include "qp.h"
#include "requester.h"
#include "responder.h"
#include "share.h"

/* A sender may have more room for a packet than this side has: what came through the transport is taken. */
static bool is_well_formed(const struct bl_packet *packet, const void *payload)
{
	return packet->len <= BL_SNIC_MAX_PAYLOAD && (payload || !packet->len) && packet->psn <= BL_PSN_MASK;
}

static bool is_from_peer(const struct bl_snic_qp *qp, const uint8_t *gid, const struct bl_packet *packet)
{
	if (gid && memcmp(gid, qp->mod.dest_gid, sizeof(qp->mod.dest_gid)) != 0)
		return false;
	return !packet->src_qpn || packet->src_qpn == qp->mod.dest_qpn;
}

/* The service that the packet is of must be the queue pair's; masked atomics exist on reliable connections only. */
static bool is_of_service(const struct bl_snic_qp *qp, const struct bl_packet *packet)
{
	return bl_qp_is_rc(qp) ? !(packet->opcode & 0xe0) : (packet->opcode & 0xe0) == BL_PKT_UC;
}

static void dispatch(struct bl_snic_qp *qp, const struct bl_packet *packet, const void *payload)
{
	bl_active_wake(qp);
	switch (packet->opcode) {
	case BL_PKT_ACK:
		if (qp->state == BL_SNIC_RTS)
			bl_req_ack(qp, packet);
		break;
	case BL_PKT_READ_FIRST ... BL_PKT_READ_ONLY:
	case BL_PKT_ATOMIC_ACK:
	case BL_PKT_READ_PLACED:
		if (qp->state == BL_SNIC_RTS)
			bl_req_response(qp, packet, payload);
		break;
	case BL_PKT_SHARE:
		bl_share_receive(qp, packet, payload);
		break;
	default:
		bl_resp_request(qp, packet, payload);
	}
}

void bl_snic_receive(void *arg, const uint8_t *gid, const struct bl_packet *packet, const void *payload)
{
	struct bl_snic *nic = arg;
	struct bl_snic_qp *qp;

	bl_snic_count(nic, BL_SNIC_RX_PACKETS, 1);
	bl_snic_count(nic, BL_SNIC_RX_BYTES, packet->len);
	if (!is_well_formed(packet, payload)) {
		bl_snic_count(nic, BL_SNIC_RX_MALFORMED, 1);
		return;
	}
	qp = bl_snic_map_find(&nic->qps, packet->dest_qpn);
	if (!qp || (qp->state != BL_SNIC_RTR && qp->state != BL_SNIC_RTS))
		bl_snic_count(nic, BL_SNIC_RX_UNKNOWN_QP, 1);
	else if (!is_from_peer(qp, gid, packet))
		bl_snic_count(nic, BL_SNIC_RX_WRONG_PEER, 1);
	else if (!is_of_service(qp, packet))
		bl_snic_count(nic, BL_SNIC_RX_MALFORMED, 1);
	else
		dispatch(qp, packet, payload);
}
