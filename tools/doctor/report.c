// SPDX-License-Identifier: MIT
/* The results, for people and for programs. */
#include <stdlib.h>
#include <string.h>

#include "barlane.h"
#include "common/json.h"
#include "doctor/doctor.h"

static const char *const status_names[] = {"ok", "info", "warn", "FAIL"};
static const char *const json_names[] = {"ok", "info", "warn", "fail"};

static size_t count(const struct doctor *doctor, enum doctor_status status)
{
	size_t nr = 0;

	for (size_t i = 0; i < doctor->nr; i++)
		nr += doctor->rows[i].status == status;
	return nr;
}

void doctor_print(const struct doctor *doctor, FILE *out)
{
	int width = (int)strlen("SUBJECT");

	for (size_t i = 0; i < doctor->nr; i++) {
		int len = (int)strlen(doctor->rows[i].subject);

		width = len > width ? len : width;
	}
	fprintf(out, "%-5s %-10s %-*s %s\n", "STATE", "CHECK", width, "SUBJECT", "FINDING");
	for (size_t i = 0; i < doctor->nr; i++) {
		const struct doctor_row *row = &doctor->rows[i];

		fprintf(out, "%-5s %-10s %-*s %s\n", status_names[row->status], row->check, width, row->subject,
			row->text);
		if (*row->cure)
			fprintf(out, "%-5s %-10s %-*s -> %s\n", "", "", width, "", row->cure);
	}
	fprintf(out, "%zu ok, %zu information, %zu warnings, %zu failures\n", count(doctor, DOCTOR_OK),
		count(doctor, DOCTOR_INFO), count(doctor, DOCTOR_WARN), count(doctor, DOCTOR_FAIL));
}

static struct json_object *row_json(const struct doctor_row *row)
{
	struct json_object *object = tool_json_object();

	tool_json_string(object, "check", row->check);
	tool_json_string(object, "subject", row->subject);
	tool_json_string(object, "status", json_names[row->status]);
	tool_json_string(object, "finding", row->text);
	tool_json_string(object, "cure", row->cure);
	return object;
}

static struct json_object *gpu_json(const struct doctor_gpu *gpu)
{
	struct json_object *object = tool_json_object();

	tool_json_string(object, "name", gpu->device.name);
	tool_json_string(object, "bus_id", gpu->bus_id);
	tool_json_string(object, "uuid", gpu->uuid);
	tool_json_bool(object, "emu", gpu->device.emulated);
	tool_json_int(object, "memory_bytes", (int64_t)gpu->size);
	tool_json_int(object, "bar1_bytes", (int64_t)gpu->bar1_size);
	tool_json_int(object, "bar1_used_bytes", (int64_t)gpu->bar1_used);
	return object;
}

int doctor_write_json(const struct doctor *doctor)
{
	struct json_object *object = tool_json_object(), *gpus = tool_json_array(), *rows = tool_json_array();

	for (int i = 0; i < doctor->nr_gpus; i++)
		tool_json_append(gpus, gpu_json(&doctor->gpus[i]));
	for (size_t i = 0; i < doctor->nr; i++)
		tool_json_append(rows, row_json(&doctor->rows[i]));
	tool_json_string(object, "version", bl_version());
	tool_json_bool(object, "healthy", !doctor_failed(doctor));
	tool_json_string(object, "driver", doctor->driver.version.text);
	tool_json_string(object, "driver_flavour", doctor_flavour_name(doctor->driver.flavour));
	if (doctor->standin)
		tool_json_string(object, "system_calls", doctor->standin);
	tool_json_add(object, "gpus", gpus);
	tool_json_add(object, "rows", rows);
	return tool_json_write(object, "-");
}
