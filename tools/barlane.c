// SPDX-License-Identifier: MIT
/*
 * barlane - what the library can do on this machine, and how fast
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barlane.h"
#include "common/error.h"
#include "common/json.h"
#include "demo/demo.h"
#include "doctor/doctor.h"
#ifdef HAVE_NET
#include "netstat/netstat.h"
#endif
#ifdef HAVE_CUFILE
#include "stat/stat.h"
#endif

/**
 * struct command - a subcommand
 * @name: as on the command line
 * @run:  gets the arguments from the subcommand's name on; returns the exit status
 * @help: one line
 */
struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

/**
 * struct choice - what bl_open() does
 * @name:   provider that it takes, "" when it fails
 * @reason: why it fails
 */
struct choice {
	char name[32];
	char reason[1024];
};

static void choose(struct choice *choice)
{
	struct bl_provider_info info;
	bl_ctx_t ctx;
	int ret;

	memset(choice, 0, sizeof(*choice));
	ret = bl_open(NULL, &ctx);
	if (ret) {
		snprintf(choice->reason, sizeof(choice->reason), "%s: %s", strerror(-ret), bl_last_error(NULL));
		return;
	}
	ret = bl_ctx_provider(ctx, &info);
	if (ret)
		snprintf(choice->reason, sizeof(choice->reason), "%s: %s", strerror(-ret), bl_last_error(NULL));
	else
		snprintf(choice->name, sizeof(choice->name), "%s", info.name);
	bl_close(ctx);
}

static struct bl_provider_info *list(size_t *nr_p)
{
	struct bl_provider_info *infos;
	size_t nr;

	nr = bl_provider_list(NULL, 0);
	infos = calloc(nr ? nr : 1, sizeof(*infos));
	if (!infos)
		tool_die("out of memory");
	bl_provider_list(infos, nr);
	*nr_p = nr;
	return infos;
}

static void print_text(const struct bl_provider_info *infos, size_t nr, const struct choice *choice)
{
	const char *table = getenv("BARLANE_SYSCALLS");

	printf("%-10s %-7s %-9s %-11s %-11s %s\n", "PROVIDER", "USABLE", "VERSION", "PERSISTENT", "FORCE_PCIE",
	       "REASON");
	for (size_t i = 0; i < nr; i++) {
		const struct bl_provider_info *info = &infos[i];
		char version[32] = "-";

		if (info->major || info->minor)
			snprintf(version, sizeof(version), "%u.%u", info->major, info->minor);
		printf("%-10s %-7s %-9s %-11s %-11s %s\n", info->name, info->usable ? "yes" : "no", version,
		       info->persistent ? "yes" : "no", info->force_pcie ? "yes" : "no", info->reason);
	}
	if (table && *table)
		printf("system calls: %s (BARLANE_SYSCALLS)\n", table);
	if (*choice->name)
		printf("chosen: %s\n", choice->name);
	else
		printf("chosen: none: %s\n", choice->reason);
}

static struct json_object *provider_json(const struct bl_provider_info *info)
{
	struct json_object *object = tool_json_object();

	tool_json_string(object, "name", info->name);
	tool_json_bool(object, "usable", info->usable);
	tool_json_int(object, "error", info->error);
	tool_json_int(object, "major", info->major);
	tool_json_int(object, "minor", info->minor);
	tool_json_bool(object, "persistent", info->persistent);
	tool_json_bool(object, "force_pcie", info->force_pcie);
	tool_json_string(object, "reason", info->reason);
	return object;
}

static void print_json(const struct bl_provider_info *infos, size_t nr, const struct choice *choice)
{
	struct json_object *object = tool_json_object(), *array = tool_json_array();
	const char *table = getenv("BARLANE_SYSCALLS");

	for (size_t i = 0; i < nr; i++)
		tool_json_append(array, provider_json(&infos[i]));
	tool_json_string(object, "version", bl_version());
	tool_json_add(object, "providers", array);
	if (table && *table)
		tool_json_string(object, "system_calls", table);
	tool_json_string(object, "chosen", choice->name);
	tool_json_string(object, "reason", choice->reason);
	if (tool_json_write(object, "-"))
		tool_die("%s", tool_why());
}

static int run_providers(int argc, char **argv)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' },
					       { "json", no_argument, NULL, 'J' },
					       { NULL, 0, NULL, 0 } };
	struct bl_provider_info *infos;
	struct choice choice;
	bool json = false;
	size_t nr;
	int opt;

	while ((opt = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (opt == 'J') {
			json = true;
			continue;
		}
		fprintf(opt == 'h' ? stdout : stderr, "usage: barlane providers [--json]\n");
		return opt == 'h' ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (optind < argc)
		tool_die("unexpected argument \"%s\"", argv[optind]);
	/* the table says all that an error on stderr would */
	setenv("BARLANE_LOG", "off", 0);
	infos = list(&nr);
	choose(&choice);
	if (json)
		print_json(infos, nr, &choice);
	else
		print_text(infos, nr, &choice);
	free(infos);
	return *choice.name ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_bench(int argc, char **argv)
{
	return demo_main("barlane bench", "barlane-bench.html", argc, argv);
}

static int run_version(int argc, char **argv)
{
	if (argc > 1)
		tool_die("unexpected argument \"%s\"", argv[1]);
	printf("barlane %s\n", BARLANE_VERSION);
	printf("libbarlane %s\n", bl_version());
	return EXIT_SUCCESS;
}

static const struct command commands[] = {
	{ "doctor", doctor_main, "examine this machine: what works, what does not, and what would help" },
	{ "providers", run_providers, "list the ways to reach GPU memory, and which of them can serve here" },
	{ "bench", run_bench, "check that CPU and GPU see each other's writes, measure copies, and write a report" },
#ifdef HAVE_CUFILE
	{ "stat", stat_main, "show what processes that use libcufile, or NICs, have moved, by which path, and how fast" },
#endif
#ifdef HAVE_NET
	{ "dump", netstat_dump_main, "show NICs, queues, requests and memory of a process that runs, and why it waits" },
#endif
	{ "version", run_version, "show the versions of this tool and of the library" },
};

static void usage(FILE *out)
{
	fprintf(out, "usage: barlane COMMAND [options]\n\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return EXIT_FAILURE;
	}
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return EXIT_SUCCESS;
	}
	if (!strcmp(argv[1], "--version"))
		return run_version(1, argv);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(argv[1], commands[i].name))
			return tool_finish(commands[i].run(argc - 1, argv + 1));
	}
	fprintf(stderr, "barlane: there is no command \"%s\"\n", argv[1]);
	usage(stderr);
	return EXIT_FAILURE;
}
