/* SPDX-License-Identifier: MIT */
/*
 * port.h - one end of a connection that is a link and nothing above it: frames to packets, packets to frames
 *
 * There is no NIC and no thread: what the FPGA of a sensor does in hardware is done here, by hand.
 */
#ifndef TOOLS_NET_FPGA_PORT_H
#define TOOLS_NET_FPGA_PORT_H

#include "barlane_net.h"
#include "barlane_net_gpu.h"
#include "net/fpga/data.h"
#include "net/fpga/options.h"
#include "softnic/snic.h"
#include "softnic/transport.h"

#define FPGA_STAMPS 4096U /* frames of a reliable connection under way */

/** struct fpga_target - memory that frames are written to, with --mode imm: @slots pages of @page bytes */
struct fpga_target {
	uint64_t addr;
	uint32_t key;
	uint64_t slots;
	uint64_t page;
};

/**
 * struct fpga_out - frames of a run on their way out; packets are counted from its first one
 * @run, @size: of its frames
 * @nr:	     packets of a frame
 * @posted:  frames that may be sent
 * @next:    packet that is sent next
 * @high:    one more than the last that was ever sent
 * @acked:   packets that need not be sent again; of a reliable connection
 * @psn:     of packet 0
 * @stamps:  when frames were sent first
 */
struct fpga_out {
	uint32_t run;
	uint32_t size;
	uint32_t nr;
	uint64_t posted;
	uint64_t next;
	uint64_t high;
	uint64_t acked;
	uint32_t psn;
	uint64_t stamps[FPGA_STAMPS];
};

/**
 * struct fpga_in - frames on their way in
 * @check:   the one that is under way
 * @open:    there is one
 * @next:    sequence number of its next packet
 * @known, @psn: of the next packet, if that is known
 * @gaps:    sequence numbers that jumped
 * @broken:  frames that lack a packet
 * @strange: packets of another queue pair or address, or that this end does not know
 */
struct fpga_in {
	struct fpga_check check;
	bool open;
	uint32_t next;
	bool known;
	uint32_t psn;
	uint64_t gaps;
	uint64_t broken;
	uint64_t strange;
};

/**
 * struct fpga_rc - what a reliable connection needs on top
 * @msn:      frames that came in
 * @ack_due:  one is owed
 * @nak_sent: a gap was told, and is not closed
 * @retries, @rnr_retries: since the last progress
 * @progress: time of it
 * @until:    the peer has no receive before
 * @resent:   packets
 */
struct fpga_rc {
	uint32_t msn;
	bool ack_due;
	bool nak_sent;
	unsigned int retries, rnr_retries;
	uint64_t progress;
	uint64_t until;
	uint64_t resent;
};

/* A frame has come, @right or not; @now is the time at which its last packet was taken. */
typedef void fpga_arrived_fn(void *arg, const struct fpga_check *check, bool right, uint64_t now);

/**
 * struct fpga_port - one end
 * @options: what the user asked for
 * @link, @path: of the transport; @path is NULL until it is connected
 * @limits: of the link
 * @local, @remote: numbers and addresses
 * @mtu:    payload of a packet
 * @to:	    memory, for --mode imm
 * @arrived, @arg: who takes frames
 * @dumped: packets printed, out and in
 * @now:    time of the present pass
 * @error:  why the connection has failed, or empty
 */
struct fpga_port {
	const struct fpga_options *options;
	struct bl_snic_link *link;
	struct bl_snic_path *path;
	struct bl_snic_port limits;
	struct bl_net_peer local, remote;
	uint32_t mtu;
	struct fpga_target to;
	struct fpga_out out;
	struct fpga_in in;
	struct fpga_rc rc;
	fpga_arrived_fn *arrived;
	void *arg;
	uint32_t dumped[2];
	uint64_t now;
	char error[160];
};

/* Open the link and choose what is not given. Return: 0, or -errno with tool_why(). */
int fpga_port_open(struct fpga_port *port, const struct fpga_options *options);

/* Find the way to port->remote. Return: 0, or -errno with tool_why(). */
int fpga_port_connect(struct fpga_port *port);
void fpga_port_close(struct fpga_port *port);

/* Frames of another size begin, all of the last ones are sent. */
void fpga_port_begin(struct fpga_port *port, uint32_t run, uint32_t size);

/* Take packets, answer, send what may be sent. Return: whether there was anything to do. */
bool fpga_port_pass(struct fpga_port *port);

/* All that was posted has left, and arrived where that is told. */
bool fpga_port_idle(const struct fpga_port *port);

/* Sleep until there is a packet, or for @ns. */
void fpga_port_wait(struct fpga_port *port, uint64_t ns);

/* Why nobody may have answered; never NULL. */
const char *fpga_port_why(struct fpga_port *port);

/* out.c: send packets as far as that goes. Return: whether any went. */
bool fpga_out_push(struct fpga_port *port);

/* in.c: as bl_snic_receive_fn; @arg is the port. */
void fpga_in_take(void *arg, const uint8_t *gid, const struct bl_packet *packet, const void *payload);

/* rc.c: a request packet that came. Return: it is the next one, and to be taken. */
bool fpga_rc_order(struct fpga_port *port, const struct bl_packet *packet);
/* rc.c: an acknowledgement that came. */
void fpga_rc_acked(struct fpga_port *port, const struct bl_packet *packet);
/* rc.c: a request of a kind that this end does not have. */
void fpga_rc_refuse(struct fpga_port *port);
/* rc.c: acknowledge; time-outs. */
void fpga_rc_serve(struct fpga_port *port);

/* dump.c: print a packet, if that is wanted. @sent: the frame that leaves; else NULL, and @payload came. */
void fpga_dump_out(struct fpga_port *port, const struct bl_packet *packet);
void fpga_dump_in(struct fpga_port *port, const struct bl_packet *packet, const uint8_t *payload);

#endif
