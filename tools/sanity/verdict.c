// SPDX-License-Identifier: MIT
/*
 * verdict.c - how a test ends
 */
#include "sanity/sanity.h"
#include "sanity/run.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void __attribute__((noreturn)) end(enum sanity_status status, const char *text)
{
	char line[600];
	int len;

	/* one write() of less than PIPE_BUF: reasons of several processes do not mix */
	len = snprintf(line, sizeof(line), "%s\n", text);
	if (len >= (int)sizeof(line))
		len = sizeof(line) - 1;
	if (write(sanity_reason_fd, line, (size_t)len) != len)
		fprintf(stderr, "%s", line);
	_exit(status);
}

void st_fail_at(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	char text[560];
	va_list ap;
	int used;

	used = snprintf(text, sizeof(text), "%s:%d: ", base ? base + 1 : file, line);
	va_start(ap, fmt);
	vsnprintf(text + used, sizeof(text) - (size_t)used, fmt, ap);
	va_end(ap);
	end(SANITY_FAILED, text);
}

void st_waive(const char *fmt, ...)
{
	char text[560];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	end(SANITY_WAIVED, text);
}

void st_log(const char *fmt, ...)
{
	va_list ap;

	if (!sanity_options.verbose)
		return;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* The library's reason, where it has one: NVIDIA's has not, and a self-contained build hides the symbol. */
static const char *last_error(int *code_p)
{
	const char *(*fn)(int *code_p);
	void *symbol = dlsym(RTLD_DEFAULT, "bl_last_error");

	if (!symbol)
		return NULL;
	memcpy(&fn, &symbol, sizeof(fn));
	return fn(code_p);
}

static const char *error_name(int err)
{
	const char *name = strerrorname_np(err);

	return name ? name : err ? "unknown error" : "success";
}

void st_ok_at(const char *file, int line, const char *what, int ret)
{
	const char *why;
	int code = 0;

	if (!ret)
		return;
	why = last_error(&code);
	st_fail_at(file, line, "%s: %s (%d)%s%s", what, error_name(ret), ret, why ? ": " : "", why ? why : "");
}

static void check_reason(const char *file, int line, const char *what, int ret)
{
	const char *why;
	int code = 0;

	why = last_error(&code);
	if (!why)
		return;
	if (code != ret)
		st_fail_at(file, line, "%s: gave %s, but the reason is for %s: \"%s\"", what, error_name(ret),
			   error_name(code), why);
	if (!*why)
		st_fail_at(file, line, "%s: gave %s without a reason", what, error_name(ret));
	st_log("%s: %s: %s", what, error_name(ret), why);
}

void st_err_at(const char *file, int line, const char *what, int ret, int err, int or_err)
{
	if (ret != err && ret != or_err)
		st_fail_at(file, line, "%s: gave %s (%d), not %s%s%s", what, error_name(ret), ret, error_name(err),
			   err == or_err ? "" : " or ", err == or_err ? "" : error_name(or_err));
	check_reason(file, line, what, ret);
}

void st_refused_at(const char *file, int line, const char *what, int ret)
{
	if (!ret)
		st_fail_at(file, line, "%s: succeeded and must not", what);
	st_log("%s: %s", what, error_name(ret));
}

void st_help_at(const char *file, int line, int ret)
{
	if (ret < 0)
		st_fail_at(file, line, "%s", tool_why());
}

void st_same_at(const char *file, int line, const void *got, const void *want, size_t len)
{
	const unsigned char *a = got, *b = want;

	for (size_t i = 0; i < len; i++) {
		if (a[i] != b[i])
			st_fail_at(file, line, "byte %zu of %zu is 0x%02x, not 0x%02x", i, len, a[i], b[i]);
	}
}
