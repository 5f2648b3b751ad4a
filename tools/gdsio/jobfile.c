// SPDX-License-Identifier: MIT
/* Files of options: "key=value" lines in a section [global], and in one section for each job. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/option.h"
#include "gdsio/gdsio.h"

static const struct tool_name ios[] = {
	{ "read", IO_READ }, { "write", IO_WRITE }, { "randread", IO_RANDREAD }, { "randwrite", IO_RANDWRITE }, { NULL, 0 },
};

static char *trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

static char *keep(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		tool_die("out of memory");
	return copy;
}

static bool is_on(const char *key, const char *value)
{
	return tool_number(key, value, 0, 1);
}

static bool job_key(const char *key, const char *value, struct gdsio_job *job)
{
	if (!strcmp(key, "gpu_dev_id"))
		job->gpu = (int)tool_number(key, value, 0, 1023);
	else if (!strcmp(key, "numa_node"))
		job->node = (int)tool_number(key, value, 0, 1023);
	else if (!strcmp(key, "num_threads"))
		job->workers = (unsigned int)tool_number(key, value, 1, GDSIO_WORKERS);
	else if (!strcmp(key, "directory"))
		job->dir = keep(value);
	else if (!strcmp(key, "filename"))
		job->file = keep(value);
	else if (!strcmp(key, "mem_type"))
		job->mem = (enum gdsio_mem)tool_number(key, value, 0, MEM_NR - 1);
	else
		return false;
	return true;
}

static bool global_number(const char *key, const char *value, struct gdsio_options *opt)
{
	if (!strcmp(key, "xfer_type"))
		opt->xfer = (enum gdsio_xfer)tool_number(key, value, 0, XFER_NR - 1);
	else if (!strcmp(key, "rw"))
		opt->io = (enum gdsio_io)tool_name_value(key, value, ios);
	else if (!strcmp(key, "bs"))
		gdsio_options_sizes(key, value, opt);
	else if (!strcmp(key, "size"))
		opt->size = tool_number(key, value, 1, 1UL << 50);
	else if (!strcmp(key, "start_offset"))
		opt->start = tool_number(key, value, 0, 1UL << 50);
	else if (!strcmp(key, "runtime"))
		opt->seconds = (double)tool_number(key, value, 0, 1000000000);
	else if (!strcmp(key, "random_seed"))
		opt->seed = tool_number(key, value, 0, UINT32_MAX);
	else
		return false;
	return true;
}

static bool global_flag(const char *key, const char *value, struct gdsio_options *opt)
{
	if (!strcmp(key, "do_verify"))
		opt->verify = is_on(key, value);
	else if (!strcmp(key, "skip_bufregister"))
		opt->skip_register = is_on(key, value);
	else if (!strcmp(key, "fill_random"))
		opt->random_fill = is_on(key, value);
	else if (!strcmp(key, "refill_buffer"))
		opt->refill = is_on(key, value);
	else if (!strcmp(key, "unaligned_random"))
		opt->align = is_on(key, value) ? 1 : opt->align;
	else
		/* a name for people, and what CUDA decides by itself */
		return !strcmp(key, "name") || !strcmp(key, "enable_nvlinks");
	return true;
}

static void section(const char *path, unsigned int line, const char *name, struct gdsio_options *opt,
		    struct gdsio_job **job)
{
	*job = NULL;
	if (!strcmp(name, "[global]"))
		return;
	if (opt->nr_jobs == GDSIO_JOBS)
		tool_die("%s:%u: more than %d jobs", path, line, GDSIO_JOBS);
	*job = &opt->jobs[opt->nr_jobs++];
	**job = (struct gdsio_job){ .node = -1, .workers = 1 };
}

static FILE *open_file(const char *path)
{
	FILE *in = fopen(path, "re");

	if (!in)
		tool_die("%s: %s", path, strerror(errno));
	return in;
}

void gdsio_jobfile_read(const char *path, struct gdsio_options *opt)
{
	FILE *in = open_file(path);
	struct gdsio_job *job = NULL;
	char buf[4096 + 64], *text, *value;
	unsigned int line = 0;

	while (fgets(buf, sizeof(buf), in)) {
		line++;
		if (!strchr(buf, '\n') && !feof(in))
			tool_die("%s:%u: the line is too long", path, line);
		text = trim(buf);
		if (!*text || *text == '#' || *text == ';')
			continue;
		if (*text == '[') {
			section(path, line, text, opt, &job);
			continue;
		}
		value = strchr(text, '=');
		if (!value)
			tool_die("%s:%u: no key=value: %s", path, line, text);
		*value++ = '\0';
		text = trim(text);
		value = trim(value);
		if (job ? !job_key(text, value, job) : !global_number(text, value, opt) && !global_flag(text, value, opt))
			tool_die("%s:%u: unknown key \"%s\" in a section for %s", path, line, text, job ? "a job" : "all");
	}
	if (ferror(in))
		tool_die("%s: %s", path, strerror(errno));
	fclose(in);
}
