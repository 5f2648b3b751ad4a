/* SPDX-License-Identifier: MIT */
/*
 * copy_report.h - results of copy_isa as a table and as JSON
 */
#ifndef BENCH_COPY_REPORT_H
#define BENCH_COPY_REPORT_H

#include <stdbool.h>

#include "copy_measure.h"

#define COPY_MAX_ENTRIES 12

/**
 * struct copy_result - one line of the table
 * @dir:      "write", "read" or "threads"
 * @len:      bytes
 * @nr:       entries; entry 0 is the library
 * @entry:    what was compared
 * @best:     index of the fastest plain loop that counts for the target
 * @limit_ns: the library's median should not be above
 * @missed:   it is
 */
struct copy_result {
	const char *dir;
	size_t len;
	size_t nr;
	struct copy_entry entry[COPY_MAX_ENTRIES];
	size_t best;
	double limit_ns;
	bool missed;
};

/* Head of the table; @what says what ran on what. */
void copy_report_head(const char *what);

/* One line. */
void copy_report_line(const struct copy_result *result);

/**
 * copy_report_json() - Write all results
 * @path:    file, or "-" for stdout
 * @kind:    of memory
 * @what:    as in copy_report_head()
 * @results: lines
 * @nr:      how many
 *
 * Return: 0 or -errno (-EOPNOTSUPP when built without json-c); the message has been printed.
 */
int copy_report_json(const char *path, const char *kind, const char *what, const struct copy_result *results,
		     size_t nr);

#endif
