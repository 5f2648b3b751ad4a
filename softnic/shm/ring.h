/* SPDX-License-Identifier: MIT */
/*
 * ring.h - packets from one process to another, through memory that both of them have
 *
 * One sender, one receiver. Records of any size lie one behind the other in a ring whose memory is mapped twice in a
 * row, so that none is cut in two at its end. Positions are counts of bytes since the start and never go back. Each
 * side keeps its own position for itself and shows a copy; what it reads of the other's is checked before it is used,
 * and every access lies inside the ring whatever the other side has written.
 */
#ifndef SOFTNIC_SHM_RING_H
#define SOFTNIC_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/packet.h"

#define BL_SHM_UNIT	64U /* records start at multiples of it */
#define BL_SHM_MIN_SIZE (16UL << 10)
#define BL_SHM_MAX_SIZE (1UL << 30)

/**
 * struct bl_shm_words - what the two sides tell each other
 * @head:    position behind the last record; the sender writes it
 * @tail:    position of the first record still in use; the receiver writes it
 * @asleep:  the receiver wants to be woken: it sets the word, the sender takes it
 * @starved: the sender wants to be woken when there is room: it sets the word, the receiver takes it
 *
 * Each on lines of its own: the last two hardly ever change, and stay in the caches of both.
 */
struct bl_shm_words {
	_Alignas(128) _Atomic(uint64_t) head;
	_Alignas(128) _Atomic(uint64_t) tail;
	_Alignas(128) _Atomic(uint32_t) asleep;
	_Alignas(128) _Atomic(uint32_t) starved;
};

/**
 * struct bl_shm_record - what stands in front of a payload
 * @mark:   tells a record from other bytes; depends on its position
 * @zero:   0
 * @packet: headers; its len is that of the payload
 */
struct bl_shm_record {
	uint32_t mark;
	uint32_t zero;
	struct bl_packet packet;
};

_Static_assert(sizeof(struct bl_shm_words) == 512, "the same in all processes");
_Static_assert(sizeof(struct bl_shm_record) == 96, "the same in all processes");

/**
 * struct bl_shm_ring - memory of a ring as one process sees it
 * @base:  start of the mapping
 * @len:   of the mapping
 * @words: what the two sides tell each other
 * @data:  the ring, twice in a row
 * @size:  of the ring, a power of two
 */
struct bl_shm_ring {
	void *base;
	size_t len;
	struct bl_shm_words *words;
	char *data;
	size_t size;
};

/**
 * struct bl_shm_tx - the sender's side; all zero but @ring: a new one
 * @ring:     memory; the owner keeps it
 * @head:     next record's position
 * @tail:     the receiver's, as it was last seen
 * @reserved: bytes of payload that there is room for at @head
 * @broken:   the receiver's position made no sense; nothing more can be sent
 * @to_self:  the receiver is the sender's own thread, and is not told that there is something
 */
struct bl_shm_tx {
	const struct bl_shm_ring *ring;
	uint64_t head;
	uint64_t tail;
	size_t reserved;
	bool broken;
	bool to_self;
};

/**
 * struct bl_shm_rx - the receiver's side; all zero but @ring: a new one
 * @ring: memory; the owner keeps it
 * @tail: next record's position
 * @head: the sender's, as it was last seen
 * @next: position behind the record that bl_shm_rx_next() gave
 * @told: @tail, as the sender was last told
 */
struct bl_shm_rx {
	const struct bl_shm_ring *ring;
	uint64_t tail;
	uint64_t head;
	uint64_t next;
	uint64_t told;
};

/* Where the payload of the next record goes, or NULL: no room for @len bytes yet, or tx->broken. */
void *bl_shm_tx_reserve(struct bl_shm_tx *tx, size_t len);

/* Send what was reserved; packet->len is at most that. Return: the receiver sleeps and must be woken. */
bool bl_shm_tx_commit(struct bl_shm_tx *tx, const struct bl_packet *packet);

/**
 * bl_shm_rx_next() - Look at the next record
 * @rx:	       receiver's side
 * @packet:    receives a copy of the headers
 * @payload_p: receives where packet->len bytes of payload lie, until bl_shm_rx_done(). A sender that breaks the rules
 *	       can still change them: copy first, then look
 *
 * Return: 1, 0: there is none, -EPROTO: what lies there is no record.
 */
int bl_shm_rx_next(struct bl_shm_rx *rx, struct bl_packet *packet, const void **payload_p);

/* The record is not needed any more. Return: the sender was told, waits for room and must be woken. */
bool bl_shm_rx_done(struct bl_shm_rx *rx);

/* Tell the sender of all records that are done, before looking elsewhere. Return: it must be woken. */
bool bl_shm_rx_tell(struct bl_shm_rx *rx);

/* From now on the sender wakes. Return: there is nothing, so that sleeping makes sense. */
bool bl_shm_rx_sleep(struct bl_shm_rx *rx);
void bl_shm_rx_awake(struct bl_shm_rx *rx);

#endif
