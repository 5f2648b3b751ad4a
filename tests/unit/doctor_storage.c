// SPDX-License-Identifier: MIT
/* Check "file" of "barlane doctor": mounts and the paths that their files would take. */
#include <errno.h>

#include "doctor/mounts.h"
#include "doctor/storage.h"
#include "doctor_fixture.h"

#define MOUNTINFO "/proc/self/mountinfo"
#define NVME	  "30 1 259:2 / /data rw,noatime shared:5 - ext4 /dev/nvme0n1p2 rw,data=ordered\n"

static struct doctor_fs_can answer;
static int uring_answer;
static char asked[512];

static void fake_fs(const char *folder, struct doctor_fs_can *can)
{
	snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), "%s ", folder);
	*can = answer;
}

static int fake_uring(void)
{
	return uring_answer;
}

static const struct doctor_trials fake_trials = { .fs = fake_fs, .uring = fake_uring };

static void begin_with(const char *mounts)
{
	begin();
	fake_tree_text(MOUNTINFO, mounts);
	doctor.trials = &fake_trials;
	answer = (struct doctor_fs_can){ DOCTOR_CAN, DOCTOR_CAN };
	uring_answer = 0;
	asked[0] = '\0';
}

static void add_nvme(void)
{
	fake_tree_link("/sys/dev/block/259:2", "../../devices/pci0000:00/0000:00:01.0/nvme/nvme0/nvme0n1/nvme0n1p2");
	fake_tree_text("/sys/devices/pci0000:00/0000:00:01.0/nvme/nvme0/nvme0n1/nvme0n1p2/partition", "2\n");
}

static void add_module(void)
{
	fake_tree_text("/proc/driver/nvidia-fs/version", "version: 2.28\n");
	fake_tree_text("/proc/driver/nvidia-fs/modules", "nvme: 1.0\nrpcrdma: 2\n");
	fake_tree_text("/dev/nvidia-fs0", "");
}

static void a_line_of_mountinfo_is_taken_apart(void)
{
	struct doctor_mount mount;

	check_eq(doctor_mount_parse(NVME, &mount), 0);
	check_eq(mount.major, 259);
	check_eq(mount.minor, 2);
	check_str(mount.point, "/data");
	check_str(mount.type, "ext4");
	check_str(mount.source, "/dev/nvme0n1p2");
	check(!mount.read_only);
	check(doctor_option_has(mount.options, "data=ordered"));
	check(!doctor_option_has(mount.options, "data"));
	check(!doctor_option_has(mount.options, "ata=ordered"));
	check_eq(doctor_mount_parse("1 1 0:5 / /a\\040b\\134c ro - xfs x rw", &mount), 0);
	check_str(mount.point, "/a b\\c");
	check(mount.read_only);
	check_eq(doctor_mount_parse("1 1 0:5 / /a rw master:1 propagate_from:2 - fuse.x none", &mount), 0);
	check_str(mount.options, "");
}

static void lines_that_are_none_are_refused(void)
{
	static const char *const lines[] = {
		"", "\n", "1 1", "1 1 0:5", "1 1 0:5 / /a rw", "1 1 0:5 / /a rw -", "1 1 0:5 / /a rw - ext4",
		"1 1 0 / /a rw - ext4 x rw", "1 1 -1:5 / /a rw - ext4 x rw", "1 1 0:5x / /a rw - ext4 x rw",
		"1 1 0:5 / a rw - ext4 x rw", "1 1 0:5 / /a rw shared:1\n - ext4 x rw",
	};
	struct doctor_mount mount;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		check_eq(doctor_mount_parse(lines[i], &mount), -EINVAL);
}

static void without_the_module_files_are_mapped_and_staged(void)
{
	begin_with(NVME);
	add_nvme();
	doctor_check_storage(&doctor);
	check_eq(row("/data")->status, DOCTOR_INFO);
	check_has(row("/data")->text, "ext4 on nvme0n1: mapped and staged; O_DIRECT, io_uring; not nvfs: nvidia-fs is not loaded");
	check_eq(row("io_uring")->status, DOCTOR_OK);
	check_eq(row("nvidia-fs")->status, DOCTOR_INFO);
	check_str(asked, "/data ");
}

static void with_the_module_and_a_drive_that_it_serves_nothing_blocks(void)
{
	begin_with(NVME);
	add_nvme();
	add_module();
	doctor_check_storage(&doctor);
	check_has(row("/data")->text, "ext4 on nvme0n1: nvfs, mapped and staged; O_DIRECT, io_uring");
	check(!strstr(row("/data")->text, "not "));
	check_eq(row("nvidia-fs")->status, DOCTOR_OK);
	check_has(row("nvidia-fs")->text, "version: 2.28, node opens, storage drivers: nvme: 1.0,rpcrdma: 2");
}

static void the_one_condition_that_blocks_dma_is_named(void)
{
	static const struct {
		const char *mount;
		const char *text;
	} cases[] = {
		{ "30 1 259:2 / /data rw - ext4 /dev/nvme0n1p2 rw", "not nvfs: ext4 is not mounted with -o data=ordered" },
		{ "30 1 259:2 / /data rw - xfs /dev/nvme0n1p2 rw", "nvfs, mapped and staged" },
		{ "30 1 8:1 / /data rw - xfs /dev/sda1 rw", "xfs on /dev/sda1: mapped and staged; O_DIRECT, io_uring; not nvfs: the disk is no NVMe" },
		{ "30 1 0:40 / /data rw - btrfs /dev/nvme0n1p3 rw", "not nvfs: nvidia-fs serves ext4 and xfs on NVMe" },
		{ "30 1 0:41 / /data rw - nfs4 server:/x rw,proto=tcp", "not nvfs: NFS is not mounted with -o proto=rdma" },
		{ "30 1 0:41 / /data rw - nfs4 server:/x rw,proto=rdma", "nvfs, mapped and staged" },
		{ "30 1 0:42 / /data rw - lustre x@tcp:/y rw", "nvfs, mapped and staged" },
		{ "30 1 0:43 / /data rw - tmpfs tmpfs rw", "not nvfs: its files are in memory, there is no drive" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_with(cases[i].mount);
		add_nvme();
		add_module();
		doctor_check_storage(&doctor);
		check_has(row("/data")->text, cases[i].text);
	}
}

static void memory_with_pages_is_a_way_for_ext4_and_xfs_on_nvme(void)
{
	static const struct {
		const char *mount;
		const char *text;
	} cases[] = {
		{ "30 1 259:2 / /data rw - ext4 /dev/nvme0n1p2 rw", "ext4 on nvme0n1: devicepages, mapped and staged; O_DIRECT" },
		{ "30 1 259:2 / /data rw - xfs /dev/nvme0n1p2 rw", "xfs on nvme0n1: devicepages, mapped and staged; O_DIRECT" },
		{ "30 1 259:2 / /data rw - f2fs /dev/nvme0n1p2 rw", "f2fs on nvme0n1: mapped and staged" },
		{ "30 1 8:1 / /data rw - xfs /dev/sda1 rw", "xfs on /dev/sda1: mapped and staged" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_with(cases[i].mount);
		add_nvme();
		doctor.nr_gpus = 2;
		doctor.gpus[1].pages = true;
		doctor_check_storage(&doctor);
		doctor.nr_gpus = 0;
		doctor.gpus[1].pages = false;
		check_has(row("/data")->text, cases[i].text);
	}
}

static void a_node_that_does_not_open_is_a_warning(void)
{
	begin_with(NVME);
	add_nvme();
	fake_tree_text("/proc/driver/nvidia-fs/version", "version: 2.28\n");
	doctor_check_storage(&doctor);
	check_eq(row("nvidia-fs")->status, DOCTOR_WARN);
	check_has(row("/data")->text, "not nvfs: /dev/nvidia-fs0 cannot be opened");
	check_cures();
}

static void what_a_file_system_lacks_is_said(void)
{
	begin_with(NVME);
	answer = (struct doctor_fs_can){ DOCTOR_CAN_NOT, DOCTOR_CAN_NOT };
	doctor_check_storage(&doctor);
	check_has(row("/data")->text, ": staged; no O_DIRECT: all through the page cache");
	check_has(row("/data")->text, "; not mapped: the file system cannot say what it has in the page cache");
	begin_with("30 1 0:43 / /data rw - tmpfs tmpfs rw");
	answer = (struct doctor_fs_can){ DOCTOR_CAN_NOT, DOCTOR_CAN_NOT };
	doctor_check_storage(&doctor);
	check_has(row("/data")->text, ": mapped and staged; no O_DIRECT");
	begin_with(NVME);
	doctor.trials = NULL;
	doctor_check_storage(&doctor);
	check_has(row("/data")->text, "O_DIRECT not tried");
}

static void without_a_provider_nothing_is_mapped(void)
{
	begin_with(NVME);
	doctor.check = "provider";
	doctor_add(&doctor, DOCTOR_FAIL, "any", "a cure", "no provider can serve");
	doctor.check = "file";
	doctor_check_storage(&doctor);
	check_has(row("/data")->text, ": staged; O_DIRECT, io_uring; not mapped: GPU memory cannot be mapped");
}

static void each_reason_why_io_uring_is_missing_has_its_cure(void)
{
	begin_with(NVME);
	uring_answer = -EPERM;
	doctor_check_storage(&doctor);
	check_eq(row("io_uring")->status, DOCTOR_WARN);
	check_has(row("io_uring")->cure, "seccomp");
	check_has(row("/data")->text, "threads in place of io_uring");
	check_cures();
	begin_with(NVME);
	fake_tree_text("/proc/sys/kernel/io_uring_disabled", "2\n");
	uring_answer = -EPERM;
	doctor_check_storage(&doctor);
	check_has(row("io_uring")->text, "sysctl kernel.io_uring_disabled is 2");
	check_has(row("io_uring")->cure, "kernel.io_uring_disabled=0");
	begin_with(NVME);
	uring_answer = -ENOSYS;
	doctor_check_storage(&doctor);
	check_has(row("io_uring")->cure, "CONFIG_IO_URING");
	begin_with(NVME);
	uring_answer = -ENOENT;
	doctor_check_storage(&doctor);
	check_has(row("io_uring")->text, "cannot be loaded; threads do its work");
	check_has(row("io_uring")->cure, "liburing2");
	check_has(row("/data")->text, "threads in place of io_uring");
	begin_with(NVME);
	uring_answer = -ENOPKG;
	doctor_check_storage(&doctor);
	check_has(row("io_uring")->text, "older than 2.2");
	begin_with(NVME);
	fake_tree_text("/proc/sys/kernel/io_uring_disabled", "1\n");
	doctor_check_storage(&doctor);
	check_eq(row("io_uring")->status, DOCTOR_OK);
}

static void servers_are_not_touched_and_copies_not_listed(void)
{
	begin_with("20 1 0:20 / /proc rw - proc proc rw\n"
		   "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
		   "22 21 8:1 /x /again rw - ext4 /dev/sda1 rw\n"
		   "23 21 0:50 / /share rw - nfs4 server:/x rw\n"
		   "24 21 0:51 / /fuse rw - fuse.sshfs x rw\n"
		   "25 21 0:52 / /shm rw - tmpfs hidden rw\n"
		   "26 21 0:53 / /shm rw - tmpfs seen rw\n"
		   "27 21 0:54 / /one rw - xfs file rw\n"
		   "nonsense\n");
	fake_tree_text("/one", "a file");
	doctor_check_storage(&doctor);
	check_str(asked, "/ /shm ");
	check_has(row("/share")->text, "O_DIRECT not tried");
	check_has(row("tmpfs on")->text, "tmpfs on seen");
	check_has(row("other mounts")->text, "3: hidden");
	/* module, io_uring, four file systems, the rest */
	check_eq(doctor.nr, 7);
}

static void a_hidden_proc_is_no_failure(void)
{
	begin();
	doctor_check_storage(&doctor);
	check_has(row("mounts")->text, "/proc is hidden");
	check(!doctor_failed(&doctor));
}

static void the_kernels_answers_fit_this_machine(void)
{
	struct doctor_fs_can can = { DOCTOR_CAN_UNKNOWN, DOCTOR_CAN_UNKNOWN };
	int ret = doctor_trials_kernel.uring();

	check(!ret || ret == -EPERM || ret == -ENOSYS || ret == -EACCES || ret == -ENOENT || ret == -ENOPKG);
	doctor_trials_kernel.fs("/nonexistent", &can);
	check_eq(can.direct, DOCTOR_CAN_UNKNOWN);
	doctor_trials_kernel.fs("/proc", &can);
	check_eq(can.direct, DOCTOR_CAN_UNKNOWN);
	begin();
	fake_tree_dir("/folder");
	doctor_trials_kernel.fs(doctor.tree.root, &can);
	check_eq(tool_tree_each(&doctor.tree, "/folder", NULL, NULL), 0);
	check_eq(tool_tree_each(&doctor.tree, "/", NULL, NULL), 1);
	fake_tree_end();
}

#define TEST(name)     \
	{              \
		#name, name \
	}

static const struct tap_test tests[] = {
	TEST(a_line_of_mountinfo_is_taken_apart),
	TEST(lines_that_are_none_are_refused),
	TEST(without_the_module_files_are_mapped_and_staged),
	TEST(with_the_module_and_a_drive_that_it_serves_nothing_blocks),
	TEST(the_one_condition_that_blocks_dma_is_named),
	TEST(memory_with_pages_is_a_way_for_ext4_and_xfs_on_nvme),
	TEST(a_node_that_does_not_open_is_a_warning),
	TEST(what_a_file_system_lacks_is_said),
	TEST(without_a_provider_nothing_is_mapped),
	TEST(each_reason_why_io_uring_is_missing_has_its_cure),
	TEST(servers_are_not_touched_and_copies_not_listed),
	TEST(a_hidden_proc_is_no_failure),
	TEST(the_kernels_answers_fit_this_machine),
};

TAP_MAIN(tests)
