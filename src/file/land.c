// SPDX-License-Identifier: MIT
#include "land.h"

#include "copy/arrive.h"
#include "pinned.h"
#include "util/clock.h"

/* Any value does; one that nobody else has is seldom sent. */
static uint32_t another(uint32_t mark)
{
	return ((uint32_t)bl_now_ns() ^ mark) * 2654435761U | 1;
}

static size_t lines(size_t len)
{
	return (len + BL_LAND_LINE - 1) & ~(BL_LAND_LINE - 1);
}

bool bl_land_open(const struct bl_cuda *cuda, struct bl_land *land)
{
	if (land->memory || land->none)
		return land->memory;
	land->memory = bl_pinned_new(cuda, BL_LAND_SIZE);
	land->none = !land->memory;
	if (land->none)
		return false;
	land->mark = another(0);
	bl_arrive_reset(land->memory, BL_LAND_SIZE, land->mark);
	return true;
}

void bl_land_tidy(struct bl_land *land)
{
	if (land->before.len)
		bl_arrive_reset(land->memory + land->before.at, land->before.len, land->mark);
	land->before.len = 0;
}

unsigned char *bl_land_take(struct bl_land *land, size_t len)
{
	size_t room = lines(len), at = land->next + room <= BL_LAND_SIZE ? land->next : 0;

	/* of a request that ended too early */
	bl_land_tidy(land);
	land->before = land->used;
	land->used = (struct bl_land_range){ .at = at, .len = room };
	land->next = at + room;
	return land->memory + at;
}

/* Of the last line of a range, what no transfer used is marked with the range. */
void bl_land_choose(struct bl_land *land)
{
	size_t past = land->used.at + land->used.len;

	land->mark = another(land->mark);
	land->before.len = 0;
	bl_arrive_reset(land->memory, land->used.at, land->mark);
	bl_arrive_reset(land->memory + past, BL_LAND_SIZE - past, land->mark);
}
