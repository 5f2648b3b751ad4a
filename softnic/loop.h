/* SPDX-License-Identifier: MIT */
/*
 * loop.h - short messages between two queue pairs of one NIC
 *
 * Where the transport would do no more than carry a packet to where it came from, and all before it is over, the responder of
 * the other queue pair is called, and what it says is taken at once: two packets, and what keeps watch over them, less.
 */
#ifndef SOFTNIC_LOOP_H
#define SOFTNIC_LOOP_H

#include "packet.h"
#include "qp.h"

/**
 * bl_loop_peer() - Whom a message can be handed over to
 * @qp:  sends
 * @len: of the next message to be sent, a SEND or WRITE
 *
 * On reliable connections alone, at most BL_SNIC_PEEK_MAX bytes, while nothing of @qp is under way and the other one has
 * nothing to say. Return: the other one, NULL: it goes in packets.
 */
struct bl_snic_qp *bl_loop_peer(const struct bl_snic_qp *qp, uint32_t len);

/**
 * bl_loop_ahead() - Write what a request that was just taken has to write, ahead of all else that there is to do for it
 * @qp: sends
 * @wr: the request
 *
 * Of a WRITE with inline data, when no other request is there and nothing is wrong with it; wr->ahead says that it was done.
 * The rest is done as for others, by the same pass and before anything else happens to both queue pairs.
 */
void bl_loop_ahead(struct bl_snic_qp *qp, struct bl_wr *wr);

/**
 * bl_loop_give() - Hand it over
 * @qp, @peer: both sides
 * @packet:    of it, all but its sequence number and queue pairs
 * @payload:   bytes
 *
 * Return: true: it was carried out, which need not be told; false: it was not, which comes in a packet.
 */
bool bl_loop_give(struct bl_snic_qp *qp, struct bl_snic_qp *peer, struct bl_packet *packet, const uint8_t *payload);

/* The same of a WRITE of @len bytes that was written ahead. */
void bl_loop_note(struct bl_snic_qp *qp, struct bl_snic_qp *peer, uint32_t len);

#endif
