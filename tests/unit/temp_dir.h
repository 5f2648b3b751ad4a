/* SPDX-License-Identifier: MIT */
/* temp_dir.h - a folder of a test program, gone when the program ends */
#ifndef TESTS_UNIT_TEMP_DIR_H
#define TESTS_UNIT_TEMP_DIR_H

/**
 * temp_dir_make() - Make a folder
 * @dir: ends in XXXXXX, which becomes its name; must stay. Removed at exit, by the process that made it alone
 *
 * One per program. Return: 0 or -1.
 */
int temp_dir_make(char *dir);

/* Make a file in it, or make it anew; ends the test when that fails. Return: its name, until the next call. */
const char *temp_file(const char *name, const char *text);

#endif
