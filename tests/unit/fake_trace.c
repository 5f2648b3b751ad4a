// SPDX-License-Identifier: MIT
#include <stdarg.h>

#include "fake_sys.h"
#include "tap.h"

#define MAX_LINES 256

static char lines[MAX_LINES][600];
static size_t nr_lines;
static bool recording;

void fake_trace_begin(void)
{
	nr_lines = 0;
	recording = true;
}

bool fake_tracing(void)
{
	return recording;
}

void fake_trace(const char *fmt, ...)
{
	va_list ap;

	if (!recording || nr_lines == MAX_LINES)
		return;
	va_start(ap, fmt);
	vsnprintf(lines[nr_lines++], sizeof(lines[0]), fmt, ap);
	va_end(ap);
}

void fake_trace_expect(const char *const *want, size_t nr)
{
	bool was = recording;

	recording = false;
	if (!want)
		return;
	check(was);
	for (size_t i = 0; i < nr && i < nr_lines; i++) {
		if (strcmp(lines[i], want[i]))
			tap_end(TAP_FAILED, "call %zu is \"%.400s\", not \"%.400s\"", i, lines[i], want[i]);
	}
	if (nr_lines != nr)
		tap_end(TAP_FAILED, "%zu calls, not %zu; the first that differs is \"%.400s\"", nr_lines, nr,
			nr_lines > nr ? lines[nr] : want[nr_lines]);
}

char *fake_words(char *buf, size_t size, const void *bytes, size_t len)
{
	size_t used = 0, zeros = 0;
	uint32_t word;

	buf[0] = '\0';
	for (size_t at = 0; at + 4 <= len && used < size; at += 4) {
		memcpy(&word, (const char *)bytes + at, 4);
		zeros = word ? 0 : zeros + 1;
		/* a run of zeros is written when it ends */
		if (!word && at + 8 <= len && !memcmp((const char *)bytes + at + 4, &word, 4))
			continue;
		if (word)
			used += (size_t)snprintf(buf + used, size - used, "%s%x", used ? " " : "", word);
		else if (zeros == 1)
			used += (size_t)snprintf(buf + used, size - used, "%s0", used ? " " : "");
		else
			used += (size_t)snprintf(buf + used, size - used, "%s0*%zu", used ? " " : "", zeros);
	}
	return buf;
}
