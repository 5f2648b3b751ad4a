// SPDX-License-Identifier: MIT
/* Frames become packets. */
#include <endian.h>

#include "common/stats.h"
#include "net/fpga/port.h"

static const struct bl_snic_transport_ops *const wire = &bl_snic_roce;

/* The bits of an immediate that name the page, as programs of sensor bridges take them. */
#define PAGES 4096U

static uint8_t opcode_of(const struct fpga_port *port, uint32_t part)
{
	bool imm = port->options->imm, first = !part, last = part + 1 == port->out.nr;
	uint8_t opcode;

	if (first && last)
		opcode = imm ? BL_PKT_WRITE_ONLY_IMM : BL_PKT_SEND_ONLY;
	else if (first)
		opcode = imm ? BL_PKT_WRITE_FIRST : BL_PKT_SEND_FIRST;
	else if (last)
		opcode = imm ? BL_PKT_WRITE_LAST_IMM : BL_PKT_SEND_LAST;
	else
		opcode = imm ? BL_PKT_WRITE_MIDDLE : BL_PKT_SEND_MIDDLE;
	return opcode | (port->options->uc ? BL_PKT_UC : 0);
}

static void fill(const struct fpga_port *port, uint64_t frame, uint32_t part, struct bl_packet *packet)
{
	const struct fpga_out *out = &port->out;
	uint32_t off = part * port->mtu, left = out->size - off;

	*packet = (struct bl_packet){
		.opcode = opcode_of(port, part),
		.dest_qpn = port->remote.qpn,
		.psn = (out->psn + (uint32_t)out->next) & BL_PSN_MASK,
		.len = left < port->mtu ? left : port->mtu,
	};
	if (!port->options->uc && part + 1 == out->nr)
		packet->flags = BL_PKT_ACK_REQ;
	if (!port->options->imm)
		return;
	packet->va = port->to.addr + frame % port->to.slots * port->to.page;
	packet->rkey = port->to.key;
	packet->dma_len = out->size;
	packet->imm = htobe32((uint32_t)(frame % port->to.slots % PAGES));
}

/* The next packet. Return: false when there is no room for it now. */
static bool send_one(struct fpga_port *port)
{
	struct fpga_out *out = &port->out;
	uint64_t frame = out->next / out->nr;
	uint32_t part = (uint32_t)(out->next % out->nr);
	struct fpga_stamp stamp = {.run = out->run, .number = frame, .len = out->size};
	struct bl_packet packet;
	void *room;

	fill(port, frame, part, &packet);
	room = wire->reserve(port->path, packet.len);
	if (!room)
		return false;
	/* what is sent again says when it was sent first */
	if (!part && out->next == out->high)
		out->stamps[frame % FPGA_STAMPS] = tool_now_ns();
	stamp.sent_ns = out->stamps[frame % FPGA_STAMPS];
	fpga_data_put(&stamp, part * port->mtu, room, packet.len);
	wire->commit(port->path, &packet);
	fpga_dump_out(port, &packet);
	port->rc.resent += out->next < out->high;
	out->next++;
	if (out->next > out->high)
		out->high = out->next;
	return true;
}

static bool may_send(const struct fpga_port *port)
{
	const struct fpga_out *out = &port->out;

	if (out->next == out->posted * out->nr)
		return false;
	if (port->options->uc)
		return true;
	return out->next - out->acked < port->limits.window && port->now >= port->rc.until;
}

bool fpga_out_push(struct fpga_port *port)
{
	bool sent = false;

	while (!*port->error && may_send(port)) {
		/* the time of a reliable connection's answer counts from when the first of a window was sent */
		if (port->out.next == port->out.acked)
			port->rc.progress = port->now;
		if (!send_one(port))
			return sent;
		sent = true;
	}
	return sent;
}
