// SPDX-License-Identifier: MIT
#include "barlane.h"

const char *bl_version(void)
{
	return BL_VERSION;
}
