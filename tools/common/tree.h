/* SPDX-License-Identifier: MIT */
/*
 * tree.h - files of /proc, /sys and /dev, read below a root directory
 *
 * The root is empty for the running machine; tests put a tree of their own in its place. Opening goes through a
 * function, so that the emulated GPU's files are found where the core finds them.
 */
#ifndef TOOLS_COMMON_TREE_H
#define TOOLS_COMMON_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/**
 * struct tool_tree - where files are
 * @root: put in front of every path; "" for the running machine
 * @open: open(2) without a mode
 * @close: close(2)
 */
struct tool_tree {
	const char *root;
	int (*open)(const char *path, int flags);
	int (*close)(int fd);
};

/* The running machine, with the kernel's system calls. */
extern const struct tool_tree tool_tree_machine;

/**
 * tool_tree_read() - Read the start of a small file
 * @tree: where
 * @buf:  receives at most @size - 1 bytes and a NUL; trailing white space is removed
 * @size: bytes of @buf, > 0
 * @fmt:  absolute path
 *
 * A file that does not fit is cut off. Return: length of the text, or -errno, with "" in @buf.
 */
int tool_tree_read(const struct tool_tree *tree, char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* As tool_tree_read(), but bytes: nothing is removed or added. Return: how many, or -errno. */
int tool_tree_bytes(const struct tool_tree *tree, void *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * tool_tree_tail() - Read the end of a regular file
 * @tree:    where
 * @buf:     receives its last @size bytes, or all of it when it is smaller
 * @size:    bytes of @buf
 * @whole_p: receives the size of the file; not written on error
 * @fmt:     absolute path
 *
 * Return: bytes in @buf, -EINVAL (no regular file), or -errno.
 */
int tool_tree_tail(const struct tool_tree *tree, void *buf, size_t size, uint64_t *whole_p, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* A file that holds one decimal number. Return: 0, -EINVAL (something else), or -errno. */
int tool_tree_number(const struct tool_tree *tree, long *value_p, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* readlink(2), NUL-terminated. Return: length, -ENAMETOOLONG, or -errno. */
int tool_tree_link(const struct tool_tree *tree, char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* stat(2). Return: 0 or -errno. */
int tool_tree_stat(const struct tool_tree *tree, struct stat *st, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Open a file, with O_CLOEXEC, and close it again. Return: 0 or -errno. */
int tool_tree_try(const struct tool_tree *tree, int flags, const char *path);

/**
 * tool_tree_each() - Visit the entries of a directory, but "." and ".."
 * @tree:  where
 * @path:  absolute path
 * @visit: called for each name; not 0 ends the visit
 * @arg:   for @visit
 *
 * Return: number of entries visited, or -errno when the directory cannot be read.
 */
int tool_tree_each(const struct tool_tree *tree, const char *path, int (*visit)(const char *name, void *arg),
		   void *arg);

#endif
