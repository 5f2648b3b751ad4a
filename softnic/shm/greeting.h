/* SPDX-License-Identifier: MIT */
/*
 * greeting.h - the few messages that go over the socket of a connection
 *
 * The sender of packets connects and greets, with the descriptor of the ring that it has made. Nothing is answered, and
 * it may use the ring at once; a receiver that does not want it says why and hangs up. From then on each side sends one
 * byte to wake the other, and the end of the connection tells that the other is gone. Messages are records of a
 * SOCK_SEQPACKET socket.
 *
 * Why a byte and not an eventfd: the sockets are there already to tell of a peer's death, one descriptor wakes for
 * both; and an eventfd is one open file for both sides, of which a peer could make writes block.
 */
#ifndef SOFTNIC_SHM_GREETING_H
#define SOFTNIC_SHM_GREETING_H

#include <stdint.h>

#include "address.h"

#define BL_SHM_VERSION 1

/**
 * struct bl_shm_greeting - first message of a connection; a descriptor comes with it
 * @magic:     BL_SHM_MAGIC
 * @version:   BL_SHM_VERSION; anything else is refused
 * @size:      of this struct
 * @gid:       of the sender
 * @ring_size: of its ring
 * @page_size: that it lays out its memory with
 * @packet_size: of struct bl_packet
 */
struct bl_shm_greeting {
	uint32_t magic;
	uint16_t version;
	uint16_t size;
	uint8_t gid[BL_SHM_GID_LEN];
	uint64_t ring_size;
	uint32_t page_size;
	uint32_t packet_size;
};

#define BL_SHM_MAGIC 0x6d687362U

/* Send the greeting with the ring's descriptor. Return: 0, -EPIPE: the receiver has hung up, other -errno. */
int bl_shm_greet(int sock, const uint8_t gid[BL_SHM_GID_LEN], uint64_t ring_size, int ring_fd);

/**
 * bl_shm_greeted() - Take a greeting
 * @sock:     a connection that was accepted
 * @greeting: receives it, checked but for the ring's size
 * @fd_p:     receives the ring's descriptor; the caller closes it with bl_shm_fd_close()
 *
 * Return: 0, -EAGAIN: not there yet, -ECONNRESET: hung up; logged: -EPROTO, -EMFILE, other -errno.
 */
int bl_shm_greeted(int sock, struct bl_shm_greeting *greeting, int *fd_p);

/* Tell a peer why the connection ends. Never waits. */
void bl_shm_refuse(int sock, int err);

/* Wake a peer. Never waits; one that has not read earlier bytes is awake. */
void bl_shm_wake(int sock);

/**
 * bl_shm_hear() - Read all that a peer has sent after its greeting
 * @sock: connection
 * @woken_p: set when there were bytes to wake
 *
 * Return: 0, -ECONNRESET: it hung up or is gone, another -errno: it refused, and that is why.
 */
int bl_shm_hear(int sock, bool *woken_p);

#endif
