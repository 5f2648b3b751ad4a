/* SPDX-License-Identifier: MIT */
/* engine.h - names of the copy engines */
#ifndef BL_COPY_ENGINE_H
#define BL_COPY_ENGINE_H

#include "barlane.h"

#define BL_NR_ENGINES (BL_ENGINE_PUSH + 1)
#define BL_NR_DIRS    (BL_COPY_FROM + 1)

/**
 * bl_engine_parse() - Engine by name
 * @name:     "auto", "cpu", "ce" or "push"
 * @engine_p: receives it
 *
 * Return: 0 or -EINVAL.
 */
int bl_engine_parse(const char *name, enum bl_engine *engine_p);

/* Name of an engine, "?" for what is none. */
const char *bl_engine_name(enum bl_engine engine);

#endif
