// SPDX-License-Identifier: MIT
#include "copy_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void copy_report_head(const char *what)
{
	printf("# %s\n", what);
	printf("# clock %.0f ns, subtracted; times in ns; ratio: p50 of the library to p50 of the best plain loop\n",
	       copy_clock_ns());
	printf("# %-7s %10s %10s %10s %10s  %-16s %10s %7s %10s\n", "dir", "bytes", "min", "p50", "p99", "best loop",
	       "p50", "ratio", "limit");
}

void copy_report_line(const struct copy_result *result)
{
	const struct copy_entry *ours = &result->entry[0], *best = &result->entry[result->best];

	printf("  %-7s %10zu %10.0f %10.0f %10.0f  %-16s %10.0f %7.3f %10.0f%s\n", result->dir, result->len,
	       ours->min_ns, ours->p50_ns, ours->p99_ns, best->name, best->p50_ns,
	       best->p50_ns > 0 ? ours->p50_ns / best->p50_ns : 0, result->limit_ns, result->missed ? "  MISS" : "");
	fflush(stdout);
}

#ifdef HAVE_JSON_C

#include <json-c/json.h>

static struct json_object *entry_json(const struct copy_entry *entry, size_t len)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "name", json_object_new_string(entry->name));
	json_object_object_add(object, "samples", json_object_new_int64((int64_t)entry->nr));
	json_object_object_add(object, "min_ns", json_object_new_double(entry->min_ns));
	json_object_object_add(object, "p50_ns", json_object_new_double(entry->p50_ns));
	json_object_object_add(object, "p99_ns", json_object_new_double(entry->p99_ns));
	json_object_object_add(object, "mb_per_s",
			       json_object_new_double(entry->p50_ns > 0 ? (double)len * 1e3 / entry->p50_ns : 0));
	return object;
}

static struct json_object *result_json(const struct copy_result *result)
{
	struct json_object *object = json_object_new_object(), *entries = json_object_new_array();

	json_object_object_add(object, "direction", json_object_new_string(result->dir));
	json_object_object_add(object, "bytes", json_object_new_int64((int64_t)result->len));
	for (size_t i = 0; i < result->nr; i++)
		json_object_array_add(entries, entry_json(&result->entry[i], result->len));
	json_object_object_add(object, "entries", entries);
	json_object_object_add(object, "best", json_object_new_string(result->entry[result->best].name));
	json_object_object_add(object, "limit_ns", json_object_new_double(result->limit_ns));
	json_object_object_add(object, "missed", json_object_new_boolean(result->missed));
	return object;
}

int copy_report_json(const char *path, const char *kind, const char *what, const struct copy_result *results, size_t nr)
{
	struct json_object *top = json_object_new_object(), *lines = json_object_new_array();
	FILE *file = strcmp(path, "-") ? fopen(path, "w") : stdout;
	int ret = 0;

	if (!file) {
		ret = -errno;
		goto report;
	}
	json_object_object_add(top, "memory", json_object_new_string(kind));
	json_object_object_add(top, "what", json_object_new_string(what));
	json_object_object_add(top, "clock_ns", json_object_new_double(copy_clock_ns()));
	for (size_t i = 0; i < nr; i++)
		json_object_array_add(lines, result_json(&results[i]));
	json_object_object_add(top, "results", lines);
	lines = NULL;
	if (fprintf(file, "%s\n", json_object_to_json_string_ext(top, JSON_C_TO_STRING_PRETTY)) < 0)
		ret = -EIO;
	if (file != stdout && fclose(file) && !ret)
		ret = -errno;
report:
	if (ret)
		fprintf(stderr, "copy_isa: %s: %s\n", path, strerror(-ret));
	json_object_put(lines);
	json_object_put(top);
	return ret;
}

#else

int copy_report_json(const char *path, const char *kind, const char *what, const struct copy_result *results, size_t nr)
{
	fprintf(stderr, "copy_isa: --json: built without json-c\n");
	return -EOPNOTSUPP;
}

#endif
