// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/tune: " fmt
#include "tune.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

#define TUNE_INITIAL(name, initial, min, max) .name = (initial),
#define TUNE_ROW(name, initial, min, max)     { #name, offsetof(struct bl_file_tune, name), (min), (max) },

static struct bl_file_tune tune = { BL_TUNES(TUNE_INITIAL) };

static const struct row {
	const char *name;
	size_t at;
	unsigned long min;
	unsigned long max;
} rows[] = { BL_TUNES(TUNE_ROW) };

static int parse(const char *text, unsigned long *value_p)
{
	char *end = NULL;

	errno = 0;
	*value_p = strtoul(text, &end, 10);
	if (end == text || errno || *value_p > 1UL << 40)
		return -EINVAL;
	if (*end == 'K' || *end == 'M')
		*value_p <<= *end++ == 'K' ? 10 : 20;
	return *end ? -EINVAL : 0;
}

static void set(const char *name, const char *text)
{
	unsigned long value = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, name))
			continue;
		if (parse(text, &value) || value < rows[i].min || value > rows[i].max)
			log_warn("BARLANE_FILE_TUNE %s %s ignored: not a number from %lu to %lu", name, text,
				 rows[i].min, rows[i].max);
		else
			*(uint32_t *)((char *)&tune + rows[i].at) = (uint32_t)value;
		return;
	}
	log_warn("BARLANE_FILE_TUNE %s ignored: there is no such number", name);
}

static void read_environment(void)
{
	const char *text = secure_getenv("BARLANE_FILE_TUNE");
	char item[128], *value;
	size_t len;

	for (; text && *text; text += len + (text[len] == ',')) {
		len = strcspn(text, ",");
		if (!len)
			continue;
		snprintf(item, sizeof(item), "%.*s", (int)len, text);
		value = strchr(item, '=');
		if (value)
			*value++ = 0;
		set(item, value ? value : "");
	}
}

const struct bl_file_tune *bl_file_tune(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_environment);
	return &tune;
}
