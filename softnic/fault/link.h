/* SPDX-License-Identifier: MIT */
/* link.h - a link over another that injects faults */
#ifndef SOFTNIC_FAULT_LINK_H
#define SOFTNIC_FAULT_LINK_H

#include "flow.h"
#include "held.h"
#include "softnic/transport.h"

/* Order of the words that are counted into. */
enum bl_fault_kind {
	BL_FAULT_DROPPED,
	BL_FAULT_DELAYED,
	BL_FAULT_DOUBLED,
	BL_FAULT_NAKED,
	BL_FAULT_CORRUPTED
};

/**
 * struct bl_snic_path - path of the transport below
 * @link:  owner
 * @next:  in its list
 * @below: the path
 * @gid:   where it goes
 * @refs:  times it was opened
 * @flows: what left over it
 */
struct bl_snic_path {
	struct bl_snic_link *link;
	struct bl_snic_path *next;
	struct bl_snic_path *below;
	uint8_t gid[16];
	unsigned int refs;
	struct bl_flows flows;
};

/**
 * struct bl_snic_link - link of the transport below, with faults
 * @table:   operations of this one
 * @ops:     of the transport below
 * @below:   its link
 * @fault:   what is wanted
 * @counts:  of enum bl_fault_kind
 * @dice:    state of the generator for what arrives
 * @spoiler: the same for what leaves
 * @arrived: packets that came from below
 * @quiet:   polls in a row that found nothing
 * @held:    packets that arrive later, after others
 * @slow:    packets that arrive later, by the clock
 * @paths:   all paths
 * @fn, @arg: of the poll() that runs
 * @budget:  packets that it may hand out
 * @handed:  packets that it has handed out
 */
struct bl_snic_link {
	struct bl_snic_transport_ops table;
	const struct bl_snic_transport_ops *ops;
	struct bl_snic_link *below;
	struct bl_snic_fault fault;
	uint64_t *counts;
	uint64_t dice;
	uint64_t spoiler;
	uint64_t arrived;
	unsigned int quiet;
	struct bl_held_list held;
	struct bl_held_list slow;
	struct bl_snic_path *paths;
	bl_snic_receive_fn *fn;
	void *arg;
	unsigned int budget;
	unsigned int handed;
};

/* pass.c: what goes to the transport below as it is, where that has it. */
void bl_fault_pass(struct bl_snic_link *link);

#endif
