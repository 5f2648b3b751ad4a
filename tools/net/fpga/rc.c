// SPDX-License-Identifier: MIT
/* A reliable connection: sequence numbers that are told, and packets that are sent again. */
#include <stdio.h>

#include "net/fpga/port.h"

#define HALF	   (1U << 23)
#define RETRIES	   7
#define TIMEOUT_NS 250000000ULL
#define RNR_NS	   10000000ULL /* between two attempts, whatever the peer says: it is one of the usual values */
#define RNR_TRIES  300

static const struct bl_snic_transport_ops *const wire = &bl_snic_roce;

/* A lost one is made up for by the next, or by the peer's asking again. */
static void answer(struct fpga_port *port, uint8_t syndrome, uint32_t psn)
{
	const struct bl_packet packet = {
		.opcode = BL_PKT_ACK,
		.dest_qpn = port->remote.qpn,
		.psn = psn & BL_PSN_MASK,
		.syndrome = syndrome,
		.msn = port->rc.msn,
	};

	if (!wire->reserve(port->path, 0))
		return;
	wire->commit(port->path, &packet);
	fpga_dump_out(port, &packet);
}

bool fpga_rc_order(struct fpga_port *port, const struct bl_packet *packet)
{
	struct fpga_in *in = &port->in;
	uint32_t ahead = (packet->psn - in->psn) & BL_PSN_MASK;

	if (!ahead) {
		in->psn = (in->psn + 1) & BL_PSN_MASK;
		port->rc.ack_due |= (packet->flags & BL_PKT_ACK_REQ) != 0;
		port->rc.nak_sent = false;
		return true;
	}
	if (ahead >= HALF) {
		port->rc.ack_due = true;
		return false;
	}
	in->gaps++;
	if (!port->rc.nak_sent)
		answer(port, BL_AETH_SEQUENCE, in->psn);
	port->rc.nak_sent = true;
	return false;
}

void fpga_rc_refuse(struct fpga_port *port)
{
	answer(port, BL_AETH_INVALID, port->in.psn);
	snprintf(port->error, sizeof(port->error), "the peer asks for more than SEND");
}

/* All packets before @count have arrived. */
static void advance(struct fpga_port *port, uint64_t count)
{
	struct fpga_out *out = &port->out;

	if (count <= out->acked)
		return;
	out->acked = count;
	if (out->next < count)
		out->next = count;
	port->rc.retries = port->rc.rnr_retries = 0;
	port->rc.progress = port->now;
}

static void again(struct fpga_port *port)
{
	port->out.next = port->out.acked;
	port->rc.progress = port->now;
}

static void not_ready(struct fpga_port *port)
{
	if (++port->rc.rnr_retries > RNR_TRIES) {
		snprintf(port->error, sizeof(port->error), "the peer has no receive posted for %llu s",
			 RNR_TRIES * RNR_NS / 1000000000ULL);
		return;
	}
	port->rc.until = port->now + RNR_NS;
	again(port);
}

static void refused(struct fpga_port *port, uint8_t syndrome)
{
	if (syndrome != BL_AETH_SEQUENCE) {
		snprintf(port->error, sizeof(port->error), "the peer refuses a frame: %s (NAK 0x%02x)",
			 syndrome == BL_AETH_INVALID  ? "invalid request"
			 : syndrome == BL_AETH_ACCESS ? "no access to that memory"
						      : "it failed itself",
			 syndrome);
		return;
	}
	if (++port->rc.retries > RETRIES)
		snprintf(port->error, sizeof(port->error), "sent %d times, and still out of sequence for the peer",
			 RETRIES + 1);
	again(port);
}

void fpga_rc_acked(struct fpga_port *port, const struct bl_packet *packet)
{
	struct fpga_out *out = &port->out;
	uint64_t count = out->acked + ((packet->psn - out->psn - (uint32_t)out->acked) & BL_PSN_MASK);

	/* old news, or of what was never sent */
	if (count >= out->high)
		return;
	if (!(packet->syndrome & 0x60)) {
		advance(port, count + 1);
		return;
	}
	/* all before the one that it is about have arrived */
	advance(port, count);
	if ((packet->syndrome & 0x60) == BL_AETH_RNR)
		not_ready(port);
	else
		refused(port, packet->syndrome);
}

void fpga_rc_serve(struct fpga_port *port)
{
	struct fpga_out *out = &port->out;

	if (port->rc.ack_due)
		answer(port, BL_AETH_ACK, port->in.psn - 1);
	port->rc.ack_due = false;
	if (out->acked == out->next || port->now < port->rc.progress + TIMEOUT_NS || port->now < port->rc.until)
		return;
	if (++port->rc.retries > RETRIES) {
		snprintf(port->error, sizeof(port->error), "sent %d times: %.100s", RETRIES + 1, fpga_port_why(port));
		return;
	}
	/* asked at each time-out, so that the network has time to say something */
	fpga_port_why(port);
	again(port);
}
