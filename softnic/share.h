/* SPDX-License-Identifier: MIT */
/*
 * share.h - memory of one process that a NIC of another one may place messages from
 *
 * A sender offers its memory to the peer's NIC before it places anything from there, and sends in packets until the peer
 * has said that it has got at it. So it is the receiver who reaches into the sender's memory, and only reads: it writes
 * nobody's memory but its own, by its own keys, in the order of sequence numbers, and a peer that has died, hangs or
 * lies can spoil nothing but the bytes of its own messages.
 *
 * Packets of opcode BL_PKT_SHARE say what is about memory number @swap_add of the sender of the offer: @syndrome is one
 * of enum bl_share_word. They have no sequence number and may be lost: what is not answered is said again.
 */
#ifndef SOFTNIC_SHARE_H
#define SOFTNIC_SHARE_H

#include "mr.h"
#include "qp.h"

enum bl_share_word {
	BL_SHARE_OFFER,	 /* with BL_SNIC_SHARE_LEN bytes that say how to get at it */
	BL_SHARE_HAS,	 /* the peer has got at it */
	BL_SHARE_CANNOT, /* it cannot */
	BL_SHARE_DROP,	 /* let go of it */
	BL_SHARE_GONE	 /* the peer has let go of it */
};

enum bl_share_state { BL_SHARE_ASKED, BL_SHARE_USED, BL_SHARE_REFUSED, BL_SHARE_LEAVING };

/**
 * struct bl_share - a region, as one other NIC knows it
 * @id:    number, never 0, never given again by this NIC
 * @key:   of the region; it is gone when the state is LEAVING
 * @gid:   the other NIC
 * @asked: when the last word was said
 * @words: how often DROP was said
 */
struct bl_share {
	struct bl_share *next;
	uint64_t id;
	uint32_t key;
	uint8_t gid[BL_SNIC_GID_LEN];
	enum bl_share_state state;
	uint64_t asked;
	unsigned int words;
};

/**
 * struct bl_attach - memory of another NIC's process
 * @gid, @id: whose, and its number
 * @mem:     as the mover knows it; @mem.moved as attach() left it
 * @len:     bytes
 * @ready:   attach() is done
 * @leaving: to be let go of when @jobs is 0; @tell: and then the other NIC is told
 */
struct bl_attach {
	struct bl_attach *next;
	uint8_t gid[BL_SNIC_GID_LEN];
	uint64_t id;
	struct bl_snic_mem mem;
	size_t len;
	unsigned int jobs;
	bool ready, leaving, tell;
};

/* ---- share.c: who has the memory ---- */

/* Number of a region at the peer of a queue pair; 0: it does not have it (yet, and is asked). */
uint64_t bl_share_get(struct bl_snic_qp *qp, const struct bl_snic_mr *mr);

/* What was written to the memory of a request is there when the peer reads it. */
void bl_share_settle(struct bl_snic_qp *qp, struct bl_wr *wr);

/* The region goes: tell all peers; then wait, a fifth of a second at most, until they have let go. */
void bl_share_drop(struct bl_snic *nic, uint32_t key);
void bl_share_wait(struct bl_snic *nic, uint32_t key);

/* A packet of opcode BL_PKT_SHARE. */
void bl_share_receive(struct bl_snic_qp *qp, const struct bl_packet *packet, const uint8_t *payload);

/* The queue pair does not know its peer any more; with the last one of that NIC goes all that it shares. */
void bl_share_part(struct bl_snic_qp *qp);

/* What is due. Return: how much it was. */
int bl_shares_serve(struct bl_snic *nic);

/* Let go of everything; and what is only memory. */
void bl_shares_close(struct bl_snic *nic);
void bl_shares_free(struct bl_snic *nic);

/* Say a word to the peer. False: the way is full. */
bool bl_share_say(struct bl_snic_qp *qp, enum bl_share_word word, uint64_t id, const uint8_t *bytes);

/* A queue pair whose peer is on that NIC; NULL: there is none. */
struct bl_snic_qp *bl_share_way(struct bl_snic *nic, const uint8_t *gid);

/* ---- share_attach.c: who reads it ---- */

/* Memory that can be placed from. NULL: there is none of that number. */
struct bl_attach *bl_attach_find(struct bl_snic_qp *qp, uint64_t id);

void bl_attach_offered(struct bl_snic_qp *qp, uint64_t id, const uint8_t *bytes);
void bl_attach_dropped(struct bl_snic_qp *qp, uint64_t id);

/* All of a NIC, or of all where @gid is NULL, without a word. */
void bl_attach_leave(struct bl_snic *nic, const uint8_t *gid);

/* Let go of what is to be. Return: how much it was. */
int bl_attach_serve(struct bl_snic *nic);

#endif
