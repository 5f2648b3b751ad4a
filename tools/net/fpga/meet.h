/* SPDX-License-Identifier: MIT */
/* meet.h - what fpga_peer and gpunetio_forward tell each other over TCP */
#ifndef TOOLS_NET_FPGA_MEET_H
#define TOOLS_NET_FPGA_MEET_H

#include "net/fpga/port.h"

/**
 * fpga_meet() - Tell the server what is coming, and exchange the ends of the connection
 * @port:  open; receives the peer and the memory that it has for frames, and is connected
 * @sock_p: receives the socket; -1 as long as there is none
 *
 * Return: 0, or -errno with tool_why().
 */
int fpga_meet(struct fpga_port *port, int *sock_p);

/* The same without a server: what the options say. */
int fpga_meet_nobody(struct fpga_port *port);

/* All is done. @ret: how it went; a failure is told to the server. Return: 0, or -errno with tool_why(). */
int fpga_leave(const struct fpga_options *options, int sock, int ret);

#endif
