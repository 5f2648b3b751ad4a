// SPDX-License-Identifier: MIT
#include "ring.h"

#include <errno.h>
#include <string.h>

/*
 * Two pairs of words are written by one side each and must never be missed by both:
 *
 *	sender			receiver		sender			receiver
 *	head = new		asleep = 1		starved = 1		tail = new
 *	read asleep		read head		read tail		read starved
 *
 * All eight are sequentially consistent, so there is one order of them that both sides see: of the two that write a
 *word and then read the other's, the later one reads what the earlier one wrote. The sender finds the receiver asleep,
 *or the receiver finds the record and does not sleep; the same with room. On x86 that makes the stores locked
 *exchanges; with weaker ones each side could read the old value while its own store still waits in its store buffer.
 */

static size_t record_size(size_t len)
{
	return (sizeof(struct bl_shm_record) + len + BL_SHM_UNIT - 1) & ~(size_t)(BL_SHM_UNIT - 1);
}

static uint32_t mark_at(uint64_t position)
{
	return 0x736e6963U ^ (uint32_t)(position / BL_SHM_UNIT);
}

static struct bl_shm_record *record_at(const struct bl_shm_ring *ring, uint64_t position)
{
	return (struct bl_shm_record *)(void *)(ring->data + (position & (ring->size - 1)));
}

static bool has_room(const struct bl_shm_tx *tx, size_t need)
{
	return tx->ring->size - (size_t)(tx->head - tx->tail) >= need;
}

/* The tail goes forward and never past the head. Acquire: the receiver has read what will now be overwritten. */
static void look_at_tail(struct bl_shm_tx *tx)
{
	uint64_t tail = atomic_load(&tx->ring->words->tail);

	if (tx->head - tail > tx->head - tx->tail || tail % BL_SHM_UNIT)
		tx->broken = true;
	else
		tx->tail = tail;
}

/* What is known of the tail is not enough. */
static bool __attribute__((noinline)) find_room(struct bl_shm_tx *tx, size_t need)
{
	look_at_tail(tx);
	if (tx->broken || has_room(tx, need))
		return !tx->broken;
	atomic_store(&tx->ring->words->starved, 1);
	look_at_tail(tx);
	if (tx->broken || !has_room(tx, need))
		return false;
	atomic_store_explicit(&tx->ring->words->starved, 0, memory_order_relaxed);
	return true;
}

void *bl_shm_tx_reserve(struct bl_shm_tx *tx, size_t len)
{
	if (tx->broken || len > tx->ring->size - sizeof(struct bl_shm_record))
		return NULL;
	if (!has_room(tx, record_size(len)) && !find_room(tx, record_size(len)))
		return NULL;
	tx->reserved = len;
	return record_at(tx->ring, tx->head) + 1;
}

bool bl_shm_tx_commit(struct bl_shm_tx *tx, const struct bl_packet *packet)
{
	struct bl_shm_record *record = record_at(tx->ring, tx->head);
	struct bl_shm_words *words = tx->ring->words;

	record->mark = mark_at(tx->head);
	record->zero = 0;
	record->packet = *packet;
	tx->head += record_size(packet->len);
	if (tx->to_self) {
		/* who receives is this thread, or one that comes after it under the same lock, and not asleep */
		atomic_store_explicit(&words->head, tx->head, memory_order_release);
		return false;
	}
	/* also a release: the record before the head */
	atomic_store(&words->head, tx->head);
	return atomic_load(&words->asleep) && atomic_exchange(&words->asleep, 0);
}

int bl_shm_rx_next(struct bl_shm_rx *rx, struct bl_packet *packet, const void **payload_p)
{
	const struct bl_shm_record *record = record_at(rx->ring, rx->tail);
	uint64_t left = rx->head - rx->tail;
	struct bl_shm_record copy;

	if (!left) {
		/* acquire: the records before the head were written before it */
		rx->head = atomic_load_explicit(&rx->ring->words->head, memory_order_acquire);
		left = rx->head - rx->tail;
		if (!left)
			return 0;
		if (left > rx->ring->size || left % BL_SHM_UNIT) {
			/* nothing of it is believed, next time neither */
			rx->head = rx->tail;
			return -EPROTO;
		}
	}
	memcpy(&copy, record, sizeof(copy));
	/* the compiler must not read the record once more: it may have changed behind the checks */
	__asm__ volatile("" ::: "memory");
	if (copy.mark != mark_at(rx->tail) || copy.zero || copy.packet.len > rx->ring->size - sizeof(copy) ||
	    record_size(copy.packet.len) > left)
		return -EPROTO;
	*packet = copy.packet;
	*payload_p = record + 1;
	rx->next = rx->tail + record_size(copy.packet.len);
	return 1;
}

bool bl_shm_rx_tell(struct bl_shm_rx *rx)
{
	struct bl_shm_words *words = rx->ring->words;

	if (rx->told == rx->tail)
		return false;
	rx->told = rx->tail;
	/* also a release: what was read of the records before their room is given back */
	atomic_store(&words->tail, rx->tail);
	return atomic_load(&words->starved) && atomic_exchange(&words->starved, 0);
}

bool bl_shm_rx_done(struct bl_shm_rx *rx)
{
	rx->tail = rx->next;
	/* often enough that the sender need not stop, seldom enough that the line of the tail does not go back and
	 * forth */
	return rx->tail - rx->told >= rx->ring->size / 8 && bl_shm_rx_tell(rx);
}

bool bl_shm_rx_sleep(struct bl_shm_rx *rx)
{
	atomic_store(&rx->ring->words->asleep, 1);
	return atomic_load(&rx->ring->words->head) == rx->tail;
}

void bl_shm_rx_awake(struct bl_shm_rx *rx)
{
	/* a sender that has taken it meanwhile wakes for nothing, which does no harm */
	atomic_store_explicit(&rx->ring->words->asleep, 0, memory_order_relaxed);
}
