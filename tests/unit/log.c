// SPDX-License-Identifier: MIT
#include "util/log.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barlane.h"
#include "tap.h"

/*
 * What a child wrote to stderr. The level is read once per process, so each test has its own; stderr is a socket that
 * keeps packets apart: one packet is one write.
 */
static struct {
	char text[16][2048];
	int nr;
	int status;
} said;

static void in_child(void (*fn)(void))
{
	int ends[2];
	ssize_t len;
	pid_t pid;

	memset(&said, 0, sizeof(said));
	check(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		fn();
		_exit(0);
	}
	close(ends[1]);
	while (said.nr < 16 && (len = recv(ends[0], said.text[said.nr], sizeof(said.text[0]) - 1, 0)) > 0)
		said.nr++;
	close(ends[0]);
	check_eq(waitpid(pid, &said.status, 0), pid);
	check_eq(said.status, 0);
}

static void expect_levels(int nr)
{
	static const char *const lines[] = {
		"barlane: error: an error 1\n", "barlane: warn: a warning 2\n", "barlane: info: an info 3\n",
		"barlane: debug: a debug 4\n",	"barlane: trace: a trace 5\n",
	};

	check_eq(said.nr, nr);
	for (int i = 0; i < nr; i++)
		check_str(said.text[i], lines[i]);
}

static void say_all(void)
{
	fail(EIO, "an error %d", 1);
	log_warn("a warning %d", 2);
	log_info("an info %d", 3);
	log_debug("a debug %d", 4);
	log_trace("a trace %d", 5);
}

static void clear(void)
{
	unsetenv("BARLANE_LOG");
	unsetenv("GDRCOPY_ENABLE_LOGGING");
	unsetenv("GDRCOPY_LOG_LEVEL");
}

static void only_errors_are_shown_by_default(void)
{
	clear();
	in_child(say_all);
	expect_levels(1);
	setenv("BARLANE_LOG", "", 1);
	in_child(say_all);
	expect_levels(1);
}

static void barlane_log_names_the_last_level_shown(void)
{
	static const char *const names[] = {"off", "error", "warn", "info", "debug", "trace"};

	clear();
	for (int i = 0; i < 6; i++) {
		setenv("BARLANE_LOG", names[i], 1);
		in_child(say_all);
		expect_levels(i);
	}
}

static void an_unknown_level_is_warned_about_once_and_shows_errors(void)
{
	clear();
	setenv("BARLANE_LOG", "loud", 1);
	in_child(say_all);
	check_eq(said.nr, 2);
	check_str(said.text[0], "barlane: warn: BARLANE_LOG loud: not one of off error warn info debug trace\n");
	check_str(said.text[1], "barlane: error: an error 1\n");
}

static void gdrcopys_variables_are_understood(void)
{
	static const struct {
		const char *level;
		int shown;
	} cases[] = {
		{NULL, 1}, {"4", 1}, {"3", 2}, {"2", 3}, {"1", 4}, {"0", 4}, {"-7", 4}, {"99", 1}, {"text", 4}, {"", 4},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		clear();
		setenv("GDRCOPY_ENABLE_LOGGING", i % 2 ? "0" : "", 1);
		if (cases[i].level)
			setenv("GDRCOPY_LOG_LEVEL", cases[i].level, 1);
		in_child(say_all);
		expect_levels(cases[i].shown);
	}
	clear();
	setenv("GDRCOPY_LOG_LEVEL", "1", 1);
	in_child(say_all);
	expect_levels(1);
}

static void barlane_log_comes_before_gdrcopys_variables(void)
{
	clear();
	setenv("BARLANE_LOG", "off", 1);
	setenv("GDRCOPY_ENABLE_LOGGING", "1", 1);
	setenv("GDRCOPY_LOG_LEVEL", "1", 1);
	in_child(say_all);
	expect_levels(0);
}

static void set_level_and_say(void)
{
	bl_log_set_level(BL_LOG_INFO);
	say_all();
}

static void the_level_can_be_set(void)
{
	clear();
	setenv("BARLANE_LOG", "off", 1);
	in_child(set_level_and_say);
	expect_levels(3);
}

static void level_names_are_parsed_exactly(void)
{
	enum bl_log_level level = BL_LOG_TRACE;

	check_eq(bl_log_parse("warn", &level), 0);
	check_eq(level, BL_LOG_WARN);
	check_eq(bl_log_parse("off", &level), 0);
	check_eq(level, BL_LOG_OFF);
	check_eq(bl_log_parse("WARN", &level), -EINVAL);
	check_eq(bl_log_parse("warning", &level), -EINVAL);
	check_eq(bl_log_parse("", &level), -EINVAL);
	check_eq(level, BL_LOG_OFF);
}

static void say_something_long(void)
{
	char text[4000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	fail(EIO, "%s", text);
	bl_log_set_level(BL_LOG_WARN);
	log_warn("%s", text);
}

static void a_long_message_is_cut_and_still_ends_its_line(void)
{
	clear();
	in_child(say_something_long);
	check_eq(said.nr, 2);
	for (int i = 0; i < 2; i++) {
		size_t len = strlen(said.text[i]);

		check(len > 1000 && len < 1200);
		check_eq(said.text[i][len - 1], '\n');
		check_eq(said.text[i][len - 2], 'x');
	}
}

static void fail_hushed(void)
{
	bl_fail_hush(1);
	bl_fail_hush(1);
	fail(EIO, "one");
	bl_fail_hush(-1);
	fail(EIO, "two");
	bl_fail_hush(-1);
	fail(EIO, "three");
	fail_quiet(EIO, "four");
	if (strcmp(bl_last_error(NULL), "four"))
		_exit(1);
}

static void hushed_and_quiet_failures_are_kept_but_not_shown(void)
{
	clear();
	in_child(fail_hushed);
	check_eq(said.nr, 1);
	check_str(said.text[0], "barlane: error: three\n");
}

static void hush_in_thread(void)
{
	bl_fail_hush(1);
	fail(EIO, "not shown");
	bl_fail_hush(-1);
}

static void *fail_loudly(void *arg)
{
	fail(EIO, "shown");
	return arg;
}

static void hush_here_fail_there(void)
{
	pthread_t thread;

	bl_fail_hush(1);
	if (pthread_create(&thread, NULL, fail_loudly, NULL))
		_exit(1);
	pthread_join(thread, NULL);
	hush_in_thread();
}

static void a_hush_is_for_one_thread(void)
{
	clear();
	in_child(hush_here_fail_there);
	check_eq(said.nr, 1);
	check_str(said.text[0], "barlane: error: shown\n");
}

/* From here on in this process: nothing is shown. */

static void failing_gives_the_error_and_keeps_the_reason(void)
{
	int code = -1;

	bl_log_set_level(BL_LOG_OFF);
	errno = ENFILE;
	check_eq(fail(EBUSY, "device %d: %s", 7, "in use"), -EBUSY);
	check_eq(errno, ENFILE);
	check_str(bl_last_error(&code), "device 7: in use");
	check_eq(code, EBUSY);
	check_eq(fail_quiet(EPERM, "no"), -EPERM);
	check_eq(errno, ENFILE);
	check_str(bl_last_error(&code), "no");
	check_eq(code, EPERM);
	log_warn("not a reason");
	check_eq(errno, ENFILE);
	check_str(bl_last_error(NULL), "no");
}

static void a_reason_may_quote_the_one_it_replaces(void)
{
	char want[1024];

	bl_log_set_level(BL_LOG_OFF);
	fail(EIO, "inner");
	fail(EIO, "outer (%s)", bl_last_error(NULL));
	check_str(bl_last_error(NULL), "outer (inner)");
	memset(want, 'y', sizeof(want));
	want[sizeof(want) - 1] = '\0';
	fail(EIO, "%s", want);
	fail(EIO, "%s%s", bl_last_error(NULL), bl_last_error(NULL));
	check_str(bl_last_error(NULL), want);
}

static void *reason_of_a_thread(void *arg)
{
	long me = (long)(intptr_t)arg;
	char want[32];
	int code;

	if (*bl_last_error(&code) || code)
		return (void *)1;
	for (int i = 0; i < 2000; i++) {
		snprintf(want, sizeof(want), "thread %ld round %d", me, i);
		fail((int)me, "thread %ld round %d", me, i);
		if (strcmp(bl_last_error(&code), want) || code != me)
			return (void *)1;
	}
	return NULL;
}

static void each_thread_has_its_own_reason(void)
{
	pthread_t threads[8];
	void *wrong = NULL;

	bl_log_set_level(BL_LOG_OFF);
	fail(EIO, "mine");
	for (long i = 0; i < 8; i++)
		check(!pthread_create(&threads[i], NULL, reason_of_a_thread, (void *)(intptr_t)(i + 1)));
	for (int i = 0; i < 8; i++) {
		void *one;

		pthread_join(threads[i], &one);
		wrong = one ? one : wrong;
	}
	check(!wrong);
	check_str(bl_last_error(NULL), "mine");
}

static const struct tap_test tests[] = {
	{"only errors are shown by default", only_errors_are_shown_by_default},
	{"BARLANE_LOG names the last level shown", barlane_log_names_the_last_level_shown},
	{"an unknown level is warned about once and shows errors",
	 an_unknown_level_is_warned_about_once_and_shows_errors},
	{"GDRCopy's variables are understood", gdrcopys_variables_are_understood},
	{"BARLANE_LOG comes before GDRCopy's variables", barlane_log_comes_before_gdrcopys_variables},
	{"the level can be set", the_level_can_be_set},
	{"level names are parsed exactly", level_names_are_parsed_exactly},
	{"a long message is cut and still ends its line", a_long_message_is_cut_and_still_ends_its_line},
	{"hushed and quiet failures are kept but not shown", hushed_and_quiet_failures_are_kept_but_not_shown},
	{"a hush is for one thread", a_hush_is_for_one_thread},
	{"failing gives the error and keeps the reason", failing_gives_the_error_and_keeps_the_reason},
	{"a reason may quote the one it replaces", a_reason_may_quote_the_one_it_replaces},
	{"each thread has its own reason", each_thread_has_its_own_reason},
};

TAP_MAIN(tests)
