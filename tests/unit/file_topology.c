// SPDX-License-Identifier: MIT
/* Places on PCI Express, of a machine that the test makes. */
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cufile.h"
#include "file/topology.h"
#include "file_root.h"
#include "tap.h"

#define DEVICES "/sys/bus/pci/devices/"

/* A device at the end of a way through /sys/devices. */
static void device(const char *way, const char *class, const char *vendor, const char *numa)
{
	const char *name = strrchr(way, '/') + 1;
	char path[300], target[300];

	snprintf(path, sizeof(path), "/sys/devices/%s/class", way);
	file_root_text(path, class);
	snprintf(path, sizeof(path), "/sys/devices/%s/vendor", way);
	file_root_text(path, vendor);
	snprintf(path, sizeof(path), "/sys/devices/%s/device", way);
	file_root_text(path, "0x1234\n");
	snprintf(path, sizeof(path), "/sys/devices/%s/numa_node", way);
	file_root_text(path, numa);
	snprintf(path, sizeof(path), "/sys/devices/%s/current_link_speed", way);
	file_root_text(path, "32.0 GT/s PCIe\n");
	snprintf(path, sizeof(path), "/sys/devices/%s/current_link_width", way);
	file_root_text(path, "16\n");
	snprintf(path, sizeof(path), DEVICES "%s", name);
	snprintf(target, sizeof(target), "../../../devices/%s", way);
	file_root_link(path, target);
}

/* Two host bridges; below the first a switch with a GPU, a drive and a card. */
static void machine(void)
{
	file_root_begin();
	device("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", "0x030200\n", "0x10de\n", "0\n");
	device("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0", "0x010802\n", "0x144d\n", "0\n");
	device("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:02.0/0000:05:00.0", "0x020700\n", "0x15b3\n", "0\n");
	device("pci0000:00/0000:00:02.0/0000:06:00.0", "0x010802\n", "0x144d\n", "0\n");
	device("pci0000:80/0000:80:01.0/0000:81:00.0", "0x030000\n", "0x10de\n", "0\n");
	device("pci0000:c0/0000:c0:01.0/0000:c1:00.0", "0x010802\n", "0x144d\n", "1\n");
	/* none of ours: another vendor's display, a bridge, an audio device */
	device("pci0000:00/0000:00:03.0", "0x030000\n", "0x1a03\n", "0\n");
	device("pci0000:00/0000:00:01.0", "0x060400\n", "0x8086\n", "0\n");
	device("pci0000:00/0000:00:04.0", "0x040300\n", "0x10de\n", "0\n");
	file_root_dir("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0/nvme/nvme3/");
	file_root_dir("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:02.0/0000:05:00.0/infiniband/mlx5_1/");
}

static struct bl_topology topology;

static const struct bl_pci_device *find(const char *name)
{
	for (int i = 0; i < topology.nr; i++) {
		if (!strcmp(topology.device[i].name, name))
			return &topology.device[i];
	}
	tap_end(TAP_FAILED, "%s is not there", name);
}

static void devices_that_matter_are_found(void)
{
	machine();
	check_eq(bl_topology_read(&topology), 0);
	check_eq(topology.nr, 6);
	check_eq(topology.device[0].kind, BL_PCI_GPU);
	check_str(topology.device[1].name, "0000:81:00.0");
	check_eq(topology.device[2].kind, BL_PCI_NVME);
	check_eq(topology.device[5].kind, BL_PCI_NIC);
	check_str(find("0000:04:00.0")->label, "nvme3");
	check_str(find("0000:05:00.0")->label, "mlx5_1");
	check_str(find("0000:06:00.0")->label, "");
	check_eq(find("0000:03:00.0")->vendor, 0x10de);
	check_eq(find("0000:03:00.0")->width, 16);
	check_str(find("0000:03:00.0")->speed, "32.0 GT/s PCIe");
	check_eq(find("0000:c1:00.0")->numa, 1);
	check_str(find("0000:c1:00.0")->host, "pci0000:c0");
	check_eq(find("0000:03:00.0")->nr_path, 4);
	check_str(find("0000:03:00.0")->path[1], "0000:01:00.0");
}

static void distances_follow_the_tree(void)
{
	const struct bl_pci_device *gpu;

	machine();
	check_eq(bl_topology_read(&topology), 0);
	gpu = find("0000:03:00.0");
	check_eq(bl_pci_relation(gpu, find("0000:04:00.0")), BL_PCI_SAME_SWITCH);
	check_eq(bl_pci_hops(gpu, find("0000:04:00.0")), 4);
	check_eq(bl_pci_relation(gpu, find("0000:06:00.0")), BL_PCI_SAME_HOST);
	check_eq(bl_pci_hops(gpu, find("0000:06:00.0")), 6);
	check_eq(bl_pci_relation(gpu, find("0000:81:00.0")), BL_PCI_SAME_NODE);
	check_eq(bl_pci_relation(gpu, find("0000:c1:00.0")), BL_PCI_OTHER_NODE);
	check_eq(bl_pci_relation(find("0000:c1:00.0"), gpu), BL_PCI_OTHER_NODE);
}

static void places_are_understood(void)
{
	static const struct {
		const char *real;
		int nr;
	} cases[] = {
		{"/sys/devices/pci0000:00/0000:00:01.0", 1},
		{"/x/y/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", 2},
		{"/sys/devices/pci10000:e0/10000:e0:06.0/10000:e1:00.0", 2},
		{"/sys/devices/LNXSYSTM:00/VMBUS:00/pci0002:00/0002:00:02.0", -EINVAL},
		{"/sys/devices/pci0000:00", -EINVAL},
		{"/sys/devices/pci0000:00/junk/0000:01:00.0", 1},
		{"/sys/devices/platform/x", -EINVAL},
		{"", -EINVAL},
		{"/sys/devices/pci0000:0000000000000000000000000000000000/0000:00:01.0", -EINVAL},
	};
	struct bl_pci_device found;
	char deep[2048] = "/sys/devices/pci0000:00";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret = bl_pci_parse_path(cases[i].real, &found);

		check_eq(ret < 0 ? ret : found.nr_path, cases[i].nr);
	}
	for (int i = 0; i < 33; i++)
		strcat(deep, "/0000:00:01.0");
	check_eq(bl_pci_parse_path(deep, &found), -EINVAL);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value))
		tap_end(TAP_FAILED, "no member %s", key);
	return value;
}

static const char *text_of(struct json_object *object, const char *key)
{
	return json_object_get_string(member(object, key));
}

static void the_file_is_json_with_the_nearest_first(void)
{
	char path[] = "/tmp/barlane-topology-XXXXXX";
	struct json_object *root, *near;
	int fd = mkstemp(path);

	machine();
	check(fd >= 0 && ftruncate(fd, 1 << 20) == 0 && !close(fd));
	check_eq(cuFileExportPCIeTopology(path).err, CU_FILE_SUCCESS);
	root = json_object_from_file(path);
	unlink(path);
	check(root);
	check_eq(json_object_get_int(member(root, "version")), 1);
	check_eq(json_object_array_length(member(root, "gpus")), 2);
	check_eq(json_object_array_length(member(root, "nvmes")), 3);
	check_eq(json_object_array_length(member(root, "nics")), 1);
	check_str(text_of(json_object_array_get_idx(member(root, "nvmes"), 0), "name"), "nvme3");
	check_str(text_of(json_object_array_get_idx(member(root, "gpus"), 0), "vendor"), "0x10de");
	check_eq(json_object_array_length(member(json_object_array_get_idx(member(root, "gpus"), 0), "ports")), 3);
	near = member(member(root, "distances"), "0000:03:00.0");
	check_eq(json_object_array_length(near), 5);
	check_str(text_of(json_object_array_get_idx(near, 0), "pci"), "0000:04:00.0");
	check_str(text_of(json_object_array_get_idx(near, 0), "relation"), "same switch");
	check_str(text_of(json_object_array_get_idx(near, 4), "relation"), "other NUMA node");
	json_object_put(root);
}

static void a_machine_without_pci_is_an_error(void)
{
	file_root_begin();
	check(cuFileExportPCIeTopology("/dev/null").err != CU_FILE_SUCCESS);
	file_root_dir("/sys/bus/pci/devices/");
	check_eq(cuFileExportPCIeTopology("/dev/null").err, CU_FILE_SUCCESS);
}

static void a_file_that_cannot_be_written_is_an_invalid_value(void)
{
	machine();
	check_eq(cuFileExportPCIeTopology(NULL).err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileExportPCIeTopology("").err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileExportPCIeTopology("/dev/null/x").err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileExportPCIeTopology("/tmp").err, CU_FILE_INVALID_VALUE);
	check_eq(cuFileExportPCIeTopology("/dev/full").err, CU_FILE_INVALID_VALUE);
}

/* ... and nothing that the caller is left waiting in. */
static void a_fifo_that_nobody_reads_is_an_invalid_value(void)
{
	char dir[] = "/tmp/barlane-topology-XXXXXX", path[64];
	unsigned int left;
	CUfileOpError err;

	machine();
	check(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	check(!mkfifo(path, 0600));
	alarm(10);
	err = cuFileExportPCIeTopology(path).err;
	left = alarm(0);
	unlink(path);
	rmdir(dir);
	check_eq(err, CU_FILE_INVALID_VALUE);
	check(left);
}

static const struct tap_test tests[] = {
	{"devices that matter are found", devices_that_matter_are_found},
	{"distances follow the tree", distances_follow_the_tree},
	{"places are understood", places_are_understood},
	{"the file is JSON, with the nearest first", the_file_is_json_with_the_nearest_first},
	{"a machine without PCI is an error", a_machine_without_pci_is_an_error},
	{"a file that cannot be written is an invalid value", a_file_that_cannot_be_written_is_an_invalid_value},
	{"a FIFO that nobody reads is an invalid value", a_fifo_that_nobody_reads_is_an_invalid_value},
};

TAP_MAIN(tests)
