// SPDX-License-Identifier: MIT
/* What the driver says of itself and of the cards, without any RM object. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "counts.h"
#include "rm_card.h"

#define ATTACH_MAX 32

/* cmd 0:4, reply 4:4, versionString 8:64 */
enum { VERSION_CMD = 0, VERSION_REPLY = 4, VERSION_TEXT = 8, VERSION_LEN = 64 };
enum { VERSION_STRICT = 0, VERSION_RELAXED = '1', VERSION_QUERY = '2' };
enum { VERSION_UNRECOGNIZED = 0, VERSION_RECOGNIZED = 1 };

struct emu_gpu *rm_gpu_by_id(uint32_t gpu_id)
{
	for (int i = 0; i < emu_gpu_count(); i++) {
		if (emu_gpu(i)->gpu_id == gpu_id)
			return emu_gpu(i);
	}
	return NULL;
}

struct emu_gpu *rm_gpu_by_instance(uint32_t instance)
{
	for (int i = 0; i < emu_gpu_count(); i++) {
		if (emu_gpu(i)->instance == instance)
			return emu_gpu(i);
	}
	return NULL;
}

uint64_t rm_bar0_base(const struct emu_gpu *gpu)
{
	return RM_BAR0_FIRST + gpu->index * RM_BAR0_SIZE;
}

static void put_card(uint8_t *card, const struct emu_gpu *gpu)
{
	rm_put8(card, 0, 1);
	rm_put32(card, 4, gpu->domain);
	rm_put8(card, 8, gpu->bus);
	rm_put8(card, 9, gpu->slot);
	rm_put16(card, 12, RM_PCI_VENDOR);
	rm_put16(card, 14, RM_PCI_DEVICE);
	rm_put32(card, 16, gpu->gpu_id);
	rm_put64(card, 24, rm_bar0_base(gpu));
	rm_put64(card, 32, RM_BAR0_SIZE);
	rm_put64(card, 40, gpu->bar1_base);
	rm_put64(card, 48, gpu->bar1_size);
	rm_put32(card, 56, gpu->minor);
	snprintf((char *)card + 60, 10, "nvidia%u", gpu->minor % 100);
}

int rm_card_info(void *arg, size_t size)
{
	size_t nr = size / RM_CARD_SIZE;

	if (!size || size % RM_CARD_SIZE || nr < (size_t)emu_gpu_count())
		return -EINVAL;
	memset(arg, 0, size);
	for (int i = 0; i < emu_gpu_count(); i++)
		put_card((uint8_t *)arg + i * RM_CARD_SIZE, emu_gpu(i));
	return 0;
}

static bool version_fits(uint32_t cmd, const char *asked)
{
	const char *dot = strchr(emu_driver.version, '.');

	if (cmd == VERSION_RELAXED && dot)
		return !strncmp(asked, emu_driver.version, dot - emu_driver.version + 1);
	return !strcmp(asked, emu_driver.version);
}

/* The reply and the driver's version are given whether the check holds or not. */
int rm_check_version(void *arg)
{
	uint32_t cmd = rm_get32(arg, VERSION_CMD);
	char asked[VERSION_LEN];
	bool fits;

	memcpy(asked, (char *)arg + VERSION_TEXT, sizeof(asked));
	asked[sizeof(asked) - 1] = '\0';
	rm_put32(arg, VERSION_REPLY, VERSION_RECOGNIZED);
	if (cmd == VERSION_QUERY && !emu_driver.abi->version_query)
		return 0; /* there it means: do not check */
	fits = cmd == VERSION_QUERY || version_fits(cmd, asked);
	memset((char *)arg + VERSION_TEXT, 0, VERSION_LEN);
	snprintf((char *)arg + VERSION_TEXT, VERSION_LEN, "%s", emu_driver.version);
	if (!fits)
		rm_put32(arg, VERSION_REPLY, VERSION_UNRECOGNIZED);
	return fits ? 0 : -EINVAL;
}

int rm_attach_gpus(struct emu_file *file, const void *arg, size_t size)
{
	uint32_t mask = 0;

	if (!size || size % 4 || size / 4 > ATTACH_MAX || file->attached)
		return -EINVAL;
	for (size_t i = 0; i < size / 4; i++) {
		struct emu_gpu *gpu = rm_gpu_by_id(rm_get32(arg, i * 4));

		if (!gpu)
			return -EINVAL;
		mask |= 1U << gpu->index;
	}
	file->attached = mask;
	return 0;
}

/* Once per file; on a control file it has no effect. */
int rm_register_fd(struct emu_file *file, const void *arg)
{
	struct emu_file *ctl = emu_file_find((int)rm_get32(arg, 0));

	if (!ctl || ctl->kind != EMU_FILE_CTL || !emu_file_is_ours(ctl) || !emu_file_is_ours(file) || file->ctl)
		return -EINVAL;
	if (file->kind == EMU_FILE_CTL)
		return 0;
	file->ctl = ctl;
	emu_file_hold(ctl);
	return 0;
}
