// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The kernel's list of memory types. On x86 a page outside RAM is mapped as the list says and not as we ask, so a
 * write-combining mapping must have its addresses listed as such. Other architectures keep no list.
 */
#include "core.h"

#include <linux/io.h>

static void free_first(const struct bl_pin *pin, u64 len)
{
	const struct bl_run *run;

	for (run = pin->runs.run; len; run++) {
		u64 part = min(len, run->len);

		arch_io_free_memtype_wc(run->pa, part);
		len -= part;
	}
}

/**
 * bl_memtype_reserve() - List the first bytes of a pin as write-combining
 * @pin: the pin; its lock is held
 * @len: bytes, whole pages inside the pin
 *
 * Return: 0 or -errno (listed as something else already).
 */
int bl_memtype_reserve(struct bl_pin *pin, u64 len)
{
	const struct bl_run *run;
	u64 done = 0;
	int ret;

	for (run = pin->runs.run; done < len; run++) {
		u64 part = min(len - done, run->len);

		ret = arch_io_reserve_memtype_wc(run->pa, part);
		if (ret) {
			free_first(pin, done);
			return ret;
		}
		done += part;
	}
	pin->memtype_len = len;
	return 0;
}

/**
 * bl_memtype_free() - Take back what bl_memtype_reserve() did, if it did
 * @pin: the pin; its lock is held, and nothing shows it any more
 */
void bl_memtype_free(struct bl_pin *pin)
{
	free_first(pin, pin->memtype_len);
	pin->memtype_len = 0;
}
