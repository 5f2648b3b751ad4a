// SPDX-License-Identifier: MIT
#include "tap.h"

#include <unistd.h>

jmp_buf tap_env;
char tap_text[1024];

static int wanted(const char *name, int argc, char **argv)
{
	if (argc < 2)
		return 1;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], name))
			return 1;
	}
	return 0;
}

/* Forked children that return into the test would print the parent's plan again: keep the owner's pid. */
static int run_one(const struct tap_test *test, size_t nr)
{
	pid_t owner = getpid();
	int how = setjmp(tap_env);

	if (!how)
		test->run();
	if (getpid() != owner)
		_exit(how ? 1 : 0);
	switch (how) {
	case 0:
		printf("ok %zu - %s\n", nr, test->name);
		break;
	case TAP_SKIPPED:
		printf("ok %zu - %s # SKIP %s\n", nr, test->name, tap_text);
		break;
	default:
		printf("not ok %zu - %s\n# %s\n", nr, test->name, tap_text);
		break;
	}
	fflush(stdout);
	return how == TAP_FAILED;
}

int tap_main(const struct tap_test *tests, size_t nr, int argc, char **argv)
{
	size_t planned = 0, done = 0;
	int failed = 0;

	for (size_t i = 0; i < nr; i++)
		planned += wanted(tests[i].name, argc, argv);
	printf("1..%zu\n", planned);
	fflush(stdout);
	for (size_t i = 0; i < nr; i++) {
		if (wanted(tests[i].name, argc, argv))
			failed |= run_one(&tests[i], ++done);
	}
	return failed;
}
