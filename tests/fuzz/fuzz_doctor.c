// SPDX-License-Identifier: MIT
/* Any text and any bytes where "barlane doctor" and the NUMA warning read those of the kernel. */
#include <errno.h>
#include <string.h>

#include "common/cpulist.h"
#include "doctor/container.h"
#include "doctor/devnum.h"
#include "doctor/driver.h"
#include "doctor/iommu.h"
#include "doctor/modfile.h"
#include "doctor/module.h"
#include "doctor/mounts.h"
#include "doctor/nic.h"
#include "doctor/nodes.h"
#include "doctor/pci.h"
#include "doctor/route.h"
#include "doctor/security.h"
#include "fuzz.h"

static void try_texts(const char *text)
{
	struct doctor_gid gid = {.index = 0};
	struct doctor_driver driver;
	const char *word = text;
	struct doctor_pair pair;
	unsigned int minor = 0;
	char words[48], mode[8];

	doctor_driver_parse(text, &driver);
	must(*doctor_flavour_name(driver.flavour));
	must(memchr(driver.version.text, '\0', sizeof(driver.version.text)));
	must(doctor_minor_parse(text, &minor) ? !minor : minor < 10000000);
	doctor_iommu_words(text, words, sizeof(words));
	must(strlen(words) < sizeof(words));
	must(doctor_lockdown_parse(text, mode, sizeof(mode)) ? !*mode : *mode && !strchr(mode, ']'));
	must(doctor_pci_speed(text) >= 0);
	doctor_pci_bar_size(text, 1);
	doctor_container_of_cgroup(text);
	must(!doctor_gid_parse(text, &gid) || !*gid.text);
	must(memchr(gid.text, '\0', sizeof(gid.text)));
	must(doctor_port_state(text, &word) < 0 ? word == text : word > text);
	must(doctor_pci_near(text, text) <= DOCTOR_SAME_SWITCH);
	doctor_route_cpu(text);
	must(doctor_pair_parse(text, &pair) || (memchr(pair.gpu, '\0', sizeof(pair.gpu)) && strchr(pair.peer, ':')));
}

static void try_module(const char *text)
{
	static const char devices[] = "Character devices:\n";
	struct doctor_devnum num = {0, 0};
	struct doctor_params params;
	unsigned int major = 0, minor = 0;
	char words[24], *list = malloc(strlen(devices) + strlen(text) + 1);
	int ret;

	ret = doctor_devnum_parse(text, &num);
	must(ret ? !num.major && !num.minor : num.major < 4096 && num.minor < 1 << 20);
	must(list);
	strcpy(stpcpy(list, devices), text);
	ret = doctor_devnum_major(list, "gdrdrv");
	must(ret < 0 || (ret < 4096 && strstr(text, "gdrdrv")));
	free(list);
	ret = doctor_devnum_major(text, "gdrdrv");
	must(ret < 0 || (ret < 4096 && strstr(text, "gdrdrv")));
	doctor_params_parse(text, &params);
	must(*doctor_flavour_name(params.flavour));
	must(params.persistent >= -1 && params.persistent <= 1);
	ret = doctor_module_version_parse(text, &major, &minor);
	must(ret ? !major && !minor : major < 100000 && minor < 100000);
	doctor_taint_words(text, words, sizeof(words));
	must(strlen(words) < sizeof(words));
}

/* The end of a file that is a little or far larger. */
static void try_signature(const uint8_t *data, size_t size)
{
	const size_t len = size < DOCTOR_SIGNATURE_TAIL ? size : DOCTOR_SIGNATURE_TAIL;
	enum doctor_signature near = doctor_signature_parse(data + size - len, len, size);
	enum doctor_signature far = doctor_signature_parse(data + size - len, len, UINT64_MAX);

	must(near != DOCTOR_SIGNATURE_UNSEEN && far != DOCTOR_SIGNATURE_UNSEEN);
	must((near == DOCTOR_SIGNATURE_NONE) == (far == DOCTOR_SIGNATURE_NONE));
	must(near != DOCTOR_SIGNATURE_THERE || (far == DOCTOR_SIGNATURE_THERE && size > DOCTOR_SIGNATURE_TAIL));
}

/* Random bytes do not hit the marker: with it behind them, and with the kind of id that the kernel takes. */
static void try_signed(const uint8_t *data, size_t size)
{
	static const char marker[] = "~Module signature appended~\n";
	const size_t len = size + strlen(marker);
	uint8_t *whole = malloc(len);

	must(whole);
	memcpy(whole, data, size);
	memcpy(whole + size, marker, strlen(marker));
	try_signature(whole, len);
	must(doctor_signature_parse(whole, len, len) != DOCTOR_SIGNATURE_NONE);
	if (size >= 12) {
		memcpy(whole + size - 12, "\0\0\2\0\0\0\0\0", 8);
		try_signature(whole, len);
	}
	free(whole);
}

static void try_mount(const char *text)
{
	static const char head[] = "1 1 8:1 / /a rw - ";
	char *line = malloc(strlen(head) + strlen(text) + 1);
	struct doctor_mount mount;
	int ret = doctor_mount_parse(text, &mount);

	must(ret ? ret == -EINVAL : mount.point[0] == '/' && *mount.type && *mount.source);
	must(line);
	strcpy(stpcpy(line, head), text);
	if (!doctor_mount_parse(line, &mount)) {
		must(mount.major == 8 && mount.minor == 1 && !strcmp(mount.point, "/a"));
		doctor_nvfs_blocked(&mount, text);
	}
	free(line);
	doctor_fs_kind(text);
	must(!doctor_option_has("", text) || !*text);
}

static void try_path(const char *text)
{
	char names[DOCTOR_PCI_DEPTH][DOCTOR_PCI_NAME];
	int nr = doctor_pci_path(text, names);

	must(nr < 0 || (nr > 0 && nr <= DOCTOR_PCI_DEPTH));
	for (int i = 0; i < nr; i++) {
		must(memchr(names[i], '\0', DOCTOR_PCI_NAME));
		must(strspn(names[i], "0123456789abcdefABCDEF:.") == strlen(names[i]));
		must(strstr(text, names[i]));
	}
}

/* The three questions have to agree with one another. */
static void try_lists(const char *list, const char *other)
{
	int good = !tool_cpulist_check(list), both = good && !tool_cpulist_check(other);
	int within = tool_cpulist_within(list, other), overlaps = tool_cpulist_overlaps(list, other);

	must(good == (tool_cpulist_has(list, 7) >= 0));
	must(both ? within >= 0 && overlaps >= 0 : within < 0 && overlaps < 0);
	if (!both)
		return;
	must(overlaps == tool_cpulist_overlaps(other, list));
	must(!within || overlaps);
	for (unsigned int cpu = 0; cpu < 16; cpu++) {
		int here = tool_cpulist_has(list, cpu), there = tool_cpulist_has(other, cpu);

		must(!(here && there) || overlaps);
		must(!(here && !there) || !within);
	}
}

static __u32 read_config(const void *arg, __u32 off)
{
	const uint8_t *at = (const uint8_t *)arg + off;

	return at[0] | (__u32)at[1] << 8 | (__u32)at[2] << 16 | (__u32)at[3] << 24;
}

/* The same bytes as a machine of functions of 64 bytes. */
static void try_machine(const uint8_t *data, size_t size)
{
	const struct bl_topo_env env = { .translated = size & 1 };
	struct bl_topo_dev devs[32] = { 0 };
	struct bl_topo topo = { .dev = devs };
	struct bl_topo_route route;
	char text[200];

	for (size_t at = 0; at + 64 <= size && topo.nr < 32; at += 64) {
		const struct bl_topo_config config = { .read = read_config, .arg = data + at, .len = 64 };

		devs[topo.nr].bus = data[at + 20];
		topo.nr += bl_topo_read(&devs[topo.nr], &config);
	}
	bl_topo_link(&topo);
	for (__u32 i = 0; i < topo.nr; i++) {
		bl_topo_distance(&topo, 0, i);
		bl_topo_route(&topo, 0, i, &env, &route);
		bl_topo_route_text(&topo, &route, text, sizeof(text));
		must(*text && memchr(text, '\0', sizeof(text)));
	}
}

static void try_config(const uint8_t *data, size_t size)
{
	const struct bl_topo_config config = { .read = read_config, .arg = data, .len = (__u32)size };
	struct bl_topo_dev dev = { 0 };
	struct doctor_port port;

	if (bl_topo_read(&dev, &config))
		must(dev.acs >= -1 && dev.acs < 128 && dev.port >= -1 && dev.port < 16);
	try_machine(data, size);

	doctor_pci_port(data, size, &port);
	must(port.kind >= -1 && port.kind < 16);
	must(port.acs >= -1 && port.acs < 65536);
	must(port.kind >= 0 || port.acs < 0);
	doctor_secure_boot_parse(data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *half;

	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	try_texts(text);
	try_module(text);
	try_mount(text);
	try_path(text);
	half = strchr(text, '\n');
	if (half)
		*half++ = '\0';
	try_lists(text, half ? half : "0-3");
	free(text);
	try_config(data, size);
	try_signature(data, size);
	try_signed(data, size);
	return 0;
}
