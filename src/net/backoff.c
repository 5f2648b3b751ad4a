// SPDX-License-Identifier: MIT
#include "net/backoff.h"

enum bl_backoff_step bl_backoff_next(struct bl_backoff *backoff, bool worked, uint32_t *us_p)
{
	if (worked) {
		backoff->idle = 0;
		backoff->sleep_us = 0;
		return BL_BACKOFF_SPIN;
	}
	if (backoff->idle < BL_BACKOFF_SPINS + BL_BACKOFF_YIELDS) {
		backoff->idle++;
		return backoff->idle <= BL_BACKOFF_SPINS ? BL_BACKOFF_SPIN : BL_BACKOFF_YIELD;
	}
	if (!backoff->sleep_us)
		backoff->sleep_us = 1;
	else if (backoff->sleep_us <= backoff->max_us / 2)
		backoff->sleep_us *= 2;
	else
		backoff->sleep_us = backoff->max_us;
	*us_p = backoff->sleep_us;
	return BL_BACKOFF_SLEEP;
}
