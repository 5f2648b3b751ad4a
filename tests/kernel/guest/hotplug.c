// SPDX-License-Identifier: MIT
#include "hotplug.h"

#include "gdrdrv_gpu.h"
#include "host.h"
#include "tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <unistd.h>

#define DEVICES "/sys/bus/pci/devices"
#define DRIVER	"/sys/bus/pci/drivers/bl_card"
#define WAIT_MS 30000

static char bdf[48];
static char port[PATH_MAX];

static void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	check(fd >= 0);
	check_eq(write(fd, text, strlen(text)), (long)strlen(text));
	close(fd);
}

void card_locate(int gpu)
{
	struct bl_card_info info = gpu_info(gpu);
	char path[128], real[PATH_MAX];

	snprintf(bdf, sizeof(bdf), "%04x:%02x:%02x.%x", info.domain, info.bus, info.devfn >> 3, info.devfn & 7);
	snprintf(path, sizeof(path), DEVICES "/%s", bdf);
	check(realpath(path, real));
	snprintf(port, sizeof(port), "%s", dirname(real));
}

static bool bound(void)
{
	char path[128];

	snprintf(path, sizeof(path), DRIVER "/%s", bdf);
	return !access(path, F_OK);
}

static void wait_until_bound(bool want)
{
	for (int i = 0; i < WAIT_MS / 20 && bound() != want; i++)
		usleep(20000);
	check_eq(bound(), want);
}

/* The kernel shows a driver before that has looked at its device, which may take a while. */
static void wait_until_served(void)
{
	int card = -1;

	wait_until_bound(true);
	for (int i = 0; i < WAIT_MS / 20 && card < 0; i++) {
		card = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC);
		if (card < 0)
			usleep(20000);
	}
	check(card >= 0);
	close(card);
}

bool slots_are_watched(void)
{
	DIR *slots = opendir("/sys/bus/pci/slots");
	const struct dirent *entry;
	bool found = false;

	while (slots && (entry = readdir(slots)))
		found |= entry->d_name[0] != '.';
	if (slots)
		closedir(slots);
	return found;
}

static void unbind(void)
{
	write_to(DRIVER "/unbind", bdf);
	check(!bound());
}

static void bind(void)
{
	write_to(DRIVER "/bind", bdf);
	check(bound());
}

const struct way way_unbind = { unbind, bind };

static void take_off_bus(void)
{
	char path[128];

	snprintf(path, sizeof(path), DEVICES "/%s/remove", bdf);
	write_to(path, "1");
	check(!bound());
}

static void rescan(void)
{
	write_to("/sys/bus/pci/rescan", "1");
	wait_until_served();
}

const struct way way_remove = { take_off_bus, rescan };

static int config_open(void)
{
	char path[PATH_MAX + 8];
	int config;

	snprintf(path, sizeof(path), "%s/config", port);
	config = open(path, O_RDWR | O_CLOEXEC);
	check(config >= 0);
	return config;
}

/* Offset of the PCI Express capability in the configuration space of the port. */
static off_t express_capability(int config)
{
	unsigned char at = 0, head[2];

	check_eq(pread(config, &at, 1, PCI_CAPABILITY_LIST), 1);
	while (at) {
		check_eq(pread(config, head, 2, at), 2);
		if (head[0] == PCI_CAP_ID_EXP)
			return at;
		at = head[1];
	}
	check(!"the port has a PCI Express capability");
	return 0;
}

/* The driver lets go first, and the kernel switches the slot off; a card that comes before that would go with it. */
static void wait_until_off(void)
{
	const uint16_t off = PCI_EXP_SLTCTL_PCC | PCI_EXP_SLTCTL_PWR_IND_OFF;
	int config = config_open();
	off_t at = express_capability(config) + PCI_EXP_SLTCTL;
	uint16_t control = 0;

	wait_until_bound(false);
	for (int i = 0; i < WAIT_MS / 20 && (control & off) != off; i++) {
		usleep(20000);
		check_eq(pread(config, &control, 2, at), 2);
	}
	close(config);
	check_eq(control & off, off);
}

static void unplug(void)
{
	check(host_do("unplug"));
	wait_until_off();
}

static void plug(void)
{
	check(host_do("plug"));
	if (!slots_are_watched())
		write_to("/sys/bus/pci/rescan", "1");
	wait_until_served();
}

const struct way way_unplug = { unplug, plug };

/*
 * With power and its indicator off the emulator takes the device away at once. The kernel's interrupt comes when the power
 * is back: else it takes the slot for one that it switched off itself. One that does not watch its slots is told by hand.
 */
static void cut_power(void)
{
	uint16_t control, off;
	int config = config_open();
	off_t at = express_capability(config) + PCI_EXP_SLTCTL;

	check_eq(pread(config, &control, 2, at), 2);
	off = (control | PCI_EXP_SLTCTL_PCC | PCI_EXP_SLTCTL_PWR_IND_OFF) & ~PCI_EXP_SLTCTL_HPIE;
	check(pwrite(config, &off, 2, at) == 2 && pwrite(config, &control, 2, at) == 2);
	close(config);
	if (slots_are_watched())
		wait_until_off();
	else
		take_off_bus();
}

const struct way way_surprise = { cut_power, plug };
