// SPDX-License-Identifier: MIT
/*
 * copy_select.c - which routines a mapping gets
 */
#include <pthread.h>
#include <unistd.h>

#include "barlane.h"
#include "copy/cpu.h"
#include "copy/cpu_features.h"
#include "tap.h"
#include "util/log.h"

static const struct bl_cpu_copy *select_forced(const char *isa)
{
	const struct bl_cpu_copy *copy;

	setenv("BARLANE_CPU_ISA", isa, 1);
	copy = bl_cpu_copy_select(BL_MAP_WC);
	unsetenv("BARLANE_CPU_ISA");
	return copy;
}

/* What select_forced() says on stderr, with warnings shown. */
static const char *warning_of(const char *isa, const struct bl_cpu_copy **copy_p)
{
	static char text[512];
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t len;

	check(file && saved >= 0);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	bl_log_set_level(BL_LOG_WARN);
	*copy_p = select_forced(isa);
	bl_log_set_level(BL_LOG_ERROR);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = 0;
	fclose(file);
	return text;
}

static void scalar_comes_first_and_is_always_supported(void)
{
	check_str(bl_cpu_isas[0]->name, "scalar");
	check(bl_cpu_isas[0]->supported());
}

static void every_instruction_set_is_found_by_its_name(void)
{
	for (size_t i = 0; bl_cpu_isas[i]; i++)
		check(bl_cpu_isa_find(bl_cpu_isas[i]->name) == bl_cpu_isas[i]);
	check(!bl_cpu_isa_find("sse"));
	check(!bl_cpu_isa_find(""));
}

static void support_follows_the_cpu(void)
{
	static const struct {
		const char *name;
		uint32_t features;
	} want[] = {
		{"sse4.1", BL_CPU_SSE41},	 {"avx2", BL_CPU_AVX2}, {"avx512", BL_CPU_AVX512},
		{"movdir64b", BL_CPU_MOVDIR64B}, {"neon", BL_CPU_NEON}, {"ls64", BL_CPU_LS64},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct bl_cpu_isa *isa = bl_cpu_isa_find(want[i].name);

		if (isa)
			check_eq(isa->supported(), (bl_cpu_features() & want[i].features) != 0);
	}
}

/* "STORES/LOADS", or one name for both; each is supported, and the widest stores win. */
static void the_default_is_supported_and_the_best(void)
{
	const struct bl_cpu_copy *copy = bl_cpu_copy_select(BL_MAP_WC);
	char to[32], *from;

	snprintf(to, sizeof(to), "%s", copy->name);
	from = strchr(to, '/');
	if (from)
		*from++ = 0;
	else
		from = to;
	check(bl_cpu_isa_find(to) && bl_cpu_isa_find(to)->supported());
	check(bl_cpu_isa_find(from) && bl_cpu_isa_find(from)->supported());
	check(copy->to == select_forced(to)->to);
	check(copy->from == select_forced(from)->from);
	if (bl_cpu_features() & BL_CPU_AVX512)
		check_str(to, "avx512");
	if (bl_cpu_features() & BL_CPU_NEON)
		check_str(to, "neon");
	check(copy == bl_cpu_copy_select(BL_MAP_WC));
}

static void each_supported_instruction_set_can_be_forced(void)
{
	for (size_t i = 0; bl_cpu_isas[i]; i++) {
		if (bl_cpu_isas[i]->supported())
			check_str(select_forced(bl_cpu_isas[i]->name)->name, bl_cpu_isas[i]->name);
	}
}

static void an_unknown_name_is_warned_about_and_ignored(void)
{
	const struct bl_cpu_copy *copy;
	const char *text = warning_of("mmx", &copy);

	check_has(text, "BARLANE_CPU_ISA mmx");
	check(copy == bl_cpu_copy_select(BL_MAP_WC));
}

static void an_unsupported_name_is_warned_about_and_ignored(void)
{
	const struct bl_cpu_copy *copy;
	char want[64];

	for (size_t i = 0; bl_cpu_isas[i]; i++) {
		const char *text;

		if (bl_cpu_isas[i]->supported())
			continue;
		text = warning_of(bl_cpu_isas[i]->name, &copy);
		snprintf(want, sizeof(want), "BARLANE_CPU_ISA %s", bl_cpu_isas[i]->name);
		check_has(text, want);
		check_has(text, "not supported");
		check(copy == bl_cpu_copy_select(BL_MAP_WC));
		return;
	}
	skip("this CPU supports every instruction set of this build");
}

static void an_empty_variable_is_no_choice(void)
{
	const struct bl_cpu_copy *copy;
	const char *text = warning_of("", &copy);

	check_str(text, "");
	check(copy == bl_cpu_copy_select(BL_MAP_WC));
}

static void other_mapping_types_are_not_forced(void)
{
	const struct bl_cpu_copy *cached = bl_cpu_copy_select(BL_MAP_CACHED);
	const struct bl_cpu_copy *device = bl_cpu_copy_select(BL_MAP_DEVICE);

	check_str(cached->name, "memcpy");
	check_str(device->name, "device");
	setenv("BARLANE_CPU_ISA", "scalar", 1);
	check(bl_cpu_copy_select(BL_MAP_CACHED) == cached);
	check(bl_cpu_copy_select(BL_MAP_DEVICE) == device);
	unsetenv("BARLANE_CPU_ISA");
}

static void *select_many(void *unused)
{
	const struct bl_cpu_copy *first = bl_cpu_copy_select(BL_MAP_WC);
	char dst[100], src[100];

	for (int i = 0; i < 1000; i++) {
		const struct bl_cpu_copy *copy = bl_cpu_copy_select(BL_MAP_WC);

		memset(src, i, sizeof(src));
		copy->to(dst, src, sizeof(dst));
		if (copy != first || !copy->name[0] || memcmp(dst, src, sizeof(dst)))
			return (void *)1;
	}
	return NULL;
}

/* Run alone, this is also the first selection of the process. */
static void threads_may_select_at_the_same_time(void)
{
	pthread_t threads[8];
	void *verdict;
	int bad = 0;

	for (size_t i = 0; i < 8; i++)
		check(!pthread_create(&threads[i], NULL, select_many, NULL));
	for (size_t i = 0; i < 8; i++) {
		pthread_join(threads[i], &verdict);
		bad |= verdict != NULL;
	}
	check(!bad);
}

static const struct tap_test tests[] = {
	{"threads_may_select_at_the_same_time", threads_may_select_at_the_same_time},
	{"scalar_comes_first_and_is_always_supported", scalar_comes_first_and_is_always_supported},
	{"every_instruction_set_is_found_by_its_name", every_instruction_set_is_found_by_its_name},
	{"support_follows_the_cpu", support_follows_the_cpu},
	{"the_default_is_supported_and_the_best", the_default_is_supported_and_the_best},
	{"each_supported_instruction_set_can_be_forced", each_supported_instruction_set_can_be_forced},
	{"an_unknown_name_is_warned_about_and_ignored", an_unknown_name_is_warned_about_and_ignored},
	{"an_unsupported_name_is_warned_about_and_ignored", an_unsupported_name_is_warned_about_and_ignored},
	{"an_empty_variable_is_no_choice", an_empty_variable_is_no_choice},
	{"other_mapping_types_are_not_forced", other_mapping_types_are_not_forced},
};

TAP_MAIN(tests)
