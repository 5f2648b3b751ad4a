// SPDX-License-Identifier: MIT
#include "fake_tree.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <unistd.h>

#include "tap.h"

static char root[64];
static struct tool_tree tree;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void fake_tree_end(void)
{
	if (*root)
		nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	*root = '\0';
}

const struct tool_tree *fake_tree_begin(void)
{
	static int registered;

	fake_tree_end();
	if (!registered++)
		atexit(fake_tree_end);
	strcpy(root, "/tmp/barlane-tree-XXXXXX");
	check(mkdtemp(root));
	tree = tool_tree_machine;
	tree.root = root;
	return &tree;
}

/* The path below the root, with the directories above it. */
static const char *place(const char *path)
{
	static char whole[PATH_MAX];

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

void fake_tree_bytes(const char *path, const void *bytes, size_t len)
{
	FILE *file = fopen(place(path), "we");

	check(file);
	check_eq(fwrite(bytes, 1, len, file), len);
	check_eq(fclose(file), 0);
}

void fake_tree_text(const char *path, const char *text)
{
	fake_tree_bytes(path, text, strlen(text));
}

void fake_tree_link(const char *path, const char *target)
{
	check_eq(symlink(target, place(path)), 0);
}

void fake_tree_dir(const char *path)
{
	check(!mkdir(place(path), 0755) || errno == EEXIST);
}
