/* SPDX-License-Identifier: MIT */
/*
 * arrive.h - take bytes that a device is writing out of the memory it writes to, as they come
 *
 * A device that reports the end of a transfer does so later than the last byte: it first waits until all of them are
 * visible, and sends the report behind them. Whoever looks at the bytes themselves need not wait for that. In what order
 * they come is not promised, so each word is looked at: the landing area is filled with a mark beforehand, and a word
 * that is no longer the mark has arrived. A word that was sent and happens to be the mark looks as if it had not; for it
 * the report counts.
 *
 * This needs transfers whose words of 4 bytes are aligned on both sides: byte enables of PCI Express speak of words at the
 * ends of a write only, so an aligned word comes as one. Drivers that poll completion queues in memory rely on the same.
 */
#ifndef BL_COPY_ARRIVE_H
#define BL_COPY_ARRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* exported to this project's other libraries, see barlane.map */
#define BL_ARRIVE_SHARED __attribute__((visibility("default")))

/**
 * bl_arrive() - Copy what has arrived
 * @dst:  where it goes, any alignment
 * @land: landing area, aligned to 64 bytes; what is taken out of it is set to @mark again
 * @len:  bytes, multiple of 4
 * @mark: value that the words of the area had before the transfer
 *
 * Does not wait. Copies from the start on, in pieces of up to 256 bytes, until a piece has a word that is @mark.
 * Return: bytes copied, a multiple of 64 or @len.
 */
size_t bl_arrive(void *dst, void *land, size_t len, uint32_t mark);

/* Copy all of it, without a look at the words: the device has reported. */
void bl_arrive_all(void *dst, void *land, size_t len, uint32_t mark);

/**
 * bl_arrive_look() - How much has arrived, without taking it
 * @land: landing area, aligned to 64 bytes
 * @from: bytes from its start that are known to have arrived, a multiple of 64
 * @len:  bytes of the transfer, multiple of 4
 * @mark: value that the words of the area had before the transfer
 *
 * For who uses the bytes where they are, and fills the area with the mark later. Does not wait.
 * Return: bytes that have arrived from the start on, a multiple of 64 or @len.
 */
BL_ARRIVE_SHARED size_t bl_arrive_look(const void *land, size_t from, size_t len, uint32_t mark);

/**
 * struct bl_arrive_isa - the routines for whole lines, by instruction set
 * @name:      as in docs/copy-engine.md
 * @supported: whether this CPU has it
 * @lines:     as bl_arrive(), but looks at whole lines of 64 bytes only
 * @look:      as bl_arrive_look(), likewise
 */
struct bl_arrive_isa {
	const char *name;
	bool (*supported)(void);
	size_t (*lines)(uint8_t *dst, uint8_t *land, size_t len, uint32_t mark);
	size_t (*look)(const uint8_t *land, size_t from, size_t len, uint32_t mark);
};

/* Best first; the last one, which is always supported, is followed by one without a name. */
extern const struct bl_arrive_isa bl_arrive_isas[];

/* Fill an area that no device writes to at the moment, aligned to 64 bytes, with the mark. */
BL_ARRIVE_SHARED void bl_arrive_reset(void *land, size_t len, uint32_t mark);

#endif
