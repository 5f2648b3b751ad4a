// SPDX-License-Identifier: MIT
/*
 * The lines of engine_copy's text: "# engine_copy ..." says what it ran on, "# bytes dir host ..." names the columns, and
 * the others are one size each. What the library logged before them is passed over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_plot.h"

#define BLANKS " \t\n"

size_t plot_way(const struct plot_result *result, const char *name)
{
	for (size_t way = 0; way < result->nr_ways; way++) {
		if (!strcmp(result->ways[way], name))
			return way;
	}
	return PLOT_MAX_WAYS;
}

/* "# engine_copy VERSION kernel ... gpu NAME loads ...": version and GPU are kept. */
static int read_title(const char *line, struct plot_result *result)
{
	const char *gpu = strstr(line, " gpu "), *end = strstr(line, " loads ");
	char version[32];

	if (!gpu || !end || end < gpu || sscanf(line, "# engine_copy %31s", version) != 1)
		return -EINVAL;
	gpu += strlen(" gpu ");
	snprintf(result->subtitle, sizeof(result->subtitle), "%.*s, engine_copy %s; bytes per call / p50, 1 GB is 10^9 bytes",
		 (int)(end - gpu), gpu, version);
	result->emulated = strstr(gpu, "(emu)") != NULL;
	return 0;
}

static int read_columns(char *line, struct plot_result *result)
{
	char *save = NULL;

	strtok_r(line, BLANKS, &save); /* # */
	for (int i = 0; i < 3; i++)
		strtok_r(NULL, BLANKS, &save); /* bytes dir host */
	for (char *name = strtok_r(NULL, BLANKS, &save); name; name = strtok_r(NULL, BLANKS, &save)) {
		if (!strcmp(name, "target"))
			return result->nr_ways ? 0 : -EINVAL;
		if (result->nr_ways == PLOT_MAX_WAYS || strlen(name) >= sizeof(result->ways[0]))
			return -EINVAL;
		strcpy(result->ways[result->nr_ways++], name);
	}
	return -EINVAL;
}

static int read_number(const char *text, double *value_p)
{
	char *end;

	if (!text)
		return -EINVAL;
	*value_p = strtod(text, &end);
	return *end || end == text || !(*value_p > 0 && *value_p < 1e18) ? -EINVAL : 0;
}

static int read_index(const char *text, const char *zero, const char *one, size_t *index_p)
{
	if (!text || (strcmp(text, zero) && strcmp(text, one)))
		return -EINVAL;
	*index_p = !strcmp(text, one);
	return 0;
}

static int add_point(struct plot_curve *curve, double bytes, double ns)
{
	if (curve->nr == PLOT_MAX_POINTS || (curve->nr && curve->points[curve->nr - 1].x >= bytes))
		return -EINVAL;
	curve->points[curve->nr++] = (struct report_point){ bytes, bytes * 1e9 / ns };
	return 0;
}

static int read_row(char *line, struct plot_result *result)
{
	char *save = NULL, *text = strtok_r(line, BLANKS, &save);
	size_t dir, host;
	double bytes, ns;

	if (read_number(text, &bytes) || read_index(strtok_r(NULL, BLANKS, &save), "read", "write", &dir) ||
	    read_index(strtok_r(NULL, BLANKS, &save), "pinned", "ordinary", &host))
		return -EINVAL;
	for (size_t way = 0; way < result->nr_ways; way++) {
		text = strtok_r(NULL, BLANKS, &save);
		if (text && !strcmp(text, "-"))
			continue;
		if (read_number(text, &ns) || add_point(&result->curves[dir][host][way], bytes, ns))
			return -EINVAL;
	}
	return 0;
}

static int read_line(char *line, struct plot_result *result)
{
	if (!strncmp(line, "# engine_copy ", 14))
		return read_title(line, result);
	if (line[0] == '#' && strstr(line, " bytes dir "))
		return read_columns(line, result);
	if (line[0] == '#' || !result->nr_ways || line[strspn(line, BLANKS)] == '\0')
		return 0;
	return read_row(line, result);
}

int plot_read(const char *path, struct plot_result *result, char *why, size_t size)
{
	char line[512], copy[sizeof(line)];
	FILE *file = fopen(path, "re");
	int ret = 0;

	if (!file) {
		ret = -errno;
		snprintf(why, size, "%s", strerror(-ret));
		return ret;
	}
	for (int nr = 1; !ret && fgets(line, sizeof(line), file); nr++) {
		memcpy(copy, line, sizeof(copy));
		ret = read_line(copy, result);
		if (ret)
			snprintf(why, size, "line %d is not one of engine_copy: %.100s", nr, line);
	}
	if (!ret && ferror(file))
		ret = -EIO;
	fclose(file);
	if (!ret && (!result->nr_ways || !*result->subtitle))
		ret = -EINVAL;
	if (ret && !*why)
		snprintf(why, size, ret == -EIO ? "cannot be read" : "not a result of engine_copy");
	return ret;
}
