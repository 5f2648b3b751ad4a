/* SPDX-License-Identifier: MIT */
/* wire.h - what client and server tell each other beside the NIC: messages over TCP, each wait with a deadline */
#ifndef TOOLS_NET_WIRE_H
#define TOOLS_NET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of messages; both ends are of one byte order, which the first word of a message shows. */
enum net_kind {
	NET_HELLO = 1,	 /* client: what it is about to do */
	NET_REGION = 2,	 /* memory that the other end writes */
	NET_PEER = 3,	 /* end of a connection */
	NET_BARRIER = 4, /* got so far */
	NET_VERDICT = 5, /* server: whether the bytes were right */
	NET_ALIVE = 6,	 /* still at it; skipped by who waits for something else */
	NET_ERROR = 7,	 /* gives up, and why */
	NET_END = 8,	 /* done with everything */
};

/**
 * net_listen() - Begin to listen on all addresses
 * @port: TCP port; 0: any
 * @local: of this machine only
 *
 * Return: socket, or -errno with tool_why().
 */
int net_listen(uint16_t port, bool local);

/* Port of a socket that listens. */
uint16_t net_listen_port(int fd);

/**
 * net_accept() - Wait for the one client; the socket that listened is closed, whether one came or not
 *
 * Return: socket, or -errno with tool_why() (-ETIMEDOUT).
 */
int net_accept(int fd, unsigned int timeout_s);

/**
 * net_connect() - Connect to a server
 * @host:  its name or address
 * @port:  TCP port
 * @again: again and again until it listens; else it is one that does, or has ended
 * @timeout_s: longest wait
 *
 * Return: socket, or -errno with tool_why().
 */
int net_connect(const char *host, uint16_t port, bool again, unsigned int timeout_s);

/**
 * net_send() - Send a message
 * @fd:	  socket
 * @kind: what it is
 * @data: @len bytes
 * @timeout_s: longest wait
 *
 * Return: 0, or -errno with tool_why().
 */
int net_send(int fd, enum net_kind kind, const void *data, size_t len, unsigned int timeout_s);

/**
 * net_recv() - Wait for a message of one kind and size
 *
 * The time counts anew from each message NET_ALIVE. Return: 0, or -errno with tool_why(): -ETIMEDOUT, -ECONNRESET (the
 * peer has ended), -EPROTO (another message), -ECANCELED (NET_ERROR: tool_why() has the peer's words; or a signal).
 */
int net_recv(int fd, enum net_kind kind, void *data, size_t len, unsigned int timeout_s);

/* Tell the peer why this end gives up; nothing is done about failures. */
void net_send_error(int fd, const char *text);

/* Whether the peer has ended or gives up; does not wait. 0, or -errno with tool_why(). */
int net_peer_check(int fd);

/* Kind of the message that is there to be received, 0: none; does not wait. Or -errno with tool_why(). */
int net_peek(int fd);

/* Both ends have got so far. */
int net_barrier(int fd, unsigned int timeout_s);

/* SIGINT and SIGTERM end waits from now on; the number of the signal that came, or 0. */
void net_catch_signals(void);
int net_signal(void);

/*
 * -ECANCELED with tool_why() when a signal came, or 0. It is the cause to name: the other end of --self may have seen the
 * signal first, and all that this one sees is that it is gone.
 */
int net_interrupted(void);

#endif
