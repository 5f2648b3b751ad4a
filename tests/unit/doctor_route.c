// SPDX-License-Identifier: MIT
/* "barlane doctor", check route: what would happen between each drive and each GPU of a machine made of files. */
#include <linux/pci_regs.h>
#include <string.h>

#include "doctor/route.h"
#include "doctor_fixture.h"

#define DEVICES "/sys/bus/pci/devices/"
#define GPU	"0000:03:00.0"
#define NEAR	"0000:04:00.0"
#define FAR	"0000:05:00.0"
#define AMD	"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n"
#define INTEL	"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"

/* How much of configuration space the user may read. */
static size_t readable = 4096;

static void put16(unsigned char *config, size_t at, unsigned int value)
{
	config[at] = (unsigned char)value;
	config[at + 1] = (unsigned char)(value >> 8);
}

/* A function at an address; @buses: first and last bus below it, 0: it is no bridge. */
static void device(const char *name, unsigned int vendor, unsigned int id, unsigned int class, unsigned int buses,
		   unsigned int acs)
{
	unsigned char config[4096] = { 0 };
	char path[128];

	put16(config, PCI_VENDOR_ID, vendor);
	put16(config, PCI_DEVICE_ID, id);
	put16(config, PCI_STATUS, PCI_STATUS_CAP_LIST);
	put16(config, PCI_CLASS_DEVICE, class >> 8);
	config[PCI_CLASS_PROG] = (unsigned char)class;
	config[PCI_CAPABILITY_LIST] = 0x40;
	config[0x40] = PCI_CAP_ID_EXP;
	if (buses) {
		config[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_BRIDGE;
		put16(config, PCI_SECONDARY_BUS, buses);
	}
	put16(config, PCI_CFG_SPACE_SIZE, PCI_EXT_CAP_ID_ACS);
	put16(config, PCI_CFG_SPACE_SIZE + PCI_ACS_CTRL, acs);
	snprintf(path, sizeof(path), DEVICES "%s/config", name);
	fake_tree_bytes(path, config, readable);
	snprintf(path, sizeof(path), DEVICES "%s/numa_node", name);
	fake_tree_text(path, "0\n");
}

/* A switch with a GPU and a drive, and a drive elsewhere. */
static void machine(const char *cpu, unsigned int redirect)
{
	begin();
	fake_tree_text("/proc/cpuinfo", cpu);
	device("0000:00:00.0", 0x8086, 0x29c0, 0x060000, 0, 0);
	device("0000:00:04.0", 0x8086, 1, 0x060400, 0x0401, 0);
	device("0000:01:00.0", 0x104c, 2, 0x060400, 0x0402, 0);
	device("0000:02:00.0", 0x104c, 3, 0x060400, 0x0303, 0);
	device("0000:02:01.0", 0x104c, 3, 0x060400, 0x0404, redirect);
	device(GPU, 0x10de, 0x2330, 0x030200, 0, 0);
	device(NEAR, 0x144d, 0xa80a, 0x010802, 0, 0);
	fake_tree_dir(DEVICES NEAR "/nvme");
	fake_tree_dir(DEVICES NEAR "/nvme/nvme3");
	fake_tree_text(DEVICES NEAR "/current_link_speed", "16.0 GT/s PCIe\n");
	fake_tree_text(DEVICES NEAR "/current_link_width", "4\n");
	device("0000:00:05.0", 0x8086, 1, 0x060400, 0x0505, 0);
	device(FAR, 0x144d, 0xa80a, 0x010802, 0, 0);
}

static void module(const char *allow)
{
	fake_tree_text("/proc/driver/nvidia-fs/version", "version: 2.28\n");
	if (allow)
		fake_tree_text("/sys/module/nvidia_fs/parameters/allow_unknown_routes", allow);
}

static void group(const char *name, const char *type)
{
	char path[128];

	snprintf(path, sizeof(path), DEVICES "%s/iommu_group", name);
	fake_tree_link(path, "../../../kernel/iommu_groups/7");
	if (type)
		fake_tree_text("/sys/kernel/iommu_groups/7/type", type);
}

static void look(void)
{
	doctor_check_routes(&doctor);
	check_cures();
	check(!doctor_failed(&doctor));
}

static void drives_beside_a_gpu_reach_it(void)
{
	machine(INTEL, 0);
	module("0\n");
	look();
	check_eq(doctor.nr, 2);
	check_eq(row(GPU " nvme3")->status, DOCTOR_OK);
	check_str(row(GPU " nvme3")->text,
		  "direct: one switch or root port leads to both; distance 3, link x4 at 16.0 GT/s");
}

static void what_the_module_refuses_is_a_warning_with_the_reason(void)
{
	machine(INTEL, 0);
	module("0\n");
	look();
	check_eq(row(GPU " " FAR)->status, DOCTOR_WARN);
	check(strstr(row(FAR)->text, "they are below different root ports; 8086:29c0 is not known to forward"));
	check(strstr(row(FAR)->text, "distance 132; nvidia-fs refuses it, and bytes are copied"));
	check(strstr(row(FAR)->cure, "allow_unknown_routes=1"));
	machine(AMD, 0);
	module("0\n");
	look();
	check_eq(row(FAR)->status, DOCTOR_OK);
}

static void what_it_is_told_to_try_is_a_warning_too(void)
{
	machine(INTEL, 0);
	module("1\n");
	look();
	check_eq(row(FAR)->status, DOCTOR_WARN);
	check(strstr(row(FAR)->text, "tried all the same"));
	check_eq(row("nvme3")->status, DOCTOR_OK);
	/* a module that has no such parameter tries everything */
	machine(INTEL, 0);
	module(NULL);
	look();
	check(strstr(row(FAR)->text, "tried all the same"));
}

static void without_the_module_it_is_said_what_would_be(void)
{
	machine(INTEL, 0);
	look();
	check_eq(row("nvme3")->status, DOCTOR_INFO);
	check(strstr(row("nvme3")->text, "nvidia-fs, which would use it, is not loaded"));
	check_eq(row(FAR)->status, DOCTOR_INFO);
	check(strstr(row(FAR)->text, "nvidia-fs would refuse it"));
}

static void a_port_that_redirects_is_named_with_its_cure(void)
{
	machine(INTEL, PCI_ACS_RR);
	module("0\n");
	look();
	check_eq(row("nvme3")->status, DOCTOR_WARN);
	check(strstr(row("nvme3")->text, "port 0000:02:01.0 redirects peer requests"));
	check_str(row("nvme3")->cure,
		  "kernel parameter pci=disable_acs_redir=0000:02:01.0, unless virtual machines share the switch");
}

static void an_iommu_that_translates_is_named(void)
{
	machine(INTEL, 0);
	module("0\n");
	group(NEAR, "DMA-FQ\n");
	look();
	check_eq(row("nvme3")->status, DOCTOR_WARN);
	check(strstr(row("nvme3")->text, "an IOMMU translates"));
	check(strstr(row("nvme3")->cure, "iommu=pt"));
	machine(INTEL, 0);
	module("0\n");
	group(NEAR, "identity\n");
	look();
	check_eq(row("nvme3")->status, DOCTOR_OK);
	/* who may not see the type does not know */
	machine(INTEL, 0);
	module("0\n");
	group(NEAR, NULL);
	look();
	check_eq(row("nvme3")->status, DOCTOR_INFO);
	check(strstr(row("nvme3")->text, "as far as can be seen"));
}

static void without_rights_it_is_said_that_more_may_be_there(void)
{
	readable = 64;
	machine(INTEL, PCI_ACS_RR);
	readable = 4096;
	module("0\n");
	look();
	check_eq(row("nvme3")->status, DOCTOR_INFO);
	check(strstr(row("nvme3")->text, "direct"));
	check(strstr(row("nvme3")->text, "as far as can be seen"));
	check(strstr(row("nvme3")->cure, "run as root"));
}

static void what_the_module_counts_is_shown(void)
{
	machine(INTEL, 0);
	module("0\n");
	fake_tree_text("/proc/driver/nvidia-fs/peer_distance",
		       "gpu\t\tpeer\t\tpeerrank\tp2pdist\tlink\tgen\tnuma\tnp2p\tclass\n"
		       GPU " \t" NEAR " \t0x00030060\t0x0003\t0x04\t0x04\t0xffffffff\t1234\tnvme\n"
		       "0000:01:00.0 \t" NEAR " \t0x00030060\t0x0002\t0x04\t0x04\t0x00\t5\tnvme\n");
	look();
	check(strstr(row(GPU " nvme3")->text, "distance 3, link x4 at 16.0 GT/s, 1234 requests counted"));
	/* and what it was told to take for a GPU is one: two GPUs, two drives */
	check_eq(doctor.nr, 4);
	check(row("0000:01:00.0 nvme3"));
}

static void machines_without_gpus_or_drives_are_no_failure(void)
{
	begin();
	look();
	check(strstr(doctor.rows[0].text, "cannot be read"));
	begin();
	fake_tree_dir("/sys");
	fake_tree_dir("/sys/bus");
	fake_tree_dir("/sys/bus/pci");
	fake_tree_dir("/sys/bus/pci/devices");
	look();
	check_eq(doctor.nr, 1);
	check(strstr(doctor.rows[0].text, "none of NVIDIA's"));
	device(GPU, 0x10de, 0x2330, 0x030200, 0, 0);
	device("nonsense", 0x10de, 0x2330, 0x030200, 0, 0);
	fake_tree_text(DEVICES "0000:09:00.0/config", "");
	look();
	check_eq(doctor.nr, 2);
	check(strstr(doctor.rows[1].text, "no NVMe drive"));
}

static void lines_of_the_module_are_taken_apart(void)
{
	struct doctor_pair pair;

	check_eq(doctor_pair_parse(GPU " \t10000:81:00.0 \t0x00840060\t0x0084\t0x04\t0x04\t0x01\t99\tx\n", &pair), 0);
	check_str(pair.gpu, GPU);
	check_str(pair.peer, "10000:81:00.0");
	check_eq(pair.distance, 0x84);
	check_eq(pair.ios, 99);
	check_eq(doctor_pair_parse("", &pair), -EINVAL);
	check_eq(doctor_pair_parse("gpu\t\tpeer\t\tpeerrank\tp2pdist\tlink\tgen\tnuma\tnp2p\tclass\n", &pair), -EINVAL);
	check_eq(doctor_pair_parse("a b 0x1 0x2 0x3 0x4 0x5 6 nvme", &pair), -EINVAL);
	check_eq(doctor_pair_parse(GPU " " NEAR " 0x1 0x2 0x3", &pair), -EINVAL);
}

static void addresses_are_taken_apart(void)
{
	struct bl_topo_dev dev = { 0 };

	check_eq(doctor_route_address("10000:ff:1f.7", &dev), 0);
	check_eq(dev.domain, 0x10000);
	check_eq(dev.bus, 0xff);
	check_eq(dev.devfn, 0xff);
	check_eq(doctor_route_address("0000:03:20.0", &dev), -EINVAL);
	check_eq(doctor_route_address("0000:03:00.8", &dev), -EINVAL);
	check_eq(doctor_route_address("0000:03:00.0x", &dev), -EINVAL);
	check_eq(doctor_route_address("0000:03:00", &dev), -EINVAL);
	check_eq(doctor_route_address("", &dev), -EINVAL);
	check(doctor_route_cpu(AMD));
	check(!doctor_route_cpu(INTEL));
	check(!doctor_route_cpu("vendor_id\t: AuthenticAMD\ncpu family\t: 21\n"));
	check(!doctor_route_cpu(""));
}

#define TEST(name)     \
	{              \
		#name, name \
	}

static const struct tap_test tests[] = {
	TEST(drives_beside_a_gpu_reach_it),
	TEST(what_the_module_refuses_is_a_warning_with_the_reason),
	TEST(what_it_is_told_to_try_is_a_warning_too),
	TEST(without_the_module_it_is_said_what_would_be),
	TEST(a_port_that_redirects_is_named_with_its_cure),
	TEST(an_iommu_that_translates_is_named),
	TEST(without_rights_it_is_said_that_more_may_be_there),
	TEST(what_the_module_counts_is_shown),
	TEST(machines_without_gpus_or_drives_are_no_failure),
	TEST(lines_of_the_module_are_taken_apart),
	TEST(addresses_are_taken_apart),
};

TAP_MAIN(tests)
