// SPDX-License-Identifier: MIT
/* CPUs whose instructions are not made use of. */
#include "crc_isa.h"

uint32_t (*bl_roce_crc_isa(void))(uint32_t reg, const void *bytes, size_t len)
{
	return NULL;
}
