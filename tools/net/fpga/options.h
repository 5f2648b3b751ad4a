/* SPDX-License-Identifier: MIT */
/* options.h - command line of fpga_peer */
#ifndef TOOLS_NET_FPGA_OPTIONS_H
#define TOOLS_NET_FPGA_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define FPGA_MAX_SIZE  (1U << 20)
#define FPGA_MAX_SIZES 16
#define FPGA_ANY       UINT64_MAX /* of a number: not given */

/**
 * struct fpga_options - what the user asked for
 * @server:  host of gpunetio_forward, which numbers are exchanged with; NULL: they are all given
 * @port:    its TCP port
 * @nic:     "soft_" and the name of an interface
 * @gid:     index of the own address; -1: the first of IPv4, else one that is not link-local
 * @mtu:     largest path MTU; 0: the port's
 * @uc:      unreliable connection
 * @imm:     frames are RDMA writes with an immediate
 * @frames:  of each size
 * @sizes, @nr_sizes: bytes of frames
 * @rate:    frames a second; 0: as answers come
 * @gbps:    the same as bits of payload, 10^9 a second; 0: not given
 * @burst:   frames that leave together
 * @window:  frames under way at most; 0: no limit
 * @wait_ms: so long without an answer: what is under way is lost
 * @timeout_s: longest wait for the server
 * @spin:    poll, do not sleep
 * @one_way: nothing comes back
 * @dump:    packets of either direction to print
 * @max_lost: lost frames that are no failure
 * @json:    file, or NULL
 * @out:     where text goes
 * @to:      the peer's address
 * @dest_qpn, @dest_psn: number of its queue pair, and of the first packet from there
 * @qpn, @psn: own ones
 * @raddr, @rkey, @slots, @page: memory that frames are written to
 * @tclass, @hop_limit, @sport: of IP and UDP headers
 * @mac, @has_mac: Ethernet address that packets go to
 */
struct fpga_options {
	const char *server;
	uint16_t port;
	const char *nic;
	int gid;
	uint32_t mtu;
	bool uc;
	bool imm;
	uint64_t frames;
	uint32_t sizes[FPGA_MAX_SIZES];
	unsigned int nr_sizes;
	uint64_t rate;
	double gbps;
	uint32_t burst;
	uint32_t window;
	uint32_t wait_ms;
	uint32_t timeout_s;
	bool spin;
	bool one_way;
	uint32_t dump;
	uint64_t max_lost;
	const char *json;
	FILE *out;
	uint8_t to[16];
	uint64_t dest_qpn, dest_psn, qpn, psn;
	uint64_t raddr, rkey, slots, page;
	uint8_t tclass;
	uint8_t hop_limit;
	uint64_t sport;
	uint8_t mac[6];
	bool has_mac;
};

/* Reads the command line; ends the program with a message when it makes no sense. */
void fpga_options_parse(int argc, char **argv, struct fpga_options *options);

#endif
