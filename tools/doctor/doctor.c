// SPDX-License-Identifier: MIT
#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdlib.h>

#include "common/error.h"

static const struct {
	const char *name;
	void (*run)(struct doctor *doctor);
} checks[] = {
	{"driver", doctor_check_driver},       {"gpu", doctor_check_gpus},	     {"node", doctor_check_nodes},
	{"container", doctor_check_container}, {"provider", doctor_check_providers}, {"module", doctor_check_module},
	{"pin", doctor_check_trial},	       {"bar1", doctor_check_bar1},	     {"pcie", doctor_check_pcie},
	{"numa", doctor_check_numa},	       {"iommu", doctor_check_iommu},	     {"limit", doctor_check_limits},
	{"security", doctor_check_security},   {"file", doctor_check_storage},
	{"route", doctor_check_routes},	       {"nic", doctor_check_nics},
};

void doctor_add(struct doctor *doctor, enum doctor_status status, const char *subject, const char *cure,
		const char *fmt, ...)
{
	struct doctor_row *row;
	va_list ap;

	if (doctor->nr == doctor->room) {
		doctor->room = doctor->room ? 2 * doctor->room : 32;
		doctor->rows = realloc(doctor->rows, doctor->room * sizeof(*doctor->rows));
		if (!doctor->rows)
			tool_die("out of memory");
	}
	row = &doctor->rows[doctor->nr++];
	row->status = status;
	row->check = doctor->check;
	snprintf(row->subject, sizeof(row->subject), "%s", subject);
	snprintf(row->cure, sizeof(row->cure), "%s", cure ? cure : "");
	va_start(ap, fmt);
	vsnprintf(row->text, sizeof(row->text), fmt, ap);
	va_end(ap);
}

bool doctor_failed(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->nr; i++) {
		if (doctor->rows[i].status == DOCTOR_FAIL)
			return true;
	}
	return false;
}

void doctor_run(struct doctor *doctor)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		doctor->check = checks[i].name;
		checks[i].run(doctor);
	}
}

void doctor_end(struct doctor *doctor)
{
	for (int i = 0; i < doctor->nr_gpus; i++) {
		if (doctor->gpus[i].open)
			tool_device_close(&doctor->gpus[i].device);
	}
	free(doctor->rows);
}
