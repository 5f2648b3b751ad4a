// SPDX-License-Identifier: MIT
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct writer {
	void (*print)(FILE *out, const struct report *report);
	const struct report *report;
	const char *text;
};

/* A full disk may show only when the stream is closed. */
static int fill(FILE *out, const struct writer *writer)
{
	int err = 0;

	errno = 0;
	if (writer->print)
		writer->print(out, writer->report);
	else
		fputs(writer->text, out);
	if (ferror(out))
		err = errno ? errno : EIO;
	if (fclose(out) && !err)
		err = errno;
	return -err;
}

/* A pipe or a device is written as it is: renaming over it would take it away. */
static int write_special(const char *path, const struct writer *writer)
{
	FILE *out = fopen(path, "we");

	return out ? fill(out, writer) : -errno;
}

static int write_through(const char *path, const struct writer *writer)
{
	size_t size = strlen(path) + sizeof(".tmp");
	char *temp = malloc(size);
	struct stat st;
	FILE *out;
	int ret;

	if (!temp)
		return -ENOMEM;
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		ret = write_special(path, writer);
		goto free_temp;
	}
	snprintf(temp, size, "%s.tmp", path);
	out = fopen(temp, "we");
	if (!out) {
		ret = -errno;
		goto free_temp;
	}
	ret = fill(out, writer);
	if (ret)
		goto remove_temp;
	if (rename(temp, path)) {
		ret = -errno;
		goto remove_temp;
	}
	free(temp);
	return 0;
remove_temp:
	remove(temp);
free_temp:
	free(temp);
	return ret;
}

int report_write(const char *path, void (*print)(FILE *out, const struct report *report), const struct report *report)
{
	return write_through(path, &(struct writer){.print = print, .report = report});
}

int report_write_text(const char *path, const char *text)
{
	return write_through(path, &(struct writer){.text = text});
}
