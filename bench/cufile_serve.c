// SPDX-License-Identifier: MIT
/* Cases on call, so that processes with different libraries can be measured in turn in short slices. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cufile_bw.h"

#define LINE_MAX_LEN 80
#define ANSWER_S     120U /* in which a slice, or what comes before and after, must have ended */

static void answer(const char *text)
{
	printf("# %s\n", text);
	fflush(stdout);
}

/* Without the newline. False: there is no further one. */
static bool get_line(char line[LINE_MAX_LEN])
{
	alarm(0); /* who asks may take as long as it wants */
	if (!fgets(line, LINE_MAX_LEN, stdin))
		return false;
	line[strcspn(line, "\n")] = 0;
	alarm(ANSWER_S);
	return true;
}

static bool next_slice(const struct bw_row *row)
{
	char line[LINE_MAX_LEN];

	if (!row)
		return false;
	if (row->ops)
		bw_row_put(row);
	else
		answer("ready");
	return get_line(line) && !strcmp(line, "slice");
}

static const struct bw_case *find_case(const char *name)
{
	size_t nr;
	const struct bw_case *cases = bw_cases(&nr);

	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(cases[i].name, name))
			return &cases[i];
	}
	fprintf(stderr, "cufile_bw: no case %s\n", name);
	return NULL;
}

int bw_serve(struct bw_run *run, bool (*prepare)(struct bw_run *run, const struct bw_case *what))
{
	char line[LINE_MAX_LEN];
	struct bw_row row;
	bool failed = false, good;

	run->next = next_slice;
	while (get_line(line) && strcmp(line, "quit")) {
		good = !strncmp(line, "case ", 5);
		if (!good)
			fprintf(stderr, "cufile_bw: \"%s\" is none of case, quit\n", line);
		run->what = good ? find_case(line + 5) : NULL;
		good = run->what && prepare(run, run->what) && !bw_case_run(run, &row);
		answer(good ? "ended" : "failed");
		failed |= !good;
	}
	alarm(0);
	return failed ? -1 : 0;
}
