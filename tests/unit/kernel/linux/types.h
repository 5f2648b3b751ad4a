/* SPDX-License-Identifier: MIT */
/* the C library includes this one too */
#include_next <linux/types.h>

#include "bl_kernel.h"
