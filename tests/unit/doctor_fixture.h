/* SPDX-License-Identifier: MIT */
/* doctor_fixture.h - an examination by "barlane doctor" of a machine made of files */
#ifndef TESTS_UNIT_DOCTOR_FIXTURE_H
#define TESTS_UNIT_DOCTOR_FIXTURE_H

#include "doctor/doctor.h"
#include "fake_tree.h"
#include "tap.h"

static struct doctor doctor;

/* A machine without anything. */
static inline void begin(void)
{
	free(doctor.rows);
	memset(&doctor, 0, sizeof(doctor));
	doctor.tree = *fake_tree_begin();
	doctor.check = "test";
}

/* The first row that has a fragment; ends the test when there is none. */
static inline const struct doctor_row *row(const char *fragment)
{
	for (size_t i = 0; i < doctor.nr; i++) {
		if (strstr(doctor.rows[i].text, fragment) || strstr(doctor.rows[i].subject, fragment))
			return &doctor.rows[i];
	}
	tap_end(TAP_FAILED, "no row has \"%s\"; the first of %zu is \"%s\"", fragment, doctor.nr,
		doctor.nr ? doctor.rows[0].text : "");
}

/* Rows that warn or fail must say what helps. */
static inline void check_cures(void)
{
	for (size_t i = 0; i < doctor.nr; i++) {
		if (doctor.rows[i].status >= DOCTOR_WARN && !*doctor.rows[i].cure)
			tap_end(TAP_FAILED, "no cure: %s", doctor.rows[i].text);
	}
}

#endif
