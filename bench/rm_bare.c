// SPDX-License-Identifier: MIT
#include "rm_bare.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/rm/rm_blob.h"

int rm_bare_round(const struct rm_bare *bare, size_t len)
{
	int ctl = bare->conn->ctl;
	uint32_t client = bare->conn->client, device = bare->gpu->device;
	struct rm_blob blob;
	CUipcMemHandle handle;
	char path[32];
	void *addr;
	int fd;

	if (bare->cuda->cuIpcGetMemHandle(&handle, bare->va))
		return 1;
	rm_blob_read(&rm_blob_measured, (const uint8_t *)handle.reserved, &blob);

	struct rm_dup dup = {
		.client = client, .parent = device, .client_src = blob.client, .object_src = blob.memory
	};
	if (ioctl(ctl, RM_ESCAPE(RM_ESC_DUP_OBJECT, sizeof(dup)), &dup) || dup.status)
		return 2;

	snprintf(path, sizeof(path), "/dev/nvidia%u", bare->gpu->card.minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 3;
	struct rm_map map = { .client = client, .device = device, .memory = dup.object, .length = len, .fd = fd };
	if (ioctl(ctl, RM_ESCAPE(RM_ESC_MAP_MEMORY, sizeof(map)), &map) || map.status)
		return 4;
	addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED)
		return 5;

	if (munmap(addr, len))
		return 6;
	struct rm_unmap unmap = {
		.client = client, .device = device, .memory = dup.object, .address = map.address
	};
	if (ioctl(ctl, RM_ESCAPE(RM_ESC_UNMAP_MEMORY, sizeof(unmap)), &unmap) || unmap.status)
		return 7;
	if (close(fd))
		return 8;
	struct rm_free rmfree = { .client = client, .parent = device, .object = dup.object };
	if (ioctl(ctl, RM_ESCAPE(RM_ESC_FREE, sizeof(rmfree)), &rmfree) || rmfree.status)
		return 9;
	return 0;
}
