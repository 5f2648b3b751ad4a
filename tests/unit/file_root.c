// SPDX-License-Identifier: MIT
#include "file_root.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/sys.h"
#include "tap.h"

static char root[64];
static pid_t owner;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void end(void)
{
	if (*root && owner == getpid())
		nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	*root = '\0';
}

static int in_root(const char *path, int flags)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	return open(whole, flags);
}

static int no_ioctl(int fd, unsigned long request, void *arg)
{
	errno = ENOTTY;
	return -1;
}

static const struct bl_sys table = {
	.version = BL_SYS_VERSION,
	.name = "test",
	.open = in_root,
	.close = close,
	.ioctl = no_ioctl,
	.mmap = mmap,
	.munmap = munmap,
	.madvise = madvise,
};

void file_root_begin(void)
{
	static int registered;

	end();
	owner = getpid();
	if (!registered++)
		atexit(end);
	strcpy(root, "/tmp/barlane-root-XXXXXX");
	check(mkdtemp(root));
	bl_sys_set(&table);
}

/* The path below the root, with the directories above it. */
static const char *place(const char *path)
{
	static char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *c = whole + strlen(root) + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		check(!mkdir(whole, 0755) || errno == EEXIST);
		*c = '/';
	}
	return whole;
}

void file_root_text(const char *path, const char *text)
{
	int fd = open(place(path), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	check(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !close(fd));
}

void file_root_dir(const char *path)
{
	check(!mkdir(place(path), 0755) || errno == EEXIST);
}

void file_root_link(const char *path, const char *target)
{
	check(!symlink(target, place(path)));
}
