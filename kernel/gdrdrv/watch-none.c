// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * In place of common/watch.c when linked to the closed GPU driver: what tells of devices that go is for GPL use only.
 */
#include "watch.h"

unsigned long bl_watch_events(void)
{
	return 0;
}

bool bl_watch_add(struct list_head *watch, unsigned long events)
{
	return true;
}

void bl_watch_remove(struct list_head *watch)
{
}

int bl_watch_init(bl_watch_fn *fn)
{
	return 0;
}

void bl_watch_exit(void)
{
}
