/* SPDX-License-Identifier: MIT */
/* number.h - numbers in files of sysfs */
#ifndef BL_TESTS_KERNEL_NUMBER_H
#define BL_TESTS_KERNEL_NUMBER_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* The number that a file of a folder has, decimal or 0x..., 0 if it has none. */
static inline unsigned long read_number(const char *folder, const char *name)
{
	char path[PATH_MAX + 32], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return strtoul(text, NULL, 0);
}

#endif
