/* SPDX-License-Identifier: MIT */
/*
 * nic.h - NICs that only remember, for tests of what a GPU is shown
 *
 * "cpu0" is a CPU that looks at a queue pair's word itself; "dma0" is hardware that does neither.
 */
#ifndef TESTS_EMU_NET_GPU_NIC_H
#define TESTS_EMU_NET_GPU_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "net/nic.h"

#define NIC_DB	     0x800
#define NIC_NO_DBREC 0x600
#define NIC_CQ_DB    0x20

/**
 * struct test_nic - how it shall answer, and what it was asked
 * @fail_at:   call that fails, 1 is the next; 0: none
 * @calls:     how many there were
 * @live:      objects that exist
 * @no_dedicated: it has no doorbell page of its own for an object
 * @state, @syndrome, @vendor, @wqe_counter, @responder, @text: what it says of queue pairs
 * @cq, @qp:   arguments of the last creation
 * @memory:    the same of memory; @dmabufs: how often it was a dma-buf
 * @word:      that it watches
 * @uar_types: types of pages that were made, one bit each
 * @new_uar:   called with each page of doorbells; NULL: nothing
 * @kicks:     how often
 */
struct test_nic {
	unsigned int fail_at;
	unsigned int calls;
	int live;
	bool no_dedicated;
	enum doca_verbs_qp_state state;
	uint8_t syndrome;
	uint8_t vendor;
	uint16_t wqe_counter;
	bool responder;
	const char *text;
	struct bl_nic_cq_attr cq;
	struct bl_nic_qp_attr qp;
	struct bl_nic_qp_mod mod;
	struct bl_nic_memory memory;
	unsigned int dmabufs;
	const uint64_t *word;
	unsigned int uar_types;
	void (*new_uar)(char *page);
	unsigned int kicks;
};

extern struct test_nic test_nic;

#endif
