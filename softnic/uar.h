/* SPDX-License-Identifier: MIT */
/* uar.h - doorbell pages */
#ifndef SOFTNIC_UAR_H
#define SOFTNIC_UAR_H

#include "nic.h"

/*
 * @users: queue pairs that use it
 * @owner: the queue pair that has the register without record for itself, or NULL
 */
struct bl_snic_uar {
	struct bl_snic *nic;
	uint32_t id;
	unsigned int users;
	const struct bl_snic_qp *owner;
	void *page;
};

#endif
