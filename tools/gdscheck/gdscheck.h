/* SPDX-License-Identifier: MIT */
/* gdscheck.h - parts of gdscheck */
#ifndef TOOLS_GDSCHECK_GDSCHECK_H
#define TOOLS_GDSCHECK_GDSCHECK_H

#include <stdio.h>

#include "common/cufile.h"
#include "doctor/doctor.h"

/* Heading between lines of "=". */
void gdscheck_heading(const char *text);

/* Versions of library and module, and the platform. */
void gdscheck_versions(const struct doctor *doctor, const struct tool_cufile *lib);

/* Variables that libcufile looks at; @own is not the user's, NULL: all are. */
void gdscheck_environment(const char *own);

/* Which storage DMA reaches, as the properties of the driver and the pages of GPUs say; after doctor_check_trial(). */
void gdscheck_drivers(const struct doctor *doctor, const struct tool_cufile *lib);

/* What is in force of cufile.json, as far as the library tells. */
void gdscheck_config(const struct tool_cufile *lib);

/* GPUs, IOMMU, driver. */
void gdscheck_gpus(const struct doctor *doctor);
void gdscheck_platform(const struct doctor *doctor);

#endif
