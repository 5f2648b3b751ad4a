// SPDX-License-Identifier: MIT
/* "barlane dump": all that a process shows of the network lane. */
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/json.h"
#include "netstat/netstat.h"

static void usage(FILE *out)
{
	fputs("usage: barlane dump PID [--json]\n", out);
}

static pid_t parse(int argc, char **argv, bool *json_p)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' },
					       { "json", no_argument, NULL, 'J' },
					       { NULL, 0, NULL, 0 } };
	char *end;
	long pid;
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'J') {
			*json_p = true;
			continue;
		}
		usage(c == 'h' ? stdout : stderr);
		exit(c == 'h' ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	if (optind + 1 != argc) {
		usage(stderr);
		exit(EXIT_FAILURE);
	}
	pid = strtol(argv[optind], &end, 10);
	if (end == argv[optind] || *end || pid <= 0 || pid > INT_MAX)
		tool_die("\"%s\" is no number of a process", argv[optind]);
	return (pid_t)pid;
}

int netstat_dump_main(int argc, char **argv)
{
	struct netstat_process process;
	static struct netstat_all all;
	bool json = false;
	pid_t pid = parse(argc, argv, &json);

	if (netstat_open(pid, &process) || netstat_load(&process, true, &all))
		tool_die("%s", tool_why());
	netstat_look(&process);
	if (json && tool_json_write(netstat_json(&all, &process), "-"))
		tool_die("%s", tool_why());
	if (!json)
		netstat_text(&process, &all);
	if (netstat_has_ended(&process))
		fprintf(stderr, "barlane: process %d has ended meanwhile: this is what it showed last\n", (int)pid);
	netstat_free(&all);
	netstat_close(&process);
	return EXIT_SUCCESS;
}
