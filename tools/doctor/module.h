/* SPDX-License-Identifier: MIT */
/* module.h - what the kernel says of module gdrdrv */
#ifndef TOOLS_DOCTOR_MODULE_H
#define TOOLS_DOCTOR_MODULE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/tree.h"
#include "doctor/driver.h"

/**
 * struct doctor_params - what /proc/driver/gdrdrv/params says
 * @flavour:    of the NVIDIA driver that the module was built for
 * @persistent: 1 pins keep memory that its owner frees, 0 not, -1 unknown
 */
struct doctor_params {
	enum doctor_flavour flavour;
	int persistent;
};

/* Understand a text of that file; what is missing or malformed is unknown. */
void doctor_params_parse(const char *text, struct doctor_params *params);

/* Understand a version such as "2.6". Return: 0, or -EINVAL with nothing written. */
int doctor_module_version_parse(const char *text, unsigned int *major_p, unsigned int *minor_p);

/**
 * doctor_taint_words() - Say in words what the letters of /sys/module/NAME/taint stand for
 * @text:  the letters
 * @words: receives them, separated by commas; letters without a word are left as they are, "" for none
 * @size:  bytes of @words, > 0; what does not fit is left out
 */
void doctor_taint_words(const char *text, char *words, size_t size);

/* Whether gdrdrv is loaded, or on its way in or out. */
bool doctor_module_loaded(const struct tool_tree *tree);

#endif
