// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "gpu/find: " fmt
#include <errno.h>

#include "core.h"
#include "util/log.h"
#include "view.h"

int bl_pin_find(const void *addr, bl_pin_t *pin_p, uint64_t *off_p)
{
	uint64_t id, off = 0;
	int ret;

	if (!pin_p)
		return fail(EINVAL, "find: no place for the handle");
	ret = bl_check_owner();
	if (ret)
		return ret;
	bl_table_lock();
	id = bl_view_at(addr, &off);
	bl_table_unlock();
	if (!id)
		/* a question that may well be answered with no: not logged as an error */
		return fail_quiet(ENOENT, "find: no mapping holds addr %p", addr);
	*pin_p = id;
	if (off_p)
		*off_p = off;
	return 0;
}
