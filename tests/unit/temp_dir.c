// SPDX-License-Identifier: MIT
#include "temp_dir.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static const char *made;
static pid_t owner;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void clean_up(void)
{
	if (getpid() == owner && nftw(made, remove_entry, 16, FTW_DEPTH | FTW_PHYS))
		perror(made);
}

int temp_dir_make(char *dir)
{
	if (!mkdtemp(dir))
		return -1;
	made = dir;
	owner = getpid();
	return atexit(clean_up);
}

const char *temp_file(const char *name, const char *text)
{
	static char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", made, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	check(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !close(fd));
	return path;
}
