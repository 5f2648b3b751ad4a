// SPDX-License-Identifier: MIT
/* The checks of "barlane doctor" on machines made of files. */
#include "doctor/pci.h"
#include "doctor_fixture.h"

#define GPU	"0000:03:00.0"
#define DEV	"/sys/bus/pci/devices/"
#define VERSION "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"

/* A GPU that CUDA would find. */
static void add_gpu(void)
{
	strcpy(doctor.gpus[0].bus_id, GPU);
	doctor.nr_gpus = 1;
}

/* Root port, switch and GPU. */
static void add_bus(void)
{
	fake_tree_link(DEV GPU, "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0/" GPU);
	fake_tree_dir("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0/" GPU "/x");
}

static void add_link(const char *device, const char *speed, const char *max_speed, const char *width,
		     const char *max_width)
{
	static const char *const names[] = {"current_link_speed", "max_link_speed", "current_link_width",
					    "max_link_width"};
	const char *const texts[] = {speed, max_speed, width, max_width};
	char path[160];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), DEV "%s/%s", device, names[i]);
		fake_tree_text(path, texts[i]);
	}
}

static void add_port(const char *device, int kind, int acs, size_t len)
{
	uint8_t config[DOCTOR_PCI_CONFIG] = {0};
	char path[160];

	config[0x34] = 0x60;
	config[0x60] = 0x10;
	config[0x62] = (uint8_t)(kind << 4);
	config[0x100] = 0x0d;
	config[0x106] = (uint8_t)acs;
	snprintf(path, sizeof(path), DEV "%s/config", device);
	fake_tree_bytes(path, config, len);
}

static void a_missing_driver_fails_and_names_the_cure(void)
{
	begin();
	doctor_check_driver(&doctor);
	check(doctor_failed(&doctor));
	check_has(row("no NVIDIA kernel driver")->cure, "modprobe nvidia");
	begin();
	fake_tree_text("/dev/dxg", "");
	doctor_check_driver(&doctor);
	check_has(row("WSL")->cure, "WSL");
}

static void drivers_are_judged_by_their_version(void)
{
	begin();
	fake_tree_text("/proc/driver/nvidia/version", VERSION);
	doctor_check_driver(&doctor);
	check_eq(row("580.159.04, open")->status, DOCTOR_OK);
	begin();
	fake_tree_text("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02\n");
	doctor_check_driver(&doctor);
	check_eq(row("470.256.02 is too old")->status, DOCTOR_FAIL);
	begin();
	fake_tree_text("/proc/driver/nvidia/version", "\x01\x02 nonsense");
	doctor_check_driver(&doctor);
	check_eq(row("cannot be understood")->status, DOCTOR_WARN);
	check_cures();
}

static void nodes_must_exist_be_devices_and_open(void)
{
	begin();
	add_gpu();
	fake_tree_link("/dev/nvidiactl", "/dev/null");
	fake_tree_text("/dev/nvidia-uvm", "a file");
	fake_tree_text("/proc/driver/nvidia/gpus/" GPU "/information", "Device Minor: \t 5\n");
	doctor_check_nodes(&doctor);
	check_eq(row("/dev/nvidiactl")->status, DOCTOR_OK);
	check_has(row("/dev/nvidiactl")->text, "mode 666");
	check_eq(row("/dev/nvidia-uvm")->status, DOCTOR_FAIL);
	check_has(row("/dev/nvidia-uvm")->text, "no character device");
	check_eq(row("/dev/nvidia5")->status, DOCTOR_FAIL);
	check_has(row("/dev/nvidia5")->text, "does not exist");
	check_eq(row("/dev/gdrdrv")->status, DOCTOR_INFO);
	check_cures();
}

static int refused;

static int refuse(const char *path, int flags)
{
	errno = refused;
	return -1;
}

static void nodes_that_do_not_open_say_why_and_name_the_cure(void)
{
	static const struct {
		int err;
		const char *cure;
	} cases[] = {{EACCES, "chmod 666"}, {EPERM, "container"}, {EIO, "dmesg"}, {EMFILE, "ulimit -n"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		fake_tree_link("/dev/nvidiactl", "/dev/null");
		doctor.tree.open = refuse;
		refused = cases[i].err;
		doctor_check_nodes(&doctor);
		check_eq(row("/dev/nvidiactl")->status, DOCTOR_FAIL);
		check_has(row("/dev/nvidiactl")->text, strerror(cases[i].err));
		check_has(row("/dev/nvidiactl")->cure, cases[i].cure);
	}
}

static void a_malformed_node_number_is_said(void)
{
	begin();
	add_gpu();
	fake_tree_text("/proc/driver/nvidia/gpus/" GPU "/information", "Device Minor: banana\n");
	doctor_check_nodes(&doctor);
	check_eq(row("does not say which node")->status, DOCTOR_WARN);
	check_cures();
}

static void a_container_without_the_nodes_of_a_loaded_driver_is_warned_of(void)
{
	begin();
	fake_tree_text("/.dockerenv", "");
	fake_tree_text("/proc/driver/nvidia/version", VERSION);
	doctor_check_driver(&doctor);
	doctor_check_container(&doctor);
	check_eq(row("Docker")->status, DOCTOR_INFO);
	begin();
	fake_tree_text("/proc/self/cgroup", "0::/kubepods/x\n");
	fake_tree_text("/proc/driver/nvidia/version", VERSION);
	doctor_check_driver(&doctor);
	doctor.check = "node";
	doctor_check_nodes(&doctor);
	doctor_check_container(&doctor);
	check_eq(row("Kubernetes")->status, DOCTOR_WARN);
	check_cures();
	begin();
	doctor_check_container(&doctor);
	check_has(row("container")->text, "no sign");
}

static void the_way_and_a_full_link_are_shown(void)
{
	begin();
	add_bus();
	add_link(GPU, "32.0 GT/s PCIe", "32.0 GT/s PCIe", "16", "16");
	add_link("0000:02:04.0", "32.0 GT/s PCIe", "64.0 GT/s PCIe", "16", "16");
	doctor_pcie_gpu(&doctor, "GPU 0", GPU);
	check_has(row("path")->text, "0000:00:01.0 > 0000:01:00.0 > 0000:02:04.0 > " GPU);
	check_eq(row("link x16")->status, DOCTOR_OK);
}

static void a_narrow_link_is_warned_of_and_an_idle_one_is_not(void)
{
	begin();
	add_bus();
	add_link(GPU, "2.5 GT/s PCIe", "16.0 GT/s PCIe", "8", "16");
	add_link("0000:02:04.0", "2.5 GT/s PCIe", "16.0 GT/s PCIe", "8", "16");
	doctor_pcie_gpu(&doctor, "GPU 0", GPU);
	check_eq(row("x8 of the GPU's x16")->status, DOCTOR_WARN);
	check_has(row("x8 of the GPU's x16")->cure, "riser");
	check_eq(row("link at 2.5 of 16.0")->status, DOCTOR_INFO);
	begin();
	add_bus();
	add_link(GPU, "16.0 GT/s PCIe", "16.0 GT/s PCIe", "8", "16");
	add_link("0000:02:04.0", "16.0 GT/s PCIe", "16.0 GT/s PCIe", "8", "8");
	doctor_pcie_gpu(&doctor, "GPU 0", GPU);
	check_has(row("x8 of the GPU's x16")->cure, "slot with more lanes");
	check_cures();
}

static void links_that_cannot_be_read_are_not_judged(void)
{
	begin();
	doctor_pcie_gpu(&doctor, "GPU 0", GPU);
	check_eq(row("is not in /sys/bus/pci")->status, DOCTOR_INFO);
	begin();
	fake_tree_link(DEV GPU, "../../../devices/nowhere");
	doctor_pcie_gpu(&doctor, "GPU 0", GPU);
	check_eq(row("cannot be understood")->status, DOCTOR_WARN);
	begin();
	add_bus();
	add_link(GPU, "Unknown", "garbage", "255", "-1");
	doctor_pcie_gpu(&doctor, "GPU 0", GPU);
	check_eq(row("does not say how its link runs")->status, DOCTOR_INFO);
	check(!doctor_failed(&doctor));
}

static void switches_that_redirect_are_named_in_the_cure(void)
{
	begin();
	add_bus();
	add_port("0000:00:01.0", DOCTOR_PORT_ROOT, 0x1d, DOCTOR_PCI_CONFIG);
	add_port("0000:01:00.0", DOCTOR_PORT_UPSTREAM, 0, DOCTOR_PCI_CONFIG);
	add_port("0000:02:04.0", DOCTOR_PORT_DOWNSTREAM, 0x1d, DOCTOR_PCI_CONFIG);
	doctor_pcie_gpu(&doctor, "GPU 0", GPU);
	check_eq(row("up to the root port: 0000:02:04.0")->status, DOCTOR_WARN);
	check_has(row("up to the root port")->cure, "pci=disable_acs_redir=0000:02:04.0,");
}

static void switches_that_do_not_redirect_are_fine_and_unreadable_ones_unknown(void)
{
	begin();
	add_bus();
	add_port("0000:00:01.0", DOCTOR_PORT_ROOT, 0x1d, DOCTOR_PCI_CONFIG);
	add_port("0000:01:00.0", DOCTOR_PORT_UPSTREAM, 0, DOCTOR_PCI_CONFIG);
	add_port("0000:02:04.0", DOCTOR_PORT_DOWNSTREAM, 0x11, DOCTOR_PCI_CONFIG);
	doctor_pcie_gpu(&doctor, "GPU 0", GPU);
	check_eq(row("no switch above it redirects")->status, DOCTOR_OK);
	begin();
	add_bus();
	add_port("0000:00:01.0", DOCTOR_PORT_ROOT, 0, 64);
	doctor_pcie_gpu(&doctor, "GPU 0", GPU);
	check_has(row("3 of 3 bridges")->cure, "root");
}

static void another_node_is_warned_of_with_the_cure(void)
{
	begin();
	fake_tree_text("/sys/devices/system/node/node0/cpulist", "0-3\n");
	fake_tree_text("/sys/devices/system/node/node1/cpulist", "4-7\n");
	fake_tree_text("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-7\n");
	fake_tree_text(DEV GPU "/numa_node", "1\n");
	doctor_numa_gpu(&doctor, "GPU 0", GPU);
	check_eq(row("on node 1, but this process runs on node 0")->status, DOCTOR_WARN);
	check_has(row("on node 1")->cure, "numactl -N 1 -m 1");
}

static void the_iommu_of_a_gpu_is_read_off_its_group(void)
{
	begin();
	fake_tree_link(DEV GPU "/iommu_group", "../../../kernel/iommu_groups/17");
	fake_tree_text("/sys/kernel/iommu_groups/17/type", "DMA-FQ\n");
	fake_tree_text("/proc/cmdline", "ro iommu=nopt\n");
	doctor_check_iommu(&doctor);
	doctor_iommu_gpu(&doctor, "GPU 0", GPU);
	check_has(row("machine")->text, "1 groups; kernel command line: iommu=nopt");
	check_has(row("group 17, type DMA-FQ")->cure, "iommu=pt");
	begin();
	fake_tree_link(DEV GPU "/iommu_group", "17");
	fake_tree_text("/sys/kernel/iommu_groups/17/type", "identity\n");
	doctor_iommu_gpu(&doctor, "GPU 0", GPU);
	check_eq(row("passed through")->status, DOCTOR_OK);
	begin();
	doctor_iommu_gpu(&doctor, "GPU 0", GPU);
	check_eq(row("no IOMMU group")->status, DOCTOR_OK);
}

static void the_limit_of_open_files_is_judged_by_what_is_left(void)
{
	static const struct {
		rlim_t soft;
		int open;
		enum doctor_status status;
	} cases[] = {{1024, 5, DOCTOR_OK}, {1024, 1000, DOCTOR_FAIL}, {256, 5, DOCTOR_WARN},
		     {20, 5, DOCTOR_FAIL}, {10, 50, DOCTOR_FAIL},     {RLIM_INFINITY, 5, DOCTOR_OK}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		doctor_limit_files(&doctor, &(struct rlimit){cases[i].soft, RLIM_INFINITY}, cases[i].open);
		check_eq(doctor.rows[0].status, cases[i].status);
		check_cures();
	}
}

static void lockdown_and_secure_boot_never_fail(void)
{
	begin();
	fake_tree_text("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	fake_tree_bytes("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
			(const uint8_t[]){6, 0, 0, 0, 1}, 5);
	doctor_check_security(&doctor);
	check_has(row("lockdown")->text, "integrity: kernel modules must be signed");
	check_has(row("secure boot")->text, "on:");
	for (size_t i = 0; i < doctor.nr; i++)
		check(strcmp(doctor.rows[i].subject, "sig_enforce") != 0);
	begin();
	fake_tree_text("/sys/kernel/security/lockdown", "[[[");
	fake_tree_text("/sys/module/module/parameters/sig_enforce", "perhaps\n");
	fake_tree_bytes("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", "", 0);
	doctor_check_security(&doctor);
	check_has(row("lockdown")->text, "cannot be understood");
	check_has(row("secure boot")->text, "cannot be understood");
	check_has(row("sig_enforce")->text, "cannot be understood");
	fake_tree_text("/sys/module/module/parameters/sig_enforce", "Y\n");
	doctor.nr = 0;
	doctor_check_security(&doctor);
	check_has(row("sig_enforce")->text, "on: kernel modules must be signed");
	fake_tree_text("/sys/module/module/parameters/sig_enforce", "N\n");
	doctor.nr = 0;
	doctor_check_security(&doctor);
	check_str(row("sig_enforce")->text, "off");
	check(!doctor_failed(&doctor));
}

#define TEST(name)                                                                                                     \
	{                                                                                                              \
#name, name                                                                                            \
	}

static const struct tap_test tests[] = {
	TEST(a_missing_driver_fails_and_names_the_cure),
	TEST(drivers_are_judged_by_their_version),
	TEST(nodes_must_exist_be_devices_and_open),
	TEST(nodes_that_do_not_open_say_why_and_name_the_cure),
	TEST(a_malformed_node_number_is_said),
	TEST(a_container_without_the_nodes_of_a_loaded_driver_is_warned_of),
	TEST(the_way_and_a_full_link_are_shown),
	TEST(a_narrow_link_is_warned_of_and_an_idle_one_is_not),
	TEST(links_that_cannot_be_read_are_not_judged),
	TEST(switches_that_redirect_are_named_in_the_cure),
	TEST(switches_that_do_not_redirect_are_fine_and_unreadable_ones_unknown),
	TEST(another_node_is_warned_of_with_the_cure),
	TEST(the_iommu_of_a_gpu_is_read_off_its_group),
	TEST(the_limit_of_open_files_is_judged_by_what_is_left),
	TEST(lockdown_and_secure_boot_never_fail),
};

TAP_MAIN(tests)
