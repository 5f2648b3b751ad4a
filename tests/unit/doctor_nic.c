// SPDX-License-Identifier: MIT
/* Check "nic" of "barlane doctor": RDMA devices, their ports and addresses, and the NIC that programs would take. */
#include <errno.h>

#include "doctor/nic.h"
#include "doctor/storage.h"
#include "doctor_fixture.h"

#define IB    "/sys/class/infiniband/"
#define GPU   "0000:03:00.0"
#define NIC   "0000:04:00.0"
#define PCI   "/sys/bus/pci/devices/"
#define EMPTY "0000:0000:0000:0000:0000:0000:0000:0000"

static int verbs_answer;

static int fake_verbs(void)
{
	return verbs_answer;
}

static int devx_answer;

static int fake_devx(const char *device)
{
	return strcmp(device, "mlx5_9") ? devx_answer : -ENODEV;
}

static const struct doctor_trials fake_trials = { .verbs = fake_verbs, .devx = fake_devx };

static void begin_nic(void)
{
	begin();
	doctor.trials = &fake_trials;
	verbs_answer = 0;
	devx_answer = 0;
	unsetenv("BARLANE_NIC");
}

static void put(const char *device, const char *file, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), IB "%s/%s", device, file);
	fake_tree_text(path, text);
}

static void put_gid(const char *device, int index, const char *gid, const char *type)
{
	char path[64];

	snprintf(path, sizeof(path), "ports/1/gids/%d", index);
	put(device, path, gid);
	snprintf(path, sizeof(path), "ports/1/gid_attrs/types/%d", index);
	if (type)
		put(device, path, type);
}

/* One of Ethernet, whose port is active and whose node opens. */
static void add_device(const char *device, int number)
{
	char path[160];

	put(device, "ports/1/state", "4: ACTIVE\n");
	put(device, "ports/1/phys_state", "5: LinkUp\n");
	put(device, "ports/1/rate", "100 Gb/sec (4X EDR)\n");
	put(device, "ports/1/link_layer", "Ethernet\n");
	put(device, "ports/1/gid_attrs/ndevs/0", "eth2\n");
	put_gid(device, 0, "fe80:0000:0000:0000:0000:0000:0000:0001\n", "RoCE v2\n");
	fake_tree_text("/sys/class/net/eth2/mtu", "9000\n");
	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/uverbs%d/ibdev", number);
	fake_tree_text(path, device);
	snprintf(path, sizeof(path), "/dev/infiniband/uverbs%d", number);
	fake_tree_text(path, "");
}

static void add_pci(const char *device)
{
	char path[160];

	snprintf(path, sizeof(path), IB "%s/device", device);
	fake_tree_link(path, "../../../0000:04:00.0");
}

static void addresses_are_understood(void)
{
	static const struct {
		const char *text;
		enum doctor_gid_kind kind;
		const char *shown;
	} cases[] = {
		{ EMPTY, DOCTOR_GID_NONE, "" },
		{ "fe80:0000:0000:0000:0242:acff:fe11:0002", DOCTOR_GID_LINK, "fe80::242:acff:fe11:2" },
		{ "0000:0000:0000:0000:0000:ffff:c000:0201", DOCTOR_GID_IPV4, "192.0.2.1" },
		{ "2001:0db8:0000:0000:0000:0000:0000:0009", DOCTOR_GID_GLOBAL, "2001:db8::9" },
	};
	struct doctor_gid gid;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		gid = (struct doctor_gid){ 0 };
		check_eq(doctor_gid_parse(cases[i].text, &gid), 0);
		check_eq(gid.kind, cases[i].kind);
		check_str(gid.text, cases[i].shown);
	}
	check_eq(doctor_gid_parse("", &gid), -EINVAL);
	check_eq(doctor_gid_parse("0000:0000", &gid), -EINVAL);
	check_eq(doctor_gid_parse("nonsense", &gid), -EINVAL);
}

static void states_and_sizes_are_understood(void)
{
	const char *word = NULL;

	check_eq(doctor_port_state("4: ACTIVE", &word), 4);
	check_str(word, "ACTIVE");
	check_eq(doctor_port_state("", &word), -1);
	check_eq(doctor_port_state("ACTIVE", &word), -1);
	check_eq(doctor_port_state("4:", &word), -1);
	check_eq(doctor_port_state("99999: x", &word), -1);
	check_eq(doctor_path_mtu(9000), 4096);
	check_eq(doctor_path_mtu(4200), 4096);
	check_eq(doctor_path_mtu(1500), 1024);
	check_eq(doctor_path_mtu(400), 256);
	check_eq(doctor_path_mtu(300), 0);
	check_eq(doctor_path_mtu(-1), 0);
}

static void distances_are_read_from_links(void)
{
#define AT(path) "../../../devices/" path
	const char *gpu = AT("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0/0000:03:00.0");

	check_eq(doctor_pci_near(gpu, AT("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:05.0/0000:04:00.0")),
		 DOCTOR_SAME_SWITCH);
	check_eq(doctor_pci_near(gpu, AT("pci0000:00/0000:00:01.0/0000:04:00.0")), DOCTOR_SAME_PORT);
	check_eq(doctor_pci_near(gpu, AT("pci0000:00/0000:00:02.0/0000:04:00.0")), DOCTOR_SAME_ROOT);
	check_eq(doctor_pci_near(gpu, AT("pci0000:80/0000:80:02.0/0000:84:00.0")), DOCTOR_FAR);
	check_eq(doctor_pci_near(gpu, "nonsense"), DOCTOR_FAR);
	check_eq(doctor_pci_near("", ""), DOCTOR_FAR);
#undef AT
}

static void a_machine_without_devices_takes_the_software_nic(void)
{
	begin_nic();
	doctor_check_nics(&doctor);
	check_eq(doctor.nr, 1);
	check_eq(row("choice")->status, DOCTOR_INFO);
	check_has(row("choice")->text, "soft0 by provider soft");
	check_has(row("choice")->text, "there is no RDMA device");
	verbs_answer = -ENOENT;
	doctor_check_nics(&doctor);
	check_eq(row("libibverbs")->status, DOCTOR_INFO);
}

static void a_good_device_is_chosen(void)
{
	begin_nic();
	add_device("mlx5_0", 0);
	add_pci("mlx5_0");
	put_gid("mlx5_0", 1, EMPTY "\n", "RoCE v2\n");
	put_gid("mlx5_0", 2, "0000:0000:0000:0000:0000:ffff:c000:0201\n", "IB/RoCE v1\n");
	put_gid("mlx5_0", 3, "0000:0000:0000:0000:0000:ffff:c000:0201\n", "RoCE v2\n");
	doctor.driver.flavour = DOCTOR_FLAVOUR_OPEN;
	doctor_check_nics(&doctor);
	check_eq(row("port 1 is ACTIVE")->status, DOCTOR_OK);
	check_has(row("port 1 is ACTIVE")->text, "100 Gb/sec");
	check_has(row("address 192.0.2.1")->text, "index 3, RoCE v2, IPv4");
	check_has(row("eth2 has MTU")->text, "packets of 4096");
	check_has(row("GPU memory")->text, "by dma-buf");
	check_eq(row("choice")->status, DOCTOR_OK);
	check_has(row("choice")->text, "mlx5_0 by provider verbs");
	check(!doctor_failed(&doctor));
	check_cures();
}

static void the_choice_names_who_was_passed_over(void)
{
	begin_nic();
	add_device("mlx5_10", 0);
	add_device("mlx5_2", 1);
	add_device("mlx5_3", 2);
	put("mlx5_2", "ports/1/state", "1: DOWN\n");
	put("mlx5_2", "ports/1/phys_state", "3: Disabled\n");
	put_gid("mlx5_3", 0, EMPTY, NULL);
	doctor_check_nics(&doctor);
	check_has(row("choice")->text, "mlx5_10 by provider verbs");
	check_has(row("choice")->text, "passed over: mlx5_2 (port 1 is not active), mlx5_3 (it has no address)");
	check_eq(row("not active: DOWN, Disabled")->status, DOCTOR_WARN);
	check_has(row("not active: DOWN, Disabled")->cure, "ip link set eth2 up");
	check_has(row("has no address")->cure, "ip addr add");
	check_cures();

	setenv("BARLANE_NIC", "soft", 1);
	doctor.nr = 0;
	doctor_check_nics(&doctor);
	check_has(row("choice")->text, "soft0");
	check_has(row("choice")->text, "mlx5_10 (BARLANE_NIC names another provider)");
	unsetenv("BARLANE_NIC");
	verbs_answer = -ENOENT;
	doctor.nr = 0;
	doctor_check_nics(&doctor);
	check_eq(row("libibverbs")->status, DOCTOR_WARN);
	check_has(row("choice")->text, "libibverbs cannot be loaded");
	check_cures();
}

static int refuse(const char *path, int flags)
{
	if (strstr(path, "/dev/infiniband")) {
		errno = EACCES;
		return -1;
	}
	return tool_tree_machine.open(path, flags);
}

static void a_node_that_does_not_open_says_what_helps(void)
{
	begin_nic();
	add_device("mlx5_0", 0);
	doctor.tree.open = refuse;
	doctor_check_nics(&doctor);
	check_has(row("/dev/infiniband/uverbs0")->text, "Permission denied");
	check_has(row("/dev/infiniband/uverbs0")->cure, "chmod 666");
	check_has(row("choice")->text, "its node cannot be opened");

	begin_nic();
	add_device("mlx5_0", 0);
	fake_tree_text("/sys/class/infiniband_verbs/uverbs0/ibdev", "another");
	doctor_check_nics(&doctor);
	check_has(row("no node in /dev/infiniband")->cure, "ib_uverbs");
	check_cures();
}

static void small_packets_and_old_addresses_are_told_of(void)
{
	begin_nic();
	add_device("mlx5_0", 0);
	put_gid("mlx5_0", 0, "0000:0000:0000:0000:0000:ffff:c000:0201\n", "IB/RoCE v1\n");
	fake_tree_text("/sys/class/net/eth2/mtu", "1500\n");
	doctor_check_nics(&doctor);
	check_has(row("eth2 has MTU 1500")->text, "packets of 1024 bytes of 4096");
	check_has(row("eth2 has MTU 1500")->cure, "mtu 4200");
	check_eq(row("RoCE v1")->status, DOCTOR_WARN);
	fake_tree_text("/sys/class/net/eth2/mtu", "200\n");
	doctor.nr = 0;
	doctor_check_nics(&doctor);
	check_eq(row("eth2 has MTU 200")->status, DOCTOR_WARN);
	check_cures();
}

static void infiniband_waits_for_its_subnet_manager(void)
{
	begin_nic();
	add_device("mlx5_0", 0);
	put("mlx5_0", "ports/1/link_layer", "InfiniBand\n");
	put("mlx5_0", "ports/1/state", "2: INIT\n");
	doctor_check_nics(&doctor);
	check_has(row("not active: INIT")->cure, "opensm");
	put("mlx5_0", "ports/1/state", "1: DOWN\n");
	doctor.nr = 0;
	doctor_check_nics(&doctor);
	check_has(row("not active: DOWN")->cure, "cable");
	check_cures();
}

static void gpu_memory_needs_one_of_two_ways(void)
{
	begin_nic();
	add_device("mlx5_0", 0);
	add_pci("mlx5_0");
	doctor.driver.flavour = DOCTOR_FLAVOUR_PROPRIETARY;
	doctor.driver.version.major = 535;
	fake_tree_text("/proc/driver/nvidia/params", "RegistryDwords: \"\"\n");
	doctor_check_nics(&doctor);
	check_eq(row("no device can reach it")->status, DOCTOR_WARN);
	check_has(row("no device can reach it")->cure, "nvidia-peermem");
	check_has(row("doorbells")->text, "may keep GPUs from mapping");
	fake_tree_dir("/sys/module/nvidia_peermem/x");
	fake_tree_text("/proc/driver/nvidia/params", "RegistryDwords: \"PeerMappingOverride=1;\"\n");
	doctor.nr = 0;
	doctor_check_nics(&doctor);
	check_eq(row("by address: nvidia-peermem")->status, DOCTOR_OK);
	check_has(row("doorbells")->text, "GPUs may map");
	check_cures();

	begin_nic();
	add_device("rxe0", 0);
	put("rxe0", "parent", "eth2\n");
	doctor_check_nics(&doctor);
	check_has(row("software devices")->text, "host memory only");
}

static void devices_far_from_a_gpu_are_told_of(void)
{
	begin_nic();
	add_device("mlx5_0", 0);
	add_pci("mlx5_0");
	strcpy(doctor.gpus[0].bus_id, GPU);
	doctor.nr_gpus = 1;
	fake_tree_link(PCI GPU, "../../../devices/pci0000:00/0000:00:01.0/" GPU);
	fake_tree_link(PCI NIC, "../../../devices/pci0000:80/0000:80:01.0/" NIC);
	doctor_check_nics(&doctor);
	check_has(row("GPU 0: through two host bridges")->cure, "nearer");
	check_cures();
}

static void add_driver(const char *device, const char *driver)
{
	char path[160], target[160];

	snprintf(path, sizeof(path), IB "%s/device/driver", device);
	snprintf(target, sizeof(target), "../../../../bus/pci/drivers/%s", driver);
	fake_tree_link(path, target);
}

static void a_device_of_mlx5_says_who_rings_its_doorbell(void)
{
	begin_nic();
	add_device("mlx5_0", 0);
	add_driver("mlx5_0", "mlx5_core");
	add_device("other0", 1);
	add_driver("other0", "other");
	doctor_check_nics(&doctor);
	check_has(row("by provider mlx5; whether a GPU rings")->text, "never run on hardware");
	check_has(row("choice")->text, "mlx5_0 by provider mlx5");
	fake_tree_text("/proc/driver/nvidia/params", "RegistryDwords: \"\"\n");
	doctor.nr = 0;
	doctor_check_nics(&doctor);
	check_has(row("and a CPU rings its doorbell")->cure, "PeerMappingOverride=1");
	fake_tree_text("/proc/driver/nvidia/params", "RegistryDwords: \"PeerMappingOverride=1;\"\n");
	doctor.nr = 0;
	doctor_check_nics(&doctor);
	check_str(row("by provider mlx5, and GPUs ring")->subject, "mlx5_0");
	check_cures();
}

static void a_device_of_mlx5_without_devx_is_served_by_verbs(void)
{
	static const struct {
		int answer;
		const char *text, *cure;
	} cases[] = {
		{ -ENOENT, "libmlx5.so.1 cannot be loaded", "ibverbs-providers" },
		{ -EPERM, "does not open with DevX: Operation not permitted", "CAP_NET_RAW" },
		{ -EOPNOTSUPP, "does not open with DevX: Operation not supported", "that have DevX" },
	};

	begin_nic();
	add_device("mlx5_0", 0);
	add_driver("mlx5_0", "mlx5_core");
	for (size_t i = 0; i < 3; i++) {
		devx_answer = cases[i].answer;
		doctor.nr = 0;
		doctor_check_nics(&doctor);
		check_has(row(cases[i].text)->text, "by provider verbs, through a CPU: ");
		check_has(row(cases[i].text)->cure, cases[i].cure);
		check_has(row("choice")->text, "mlx5_0 by provider verbs");
	}
	devx_answer = 0;
	setenv("BARLANE_NIC", "verbs", 1);
	doctor.nr = 0;
	doctor_check_nics(&doctor);
	check(row("not by provider mlx5: BARLANE_NIC names verbs"));
	check_has(row("choice")->text, "mlx5_0 by provider verbs");
	setenv("BARLANE_NIC", "mlx5", 1);
	devx_answer = -EPERM;
	doctor.nr = 0;
	doctor_check_nics(&doctor);
	check_has(row("choice")->text, "mlx5_0 (no DevX, and BARLANE_NIC names mlx5)");
	check(row("not served, as BARLANE_NIC names mlx5: it does not open"));
	unsetenv("BARLANE_NIC");
	check_cures();
}

static void the_first_of_mlx5_that_can_comes_before_others(void)
{
	begin_nic();
	add_device("mlx5_9", 0);
	add_driver("mlx5_9", "mlx5_core");
	add_device("mlx5_10", 1);
	add_driver("mlx5_10", "mlx5_core");
	add_device("a_rxe", 2);
	put("mlx5_10", "ports/1/state", "1: DOWN\n");
	doctor_check_nics(&doctor);
	check_has(row("choice")->text, "a_rxe by provider verbs");
	put("mlx5_10", "ports/1/state", "4: ACTIVE\n");
	doctor.nr = 0;
	doctor_check_nics(&doctor);
	check_has(row("choice")->text, "mlx5_10 by provider mlx5");
	check_has(row("does not open with DevX: No such device")->text, "by provider verbs");
	check_cures();
}

static void locked_memory_is_judged(void)
{
	struct rlimit limit = { 65536, 65536 };

	begin_nic();
	fake_tree_text("/proc/self/status", "CapEff:\t0000000000000000\n");
	doctor_nic_locks(&doctor, &limit);
	check_eq(row("64 KiB")->status, DOCTOR_WARN);
	check_has(row("64 KiB")->cure, "memlock=-1");
	limit.rlim_cur = 1UL << 30;
	doctor_nic_locks(&doctor, &limit);
	check_eq(row("up to 1024 MiB")->status, DOCTOR_INFO);
	limit.rlim_cur = RLIM_INFINITY;
	doctor.nr = 0;
	doctor_nic_locks(&doctor, &limit);
	check_eq(row("no limit")->status, DOCTOR_OK);
	/* CAP_IPC_LOCK */
	limit.rlim_cur = 65536;
	fake_tree_text("/proc/self/status", "CapEff:\t0000000000004000\n");
	doctor.nr = 0;
	doctor_nic_locks(&doctor, &limit);
	check_eq(row("no limit")->status, DOCTOR_OK);
	check_cures();
}

static void nonsense_in_sysfs_is_survived(void)
{
	begin_nic();
	fake_tree_text(IB "file", "x");
	put("broken", "ports/1/state", "\xff\xff\n");
	put("broken", "ports/1/gids/abc", "x\n");
	put("broken", "ports/x/state", "");
	fake_tree_link(IB "broken/device", "nowhere");
	doctor_check_nics(&doctor);
	check_has(row("choice")->text, "soft0");
	check(!doctor_failed(&doctor));
	check_cures();
}

static const struct tap_test tests[] = {
	{ "nic_addresses_are_understood", addresses_are_understood },
	{ "nic_states_and_sizes_are_understood", states_and_sizes_are_understood },
	{ "nic_distances_are_read_from_links", distances_are_read_from_links },
	{ "nic_a_machine_without_devices_takes_the_software_nic", a_machine_without_devices_takes_the_software_nic },
	{ "nic_a_good_device_is_chosen", a_good_device_is_chosen },
	{ "nic_the_choice_names_who_was_passed_over", the_choice_names_who_was_passed_over },
	{ "nic_a_node_that_does_not_open_says_what_helps", a_node_that_does_not_open_says_what_helps },
	{ "nic_small_packets_and_old_addresses_are_told_of", small_packets_and_old_addresses_are_told_of },
	{ "nic_infiniband_waits_for_its_subnet_manager", infiniband_waits_for_its_subnet_manager },
	{ "nic_gpu_memory_needs_one_of_two_ways", gpu_memory_needs_one_of_two_ways },
	{ "nic_devices_far_from_a_gpu_are_told_of", devices_far_from_a_gpu_are_told_of },
	{ "nic_a_device_of_mlx5_says_who_rings_its_doorbell", a_device_of_mlx5_says_who_rings_its_doorbell },
	{ "nic_a_device_of_mlx5_without_devx_is_served_by_verbs", a_device_of_mlx5_without_devx_is_served_by_verbs },
	{ "nic_the_first_of_mlx5_that_can_comes_before_others", the_first_of_mlx5_that_can_comes_before_others },
	{ "nic_locked_memory_is_judged", locked_memory_is_judged },
	{ "nic_nonsense_in_sysfs_is_survived", nonsense_in_sysfs_is_survived },
};

TAP_MAIN(tests)
