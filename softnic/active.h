/* SPDX-License-Identifier: MIT */
/*
 * active.h - queue pairs that have something to do
 *
 * A pass serves those. Of the others, which wait for a doorbell and nothing else, it looks at the doorbells of a few, in
 * turn: so their number does not hold up the ones that are in use. One that has gone quiet is served for some time still,
 * since it most often goes on.
 */
#ifndef SOFTNIC_ACTIVE_H
#define SOFTNIC_ACTIVE_H

#include "qp.h"

/* Something has happened to it, or may have: it is served from now on. */
void bl_active_wake(struct bl_snic_qp *qp);

/* It goes away. */
void bl_active_forget(struct bl_snic_qp *qp);

/* Look at the doorbells of some that are quiet. When nic->unseen is 0 then, all were looked at since anything was done. */
void bl_active_scan(struct bl_snic *nic);

/* After one was served: whether it leaves the list. *@link is its place there, @before the one before it, or NULL. */
bool bl_active_rest(struct bl_snic_qp **link, struct bl_snic_qp *before);

#endif
