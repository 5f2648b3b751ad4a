// SPDX-License-Identifier: MIT
/* Limits of the process. */
#include <stdlib.h>
#include <sys/resource.h>

#include "doctor/doctor.h"

/* Descriptors that a small program needs besides its mappings. */
#define FILES_NEEDED 32
#define FILES_WANTED 1024

static const char *amount(rlim_t value, char *text, size_t size)
{
	if (value == RLIM_INFINITY)
		snprintf(text, size, "unlimited");
	else
		snprintf(text, size, "%llu", (unsigned long long)value);
	return text;
}

void doctor_limit_files(struct doctor *doctor, const struct rlimit *limit, int open)
{
	char soft[32], hard[32];
	rlim_t left = limit->rlim_cur > (rlim_t)open ? limit->rlim_cur - (rlim_t)open : 0;
	enum doctor_status status = DOCTOR_OK;
	const char *cure = NULL;

	if (left < FILES_NEEDED) {
		status = DOCTOR_FAIL;
		cure = "ulimit -n 65536, or LimitNOFILE= of the service";
	} else if (limit->rlim_cur < FILES_WANTED) {
		status = DOCTOR_WARN;
		cure = "ulimit -n 65536, or LimitNOFILE= of the service, for programs with many mappings";
	}
	doctor_add(doctor, status, "RLIMIT_NOFILE", cure, "%s (at most %s), %d open; a pin or a mapping takes one or two",
		   amount(limit->rlim_cur, soft, sizeof(soft)), amount(limit->rlim_max, hard, sizeof(hard)), open);
}

void doctor_check_limits(struct doctor *doctor)
{
	struct rlimit limit;
	char soft[32];
	int open;

	/* one of them is the directory itself */
	open = tool_tree_each(&doctor->tree, "/proc/self/fd", NULL, NULL) - 1;
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		doctor_limit_files(doctor, &limit, open > 0 ? open : 0);
	if (!getrlimit(RLIMIT_MEMLOCK, &limit))
		doctor_add(doctor, DOCTOR_INFO, "RLIMIT_MEMLOCK", NULL,
			   "%s bytes; pinned GPU memory and host memory that CUDA pins do not count, host "
			   "memory registered with a network card does",
			   amount(limit.rlim_cur, soft, sizeof(soft)));
}
