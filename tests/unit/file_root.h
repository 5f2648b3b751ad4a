/* SPDX-License-Identifier: MIT */
/* file_root.h - files of /proc and /sys below a directory of the test's, through the table of system calls */
#ifndef TESTS_UNIT_FILE_ROOT_H
#define TESTS_UNIT_FILE_ROOT_H

/* Start with an empty tree, and put the table in use. It is removed when the program ends. */
void file_root_begin(void);

/* Make a file, a directory, a symbolic link; what is above it is made too. Paths are absolute. */
void file_root_text(const char *path, const char *text);
void file_root_dir(const char *path);
void file_root_link(const char *path, const char *target);

#endif
