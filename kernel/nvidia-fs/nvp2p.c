// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Which functions of the GPU driver there are to be, and how long. A look-up takes longer than a pin: they are kept until
 * the last pin has gone and no node is open.
 */
#include "core.h"
#include "nvp2p.h"

/**
 * bl_nvp2p_find() - Look up the functions that pins will call
 * @nv: receives them
 *
 * Return: whether pins can be had.
 */
bool bl_nvp2p_find(struct bl_nvp2p *nv)
{
	bool persistent = bl_nvp2p_find_persistent(nv), callback = bl_nvp2p_find_callback(nv);

	return persistent || callback;
}

/**
 * bl_nvp2p_keep() - Whether functions without a user are kept
 *
 * Return: true while a node is open.
 */
bool bl_nvp2p_keep(void)
{
	return bl_file_count();
}
