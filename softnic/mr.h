/* SPDX-License-Identifier: MIT */
/* mr.h - memory regions and the check of every access; the lock is held */
#ifndef SOFTNIC_MR_H
#define SOFTNIC_MR_H

#include "nic.h"

struct bl_snic_mr {
	struct bl_snic *nic;
	struct bl_snic_pd *pd;
	struct bl_snic_mem mem;
	uint64_t iova;
	size_t len;
	unsigned int access;
	uint32_t key;
	unsigned int jobs; /* that movers have in it */
};

/**
 * struct bl_mr_span - what a work request or a packet wants to reach
 * @pd:	    of its queue pair
 * @key:    lkey or rkey
 * @addr, @len: bytes; @len > 0
 * @access: BL_SNIC_* that it needs; 0: local read
 */
struct bl_mr_span {
	const struct bl_snic_pd *pd;
	uint32_t key;
	uint64_t addr;
	uint64_t len;
	unsigned int access;
};

/**
 * bl_mr_check() - Whether a key gives access
 * @nic:   NIC
 * @span:  what is wanted
 * @mr_p:  receives the region
 * @off_p: receives where the span begins in it
 *
 * Return: NULL, or why not: a text that never goes away.
 */
const char *bl_mr_check(struct bl_snic *nic, const struct bl_mr_span *span, struct bl_snic_mr **mr_p, uint64_t *off_p);

#endif
