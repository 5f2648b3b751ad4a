/* SPDX-License-Identifier: MIT */
/* pd.h - protection domains */
#ifndef SOFTNIC_PD_H
#define SOFTNIC_PD_H

#include "nic.h"

/* @users: memory regions and queue pairs of it */
struct bl_snic_pd {
	struct bl_snic *nic;
	uint32_t num;
	unsigned int users;
};

#endif
