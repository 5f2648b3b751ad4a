/* SPDX-License-Identifier: MIT */
/*
 * doctor.h - checks of "barlane doctor": what this machine has, what is wrong, and what would help
 *
 * A check is a function that adds rows; each file has one subject. Checks run in the order of doctor_checks and may use
 * what an earlier one found out. A row that warns or fails names its cure.
 */
#ifndef TOOLS_DOCTOR_DOCTOR_H
#define TOOLS_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "common/device.h"
#include "common/tree.h"
#include "doctor/driver.h"

struct doctor_trials;

/* GPUs that are looked at; more than any host has. */
#define DOCTOR_GPUS 64

enum doctor_status {
	DOCTOR_OK,   /* as it should be */
	DOCTOR_INFO, /* good to know */
	DOCTOR_WARN, /* works, but slower or for less than it could */
	DOCTOR_FAIL, /* does not work; the exit status is 1 */
};

/**
 * struct doctor_row - one line of the table
 * @status:  verdict
 * @check:   name of the check
 * @subject: what was looked at
 * @text:    what was found
 * @cure:    what would help, "" for none
 */
struct doctor_row {
	enum doctor_status status;
	const char *check;
	char subject[48];
	char text[640];
	char cure[256];
};

/**
 * struct doctor_gpu - a GPU that CUDA finds
 * @device:   in use, its primary context is retained, when @open
 * @open:     see there
 * @bus_id:   PCI address with function, lower case
 * @uuid:     "GPU-..." or ""
 * @size:     bytes of video memory
 * @bar1_size: bytes, 0 unknown
 * @bar1_used: bytes
 * @pages:    the kernel has struct pages behind a mapping of its memory, as check pin finds
 */
struct doctor_gpu {
	struct tool_device device;
	bool open;
	char bus_id[32];
	char uuid[48];
	uint64_t size;
	uint64_t bar1_size;
	uint64_t bar1_used;
	bool pages;
};

/**
 * struct doctor - an examination
 * @tree:    files of the machine
 * @standin: name of what stands in for the kernel's drivers, NULL when nothing does
 * @cpu:     processor that the process runs on
 * @check:   name of the check that runs
 * @driver:  what the driver says of itself; all empty when there is none
 * @gpus:    what CUDA finds
 * @nr_gpus: how many
 * @trials:  of check file; NULL: nothing is tried
 * @rows:    results
 * @nr:      how many
 * @room:    how many fit
 */
struct doctor {
	struct tool_tree tree;
	const char *standin;
	unsigned int cpu;
	const char *check;
	struct doctor_driver driver;
	struct doctor_gpu gpus[DOCTOR_GPUS];
	int nr_gpus;
	const struct doctor_trials *trials;
	struct doctor_row *rows;
	size_t nr;
	size_t room;
};

/**
 * doctor_add() - Add a row to the results
 * @doctor:  examination
 * @status:  verdict
 * @subject: what was looked at
 * @cure:    what would help; NULL for none, which rows that warn or fail must not have
 * @fmt:     what was found
 */
void doctor_add(struct doctor *doctor, enum doctor_status status, const char *subject, const char *cure,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Whether a row failed. */
bool doctor_failed(const struct doctor *doctor);

/* Run every check. */
void doctor_run(struct doctor *doctor);

/* Give back what the checks hold. */
void doctor_end(struct doctor *doctor);

/* The table. */
void doctor_print(const struct doctor *doctor, FILE *out);

/* The same as JSON, on stdout. Return: 0 or -errno with tool_why(). */
int doctor_write_json(const struct doctor *doctor);

void doctor_check_driver(struct doctor *doctor);
void doctor_check_gpus(struct doctor *doctor);
void doctor_check_nodes(struct doctor *doctor);
void doctor_check_container(struct doctor *doctor);
void doctor_check_providers(struct doctor *doctor);
void doctor_check_module(struct doctor *doctor);
void doctor_check_trial(struct doctor *doctor);
void doctor_check_bar1(struct doctor *doctor);
void doctor_check_pcie(struct doctor *doctor);
void doctor_check_numa(struct doctor *doctor);
void doctor_check_iommu(struct doctor *doctor);
void doctor_check_storage(struct doctor *doctor);
void doctor_check_routes(struct doctor *doctor);
void doctor_check_limits(struct doctor *doctor);
void doctor_check_security(struct doctor *doctor);
void doctor_check_nics(struct doctor *doctor);

/* The row of check node for /dev/gdrdrv. */
void doctor_check_module_node(struct doctor *doctor);

/* The rows of check module while gdrdrv is loaded, and while it is not. */
void doctor_module_live(struct doctor *doctor);
void doctor_module_absent(struct doctor *doctor);

/* The rows of check pcie for a device, whether CUDA finds it or not. */
void doctor_pcie_gpu(struct doctor *doctor, const char *subject, const char *bus_id);

/* The row of check numa for a device. */
void doctor_numa_gpu(struct doctor *doctor, const char *subject, const char *bus_id);

/* The row of check iommu for a device. */
void doctor_iommu_gpu(struct doctor *doctor, const char *subject, const char *bus_id);

/* The row of check nic about RLIMIT_MEMLOCK. */
void doctor_nic_locks(struct doctor *doctor, const struct rlimit *limit);

/* The row of RLIMIT_NOFILE, with so many files open. */
void doctor_limit_files(struct doctor *doctor, const struct rlimit *limit, int open);

/* "barlane doctor"; returns the exit status. */
int doctor_main(int argc, char **argv);

#endif
