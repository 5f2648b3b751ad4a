// SPDX-License-Identifier: MIT
/* Packets become frames. */
#include <string.h>

#include "common/stats.h"
#include "net/fpga/port.h"

#define HALF (1U << 23)

static bool is_for(const struct fpga_port *port, const uint8_t *gid, const struct bl_packet *packet)
{
	return packet->dest_qpn == port->local.qpn && !memcmp(gid, port->remote.gid, sizeof(port->remote.gid));
}

static bool is_first(uint8_t opcode)
{
	return opcode == BL_PKT_SEND_FIRST || opcode == BL_PKT_SEND_ONLY || opcode == BL_PKT_SEND_ONLY_IMM;
}

static bool is_last(uint8_t opcode)
{
	return opcode >= BL_PKT_SEND_LAST && opcode <= BL_PKT_SEND_ONLY_IMM;
}

static void leave_frame(struct fpga_in *in)
{
	in->broken += in->open;
	in->open = false;
}

/* Nothing is asked for again: what jumps is counted. */
static void uc_order(struct fpga_in *in, const struct bl_packet *packet)
{
	uint32_t ahead = (packet->psn - in->psn) & BL_PSN_MASK;

	if (in->known && ahead)
		in->gaps++;
	/* one that comes late does not move the expected number back */
	if (!in->known || ahead < HALF)
		in->psn = (packet->psn + 1) & BL_PSN_MASK;
	in->known = true;
}

static void take(struct fpga_port *port, uint8_t opcode, const struct bl_packet *packet, const void *payload)
{
	struct fpga_in *in = &port->in;

	if (is_first(opcode)) {
		leave_frame(in);
		fpga_check_begin(&in->check);
		in->open = true;
	} else if (packet->psn != in->next) {
		/* a frame with a hole is lost, and so is one that gets a packet twice */
		leave_frame(in);
	}
	if (!in->open)
		return;
	in->next = (packet->psn + 1) & BL_PSN_MASK;
	fpga_check_part(&in->check, payload, packet->len);
	if (!is_last(opcode))
		return;
	in->open = false;
	port->arrived(port->arg, &in->check, fpga_check_end(&in->check), tool_now_ns());
}

void fpga_in_take(void *arg, const uint8_t *gid, const struct bl_packet *packet, const void *payload)
{
	struct fpga_port *port = arg;
	bool uc = packet->opcode & BL_PKT_UC;
	uint8_t opcode = packet->opcode & ~BL_PKT_UC;

	if (!is_for(port, gid, packet) || uc != port->options->uc) {
		port->in.strange++;
		return;
	}
	fpga_dump_in(port, packet, payload);
	if (!uc && opcode == BL_PKT_ACK) {
		fpga_rc_acked(port, packet);
		return;
	}
	if (opcode > BL_PKT_SEND_ONLY_IMM) {
		port->in.strange++;
		if (!uc)
			fpga_rc_refuse(port);
		return;
	}
	if (uc)
		uc_order(&port->in, packet);
	else if (!fpga_rc_order(port, packet))
		return;
	if (!uc && is_last(opcode))
		port->rc.msn = (port->rc.msn + 1) & 0xffffff;
	take(port, opcode, packet, payload);
}
