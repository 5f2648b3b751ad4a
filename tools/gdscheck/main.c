// SPDX-License-Identifier: MIT
/*
 * gdscheck - whether this machine can bring files to GPU memory, and how
 *
 * Sections are those of NVIDIA's tool; what stands in them comes from the checks of "barlane doctor" and from the library
 * itself. A section MOUNTS says what the original leaves open: which path the files of each folder would take.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "doctor/storage.h"
#include "gdscheck/gdscheck.h"
#include "gpu/sys.h"

static void usage(FILE *out)
{
	fputs("usage: gdscheck -p | -f FILE | -v\n"
	      "  -p          the whole report\n"
	      "  -f FILE     register a file, and say which path it would take\n"
	      "  -v          versions\n"
	      "  --lib FILE  libcufile to ask, default libcufile.so.0 where the loader finds it\n",
	      out);
}

static void begin(struct doctor *doctor)
{
	const struct bl_sys *sys = bl_sys();

	doctor->tree = (struct tool_tree){ "", sys->open, sys->close };
	if (strcmp(sys->name, "kernel"))
		doctor->standin = sys->name;
	doctor->trials = &doctor_trials_kernel;
}

/* Run a check; of its rows those are shown later that say that something is wrong. */
static void examine(struct doctor *doctor, const char *name, void (*check)(struct doctor *doctor))
{
	doctor->check = name;
	check(doctor);
}

static void print_rows(const struct doctor *doctor, size_t from)
{
	for (size_t i = from; i < doctor->nr; i++)
		printf(" %-18s : %s\n", doctor->rows[i].subject, doctor->rows[i].text);
}

/* For each GPU, whether files can reach it by path devicepages, and why not. */
static void print_pages(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->nr; i++) {
		const struct doctor_row *row = &doctor->rows[i];

		if (!strcmp(row->check, "pin") && !strncmp(row->text, "device pages", 12))
			printf(" %-18s : %s\n", row->subject, row->text);
	}
}

/* What warns or fails, with its cure; returns how many fail. */
static int print_problems(const struct doctor *doctor)
{
	int failures = 0;

	for (size_t i = 0; i < doctor->nr; i++) {
		const struct doctor_row *row = &doctor->rows[i];

		if (row->status < DOCTOR_WARN)
			continue;
		failures += row->status == DOCTOR_FAIL;
		printf(" %s: %s %s: %s\n  -> %s\n", row->status == DOCTOR_FAIL ? "error" : "warning", row->check, row->subject,
		       row->text, row->cure);
	}
	return failures;
}

/* Open the library's driver; whatever it needs of the machine is missing when it does not. */
static int open_driver(const struct tool_cufile *lib)
{
	int ret = tool_cufile_status(lib->cuFileDriverOpen(), "cuFileDriverOpen");

	if (ret)
		printf(" error: %s\n", tool_why());
	return ret;
}

static int report(struct doctor *doctor, const struct tool_cufile *lib, const char *own)
{
	int failures, closed;
	size_t from;

	examine(doctor, "driver", doctor_check_driver);
	examine(doctor, "gpu", doctor_check_gpus);
	examine(doctor, "node", doctor_check_nodes);
	examine(doctor, "provider", doctor_check_providers);
	examine(doctor, "pin", doctor_check_trial);
	examine(doctor, "bar1", doctor_check_bar1);
	gdscheck_versions(doctor, lib);
	gdscheck_environment(own);
	closed = open_driver(lib);
	gdscheck_drivers(doctor, lib);
	print_pages(doctor);
	gdscheck_config(lib);
	gdscheck_gpus(doctor);
	gdscheck_heading("MOUNTS:");
	from = doctor->nr;
	examine(doctor, "file", doctor_check_storage);
	print_rows(doctor, from);
	gdscheck_platform(doctor);
	failures = print_problems(doctor);
	printf(" Platform verification %s\n", failures || closed ? "failed" : "succeeded");
	if (!closed)
		lib->cuFileDriverClose_v2();
	return failures || closed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int check_file(struct doctor *doctor, const struct tool_cufile *lib, const char *path)
{
	CUfileDescr_t descr = { .type = CU_FILE_HANDLE_TYPE_OPAQUE_FD };
	char *real = realpath(path, NULL);
	CUfileHandle_t fh;
	int ret;

	descr.handle.fd = real ? tool_cufile_open(real, O_RDONLY) : -1;
	if (!real || descr.handle.fd < 0)
		tool_die("%s: %s", path, strerror(errno));
	ret = tool_cufile_status(lib->cuFileHandleRegister(&fh, &descr), "cuFileHandleRegister");
	if (ret)
		printf(" %s: not supported: %s\n", path, tool_why());
	else
		printf(" %s: supported\n", path);
	doctor->check = "file";
	if (doctor_storage_path(doctor, real))
		printf(" its file system is not in /proc/self/mountinfo\n");
	print_rows(doctor, 0);
	if (!ret)
		lib->cuFileHandleDeregister(fh);
	close(descr.handle.fd);
	free(real);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = { { "lib", required_argument, NULL, 'L' },
					       { "help", no_argument, NULL, 'h' },
					       { NULL, 0, NULL, 0 } };
	static struct tool_cufile lib;
	static struct doctor doctor;
	const char *name = NULL, *file = NULL, *own = getenv("BARLANE_LOG") ? NULL : "BARLANE_LOG";
	int c, what = 0, ret;

	while ((c = getopt_long(argc, argv, "pf:vh", longs, NULL)) != -1) {
		if (c == 'L') {
			name = optarg;
		} else if (c == 'p' || c == 'f' || c == 'v') {
			what = c;
			file = c == 'f' ? optarg : file;
		} else {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? EXIT_SUCCESS : EXIT_FAILURE;
		}
	}
	if (optind < argc || !what) {
		usage(stderr);
		return EXIT_FAILURE;
	}
	/* what the report says of a failure need not be on stderr as well */
	setenv("BARLANE_LOG", "off", 0);
	begin(&doctor);
	if (tool_cufile_load(name, &lib))
		tool_die("%s", tool_why());
	if (what == 'v') {
		gdscheck_versions(&doctor, &lib);
		return tool_finish(EXIT_SUCCESS);
	}
	ret = what == 'f' ? check_file(&doctor, &lib, file) : report(&doctor, &lib, own);
	doctor_end(&doctor);
	return tool_finish(ret);
}
