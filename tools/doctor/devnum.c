// SPDX-License-Identifier: MIT
#include "doctor/devnum.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Bits of a major and of a minor number in the kernel. */
#define MAJOR_MAX 0xfffU
#define MINOR_MAX 0xfffffU

int doctor_devnum_parse(const char *text, struct doctor_devnum *devnum)
{
	unsigned int major, minor;
	const char *colon = strchr(text, ':');
	int end = 0;

	/* sscanf itself would skip white space, and take a sign */
	if (!colon || !isdigit((unsigned char)text[0]) || !isdigit((unsigned char)colon[1]))
		return -EINVAL;
	if (sscanf(text, "%5u:%8u%n", &major, &minor, &end) != 2 || (text[end] && text[end] != '\n') ||
	    major > MAJOR_MAX || minor > MINOR_MAX)
		return -EINVAL;
	*devnum = (struct doctor_devnum){major, minor};
	return 0;
}

/* "240 name", with blanks before it. */
static int line_major(const char *line, size_t len, const char *name)
{
	unsigned int major = 0;
	size_t at = 0, digits;

	while (at < len && line[at] == ' ')
		at++;
	for (digits = 0; digits < 5 && at < len && isdigit((unsigned char)line[at]); digits++)
		major = 10 * major + (unsigned int)(line[at++] - '0');
	if (!digits || major > MAJOR_MAX || at == len || line[at++] != ' ')
		return -EINVAL;
	return len - at == strlen(name) && !strncmp(line + at, name, len - at) ? (int)major : -EINVAL;
}

int doctor_devnum_major(const char *text, const char *name)
{
	static const char head[] = "Character devices:";

	if (strncmp(text, head, strlen(head)) != 0)
		return -ENOENT;
	/* an empty line ends the list; block devices follow */
	for (const char *line = strchr(text, '\n'); line && line[1] && line[1] != '\n'; line = strchr(line + 1, '\n')) {
		int major = line_major(line + 1, strcspn(line + 1, "\n"), name);

		if (major >= 0)
			return major;
	}
	return -ENOENT;
}

int doctor_devnum_find(const struct tool_tree *tree, struct doctor_devnum *devnum)
{
	/* a class of its own, or misc devices where that is for GPL use only */
	static const char *const classes[] = {"gdrdrv", "misc"};
	char text[8192];
	int major;

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (tool_tree_read(tree, text, sizeof(text), "/sys/class/%s/gdrdrv/dev", classes[i]) > 0 &&
		    !doctor_devnum_parse(text, devnum))
			return 0;
	}
	if (tool_tree_read(tree, text, sizeof(text), "/proc/devices") < 0)
		return -ENOENT;
	major = doctor_devnum_major(text, "gdrdrv");
	if (major < 0)
		return major;
	*devnum = (struct doctor_devnum){(unsigned int)major, 0};
	return 0;
}
