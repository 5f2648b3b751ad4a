// SPDX-License-Identifier: MIT
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/kernel/modules/bl_p2ptest/p2ptest_uapi.h"

#define EDU "/sys/kernel/debug/bl_edu/"

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t nr = fd < 0 ? -1 : write(fd, text, strlen(text));
	int ret = nr < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

static int write_number(const char *path, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return write_text(path, text);
}

int engine_run(const char *way, uint64_t addr, uint64_t len)
{
	int ret = write_number(EDU "bus_addr", addr);

	if (!ret)
		ret = write_number(EDU "len", len);
	return ret ? ret : write_text(EDU "run", way);
}

int engine_find(struct p2ptest_dma *dma)
{
	FILE *list = popen("for f in /sys/bus/pci/devices/*; do grep -qi 0x11e8 $f/device && basename $f; done", "r");
	unsigned int domain, bus, slot, function;
	int nr;

	if (!list)
		return -errno;
	nr = fscanf(list, "%x:%x:%x.%x", &domain, &bus, &slot, &function);
	pclose(list);
	if (nr != 4)
		return -ENODEV;
	dma->domain = domain;
	dma->bus = bus;
	dma->devfn = slot << 3 | function;
	return 0;
}
