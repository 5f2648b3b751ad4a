// SPDX-License-Identifier: MIT
/* The readable files of the drivers, as descriptors of their text. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rm_card.h"

#define GPUS_DIR "/proc/driver/nvidia/gpus/"

static int text_fd(const char *text, int flags)
{
	int fd;

	if ((flags & O_ACCMODE) != O_RDONLY) {
		errno = EACCES;
		return -1;
	}
	fd = memfd_create("barlane-emu-text", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	if (fd < 0)
		return -1;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text) || lseek(fd, 0, SEEK_SET)) {
		close(fd);
		errno = EIO;
		return -1;
	}
	return fd;
}

void rm_uuid_text(const struct emu_gpu *gpu, char *text)
{
	const uint8_t *u = gpu->uuid;

	snprintf(text, RM_UUID_TEXT, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		 u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static int information_fd(const struct emu_gpu *gpu, const char *location, int flags)
{
	char uuid[RM_UUID_TEXT], text[512];

	rm_uuid_text(gpu, uuid);
	snprintf(text, sizeof(text),
		 "Model: \t\t Emulated GPU\n"
		 "IRQ:   \t\t 0\n"
		 "GPU UUID: \t %s\n"
		 "Bus Type: \t PCIe\n"
		 "Bus Location: \t %s\n"
		 "Device Minor: \t %u\n"
		 "GPU Firmware: \t %s\n"
		 "GPU Excluded:\t No\n",
		 uuid, location, gpu->minor, emu_driver.version);
	return text_fd(text, flags);
}

static int gpu_file_open(const char *path, int flags)
{
	for (int i = 0; i < emu_gpu_count(); i++) {
		const struct emu_gpu *gpu = emu_gpu(i);
		char location[32], file[96];

		snprintf(location, sizeof(location), "%04x:%02x:%02x.0", gpu->domain, gpu->bus, gpu->slot);
		snprintf(file, sizeof(file), GPUS_DIR "%s/information", location);
		if (!strcmp(path, file))
			return information_fd(gpu, location, flags);
	}
	errno = ENOENT;
	return -1;
}

static int gdrdrv_params_open(int flags)
{
	char text[256];

	if (!emu_driver.gdrdrv) {
		errno = ENOENT;
		return -1;
	}
	snprintf(text, sizeof(text),
		 "Version: 2.%u\n"
		 "Built for NVIDIA driver flavor: opensource\n"
		 "Use persistent mapping: %s\n"
		 "dbg_enabled: 0\n"
		 "info_enabled: 0\n",
		 emu_driver.gdr_minor, emu_driver.gdr_persistent ? "yes" : "no");
	return text_fd(text, flags);
}

int emu_text_open(const char *path, int flags)
{
	char text[256];

	if (!strcmp(path, "/sys/module/nvidia/version")) {
		snprintf(text, sizeof(text), "%s\n", emu_driver.version);
		return text_fd(text, flags);
	}
	if (!strcmp(path, "/proc/driver/nvidia/version")) {
		snprintf(text, sizeof(text),
			 "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build  (emulated)\n",
			 emu_driver.version);
		return text_fd(text, flags);
	}
	if (!strncmp(path, GPUS_DIR, strlen(GPUS_DIR)))
		return gpu_file_open(path, flags);
	if (!strcmp(path, "/proc/driver/gdrdrv/params"))
		return gdrdrv_params_open(flags);
	return -2;
}
