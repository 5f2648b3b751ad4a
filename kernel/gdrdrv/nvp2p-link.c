// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The GPU driver's functions at link time, for the closed driver: its symbols may not be looked up at run time. The
 * kernel keeps the driver loaded as long as this module is. Built for drivers that have persistent pages.
 */
#include "core.h"
#include "nvp2p.h"

const char bl_nvp2p_flavor[] = "proprietary";

static const struct bl_nvp2p linked = {
	.get_pages = nvidia_p2p_get_pages,
	.put_pages = nvidia_p2p_put_pages,
	.free_page_table = nvidia_p2p_free_page_table,
	.get_pages_persistent = nvidia_p2p_get_pages_persistent,
	.put_pages_persistent = nvidia_p2p_put_pages_persistent,
};

int bl_nvp2p_take(const struct bl_nvp2p **nv_p)
{
	*nv_p = &linked;
	return 0;
}

void bl_nvp2p_drop(void)
{
}
