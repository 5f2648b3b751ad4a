/* SPDX-License-Identifier: MIT */
/* nvfs_text.h - files of /proc and /sys, whole */
#ifndef BL_FILE_NVFS_TEXT_H
#define BL_FILE_NVFS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define BL_NVFS_PROC "/proc/driver/nvidia-fs"

/**
 * bl_nvfs_text_read() - Read a file through the table of system calls
 * @path:   file
 * @text_p: receives the text, to be given to free(); a NUL follows it
 *
 * Return: 0, -EFBIG (more than 16 MiB), -ENOMEM, or what open() or read() gave.
 */
int bl_nvfs_text_read(const char *path, char **text_p);

/* The same for a file of one short line, without the line's end; cut to @size. 0 or -errno. */
int bl_nvfs_text_line(const char *path, char *line, size_t size);

/**
 * bl_nvfs_text_value() - A line "KEY=VALUE" or "KEY: VALUE" of a text
 * @text:  lines
 * @key:   with its separator
 * @value: receives what follows @key, without blanks at either end; cut to @size
 * @size:  bytes of @value, > 0
 *
 * Return: whether there is such a line.
 */
bool bl_nvfs_text_value(const char *text, const char *key, char *value, size_t size);

/* Whether a list that is separated by commas has this word. */
bool bl_nvfs_text_has(const char *list, const char *word);

#endif
