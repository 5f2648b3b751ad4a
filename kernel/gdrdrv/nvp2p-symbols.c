// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Which functions of the GPU driver there are to be: only what pins will call, and only while something is pinned. Each
 * look-up searches the kernel and all modules, and a pin that is alone waits for them.
 */
#include "core.h"
#include "nvp2p.h"

const char bl_nvp2p_flavor[] = "opensource";

/**
 * bl_nvp2p_find() - Look up the functions that pins will call
 * @nv: receives them
 *
 * Return: whether pins can be had.
 */
bool bl_nvp2p_find(struct bl_nvp2p *nv)
{
	if (bl_use_persistent && bl_nvp2p_find_persistent(nv))
		return true;
	if (!bl_nvp2p_find_callback(nv))
		return false;
	if (bl_use_persistent)
		bl_nvp2p_find_cap(nv);
	return true;
}

/**
 * bl_nvp2p_keep() - Whether functions without a user are kept
 *
 * Return: false.
 */
bool bl_nvp2p_keep(void)
{
	return false;
}
