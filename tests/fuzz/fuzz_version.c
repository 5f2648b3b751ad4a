// SPDX-License-Identifier: MIT
/* Any text for a driver's version, as an argument and as the contents of the kernel's files. */
#include <ctype.h>
#include <string.h>

#include "fuzz.h"
#include "gpu/driver_version.h"
#include "gpu/sys.h"

static int has(const char *path)
{
	return fuzz_byte() % 4 ? 2 : 0;
}

static int no_ioctl(unsigned long request, void *arg)
{
	abort();
}

static const struct fuzz_driver driver = {.has = has, .ioctl = no_ioctl};

static void check_version(const struct bl_driver_version *version)
{
	must(memchr(version->text, '\0', sizeof(version->text)));
	if (!version->major)
		return;
	must(version->major >= 100);
	must(strtoul(version->text, NULL, 10) == version->major);
	for (const char *c = version->text; *c; c++)
		must(isdigit((unsigned char)*c) || *c == '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bl_driver_version version;
	char *text = malloc(size + 1), *buf;
	size_t room;
	int ret;

	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	ret = bl_driver_version_parse(text, &version);
	check_version(&version);
	must(ret ? !version.major && !version.text[0] : version.major);
	free(text);
	fuzz_begin(data, size);
	fuzz_sys(&driver);
	if (!bl_driver_version_read(&version))
		check_version(&version);
	room = 1U + fuzz_byte();
	buf = malloc(room);
	must(buf);
	ret = bl_sys_read_file("/some/file", buf, room);
	if (ret >= 0)
		must((size_t)ret < room && buf[ret] == '\0');
	free(buf);
	fuzz_end();
	return 0;
}
