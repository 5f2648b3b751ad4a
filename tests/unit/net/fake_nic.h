/* SPDX-License-Identifier: MIT */
/*
 * fake_nic.h - a provider that does nothing but remember what it was asked
 *
 * Devices "fake0" and "fake1". A second provider, "absent", has no hardware.
 */
#ifndef BL_TESTS_FAKE_NIC_H
#define BL_TESTS_FAKE_NIC_H

#include "net/nic.h"

#define FAKE_DB	       0x800
#define FAKE_NO_DBREC  0x600
#define FAKE_CQ_DB     0x20
#define FAKE_LKEY      0x12345600
#define FAKE_RKEY      0x12345678
#define FAKE_FIRST_NUM 0x40

enum fake_kind { FAKE_NIC, FAKE_PD, FAKE_MR, FAKE_UMEM, FAKE_UAR, FAKE_CQ, FAKE_SRQ, FAKE_QP, FAKE_NR_KINDS };

/**
 * struct fake - what the provider was asked, and how it shall answer
 * @caps:     what it says of itself
 * @fail_at:  call that fails, 1 is the next one after fake_reset(); 0: none
 * @error:    with this errno value
 * @calls:    how many there were
 * @last:     name of the last one
 * @live:     objects that exist
 * @memory, @iova, @uar_type, @cq, @srq, @qp, @mod, @word: arguments of the last call that had them
 * @pd_given: domain of the last call that had one
 * @info:     what a query says; the state is the queue pair's own unless @stuck
 * @kicks:    how often
 */
struct fake {
	struct bl_nic_caps caps;
	unsigned int fail_at;
	int error;
	unsigned int calls;
	const char *last;
	unsigned int live[FAKE_NR_KINDS];
	struct bl_nic_memory memory;
	uint64_t iova;
	enum doca_verbs_uar_allocation_type uar_type;
	struct bl_nic_cq_attr cq;
	struct bl_nic_srq_attr srq;
	struct bl_nic_qp_attr qp;
	struct bl_nic_qp_mod mod;
	const uint64_t *word;
	struct bl_nic_pd *pd_given;
	struct bl_nic_qp_info info;
	bool stuck;
	unsigned int kicks;
};

extern struct fake fake;

/* Start anew, with a device that can do everything. */
void fake_reset(void);

/* Objects that exist, of all kinds. */
unsigned int fake_live(void);

#endif
