// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* What happens at a chosen call. */
#include <linux/delay.h>

#include "card.h"

struct bl_knobs bl_knobs = {
	.fail_errno = ENOMEM,
	.page_table_version = NVIDIA_P2P_PAGE_TABLE_V2,
	.page_size = NVIDIA_P2P_PAGE_SIZE_64KB,
	.persistent = true,
	.force_bar1 = true,
	.poison_max_mib = 256,
};

/* Counts one call; bl_rm held. Whether this is the one. */
bool bl_knob_fires(struct bl_knob *knob)
{
	return knob->left && !--knob->left;
}

int bl_knob_fail(struct bl_knob *knob)
{
	return bl_knob_fires(knob) ? -(int)bl_knobs.fail_errno : 0;
}

void bl_knob_delay(const u32 *ms)
{
	u32 wait = READ_ONCE(*ms);

	if (wait)
		msleep(wait);
}
