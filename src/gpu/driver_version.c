// SPDX-License-Identifier: MIT
#include "driver_version.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gpu/sys.h"

/* Length of "digits.digits[.digits]" at the start of a word, 0 when there is none. */
static size_t version_length(const char *s)
{
	size_t len = 0, parts = 0;

	while (isdigit((unsigned char)s[len])) {
		while (isdigit((unsigned char)s[len]))
			len++;
		parts++;
		if (s[len] != '.' || !isdigit((unsigned char)s[len + 1]))
			break;
		len++;
	}
	return parts >= 2 && parts <= 3 && (!s[len] || isspace((unsigned char)s[len])) ? len : 0;
}

/* Branches have had three digits for as long as this interface exists; that keeps dates and compilers' versions out. */
static int parse_word(const char *word, size_t len, struct bl_driver_version *version)
{
	unsigned int major, minor;

	if (!len || len >= sizeof(version->text) || sscanf(word, "%5u.%5u", &major, &minor) != 2 || major < 100)
		return -EINVAL;
	memcpy(version->text, word, len);
	version->text[len] = '\0';
	version->major = major;
	version->minor = minor;
	return 0;
}

int bl_driver_version_parse(const char *text, struct bl_driver_version *version)
{
	*version = (struct bl_driver_version){ 0 };
	while (*text) {
		if (!parse_word(text, version_length(text), version))
			return 0;
		while (*text && !isspace((unsigned char)*text))
			text++;
		while (isspace((unsigned char)*text))
			text++;
	}
	return -EINVAL;
}

int bl_driver_version_read(struct bl_driver_version *version)
{
	char text[512];

	if (bl_sys_read_file("/sys/module/nvidia/version", text, sizeof(text)) < 0 &&
	    bl_sys_read_file("/proc/driver/nvidia/version", text, sizeof(text)) < 0)
		return -ENOENT;
	if (bl_driver_version_parse(text, version))
		snprintf(version->text, sizeof(version->text), "%.60s", text);
	return 0;
}
