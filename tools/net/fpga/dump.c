// SPDX-License-Identifier: MIT
/* Packets as text, for who compares them with those of hardware. */
#include "net/fpga/port.h"
#include "softnic/roce/link.h"

#define PER_LINE 16
#define HEAD	 128U /* bytes of a packet that are printed; the ICRC comes after */
#define ICRC	 4U

static const char *const names[BL_PKT_FETCH_ADD + 1] = {
	[BL_PKT_SEND_FIRST] = "SEND first",	[BL_PKT_SEND_MIDDLE] = "SEND middle",
	[BL_PKT_SEND_LAST] = "SEND last",	[BL_PKT_SEND_LAST_IMM] = "SEND last, immediate",
	[BL_PKT_SEND_ONLY] = "SEND only",	[BL_PKT_SEND_ONLY_IMM] = "SEND only, immediate",
	[BL_PKT_WRITE_FIRST] = "WRITE first",	[BL_PKT_WRITE_MIDDLE] = "WRITE middle",
	[BL_PKT_WRITE_LAST] = "WRITE last",	[BL_PKT_WRITE_LAST_IMM] = "WRITE last, immediate",
	[BL_PKT_WRITE_ONLY] = "WRITE only",	[BL_PKT_WRITE_ONLY_IMM] = "WRITE only, immediate",
	[BL_PKT_READ_REQUEST] = "READ request", [BL_PKT_ACK] = "ACK",
	[BL_PKT_CMP_SWAP] = "CMP_SWAP",		[BL_PKT_FETCH_ADD] = "FETCH_ADD",
};

static void print_head(const struct fpga_port *port, const char *way, const struct bl_packet *packet)
{
	uint8_t opcode = packet->opcode & ~BL_PKT_UC;
	const char *name = opcode <= BL_PKT_FETCH_ADD && names[opcode] ? names[opcode] : "?";
	FILE *out = port->options->out;

	fprintf(out, "# %s %s %s (0x%02x) qp 0x%06x psn 0x%06x%s payload %u", way,
		packet->opcode & BL_PKT_UC ? "UC" : "RC", name, packet->opcode, packet->dest_qpn, packet->psn,
		packet->flags & BL_PKT_ACK_REQ ? " ack" : "", packet->len);
	if (packet->rkey)
		fprintf(out, " va 0x%llx rkey 0x%x length %u", (unsigned long long)packet->va, packet->rkey,
			packet->dma_len);
	if (opcode == BL_PKT_ACK)
		fprintf(out, " syndrome 0x%02x msn %u", packet->syndrome, packet->msn);
	fputc('\n', out);
}

static void print_bytes(FILE *out, const uint8_t *bytes, size_t from, size_t to)
{
	for (size_t at = from; at < to; at += PER_LINE) {
		fprintf(out, "#   %04zx ", at);
		for (size_t i = at; i < at + PER_LINE && i < to; i++)
			fprintf(out, " %02x", bytes[i]);
		fputc('\n', out);
	}
}

/* As it lies in the link, from the Ethernet header on, or from the BTH on with UDP sockets. */
void fpga_dump_out(struct fpga_port *port, const struct bl_packet *packet)
{
	const struct bl_roce_out *last = &port->link->outs[(port->link->tail - 1) % BL_ROCE_BATCH];
	size_t end = last->len < HEAD ? last->len : HEAD;

	if (port->dumped[0] >= port->options->dump)
		return;
	port->dumped[0]++;
	print_head(port, "out", packet);
	print_bytes(port->options->out, last->frame, 0, end);
	if (end < last->len)
		print_bytes(port->options->out, last->frame, last->len - ICRC, last->len);
}

void fpga_dump_in(struct fpga_port *port, const struct bl_packet *packet, const uint8_t *payload)
{
	if (port->dumped[1] >= port->options->dump)
		return;
	port->dumped[1]++;
	print_head(port, "in ", packet);
	print_bytes(port->options->out, payload, 0, packet->len < HEAD ? packet->len : HEAD);
}
