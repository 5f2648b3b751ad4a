/* SPDX-License-Identifier: MIT */
/* mounts.h - /proc/self/mountinfo, and what is known of kinds of file systems */
#ifndef TOOLS_DOCTOR_MOUNTS_H
#define TOOLS_DOCTOR_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct doctor_mount - a mount
 * @major:   device number, of the file system
 * @minor:   see @major
 * @point:   where it is
 * @type:    kind of file system
 * @source:  device, or whatever the file system has in its place
 * @options: of the file system
 * @read_only: mounted so
 */
struct doctor_mount {
	unsigned int major;
	unsigned int minor;
	char point[512];
	char type[32];
	char source[256];
	char options[1024];
	bool read_only;
};

/**
 * doctor_mount_parse() - Read a line
 * @line:  "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS", up to a newline or NUL
 * @mount: receives it; what is too long for a member is cut off
 *
 * Return: 0 or -EINVAL.
 */
int doctor_mount_parse(const char *line, struct doctor_mount *mount);

/* What kinds of file systems are, as far as it matters here. */
enum doctor_fs {
	DOCTOR_FS_PSEUDO, /* no files that anyone would bring to a GPU */
	DOCTOR_FS_MEMORY, /* files in memory and nowhere else */
	DOCTOR_FS_REMOTE, /* a server may not answer: it is not touched */
	DOCTOR_FS_LOCAL,
};

enum doctor_fs doctor_fs_kind(const char *type);

/* Whether a list that is separated by commas has a word. */
bool doctor_option_has(const char *options, const char *word);

/**
 * doctor_nvfs_blocked() - What keeps the nvidia-fs module from serving a mount, whether or not it is loaded
 * @mount: the mount
 * @disk:  name of the disk that it is on, such as "nvme0n1"; "" unknown
 *
 * Return: the condition; NULL: nothing does. Valid for ever.
 */
const char *doctor_nvfs_blocked(const struct doctor_mount *mount, const char *disk);

#endif
