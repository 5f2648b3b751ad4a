/* SPDX-License-Identifier: MIT */
/*
 * tap.h - test programs that speak TAP
 *
 * A program has one array of struct tap_test and ends with TAP_MAIN(tests). A test function uses check() and its
 * relatives; the first that does not hold ends the test as failed. skip() ends it as skipped and names what is
 * missing. Test names are sentences about behaviour. Not for use from threads other than the test's own: a thread
 * returns its verdict to the test.
 */
#ifndef BL_TESTS_TAP_H
#define BL_TESTS_TAP_H

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The build looks for races: it is slow by the byte, and what one thread does alone need not be done at length. */
#ifdef __has_feature
#define TAP_HAS_FEATURE(x) __has_feature(x)
#else
#define TAP_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || TAP_HAS_FEATURE(thread_sanitizer)
#define TAP_TSAN 1
#else
#define TAP_TSAN 0
#endif

struct tap_test {
	const char *name;
	void (*run)(void);
};

extern jmp_buf tap_env;
extern char tap_text[1024];

enum { TAP_FAILED = 1, TAP_SKIPPED = 2 };

#define tap_end(how, ...)                                                                                              \
	do {                                                                                                           \
		snprintf(tap_text, sizeof(tap_text), __VA_ARGS__);                                                     \
		longjmp(tap_env, how);                                                                                 \
	} while (0)

#define skip(...) tap_end(TAP_SKIPPED, __VA_ARGS__)

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond))                                                                                           \
			tap_end(TAP_FAILED, "%s:%d: not true: %s", __FILE__, __LINE__, #cond);                         \
	} while (0)

/* Integers of any type; shows both values. */
#define check_eq(got, want)                                                                                            \
	do {                                                                                                           \
		long long tap_got = (long long)(got), tap_want = (long long)(want);                                    \
		if (tap_got != tap_want)                                                                               \
			tap_end(TAP_FAILED, "%s:%d: %s is %lld (0x%llx), not %lld (%s)", __FILE__, __LINE__, #got,     \
				tap_got, (unsigned long long)tap_got, tap_want, #want);                                \
	} while (0)

#define check_str(got, want)                                                                                           \
	do {                                                                                                           \
		const char *tap_gots = (got), *tap_wants = (want);                                                     \
		if (!tap_gots || strcmp(tap_gots, tap_wants))                                                          \
			tap_end(TAP_FAILED, "%s:%d: %s is \"%.400s\", not \"%.400s\"", __FILE__, __LINE__, #got,               \
				tap_gots ? tap_gots : "(null)", tap_wants);                                            \
	} while (0)

/* The text must contain a fragment. */
#define check_has(text, fragment)                                                                                      \
	do {                                                                                                           \
		const char *tap_t = (text), *tap_f = (fragment);                                                       \
		if (!tap_t || !strstr(tap_t, tap_f))                                                                   \
			tap_end(TAP_FAILED, "%s:%d: \"%.400s\" does not contain \"%.400s\"", __FILE__, __LINE__,               \
				tap_t ? tap_t : "(null)", tap_f);                                                      \
	} while (0)

/**
 * tap_main() - Run tests and print TAP
 * @tests: the tests
 * @nr:    how many
 * @argc:  from main()
 * @argv:  from main(); names of tests to run, none means all
 *
 * Return: exit status, 0 when none failed.
 */
int tap_main(const struct tap_test *tests, size_t nr, int argc, char **argv);

#define TAP_MAIN(tests)                                                                                                \
	int main(int argc, char **argv)                                                                                \
	{                                                                                                              \
		return tap_main(tests, sizeof(tests) / sizeof((tests)[0]), argc, argv);                                \
	}

#endif
