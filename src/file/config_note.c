// SPDX-License-Identifier: MIT
/* Complaints about a configuration: collected, then logged, each one once in the life of the process. */
#define log_fmt(fmt) "file/config: " fmt
#include "config_load.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/log.h"

#define MAX_NOTES 64
#define MAX_SAID  256

static struct {
	char text[MAX_NOTES][512];
	enum bl_log_level level[MAX_NOTES];
	int nr;
	int dropped;
	enum bl_log_level worst_dropped;
} notes;

/* Which were logged, by a hash of their text. */
static uint64_t said[MAX_SAID];
static int nr_said;

static void note(enum bl_log_level level, const char *fmt, va_list ap)
{
	char *text;

	if (notes.nr == MAX_NOTES) {
		if (!notes.dropped++ || level < notes.worst_dropped)
			notes.worst_dropped = level;
		return;
	}
	text = notes.text[notes.nr];
	notes.level[notes.nr] = level;
	vsnprintf(text, sizeof(notes.text[0]), fmt, ap);
	/* parts of it come out of a file: one line stays one line */
	for (char *p = text; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
	}
	notes.nr++;
}

void bl_config_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	note(BL_LOG_WARN, fmt, ap);
	va_end(ap);
}

void bl_config_fault(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	note(BL_LOG_ERROR, fmt, ap);
	va_end(ap);
}

static uint64_t hash(const char *text)
{
	uint64_t value = 0xcbf29ce484222325;

	for (; *text; text++)
		value = (value ^ (unsigned char)*text) * 0x100000001b3;
	return value;
}

static bool is_new(const char *text)
{
	uint64_t value = hash(text);

	for (int i = 0; i < nr_said; i++) {
		if (said[i] == value)
			return false;
	}
	if (nr_said < MAX_SAID)
		said[nr_said++] = value;
	return true;
}

void bl_config_notes_log(void)
{
	for (int i = 0; i < notes.nr; i++) {
		if (is_new(notes.text[i]))
			bl_log(notes.level[i], log_fmt("%s"), notes.text[i]);
	}
	if (notes.dropped)
		bl_log(notes.worst_dropped, log_fmt("%d more complaints about the configuration"), notes.dropped);
	bl_config_notes_drop();
}

void bl_config_notes_drop(void)
{
	notes.nr = 0;
	notes.dropped = 0;
}
