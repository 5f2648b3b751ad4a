// SPDX-License-Identifier: MIT
/*
 * gdrcopy_sanity - test the installed libgdrapi on the GPUs of this machine
 */
#include "sanity/sanity.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json.h"

struct sanity_options sanity_options = { .timeout_s = 300, .big = 1UL << 30 };

/**
 * struct result - how a test ended
 * @test:   the test
 * @status: verdict
 * @reason: why it did not pass, "" when it did
 */
struct result {
	const struct sanity_test *test;
	enum sanity_status status;
	char reason[600];
};

/**
 * struct session - what runs, and what came of it
 * @results:  one for each test that runs, in order
 * @nr:       how many
 * @room:     how many fit into @results
 * @extended: also run extended tests
 * @list:     only list the tests
 * @quiet:    no summary
 * @blocked:  nothing could run, for one reason
 * @json:     where the JSON result goes, or NULL
 * @out:      where the summary goes
 */
struct session {
	struct result *results;
	size_t nr;
	size_t room;
	bool extended;
	bool list;
	bool quiet;
	bool blocked;
	const char *json;
	FILE *out;
};

static const char *const status_names[] = { "passed", "failed", "waived" };
static const char *const status_marks[] = { "PASSED", "FAILED", "WAIVED" };

static void usage(FILE *out)
{
	fprintf(out,
		"usage: gdrcopy_sanity [options]\n"
		"  -h           this text\n"
		"  -v           show what the tests do, on stderr\n"
		"  -s           no summary\n"
		"  -l           list the tests\n"
		"  -t NAME      run this test; may be repeated\n"
		"  -d N         GPU (0)\n"
		"  -e           also run the extended tests\n"
		"  --big BYTES  size of the large mapping (1G)\n"
		"  --timeout S  longest time for one test (300)\n"
		"  --json FILE  also write the results as JSON; - is stdout, and the summary goes to stderr\n");
}

static void add(struct session *session, const struct sanity_test *test)
{
	if (session->nr == session->room) {
		session->room = session->room ? 2 * session->room : 64;
		session->results = realloc(session->results, session->room * sizeof(*session->results));
		if (!session->results)
			tool_die("out of memory");
	}
	session->results[session->nr++] = (struct result){ .test = test };
}

static void add_named(struct session *session, const char *name)
{
	for (size_t i = 0; sanity_families[i]; i++) {
		for (const struct sanity_test *test = sanity_families[i]; test->name; test++) {
			if (!strcmp(test->name, name)) {
				add(session, test);
				return;
			}
		}
	}
	tool_die("there is no test \"%s\"; -l lists them", name);
}

static void add_all(struct session *session)
{
	for (size_t i = 0; sanity_families[i]; i++) {
		for (const struct sanity_test *test = sanity_families[i]; test->name; test++) {
			if (!test->extended || session->extended)
				add(session, test);
		}
	}
}

enum { OPT_BIG = 256, OPT_TIMEOUT, OPT_JSON };

static const struct option longs[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "big", required_argument, NULL, OPT_BIG },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "json", required_argument, NULL, OPT_JSON },
	{ NULL, 0, NULL, 0 },
};

static void parse(int argc, char **argv, struct session *session)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "hvslt:d:e", longs, NULL)) != -1) {
		switch (opt) {
		case 'h':
			usage(stdout);
			exit(EXIT_SUCCESS);
		case 'v':
			sanity_options.verbose = true;
			break;
		case 's':
			session->quiet = true;
			break;
		case 'l':
			session->list = true;
			break;
		case 't':
			add_named(session, optarg);
			break;
		case 'd':
			sanity_options.ordinal = (int)tool_number("-d", optarg, 0, INT32_MAX);
			break;
		case 'e':
			session->extended = true;
			break;
		case OPT_BIG:
			sanity_options.big = tool_number("--big", optarg, GPU_PAGE_SIZE, SIZE_MAX / 4);
			break;
		case OPT_TIMEOUT:
			sanity_options.timeout_s = (unsigned int)tool_number("--timeout", optarg, 1, 1000000);
			break;
		case OPT_JSON:
			session->json = optarg;
			break;
		default: /* getopt said what is wrong */
			usage(stderr);
			exit(EXIT_FAILURE);
		}
	}
	if (optind < argc)
		tool_die("unexpected argument \"%s\"", argv[optind]);
}

/* Without a GPU or a provider every test would fail for the same reason: say it once. */
static void preflight(enum tool_mem_kind kind)
{
	struct tool_device device;
	gdr_t g;

	if (sanity_options.verbose) {
		st_help(tool_devices_print(stderr));
		fprintf(stderr, "selecting device %d\n", sanity_options.ordinal);
	}
	st_gpu(&device);
	if (device.emulated)
		st_log("emu: GPU %d is emulated", sanity_options.ordinal);
	g = st_open();
	st_ok(gdr_close(g));
}

static void run_tests(struct session *session)
{
	for (size_t i = 0; i < session->nr; i++) {
		struct result *result = &session->results[i];
		const char *name = result->test->name;

		st_log("&&&& RUNNING %s", name);
		result->status = sanity_run(result->test, result->reason, sizeof(result->reason));
		if (result->status != SANITY_PASSED)
			fprintf(stderr, "gdrcopy_sanity: %s %s: %s\n", name, status_names[result->status],
				result->reason);
		st_log("&&&& %s %s", status_marks[result->status], name);
	}
}

static size_t count(const struct session *session, enum sanity_status status)
{
	size_t nr = 0;

	for (size_t i = 0; i < session->nr; i++)
		nr += session->results[i].status == status;
	return nr;
}

static int by_name(const void *left, const void *right)
{
	const struct result *const *a = left, *const *b = right;

	return strcmp((*a)->test->name, (*b)->test->name);
}

static void print_names(const struct session *session, enum sanity_status status)
{
	const struct result **sorted = calloc(session->nr, sizeof(*sorted));
	size_t nr = 0;

	if (!sorted)
		tool_die("out of memory");
	for (size_t i = 0; i < session->nr; i++) {
		if (session->results[i].status == status)
			sorted[nr++] = &session->results[i];
	}
	qsort(sorted, nr, sizeof(*sorted), by_name);
	if (nr)
		fprintf(session->out, "List of %s tests:\n", status_names[status]);
	for (size_t i = 0; i < nr; i++)
		fprintf(session->out, "    %s\n", sorted[i]->test->name);
	free(sorted);
}

static void summary(const struct session *session)
{
	fprintf(session->out, "Total: %zu, Passed: %zu, Failed: %zu, Waived: %zu\n", session->nr,
		count(session, SANITY_PASSED), count(session, SANITY_FAILED), count(session, SANITY_WAIVED));
	if (session->blocked)
		return;
	print_names(session, SANITY_FAILED);
	print_names(session, SANITY_WAIVED);
}

static void write_json(const struct session *session)
{
	struct json_object *array = tool_json_array();

	for (size_t i = 0; i < session->nr; i++) {
		const struct result *result = &session->results[i];
		struct json_object *object = tool_json_object();

		tool_json_string(object, "name", result->test->name);
		tool_json_string(object, "status", status_names[result->status]);
		tool_json_string(object, "reason", result->reason);
		tool_json_append(array, object);
	}
	if (tool_json_write(array, session->json))
		tool_die("%s", tool_why());
}

static int finish(const struct session *session)
{
	int status = count(session, SANITY_FAILED) ? EXIT_FAILURE : EXIT_SUCCESS;

	if (!session->quiet)
		summary(session);
	if (session->json)
		write_json(session);
	if (status)
		fprintf(stderr, "Error: not everything that ran passed, status=%d\n", status);
	free(session->results);
	return status;
}

int main(int argc, char **argv)
{
	static const struct sanity_test preflight_test = { "preflight", preflight, TOOL_MEM_ALLOC, false };
	struct session session = { .out = stdout };
	char reason[600];

	parse(argc, argv, &session);
	if (!session.nr)
		add_all(&session);
	if (session.list) {
		for (size_t i = 0; i < session.nr; i++)
			printf("%s\n", session.results[i].test->name);
		free(session.results);
		return EXIT_SUCCESS;
	}
	if (session.json && !strcmp(session.json, "-"))
		session.out = stderr;
	/* most tests provoke errors; BARLANE_LOG=error shows what the library says of them */
	setenv("BARLANE_LOG", "off", 0);
	if (sanity_run(&preflight_test, reason, sizeof(reason)) != SANITY_PASSED) {
		session.blocked = true;
		fprintf(stderr, "gdrcopy_sanity: nothing can run: %s\n", reason);
		for (size_t i = 0; i < session.nr; i++) {
			session.results[i].status = SANITY_FAILED;
			snprintf(session.results[i].reason, sizeof(reason), "%s", reason);
		}
		return finish(&session);
	}
	run_tests(&session);
	return finish(&session);
}
