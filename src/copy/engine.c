// SPDX-License-Identifier: MIT
#include "engine.h"

#include <errno.h>
#include <string.h>

static const char *const names[BL_NR_ENGINES] = {
	[BL_ENGINE_AUTO] = "auto",
	[BL_ENGINE_CPU] = "cpu",
	[BL_ENGINE_CE] = "ce",
	[BL_ENGINE_PUSH] = "push",
};

int bl_engine_parse(const char *name, enum bl_engine *engine_p)
{
	for (unsigned int i = 0; i < BL_NR_ENGINES; i++) {
		if (!strcmp(names[i], name)) {
			*engine_p = (enum bl_engine)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *bl_engine_name(enum bl_engine engine)
{
	return (unsigned int)engine < BL_NR_ENGINES ? names[engine] : "?";
}
