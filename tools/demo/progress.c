// SPDX-License-Identifier: MIT
#include "demo.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *last_phase;

void demo_progress(const char *phase, const char *detail)
{
	if (isatty(STDERR_FILENO)) {
		fprintf(stderr, "\r\033[K%s %s", phase, detail);
		last_phase = phase;
		return;
	}
	if (last_phase && !strcmp(last_phase, phase))
		return;
	last_phase = phase;
	fprintf(stderr, "%s\n", phase);
}

void demo_progress_end(void)
{
	if (last_phase && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	last_phase = NULL;
}
