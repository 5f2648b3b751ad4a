// SPDX-License-Identifier: MIT
/* Tables, plots and files of the report library (tools/report). */
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "axis.h"
#include "report.h"

static const struct report_point slow[] = {{1, 80}, {1024, 900}, {1048576, 2.5e6}};
static const struct report_point fast[] = {{1, 20}, {1024, 90}, {1048576, 4e4}};
static const struct report_series curves[] = {{"write <p50>", fast, 3}, {"read", slow, 3}};
static const struct report_plot plot = {"Latency & more", "bytes", "latency", REPORT_BYTES, REPORT_NS, curves, 2};
static const char *const columns[] = {"bytes", "ns"};
static char *cells[] = {"1", "20", "1048576", "<40000>"};
static const struct report_table table = {"Times", "a note", columns, 2, cells, 2};
static const struct report_fact facts[] = {{"gpu", "GPU \"0\""}};
static const struct report report = {"A title", "on a GPU", "emu", facts, 1, &table, 1, &plot, 1};

static char *text_of(void (*print)(FILE *out))
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print(out);
	fclose(out);
	return text;
}

static void print_plot(FILE *out)
{
	report_plot_text(out, &plot, "emu");
}

static void print_table(FILE *out)
{
	report_table_text(out, &table);
}

static void print_svg(FILE *out)
{
	report_svg(out, &report);
}

static void print_html(FILE *out)
{
	report_html(out, &report);
}

static void values_have_units(void)
{
	char buf[24];

	check_str(report_format(REPORT_NS, 7, buf, sizeof(buf)), "7 ns");
	check_str(report_format(REPORT_NS, 1500, buf, sizeof(buf)), "1.50 us");
	check_str(report_format(REPORT_NS, 999.9, buf, sizeof(buf)), "1.00 us");
	check_str(report_format(REPORT_NS, 12e9, buf, sizeof(buf)), "12 s");
	check_str(report_format(REPORT_RATE, 17.62e9, buf, sizeof(buf)), "17.6 GB/s");
	check_str(report_format(REPORT_BYTES, 65536, buf, sizeof(buf)), "64K");
	check_str(report_format(REPORT_BYTES, 1000, buf, sizeof(buf)), "1000");
	check_str(report_format(REPORT_BYTES, 16 << 20, buf, sizeof(buf)), "16M");
}

static void axes_hold_all_points(void)
{
	struct report_axis axis;

	check_eq(report_axis_fit(&plot, REPORT_X, &axis), 0);
	check_eq(axis.lo, 1);
	check_eq(axis.hi, 1048576);
	check_eq(report_axis_fit(&plot, REPORT_Y, &axis), 0);
	check_eq(axis.lo, 20);
	check_eq(axis.hi, 5000000);
	check(fabs(report_axis_pos(&axis, 20)) < 1e-9);
	check(fabs(report_axis_pos(&axis, 5e6) - 1) < 1e-9);
	check(fabs(report_axis_value(&axis, report_axis_pos(&axis, 333)) - 333) < 1e-6);
}

static void ticks_are_decades_and_powers_of_sixteen(void)
{
	struct report_axis ns = {REPORT_NS, 20, 5e6}, bytes = {REPORT_BYTES, 1, 1048576};
	double tick = 0, expect = 100;

	for (; (tick = report_axis_tick(&ns, tick)) > 0; expect *= 10)
		check(fabs(tick / expect - 1) < 1e-9);
	check(fabs(expect - 1e7) < 1);
	expect = 1;
	for (; (tick = report_axis_tick(&bytes, tick)) > 0; expect *= 16)
		check(fabs(tick / expect - 1) < 1e-9);
	check(fabs(expect - 16777216) < 1);
}

static void a_point_at_zero_is_refused(void)
{
	const struct report_point points[] = {{1, 0}};
	const struct report_series series = {"zero", points, 1};
	const struct report_plot bad = {"t", "x", "y", REPORT_BYTES, REPORT_NS, &series, 1};
	struct report_axis axis;

	check_eq(report_axis_fit(&bad, REPORT_Y, &axis), -EINVAL);
	check_eq(report_axis_fit(&bad, REPORT_X, &axis), 0);
}

static void no_points_are_refused(void)
{
	const struct report_plot none = {"t", "x", "y", REPORT_BYTES, REPORT_NS, NULL, 0};
	struct report_axis axis;

	check_eq(report_axis_fit(&none, REPORT_X, &axis), -EINVAL);
}

static void text_plot_fits_into_100_columns(void)
{
	char *text = text_of(print_plot);
	size_t longest = 0, lines = 0;
	int emu, mark;

	check(text);
	emu = strstr(text, "Latency & more (emu)") != NULL;
	mark = strchr(text, 'w') && strchr(text, 'r');
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		longest = (size_t)(end - line) > longest ? (size_t)(end - line) : longest;
		lines++;
	}
	free(text);
	check(emu && mark);
	check(lines >= 18);
	check(longest <= 100);
}

static void table_columns_are_aligned(void)
{
	char *text = text_of(print_table);
	int same;

	check(text);
	same = !strcmp(text, "Times\n"
			     "  bytes       ns\n"
			     "      1       20\n"
			     "1048576  <40000>\n"
			     "a note\n");
	free(text);
	check(same);
}

static void svg_escapes_and_labels(void)
{
	char *text = text_of(print_svg);
	int ok;

	check(text);
	ok = strstr(text, "write &lt;p50&gt;") && strstr(text, "Latency &amp; more (emu)") && !strstr(text, "<p50>") &&
	     strstr(text, "</svg>") && strstr(text, "prefers-color-scheme: dark");
	free(text);
	check(ok);
}

static void html_is_one_file(void)
{
	char *text = text_of(print_html);
	int ok, loads;

	check(text);
	ok = strstr(text, "<svg") && strstr(text, "&lt;40000&gt;") && strstr(text, "GPU &quot;0&quot;") &&
	     strstr(text, "class=\"label\"") && strstr(text, "</html>");
	loads = strstr(text, "src=") || strstr(text, "href=") || strstr(text, "url(") || strstr(text, "@import");
	free(text);
	check(ok);
	check(!loads);
}

static void failed_write_leaves_the_old_file(void)
{
	char dir[] = "report-test-XXXXXX", path[64], text[8] = "";
	FILE *file;
	int ret, missing;

	check(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	ret = report_write_text(path, "old");
	missing = report_write_text("no-such-directory/file", "text");
	/* a directory in the place of the temporary file makes the second write fail */
	snprintf(path, sizeof(path), "%s/file.tmp", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/file", dir);
	ret = ret ? ret : report_write_text(path, "new") == -EISDIR ? 0 : 1;
	file = fopen(path, "r");
	if (file) {
		text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
		fclose(file);
	}
	unlink(path);
	snprintf(path, sizeof(path), "%s/file.tmp", dir);
	rmdir(path);
	rmdir(dir);
	check_eq(ret, 0);
	check_eq(missing, -ENOENT);
	check_str(text, "old");
}

static void full_disk_is_an_error(void)
{
	if (access("/dev/full", W_OK))
		skip("no /dev/full");
	check_eq(report_write("/dev/full", report_html, &report), -ENOSPC);
	check(!access("/dev/full", W_OK));
}

static const struct tap_test tests[] = {
	{"values_have_units", values_have_units},
	{"axes_hold_all_points", axes_hold_all_points},
	{"ticks_are_decades_and_powers_of_sixteen", ticks_are_decades_and_powers_of_sixteen},
	{"a_point_at_zero_is_refused", a_point_at_zero_is_refused},
	{"no_points_are_refused", no_points_are_refused},
	{"text_plot_fits_into_100_columns", text_plot_fits_into_100_columns},
	{"table_columns_are_aligned", table_columns_are_aligned},
	{"svg_escapes_and_labels", svg_escapes_and_labels},
	{"html_is_one_file", html_is_one_file},
	{"failed_write_leaves_the_old_file", failed_write_leaves_the_old_file},
	{"full_disk_is_an_error", full_disk_is_an_error},
};
TAP_MAIN(tests)
