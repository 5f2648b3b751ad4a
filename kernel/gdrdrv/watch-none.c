// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * In place of common/watch.c when linked to the closed GPU driver: what tells of devices that go is for GPL use only.
 */
#include "watch.h"

void bl_watch_init_one(struct bl_watch *watch)
{
}

void bl_watch_add(struct bl_watch *watch)
{
}

void bl_watch_end_slow(struct bl_watch *watch)
{
}

void bl_watch_remove(struct bl_watch *watch)
{
}

int bl_watch_init(bl_watch_fn *fn)
{
	return 0;
}

void bl_watch_exit(void)
{
}
