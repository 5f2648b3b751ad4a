/* SPDX-License-Identifier: MIT */
/*
 * show.h - a NIC writes down what it is doing for who looks at the process: "barlane dump"
 *
 * In passes, once in BL_SHOW_NS and after calls and failures, some queue pairs in a pass; never more for it than a pass
 * has to do anyway. The lock is held.
 */
#ifndef SOFTNIC_SHOW_H
#define SOFTNIC_SHOW_H

#include "nic.h"

#define BL_SHOW_NS	10000000ULL
#define BL_SHOW_SOON_NS 1000000ULL

/* Memory for it; that there is none is no error. */
void bl_show_open(struct bl_snic *nic);
void bl_show_close(struct bl_snic *nic, bool is_child);

/* It is time. */
void bl_show(struct bl_snic *nic);

/* In each pass. */
static inline void bl_show_if_due(struct bl_snic *nic)
{
	if (__builtin_expect(nic->now >= nic->show.due, 0))
		bl_show(nic);
}

/* There was a call: objects may have come or gone. */
static inline void bl_show_changed(struct bl_snic *nic)
{
	nic->show.changed = true;
	if (nic->show.due > nic->show.begun + BL_SHOW_SOON_NS)
		nic->show.due = nic->show.begun + BL_SHOW_SOON_NS;
}

#endif
