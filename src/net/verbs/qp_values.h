/* SPDX-License-Identifier: MIT */
/* qp_values.h - attributes of a queue pair, from the program's form to the NIC's */
#ifndef BL_NET_VERBS_QP_VALUES_H
#define BL_NET_VERBS_QP_VALUES_H

#include "../nic.h"
#include "attr.h"

/**
 * bl_qp_values_take() - Check the values of a move and take them over
 * @attr: values of the program
 * @mask: DOCA_VERBS_QP_ATTR_*: which of them
 * @caps: of the device
 * @mod:  holds what was set before; changed on success and on failure
 *
 * An atomic mode other than NONE counts without its bit, as in release 2, which has none.
 * Return: 0, or -EINVAL with the reason.
 */
int bl_qp_values_take(const struct doca_verbs_qp_attr *attr, uint32_t mask, const struct bl_nic_caps *caps,
		      struct bl_nic_qp_mod *mod);

/* The other way round. The way to the peer goes to attr->ah_attr, when there is one. */
void bl_qp_values_give(const struct bl_nic_qp_mod *mod, struct doca_verbs_qp_attr *attr);

#endif
