// SPDX-License-Identifier: MIT
#include "host.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool host_do(const char *request)
{
	char answer[320];

	printf("# host: %s\n", request);
	fflush(stdout);
	/* answers that an earlier program did not wait for come first */
	while (fgets(answer, sizeof(answer), stdin)) {
		answer[strcspn(answer, "\r\n")] = '\0';
		if (!strncmp(answer, "ok ", 3) && !strcmp(answer + 3, request))
			return true;
		if (!strncmp(answer, "not ok ", 7) && !strcmp(answer + 7, request))
			return false;
	}
	return false;
}

bool host_ask(const char *verb, uint64_t off, uint64_t len, const char *pattern)
{
	char request[256];

	snprintf(request, sizeof(request), "%s %" PRIu64 " %" PRIu64 " %s", verb, off, len, pattern);
	return host_do(request);
}
