/* SPDX-License-Identifier: MIT */
/* show_qp.h - one queue pair, written down for who looks */
#ifndef SOFTNIC_SHOW_QP_H
#define SOFTNIC_SHOW_QP_H

#include "qp.h"
#include "shown_nic.h"

void bl_show_qp(struct bl_shown_qp *to, const struct bl_snic_qp *qp);

#endif
