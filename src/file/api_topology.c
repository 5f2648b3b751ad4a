// SPDX-License-Identifier: MIT
#define log_fmt(fmt) "file/topology: " fmt
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "topology.h"
#include "util/log.h"

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t done = write(fd, text, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EIO;
		text += done;
		len -= (size_t)done;
	}
	return 0;
}

static int invalid(const char *filename, int err)
{
	return bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("%s: %s"), filename, strerror(err));
}

/* A FIFO that nobody reads is an error, and one that is read too slowly. */
static int write_file(const char *filename, const char *text)
{
	int fd, ret;

	fd = open(filename, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
	if (fd < 0)
		return invalid(filename, errno);
	ret = write_all(fd, text, strlen(text));
	if (!ret)
		ret = write_all(fd, "\n", 1);
	if (close(fd) && !ret)
		ret = -errno;
	return ret ? invalid(filename, -ret) : 0;
}

CUfileError_t cuFileExportPCIeTopology(const char *filename)
{
	struct bl_topology *topology;
	char *text = NULL;
	int ret;

	if (!filename || !*filename)
		return bl_error_status(bl_fail(-BL_CUFILE(CU_FILE_INVALID_VALUE), log_fmt("no name of a file")));
	topology = malloc(sizeof(*topology));
	if (!topology)
		return bl_error_status(fail(ENOMEM, "out of memory"));
	ret = bl_topology_read(topology);
	if (!ret) {
		text = bl_topology_text(topology);
		ret = text ? write_file(filename, text) : fail(ENOMEM, "out of memory");
	}
	free(text);
	free(topology);
	return bl_error_status(ret);
}
