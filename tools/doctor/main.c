// SPDX-License-Identifier: MIT
/* The command line of "barlane doctor". */
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "doctor/doctor.h"
#include "doctor/storage.h"
#include "gpu/sys.h"

static void begin(struct doctor *doctor)
{
	const struct bl_sys *sys = bl_sys();
	int cpu = sched_getcpu();

	/* what the core sees is what has to be right: the emulated GPU's files come through its table */
	doctor->tree = (struct tool_tree){"", sys->open, sys->close};
	if (strcmp(sys->name, "kernel"))
		doctor->standin = sys->name;
	doctor->trials = &doctor_trials_kernel;
	doctor->cpu = cpu < 0 ? 0 : (unsigned int)cpu;
}

int doctor_main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"help", no_argument, NULL, 'h'}, {"json", no_argument, NULL, 'J'}, {NULL, 0, NULL, 0}};
	static struct doctor doctor;
	bool json = false;
	int opt, status;

	while ((opt = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (opt == 'J') {
			json = true;
			continue;
		}
		fprintf(opt == 'h' ? stdout : stderr, "usage: barlane doctor [--json]\n");
		return opt == 'h' ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (optind < argc)
		tool_die("unexpected argument \"%s\"", argv[optind]);
	/* the table says all that an error on stderr would */
	setenv("BARLANE_LOG", "off", 0);
	begin(&doctor);
	doctor_run(&doctor);
	if (!json)
		doctor_print(&doctor, stdout);
	else if (doctor_write_json(&doctor))
		tool_die("%s", tool_why());
	status = doctor_failed(&doctor) ? EXIT_FAILURE : EXIT_SUCCESS;
	doctor_end(&doctor);
	return status;
}
