// SPDX-License-Identifier: MIT
/* The log of the network lane: what the environment asks for, the form of a line, reasons. */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define log_fmt(fmt) "test: " fmt
#include "barlane.h"
#include "net/log.h"
#include "tap.h"

static void levels_are_syslogs_numbers(void)
{
	static const char *const texts[] = { "0", "1", "2", "3", "4", "5", "6", "7" };
	enum bl_net_log_level level;

	for (int i = 0; i < 8; i++) {
		check_eq(bl_net_log_parse(texts[i], "trace", &level), 0);
		check_eq(level, i);
	}
}

static void without_a_level_barlane_log_decides(void)
{
	static const struct {
		const char *barlane;
		enum bl_net_log_level level;
	} cases[] = {
		{ NULL, BL_NET_LOG_ERR },	 { "", BL_NET_LOG_ERR },	{ "off", BL_NET_LOG_EMERG },
		{ "error", BL_NET_LOG_ERR },	 { "warn", BL_NET_LOG_WARNING }, { "info", BL_NET_LOG_INFO },
		{ "debug", BL_NET_LOG_DEBUG },	 { "trace", BL_NET_LOG_DEBUG }, { "nonsense", BL_NET_LOG_ERR },
	};
	enum bl_net_log_level level;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_eq(bl_net_log_parse(NULL, cases[i].barlane, &level), 0);
		check_eq(level, cases[i].level);
		check_eq(bl_net_log_parse("", cases[i].barlane, &level), 0);
		check_eq(level, cases[i].level);
	}
}

static void what_is_no_level_is_refused_and_leaves_the_default(void)
{
	static const char *const wrong[] = { "8", "-1", "4x", "x", "99999999999999999999", "3 4", "0x" };
	enum bl_net_log_level level;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		check_eq(bl_net_log_parse(wrong[i], "info", &level), -EINVAL);
		check_eq(level, BL_NET_LOG_INFO);
	}
}

static void a_line_has_stamp_level_file_line_function_and_text(void)
{
	static const struct bl_net_log_place place = { "gpu.c", 80, "doca_gpu_create" };
	char line[256];
	size_t len;

	setenv("TZ", "UTC", 1);
	tzset();
	len = bl_net_log_line(line, sizeof(line), 86400, BL_NET_LOG_WARNING, &place, "a text");
	check_str(line, "Fri Jan  2 00:00:00 1970 [WARNING] [gpu.c]: 80: doca_gpu_create(): a text\n");
	check_eq(len, strlen(line));
}

static void a_line_that_is_too_long_is_cut_and_ends(void)
{
	static const struct bl_net_log_place place = { "f.c", 1, "f" };
	char line[40];

	check_eq(bl_net_log_line(line, sizeof(line), 0, BL_NET_LOG_ERR, &place, "a long text that does not fit"), 39);
	check_eq(line[38], '\n');
	check_eq(line[39], '\0');
}

/* What is written to stderr while @say runs. */
static void capture(void (*say)(void), char *text, size_t size)
{
	int saved = dup(2), pipes[2];
	ssize_t len;

	check_eq(pipe(pipes), 0);
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	dup2(pipes[1], 2);
	say();
	dup2(saved, 2);
	len = read(pipes[0], text, size - 1);
	text[len > 0 ? len : 0] = '\0';
	close(pipes[0]);
	close(pipes[1]);
	close(saved);
}

static void say_all(void)
{
	errno = 77;
	log_warn("one %d", 1);
	log_info("two");
	log_debug("three");
	check_eq(errno, 77);
}

static void levels_up_to_the_one_asked_for_are_shown(void)
{
	char text[512];

	bl_net_log_set_level(BL_NET_LOG_WARNING);
	capture(say_all, text, sizeof(text));
	check_has(text, "[WARNING] [log.c]: ");
	check_has(text, "say_all(): test: one 1\n");
	check(!strstr(text, "two"));
	bl_net_log_set_level(BL_NET_LOG_DEBUG);
	capture(say_all, text, sizeof(text));
	check_has(text, "[INFO]");
	check_has(text, "[DEBUG]");
	bl_net_log_set_level(BL_NET_LOG_EMERG);
	capture(say_all, text, sizeof(text));
	check_str(text, "");
}

static void fail_it(void)
{
	errno = 55;
	check_eq(fail(ENOMEM, "no %s", "room"), -ENOMEM);
	check_eq(errno, 55);
}

static void fail_it_hushed(void)
{
	bl_fail_hush(1);
	fail_it();
	bl_fail_hush(-1);
}

static void an_error_sets_the_reason_and_one_line(void)
{
	char text[512];
	int code;

	bl_net_log_set_level(BL_NET_LOG_ERR);
	capture(fail_it, text, sizeof(text));
	check_has(text, "[ERR] [log.c]: ");
	check_has(text, "fail_it(): test: no room\n");
	check(strchr(text, '\n') == text + strlen(text) - 1);
	check_str(bl_last_error(&code), "test: no room");
	check_eq(code, ENOMEM);
}

static void an_attempt_that_may_fail_sets_the_reason_only(void)
{
	char text[512];

	bl_fail_quiet(1, "other");
	bl_net_log_set_level(BL_NET_LOG_DEBUG);
	capture(fail_it_hushed, text, sizeof(text));
	check_str(text, "");
	check_str(bl_last_error(NULL), "test: no room");
}

static const struct tap_test tests[] = {
	{ "levels_are_syslogs_numbers", levels_are_syslogs_numbers },
	{ "without_a_level_barlane_log_decides", without_a_level_barlane_log_decides },
	{ "what_is_no_level_is_refused_and_leaves_the_default", what_is_no_level_is_refused_and_leaves_the_default },
	{ "a_line_has_stamp_level_file_line_function_and_text", a_line_has_stamp_level_file_line_function_and_text },
	{ "a_line_that_is_too_long_is_cut_and_ends", a_line_that_is_too_long_is_cut_and_ends },
	{ "levels_up_to_the_one_asked_for_are_shown", levels_up_to_the_one_asked_for_are_shown },
	{ "an_error_sets_the_reason_and_one_line", an_error_sets_the_reason_and_one_line },
	{ "an_attempt_that_may_fail_sets_the_reason_only", an_attempt_that_may_fail_sets_the_reason_only },
};

TAP_MAIN(tests)
