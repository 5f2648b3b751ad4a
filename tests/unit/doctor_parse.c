// SPDX-License-Identifier: MIT
/* Texts and bytes of the kernel as "barlane doctor" understands them, right ones and wrong ones. */
#include "doctor/container.h"
#include "doctor/devnum.h"
#include "doctor/driver.h"
#include "doctor/iommu.h"
#include "doctor/modfile.h"
#include "doctor/module.h"
#include "doctor/nodes.h"
#include "doctor/pci.h"
#include "doctor/security.h"
#include "fake_tree.h"
#include "tap.h"

static void the_driver_says_which_flavour_it_is(void)
{
	struct doctor_driver driver;

	doctor_driver_parse("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\nGCC "
			    "version:  gcc version 12.2.0\n",
			    &driver);
	check_str(doctor_flavour_name(driver.flavour), "open");
	check_str(driver.version.text, "580.159.04");
	doctor_driver_parse("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.274.02  Thu\n", &driver);
	check_str(doctor_flavour_name(driver.flavour), "proprietary");
	check_eq(driver.version.major, 535);
	doctor_driver_parse("", &driver);
	check_str(doctor_flavour_name(driver.flavour), "unknown");
	check_eq(driver.version.major, 0);
	doctor_driver_parse("garbage\nOpen Kernel Module 580.1\n", &driver);
	check_eq(driver.flavour, DOCTOR_FLAVOUR_UNKNOWN);
	check_eq(driver.version.major, 0);
}

static void a_gpu_says_which_node_is_its_own(void)
{
	unsigned int minor = 99;

	check_eq(doctor_minor_parse("Model: \t\t X\nDevice Minor: \t 3\nGPU Excluded:\t No\n", &minor), 0);
	check_eq(minor, 3);
	check_eq(doctor_minor_parse("Device Minor: 0", &minor), 0);
	check_eq(minor, 0);
	minor = 99;
	check_eq(doctor_minor_parse("Device Minor: x\n", &minor), -EINVAL);
	check_eq(doctor_minor_parse("Device Minor: -1\n", &minor), -EINVAL);
	check_eq(doctor_minor_parse("Device Minor:\r-1\n", &minor), -EINVAL); /* found by fuzzing */
	check_eq(doctor_minor_parse("Device Minor: 1x\n", &minor), -EINVAL);
	check_eq(doctor_minor_parse("Device Minor:\n", &minor), -EINVAL);
	check_eq(doctor_minor_parse("Old Device Minor: 1\n", &minor), -EINVAL);
	check_eq(doctor_minor_parse("", &minor), -EINVAL);
	check_eq(minor, 99);
}

static void the_way_to_a_device_is_read_off_its_link(void)
{
	char names[DOCTOR_PCI_DEPTH][DOCTOR_PCI_NAME];

	check_eq(doctor_pci_path("../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0", names), 2);
	check_str(names[0], "0000:00:01.0");
	check_str(names[1], "0000:01:00.0");
	check_eq(doctor_pci_path("../../../devices/pci10000:e0/10000:e0:06.0/10000:e1:00.0", names), 2);
	check_str(names[1], "10000:e1:00.0");
	check_eq(doctor_pci_path("../../../devices/LNXSYSTM:00/ACPI/pci0001:00/0001:00:00.0", names), 1);
	check_eq(doctor_pci_path("../../../devices/pci0000:00/pci0000:00/0000:00:01.0", names), 1);
}

static void links_that_lead_to_no_device_are_einval(void)
{
	char names[DOCTOR_PCI_DEPTH][DOCTOR_PCI_NAME], deep[1024] = "/pci0000:00";

	check_eq(doctor_pci_path("", names), -EINVAL);
	check_eq(doctor_pci_path("../../../devices/pci0000:00", names), -EINVAL);
	check_eq(doctor_pci_path("../../../devices/pci0000:00/", names), -EINVAL);
	check_eq(doctor_pci_path("../../../devices/platform/soc/1f.gpu", names), -EINVAL);
	check_eq(doctor_pci_path("/pci0000:00/0000:00:01.0x", names), -EINVAL);
	check_eq(doctor_pci_path("/pci0000:00/000000000:00:01.0", names), -EINVAL);
	for (int i = 0; i < DOCTOR_PCI_DEPTH + 1; i++)
		strcat(deep, "/0000:00:01.0");
	check_eq(doctor_pci_path(deep, names), -EINVAL);
}

static void gpus_are_told_by_vendor_and_class(void)
{
	static const struct {
		const char *vendor, *class;
		bool gpu;
	} cases[] = {{"0x10de\n", "0x030200\n", true},	{"0x10de\n", "0x030000\n", true},
		     {"0x10de\n", "0x040300\n", false}, {"0x1002\n", "0x030000\n", false},
		     {"", "0x030000\n", false},		{"0x10de\n", "", false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tool_tree *tree = fake_tree_begin();

		fake_tree_text("/sys/bus/pci/devices/0000:01:00.0/vendor", cases[i].vendor);
		fake_tree_text("/sys/bus/pci/devices/0000:01:00.0/class", cases[i].class);
		check_eq(doctor_pci_is_gpu(tree, "0000:01:00.0"), cases[i].gpu);
		check_eq(doctor_pci_is_gpu(tree, "0000:02:00.0"), 0);
	}
}

static void link_speeds_are_tenths(void)
{
	check_eq(doctor_pci_speed("2.5 GT/s PCIe"), 25);
	check_eq(doctor_pci_speed("16.0 GT/s PCIe"), 160);
	check_eq(doctor_pci_speed("32.0 GT/s PCIe"), 320);
	check_eq(doctor_pci_speed("Unknown"), 0);
	check_eq(doctor_pci_speed("Unknown speed"), 0);
	check_eq(doctor_pci_speed(""), 0);
	check_eq(doctor_pci_speed("16.0"), 0);
	check_eq(doctor_pci_speed("-16.0 GT/s"), 0);
	check_eq(doctor_pci_speed("99999.0 GT/s"), 0);
}

static void bars_are_lines_of_the_resource_file(void)
{
	static const char text[] = "0x00000000f0000000 0x00000000f0ffffff 0x0000000000040200\n"
				   "0x0000042000000000 0x0000043fffffffff 0x000000000014220c\n"
				   "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";

	check_eq(doctor_pci_bar_size(text, 0), 16 << 20);
	check_eq(doctor_pci_bar_size(text, 1), 128LL << 30);
	check_eq(doctor_pci_bar_size(text, 2), 0);
	check_eq(doctor_pci_bar_size(text, 9), 0);
	check_eq(doctor_pci_bar_size("", 0), 0);
	check_eq(doctor_pci_bar_size("0x2000 0x1000 0x0", 0), 0);
	check_eq(doctor_pci_bar_size("junk\njunk", 1), 0);
}

/* A port of a kind with an access control capability behind another extended one. */
static void make_config(uint8_t *config, int kind, int acs)
{
	memset(config, 0, DOCTOR_PCI_CONFIG);
	config[0x34] = 0x40;
	config[0x40] = 0x01; /* power management, then PCI Express */
	config[0x41] = 0x60;
	config[0x60] = 0x10;
	config[0x62] = (uint8_t)(kind << 4 | 2);
	config[0x100] = 0x01; /* error reporting, then access control at 0x148 */
	config[0x102] = 0x81;
	config[0x103] = 0x14;
	config[0x148] = 0x0d;
	config[0x14e] = (uint8_t)acs;
}

static void ports_and_their_access_control_are_found(void)
{
	uint8_t config[DOCTOR_PCI_CONFIG];
	struct doctor_port port;

	make_config(config, DOCTOR_PORT_DOWNSTREAM, 0x1d);
	doctor_pci_port(config, sizeof(config), &port);
	check_eq(port.kind, DOCTOR_PORT_DOWNSTREAM);
	check_eq(port.acs, 0x1d);
	make_config(config, DOCTOR_PORT_ROOT, 0);
	doctor_pci_port(config, sizeof(config), &port);
	check_eq(port.kind, DOCTOR_PORT_ROOT);
	check_eq(port.acs, 0);
}

static void what_cannot_be_read_of_a_port_is_unknown(void)
{
	uint8_t config[DOCTOR_PCI_CONFIG];
	struct doctor_port port;

	make_config(config, DOCTOR_PORT_DOWNSTREAM, 0x1d);
	doctor_pci_port(config, 256, &port);
	check_eq(port.kind, DOCTOR_PORT_DOWNSTREAM);
	check_eq(port.acs, -1);
	doctor_pci_port(config, 64, &port); /* what users other than root get */
	check_eq(port.kind, -1);
	doctor_pci_port(config, 0, &port);
	check_eq(port.kind, -1);
	check_eq(port.acs, -1);
}

static void capabilities_that_form_a_ring_end(void)
{
	uint8_t config[DOCTOR_PCI_CONFIG] = {0};
	struct doctor_port port;

	config[0x34] = 0x40;
	config[0x40] = 0x01;
	config[0x41] = 0x40;
	doctor_pci_port(config, sizeof(config), &port);
	check_eq(port.kind, -1);
	make_config(config, DOCTOR_PORT_DOWNSTREAM, 0x1d);
	config[0x102] = 0x01; /* itself */
	config[0x103] = 0x10;
	doctor_pci_port(config, sizeof(config), &port);
	check_eq(port.acs, -1);
	memset(config, 0xff, sizeof(config)); /* a device that does not answer */
	doctor_pci_port(config, sizeof(config), &port);
	check_eq(port.kind, -1);
}

static void the_command_line_is_searched_for_whole_words(void)
{
	char words[64];

	doctor_iommu_words("ro quiet intel_iommu=on iommu=pt console=tty0\n", words, sizeof(words));
	check_str(words, "intel_iommu=on iommu=pt");
	doctor_iommu_words("noiommu=1 myiommu=pt", words, sizeof(words));
	check_str(words, "");
	doctor_iommu_words("", words, sizeof(words));
	check_str(words, "");
	doctor_iommu_words("iommu=pt amd_iommu=on", words, 10);
	check_str(words, "iommu=pt");
}

static void containers_are_told_by_their_control_groups(void)
{
	check_str(doctor_container_of_cgroup("0::/kubepods.slice/docker-1.scope\n"), "Kubernetes");
	check_str(doctor_container_of_cgroup("12:devices:/docker/abc\n"), "Docker");
	check_str(doctor_container_of_cgroup("0::/lxc/abc\n"), "LXC");
	check(!doctor_container_of_cgroup("0::/user.slice/session-1.scope\n"));
	check(!doctor_container_of_cgroup(""));
}

static void lockdown_is_the_word_in_brackets(void)
{
	char mode[16];

	check_eq(doctor_lockdown_parse("none [integrity] confidentiality", mode, sizeof(mode)), 0);
	check_str(mode, "integrity");
	check_eq(doctor_lockdown_parse("none integrity", mode, sizeof(mode)), -EINVAL);
	check_eq(doctor_lockdown_parse("none []", mode, sizeof(mode)), -EINVAL);
	check_eq(doctor_lockdown_parse("]none[", mode, sizeof(mode)), -EINVAL);
	check_eq(doctor_lockdown_parse("[a-word-that-is-far-too-long]", mode, sizeof(mode)), -EINVAL);
	check_str(mode, "");
}

static void secure_boot_is_one_byte_behind_its_attributes(void)
{
	check_eq(doctor_secure_boot_parse((const uint8_t[]){6, 0, 0, 0, 1}, 5), 1);
	check_eq(doctor_secure_boot_parse((const uint8_t[]){6, 0, 0, 0, 0}, 5), 0);
	check_eq(doctor_secure_boot_parse((const uint8_t[]){6, 0, 0, 0, 2}, 5), -EINVAL);
	check_eq(doctor_secure_boot_parse((const uint8_t[]){6, 0, 0, 0}, 4), -EINVAL);
	check_eq(doctor_secure_boot_parse((const uint8_t[]){6, 0, 0, 0, 1, 1}, 6), -EINVAL);
}

static void the_end_of_a_file_is_read_and_its_size_told(void)
{
	const struct tool_tree *tree = fake_tree_begin();
	uint64_t whole = 99;
	char buf[4];

	fake_tree_text("/long", "0123456789");
	fake_tree_text("/short", "01");
	fake_tree_text("/empty", "");
	check_eq(tool_tree_tail(tree, buf, sizeof(buf), &whole, "/none"), -ENOENT);
	check_eq(tool_tree_tail(tree, buf, sizeof(buf), &whole, "/"), -EINVAL);
	check_eq(whole, 99);
	check_eq(tool_tree_tail(tree, buf, sizeof(buf), &whole, "/%s", "long"), 4);
	check(!memcmp(buf, "6789", 4));
	check_eq(whole, 10);
	check_eq(tool_tree_tail(tree, buf, sizeof(buf), &whole, "/short"), 2);
	check(!memcmp(buf, "01", 2));
	check_eq(whole, 2);
	check_eq(tool_tree_tail(tree, buf, sizeof(buf), &whole, "/empty"), 0);
	check_eq(whole, 0);
}

static void what_asks_for_signed_modules_is_named(void)
{
	const struct tool_tree *tree = fake_tree_begin();
	char why[64], little[8];

	check_eq(doctor_signing(tree, why, sizeof(why)), DOCTOR_SIGNING_FREE);
	check_str(why, "");
	fake_tree_bytes("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
			(const uint8_t[]){6, 0, 0, 0, 1}, 5);
	check_eq(doctor_signing(tree, why, sizeof(why)), DOCTOR_SIGNING_UNSURE);
	check_str(why, "Secure Boot");
	fake_tree_text("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	check_eq(doctor_signing(tree, why, sizeof(why)), DOCTOR_SIGNING_FREE);
	fake_tree_text("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	check_eq(doctor_signing(tree, why, sizeof(why)), DOCTOR_SIGNING_FORCED);
	check_str(why, "kernel lockdown (integrity)");
	fake_tree_text("/sys/module/module/parameters/sig_enforce", "yes\n");
	check_eq(doctor_signing(tree, little, sizeof(little)), DOCTOR_SIGNING_FORCED);
	check_str(little, "kernel ");
	fake_tree_text("/sys/module/module/parameters/sig_enforce", "Y\n");
	check_eq(doctor_signing(tree, why, sizeof(why)), DOCTOR_SIGNING_FORCED);
	check_str(why, "kernel parameter module.sig_enforce");
}

/* The end of a module of @whole bytes with a signature of @sig_len. */
static enum doctor_signature signature(uint32_t sig_len, uint64_t whole, int at, uint8_t odd)
{
	uint8_t tail[DOCTOR_SIGNATURE_TAIL + 1] = {0};

	tail[2] = 2;
	tail[8] = (uint8_t)(sig_len >> 24);
	tail[9] = (uint8_t)(sig_len >> 16);
	tail[10] = (uint8_t)(sig_len >> 8);
	tail[11] = (uint8_t)sig_len;
	memcpy(tail + 12, "~Module signature appended~\n", 29);
	if (at >= 0)
		tail[at] = odd;
	return doctor_signature_parse(tail, DOCTOR_SIGNATURE_TAIL, whole);
}

static void signatures_are_told_by_what_ends_the_file(void)
{
	check_eq(signature(700, 1000000, -1, 0), DOCTOR_SIGNATURE_THERE);
	check_eq(signature(1, 42, -1, 0), DOCTOR_SIGNATURE_THERE);
	check_eq(signature(700, 1000000, DOCTOR_SIGNATURE_TAIL - 1, 0), DOCTOR_SIGNATURE_NONE);
	check_eq(signature(700, 1000000, 12, '-'), DOCTOR_SIGNATURE_NONE);
	check_eq(doctor_signature_parse((const uint8_t *)"", 0, 0), DOCTOR_SIGNATURE_NONE);
	check_eq(doctor_signature_parse((const uint8_t *)"~Module signature appended~", 27, 27), DOCTOR_SIGNATURE_NONE);
}

static void signatures_that_make_no_sense_are_damaged(void)
{
	check_eq(signature(0, 1000000, -1, 0), DOCTOR_SIGNATURE_BAD);
	check_eq(signature(1, 41, -1, 0), DOCTOR_SIGNATURE_BAD);
	check_eq(signature(0xffffffff, 1000000, -1, 0), DOCTOR_SIGNATURE_BAD);
	check_eq(signature(700, 39, -1, 0), DOCTOR_SIGNATURE_BAD);
	for (int i = 0; i < 8; i++)
		check_eq(signature(700, 1000000, i, 7), DOCTOR_SIGNATURE_BAD);
	check_eq(doctor_signature_parse((const uint8_t *)"~Module signature appended~\n", 28, 28),
		 DOCTOR_SIGNATURE_BAD);
}

static void device_numbers_are_two_numbers_in_range(void)
{
	static const char *const odd[] = {"",	    ":",      "240",	 "240:",   ":0",	"-1:0",	      "240:-1",
					  "240: 0", " 240:0", "240:0 x", "4096:0", "0:1048576", "99999999:0", "a:b"};
	struct doctor_devnum num = {7, 8};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		check_eq(doctor_devnum_parse(odd[i], &num), -EINVAL);
	check_eq(num.major, 7);
	check_eq(num.minor, 8);
	check_eq(doctor_devnum_parse("240:0\n", &num), 0);
	check_eq(num.major, 240);
	check_eq(num.minor, 0);
	check_eq(doctor_devnum_parse("4095:1048575", &num), 0);
	check_eq(num.minor, 1048575);
}

static void major_numbers_are_those_of_character_devices(void)
{
	static const char text[] = "Character devices:\n  1 mem\n 10 misc\n237 gdrdrv-old\n238 gdrdrv\n\n"
				   "Block devices:\n  8 sd\n259 blkext\n";

	check_eq(doctor_devnum_major(text, "gdrdrv"), 238);
	check_eq(doctor_devnum_major(text, "mem"), 1);
	check_eq(doctor_devnum_major(text, "sd"), -ENOENT);
	check_eq(doctor_devnum_major(text, "devices:"), -ENOENT);
	check_eq(doctor_devnum_major("Character devices:\n238 gdrdrv", "gdrdrv"), 238);
	check_eq(doctor_devnum_major("Character devices:\n-238 gdrdrv\n", "gdrdrv"), -ENOENT);
	check_eq(doctor_devnum_major("Character devices:\n99999999238 gdrdrv\n", "gdrdrv"), -ENOENT);
	check_eq(doctor_devnum_major("Character devices:\n9999 gdrdrv\n", "gdrdrv"), -ENOENT);
	check_eq(doctor_devnum_major("Character devices:\n238\n", "gdrdrv"), -ENOENT);
	check_eq(doctor_devnum_major("Character devices:", "gdrdrv"), -ENOENT);
	check_eq(doctor_devnum_major("238 gdrdrv\n", "gdrdrv"), -ENOENT);
	check_eq(doctor_devnum_major("", "gdrdrv"), -ENOENT);
}

static void module_versions_are_two_numbers(void)
{
	unsigned int major = 0, minor = 0;

	check_eq(doctor_module_version_parse("2.6", &major, &minor), 0);
	check_eq(major, 2);
	check_eq(minor, 6);
	check_eq(doctor_module_version_parse("2.4.1", &major, &minor), 0);
	check_eq(minor, 4);
	check_eq(doctor_module_version_parse("2.6-rc1", &major, &minor), 0);
	check_eq(doctor_module_version_parse("2.+6", &major, &minor), -EINVAL);
	check_eq(doctor_module_version_parse("2x.6", &major, &minor), -EINVAL);
	check_eq(doctor_module_version_parse("", &major, &minor), -EINVAL);
	check_eq(minor, 6);
}

static void parameters_of_the_module_are_whole_words_in_their_lines(void)
{
	struct doctor_params params;

	doctor_params_parse("Version: 2.6\nBuilt for NVIDIA driver flavor: proprietary\nUse persistent mapping: yes\n"
			    "dbg_enabled: 0\n",
			    &params);
	check_eq(params.flavour, DOCTOR_FLAVOUR_PROPRIETARY);
	check_eq(params.persistent, 1);
	doctor_params_parse("Use persistent mapping: no", &params);
	check_eq(params.flavour, DOCTOR_FLAVOUR_UNKNOWN);
	check_eq(params.persistent, 0);
	doctor_params_parse("Use persistent mapping: nobody\nnot Built for NVIDIA driver flavor: opensource\n",
			    &params);
	check_eq(params.flavour, DOCTOR_FLAVOUR_UNKNOWN);
	check_eq(params.persistent, -1);
	doctor_params_parse("Use persistent mapping:", &params);
	check_eq(params.persistent, -1);
	doctor_params_parse("", &params);
	check_eq(params.persistent, -1);
}

static void taint_letters_that_do_not_fit_are_left_out(void)
{
	char words[24];

	doctor_taint_words("OE", words, sizeof(words));
	check_str(words, "out of tree, unsigned");
	doctor_taint_words("OEP", words, sizeof(words));
	check_str(words, "out of tree, unsigned");
	doctor_taint_words("XZ", words, sizeof(words));
	check_str(words, "X, Z");
	doctor_taint_words("x", words, sizeof(words));
	check_str(words, "");
	doctor_taint_words("", words, 1);
	check_str(words, "");
}

#define TEST(name)                                                                                                     \
	{                                                                                                              \
#name, name                                                                                            \
	}

static const struct tap_test tests[] = {
	TEST(the_driver_says_which_flavour_it_is),
	TEST(a_gpu_says_which_node_is_its_own),
	TEST(the_way_to_a_device_is_read_off_its_link),
	TEST(links_that_lead_to_no_device_are_einval),
	TEST(gpus_are_told_by_vendor_and_class),
	TEST(link_speeds_are_tenths),
	TEST(bars_are_lines_of_the_resource_file),
	TEST(ports_and_their_access_control_are_found),
	TEST(what_cannot_be_read_of_a_port_is_unknown),
	TEST(capabilities_that_form_a_ring_end),
	TEST(the_command_line_is_searched_for_whole_words),
	TEST(containers_are_told_by_their_control_groups),
	TEST(lockdown_is_the_word_in_brackets),
	TEST(secure_boot_is_one_byte_behind_its_attributes),
	TEST(the_end_of_a_file_is_read_and_its_size_told),
	TEST(what_asks_for_signed_modules_is_named),
	TEST(signatures_are_told_by_what_ends_the_file),
	TEST(signatures_that_make_no_sense_are_damaged),
	TEST(device_numbers_are_two_numbers_in_range),
	TEST(major_numbers_are_those_of_character_devices),
	TEST(module_versions_are_two_numbers),
	TEST(parameters_of_the_module_are_whole_words_in_their_lines),
	TEST(taint_letters_that_do_not_fit_are_left_out),
};

TAP_MAIN(tests)
