// SPDX-License-Identifier: MIT
/* The one place that names the providers; a test has a table of its own. */
#include "nic.h"

const struct bl_nic_ops *const bl_nic_providers[] = {
	&bl_nic_mlx5,
	&bl_nic_verbs,
	&bl_nic_soft,
	NULL,
};
