/* SPDX-License-Identifier: MIT */
/* fake_tree.h - a tree of files that stands for /proc, /sys and /dev of some machine */
#ifndef TESTS_UNIT_FAKE_TREE_H
#define TESTS_UNIT_FAKE_TREE_H

#include "common/tree.h"

/* Start with an empty tree; an earlier one is removed. */
const struct tool_tree *fake_tree_begin(void);

/* Remove it. */
void fake_tree_end(void);

/* Make a file of bytes, of a text, a symbolic link, or a directory; what is above it is made too. Paths are absolute.
 */
void fake_tree_bytes(const char *path, const void *bytes, size_t len);
void fake_tree_text(const char *path, const char *text);
void fake_tree_link(const char *path, const char *target);
void fake_tree_dir(const char *path);

#endif
