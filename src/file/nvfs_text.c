// SPDX-License-Identifier: MIT
#include "nvfs_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/sys.h"

#define FIRST_SIZE 4096UL
#define MAX_SIZE   (16UL << 20)

static int read_all(int fd, char **text_p)
{
	size_t size = FIRST_SIZE, len = 0;
	char *text = malloc(size), *more;
	ssize_t got;
	int ret = text ? 0 : -ENOMEM;

	while (!ret) {
		got = read(fd, text + len, size - 1 - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			ret = -errno;
		if (got <= 0)
			break;
		len += (size_t)got;
		if (len < size - 1)
			continue;
		size *= 2;
		more = size > MAX_SIZE ? NULL : realloc(text, size);
		if (!more)
			ret = size > MAX_SIZE ? -EFBIG : -ENOMEM;
		else
			text = more;
	}
	if (ret) {
		free(text);
		return ret;
	}
	text[len] = '\0';
	*text_p = text;
	return 0;
}

int bl_nvfs_text_read(const char *path, char **text_p)
{
	const struct bl_sys *sys = bl_sys();
	int fd, ret;

	fd = sys->open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = read_all(fd, text_p);
	sys->close(fd);
	return ret;
}

int bl_nvfs_text_line(const char *path, char *line, size_t size)
{
	char *text = NULL;
	int ret;

	ret = bl_nvfs_text_read(path, &text);
	if (ret)
		return ret;
	snprintf(line, size, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
	return 0;
}

bool bl_nvfs_text_value(const char *text, const char *key, char *value, size_t size)
{
	size_t key_len = strlen(key);

	while (*text) {
		size_t len = strcspn(text, "\n");

		if (len >= key_len && !strncmp(text, key, key_len)) {
			text += key_len;
			len -= key_len;
			while (len && (*text == ' ' || *text == '\t')) {
				text++;
				len--;
			}
			while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
				len--;
			snprintf(value, size, "%.*s", (int)len, text);
			return true;
		}
		text += len;
		text += *text == '\n';
	}
	return false;
}

bool bl_nvfs_text_has(const char *list, const char *word)
{
	size_t word_len = strlen(word);

	while (*list) {
		size_t len = strcspn(list, ",");

		if (len == word_len && !strncmp(list, word, len))
			return true;
		list += len;
		list += *list == ',';
	}
	return false;
}
