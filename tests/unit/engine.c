// SPDX-License-Identifier: MIT
/* Names of the copy engines, and their numbers, which programs are built with. */
#include "copy/engine.h"
#include "tap.h"

static void names_and_numbers_belong_together(void)
{
	static const char *const names[] = { "auto", "cpu", "ce", "push" };
	enum bl_engine engine = BL_ENGINE_AUTO;

	check_eq(BL_NR_ENGINES, 4);
	for (int i = 0; i < BL_NR_ENGINES; i++) {
		check_eq(bl_engine_parse(names[i], &engine), 0);
		check_eq(engine, i);
		check_str(bl_engine_name(engine), names[i]);
	}
	check_eq(BL_ENGINE_CPU, 1);
	check_eq(BL_ENGINE_CE, 2);
	check_eq(BL_ENGINE_PUSH, 3);
	check_eq(BL_COPY_FROM, 1);
}

static void other_names_are_einval(void)
{
	static const char *const others[] = { "", "CPU", "ce ", "pushed", "automatic" };
	enum bl_engine engine = BL_ENGINE_CE;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		check_eq(bl_engine_parse(others[i], &engine), -EINVAL);
	check_eq(engine, BL_ENGINE_CE);
	check_str(bl_engine_name((enum bl_engine)BL_NR_ENGINES), "?");
}

static const struct tap_test tests[] = {
	{ "names and numbers belong together", names_and_numbers_belong_together },
	{ "other names are EINVAL", other_names_are_einval },
};

TAP_MAIN(tests)
