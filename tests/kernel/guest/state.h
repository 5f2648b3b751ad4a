/* SPDX-License-Identifier: MIT */
/*
 * state.h - what exists because of pins, as the module, the card and the kernel's lists tell it
 */
#ifndef BL_TESTS_KERNEL_STATE_H
#define BL_TESTS_KERNEL_STATE_H

#include <stdint.h>

/**
 * struct state - counts
 * @nr_pins:     of the module; 0 when it is not loaded
 * @nr_maps:     mappings of /dev/gdrdrv in this process
 * @nr_wc:       ranges of the card's memory that the kernel lists as write-combining
 * @card_pins:   page tables that the card gave
 * @dma_maps:    DMA mappings that it made
 * @dmabufs:     dma-bufs of it
 * @used:        bytes of its memory in use
 * @late_writes: GPU pages that changed after they had been given back
 * @misuses:     calls that the card's interface forbids
 */
struct state {
	uint64_t nr_pins;
	uint64_t nr_maps;
	uint64_t nr_wc;
	uint64_t card_pins;
	uint64_t dma_maps;
	uint64_t dmabufs;
	uint64_t used;
	uint64_t late_writes;
	uint64_t misuses;
};

/* Reads them, and all of the card's poisoned memory, through an open file of the card. */
struct state state_now(int gpu);

/* Ends the test when a count differs, and names it. */
void state_check(const struct state *got, const struct state *want);

#endif
