// SPDX-License-Identifier: MIT
/* A program that is linked with -lgdrapi and -lbarlane starts, and every declared function is there. */
#include "barlane_batch.h"
#include "gdrapi.h"
#include "tap.h"

static void a_linked_program_gets_version_2_6(void)
{
	int major = 0, minor = 0;

	gdr_runtime_get_version(&major, &minor);
	check_eq(major, 2);
	check_eq(minor, 6);
}

static void a_linked_program_gets_errors_not_crashes(void)
{
	const char *str = NULL;
	gdr_mh_t none = {0};

	check_eq(gdr_close(NULL), EINVAL);
	check_eq(gdr_unpin_buffer(NULL, none), EINVAL);
	check_eq(gdr_copy_to_mapping(none, &none, &none, 1), EINVAL);
	check_eq(gdr_copy_from_mapping(none, &none, &none, 1), EINVAL);
	check_eq(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_WC, &str), 0);
	check_str(str, "Write Combining");
}

/* The reason is the core's, whichever library the failing function is in. */
static void both_libraries_share_one_core(void)
{
	int code = 0;

#ifdef SELF_CONTAINED
	skip("libgdrapi has a core of its own in this build");
#endif
	check_eq(gdr_close(NULL), EINVAL);
	check_has(bl_last_error(&code), "close");
	check_eq(code, EINVAL);
}

static void every_declared_function_is_there(void)
{
#define GDR_FUNCTION(name) (void (*)(void))name,
#include "functions.h"
	void (*const functions[])(void) = {GDR_FUNCTIONS BL_FUNCTIONS};

	check_eq(sizeof(functions) / sizeof(functions[0]), NR_FUNCTIONS);
	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		check(functions[i]);
}

static const struct tap_test tests[] = {
	{"a linked program gets version 2.6", a_linked_program_gets_version_2_6},
	{"a linked program gets errors, not crashes", a_linked_program_gets_errors_not_crashes},
	{"both libraries share one core", both_libraries_share_one_core},
	{"every declared function is there", every_declared_function_is_there},
};

TAP_MAIN(tests)
