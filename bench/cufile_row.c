// SPDX-License-Identifier: MIT
/* Rows of cufile_bw, as CSV or as one JSON object. */
#include <inttypes.h>
#include <stdio.h>

#include "cufile_bw.h"

static bool as_json;
static unsigned int nr_rows;

static void put_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			printf("\\u%04x", (unsigned int)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

void bw_rows_begin(bool json, const char *lib, int version, const char *gpu, const char *file, uint64_t size)
{
	as_json = json;
	if (!json) {
		printf("# cufile_bw: lib %s version %d gpu %s file %s bytes %" PRIu64 "\n", lib ? lib : "none", version,
		       gpu, file, size);
		printf("case,bytes,threads,reps,ops,gbps,gbps_best,us_p50,us_p99,cpu_s_per_gib,checked\n");
		fflush(stdout);
		return;
	}
	printf("{\"program\": \"cufile_bw\", \"lib\": ");
	put_string(lib ? lib : "none");
	printf(", \"version\": %d, \"gpu\": ", version);
	put_string(gpu);
	printf(", \"file\": ");
	put_string(file);
	printf(", \"file_bytes\": %" PRIu64 ", \"rows\": [", size);
}

/* A value that was not measured is empty, or null. */
static void put_value(const char *key, double value)
{
	if (as_json && value > 0)
		printf(", \"%s\": %.6g", key, value);
	else if (as_json)
		printf(", \"%s\": null", key);
	else if (value > 0)
		printf(",%.6g", value);
	else
		putchar(',');
}

void bw_row_put(const struct bw_row *row)
{
	if (as_json)
		printf("%s\n{\"case\": \"%s\", \"bytes\": %zu, \"threads\": %d, \"reps\": %u, \"ops\": %" PRIu64,
		       nr_rows ? "," : "", row->name, row->len, row->threads, row->reps, row->ops);
	else
		printf("%s,%zu,%d,%u,%" PRIu64, row->name, row->len, row->threads, row->reps, row->ops);
	put_value("gbps", row->gbps[0]);
	put_value("gbps_best", row->gbps[1]);
	put_value("us_p50", row->us[0]);
	put_value("us_p99", row->us[1]);
	put_value("cpu_s_per_gib", row->cpu_gib);
	if (as_json)
		printf(", \"checked\": %" PRIu64 "}", row->checked);
	else
		printf(",%" PRIu64 "\n", row->checked);
	nr_rows++;
	fflush(stdout);
}

void bw_rows_end(void)
{
	if (as_json)
		printf("\n]}\n");
	fflush(stdout);
}
