/* SPDX-License-Identifier: MIT */
/* deny.h - files that the denylist of the configuration forbids */
#ifndef BL_FILE_DENY_H
#define BL_FILE_DENY_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct bl_mount - where a file is mounted from
 * @point:  mount point
 * @type:   file system
 * @source: device node, or what the file system calls its source
 */
struct bl_mount {
	char point[4096];
	char type[64];
	char source[4096];
};

/**
 * bl_mount_parse() - Understand a line of /proc/self/mountinfo
 * @line:  the line
 * @id_p:  receives the number of the mount
 * @mount: receives the rest; what is longer than its place is cut
 *
 * Return: whether it is such a line.
 */
bool bl_mount_parse(const char *line, int *id_p, struct bl_mount *mount);

/**
 * bl_deny_file() - Ask the denylist about an open file
 * @fd: file
 *
 * Without a denylist nothing is looked at. Return: 0, or -(CU_FILE_IO_DISABLED) with the entry as the reason.
 */
int bl_deny_file(int fd);

#endif
