// SPDX-License-Identifier: MIT
/*
 * Requests, mmap rules and files of /dev/gdrdrv, by bare system calls: what is documented works, and every argument that
 * makes no sense has its error.
 */
#include "gdrdrv_fixture.h"
#include "tap.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NO_HANDLE 0x123456UL
#define MISC_MAJOR 10

static void read_text(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t len;

	check(file);
	len = fread(text, 1, size - 1, file);
	text[len] = '\0';
	fclose(file);
}

static void node_is_made(void)
{
	char devices[4096], want[32];
	struct stat st;

	begin(PERSISTENT);
	check_eq(stat(GDRDRV_PATH, &st), 0);
	check(S_ISCHR(st.st_mode));
	check_eq(st.st_mode & 07777, 0666);
	read_text(drv_is_linked() ? "/proc/misc" : "/proc/devices", devices, sizeof(devices));
	snprintf(want, sizeof(want), "%u gdrdrv\n", drv_is_linked() ? minor(st.st_rdev) : major(st.st_rdev));
	check_has(devices, want);
	check_eq(drv_is_linked() ? major(st.st_rdev) : minor(st.st_rdev), drv_is_linked() ? MISC_MAJOR : 0);
	end();
	drv_reload("node_mode=0640");
	check_eq(stat(GDRDRV_PATH, &st), 0);
	check_eq(st.st_mode & 07777, 0640);
	check_eq(try_module_unload("gdrdrv"), 0);
	check_eq(stat(GDRDRV_PATH, &st), -1);
	check_eq(try_module_load(drv_file(), "node_mode=07777"), -EINVAL);
}

static void proc_files(void)
{
	char text[256], want[256];
	struct stat st;

	begin(PERSISTENT);
	read_text("/proc/driver/gdrdrv/params", text, sizeof(text));
	snprintf(want, sizeof(want),
		 "Version: 2.6\nBuilt for NVIDIA driver flavor: %s\nUse persistent mapping: yes\n"
		 "dbg_enabled: 1\ninfo_enabled: 0\n",
		 drv_is_linked() ? "proprietary" : "opensource");
	check_str(text, want);
	check_eq(stat("/proc/driver/gdrdrv/params", &st), 0);
	check_eq(st.st_mode & 07777, 0444);
	check_eq(stat("/proc/driver/gdrdrv/nv_get_pages_refcount", &st), 0);
	check_eq(st.st_mode & 07777, 0440);
	drv_pin(drv, &mem);
	check_eq(drv_nr_pins(), 1);
	end();
	drv_reload("use_persistent_mapping=0");
	read_text("/proc/driver/gdrdrv/params", text, sizeof(text));
	check_has(text, "Use persistent mapping: no\ndbg_enabled: 0\n");
	check_eq(stat("/proc/driver/gdrdrv/nv_get_pages_refcount", &st), -1);
}

static void version_and_attributes(void)
{
	struct gdrdrv_get_version version = { 0 };
	struct gdrdrv_get_attr attr = { .attr = GDRDRV_ATTR_PERSISTENT };

	begin(PERSISTENT);
	check_eq(try_request(drv, GDRDRV_IOC_GET_VERSION, &version), 0);
	check_eq(version.gdrdrv_version, 0x00020006);
	check_eq(version.minimum_gdr_api_version, 0x00020000);
	check_eq(try_request(drv, GDRDRV_IOC_GET_ATTR, &attr), 0);
	check_eq(attr.val, 1);
	attr = (struct gdrdrv_get_attr){ .attr = GDRDRV_ATTR_FORCE_PCIE };
	check_eq(try_request(drv, GDRDRV_IOC_GET_ATTR, &attr), 0);
	check_eq(attr.val, 1);
	attr = (struct gdrdrv_get_attr){ .attr = 77, .val = 5 };
	check_eq(try_request(drv, GDRDRV_IOC_GET_ATTR, &attr), -EINVAL);
	check_eq(attr.val, 0);
	end();
	begin(NOT_PERSISTENT);
	attr = (struct gdrdrv_get_attr){ .attr = GDRDRV_ATTR_PERSISTENT, .val = 5 };
	check_eq(try_request(drv, GDRDRV_IOC_GET_ATTR, &attr), 0);
	check_eq(attr.val, 0);
	attr = (struct gdrdrv_get_attr){ .attr = GDRDRV_ATTR_FORCE_PCIE, .val = 5 };
	check_eq(try_request(drv, GDRDRV_IOC_GET_ATTR, &attr), 0);
	check_eq(attr.val, 0);
	end();
}

static void unknown_requests(void)
{
	char room[256] = { 0 };

	begin(PERSISTENT);
	check_eq(try_request(drv, 0xC008DA09, room), -ENOTTY);
	check_eq(try_request(drv, 0xC020DA01, room), -ENOTTY);
	check_eq(try_request(drv, 0xC010DA02, room), -ENOTTY);
	check_eq(try_request(drv, 0x4008DAFF, room), -ENOTTY);
	check_eq(try_request(drv, 0xC008DB09, room), -ENOTTY);
	check_eq(try_request(drv, 0xC008DC01, room), -EINVAL);
	check_eq(try_request(drv, 0x5413, room), -EINVAL);
	end();
}

static void bad_pointers(void)
{
	static const unsigned long requests[] = {
		GDRDRV_IOC_PIN_BUFFER,	 GDRDRV_IOC_UNPIN_BUFFER,  GDRDRV_IOC_GET_CB_FLAG,     GDRDRV_IOC_GET_INFO,
		GDRDRV_IOC_GET_INFO_V2,	 GDRDRV_IOC_GET_ATTR,	   GDRDRV_IOC_PIN_BUFFER_V2,   GDRDRV_IOC_REQ_MAPPING_TYPE,
		GDRDRV_IOC_GET_VERSION,	 GDRDRV_IOC_PIN_DMABUF,
	};
	struct gdrdrv_pin_buffer *read_only;

	begin(PERSISTENT);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		int want = drv_is_linked() && requests[i] == GDRDRV_IOC_PIN_DMABUF ? -ENOSYS : -EFAULT;

		check_eq(try_request(drv, requests[i], NULL), want);
		check_eq(try_request(drv, requests[i], (void *)0xffffffff80000000UL), want);
	}
	/* the answer cannot be delivered: nothing stays pinned */
	read_only = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(read_only != MAP_FAILED);
	*read_only = (struct gdrdrv_pin_buffer){ .addr = mem.va, .size = mem.len };
	check_eq(mprotect(read_only, 4096, PROT_READ), 0);
	check_eq(try_request(drv, GDRDRV_IOC_PIN_BUFFER, read_only), -EFAULT);
	check_eq(drv_nr_pins(), 0);
	munmap(read_only, 4096);
	end();
}

static void bad_pins(void)
{
	struct gdrdrv_pin_buffer tokens = { .size = 64 * KIB };
	uint64_t handle;

	begin(PERSISTENT);
	check_eq(try_pin(drv, 0, 4096, &handle), -EINVAL);
	check_eq(try_pin(drv, mem.va, 0, &handle), -EINVAL);
	check_eq(try_pin(drv, mem.va, UINT64_MAX, &handle), -EINVAL);
	check_eq(try_pin(drv, UINT64_MAX, 1, &handle), -EINVAL);
	check_eq(try_pin(drv, UINT64_MAX - 65536, 65536, &handle), -EINVAL);
	check_eq(try_pin(drv, mem.va, mem.len + 1, &handle), -EINVAL);
	check_eq(try_pin(drv, mem.va - 64 * KIB, 64 * KIB, &handle), -EINVAL);
	check_eq(try_pin(drv, (uintptr_t)&handle, sizeof(handle), &handle), -EINVAL);
	check_eq(try_pin_v2(drv, mem.va, 64 * KIB, 2, &handle), -EINVAL);
	check_eq(try_pin_v2(drv, mem.va, 64 * KIB, 0x80000001, &handle), -EINVAL);
	tokens.addr = mem.va;
	tokens.p2p_token = gpu_info(gpu).p2p_token;
	tokens.va_space = gpu_info(gpu).va_space;
	check_eq(try_request(drv, GDRDRV_IOC_PIN_BUFFER, &tokens), -EINVAL);
	check_eq(drv_nr_pins(), 0);
	end();
}

static void tokens_are_honoured(void)
{
	struct gdrdrv_pin_buffer arg = { .size = 64 * KIB };
	uint64_t handle;

	begin(NOT_PERSISTENT);
	arg.addr = mem.va;
	arg.p2p_token = gpu_info(gpu).p2p_token;
	arg.va_space = gpu_info(gpu).va_space;
	check_eq(try_request(drv, GDRDRV_IOC_PIN_BUFFER, &arg), 0);
	check_eq(try_unpin(drv, arg.handle), 0);
	arg.p2p_token ^= 0x5a5a;
	check_eq(try_request(drv, GDRDRV_IOC_PIN_BUFFER, &arg), -EINVAL);
	check_eq(try_pin_v2(drv, mem.va, 64 * KIB, GDRDRV_PIN_FORCE_PCIE, &handle), -EINVAL);
	end();
}

static void force_pcie_is_passed_on(void)
{
	uint64_t handle;

	begin(PERSISTENT);
	check_eq(try_pin_v2(drv, mem.va, 64 * KIB, GDRDRV_PIN_FORCE_PCIE, &handle), 0);
	check_eq(try_unpin(drv, handle), 0);
	gpu_knob("force_bar1", 0);
	check_eq(try_pin_v2(drv, mem.va, 64 * KIB, GDRDRV_PIN_FORCE_PCIE, &handle), -EOPNOTSUPP);
	gpu_knob("force_bar1", 1);
	end();
}

static void driver_errors_pass(void)
{
	uint64_t handle;

	begin(PERSISTENT);
	gpu_knob("fail_errno", ENOMEM);
	gpu_knob("fail_get_pages", 1);
	check_eq(try_pin(drv, mem.va, 64 * KIB, &handle), -ENOMEM);
	check_eq(try_pin(drv, mem.va, 64 * KIB, &handle), 0);
	gpu_knob("fail_errno", 524);
	gpu_knob("fail_get_pages", 1);
	check_eq(try_pin(drv, mem.va, 64 * KIB, &handle), -EOPNOTSUPP);
	end();
}

static void tables_are_checked(void)
{
	uint64_t handle;

	begin(PERSISTENT);
	gpu_knob("page_table_version", 0x00010002);
	check_eq(try_pin(drv, mem.va, 64 * KIB, &handle), 0);
	gpu_knob("page_table_version", 0x00030000);
	check_eq(try_pin(drv, mem.va, 64 * KIB, &handle), -EFAULT);
	gpu_knob("page_table_version", 0x00020000);
	gpu_knob("page_size", 0);
	check_eq(try_pin(drv, mem.va, 64 * KIB, &handle), -EINVAL);
	gpu_knob("page_size", 1);
	check_eq(drv_nr_pins(), 1);
	end();
}

static void handles_are_page_offsets(void)
{
	uint64_t first, second, third;
	struct gdrdrv_get_info info;

	begin(PERSISTENT);
	check_eq(try_pin(drv, mem.va + 5, 3, &first), 0);
	check_eq(try_pin(drv, mem.va + 64 * KIB, 128 * KIB, &second), 0);
	check_eq(try_pin(drv, mem.va + 64 * KIB, 1, &third), 0);
	check_eq(first, 0);
	check_eq(second, 16);
	check_eq(third, 48);
	check_eq(try_info(drv, first, &info), 0);
	check_eq(info.va, mem.va);
	check_eq(info.mapped_size, 64 * KIB);
	check_eq(info.page_size, 64 * KIB);
	check_eq(info.v2.mapping_type, GDRDRV_MAPPING_NONE);
	check(info.tsc_khz);
	check(info.tm_cycles);
	/* a number is not used again */
	check_eq(try_unpin(drv, third), 0);
	check_eq(try_pin(drv, mem.va, 1, &third), 0);
	check_eq(third, 64);
	end();
}

static void unknown_handles(void)
{
	struct gdrdrv_req_mapping_type type = { .handle = NO_HANDLE };
	struct gdrdrv_get_info info;
	uint64_t handle;
	void *addr;

	begin(PERSISTENT);
	/* also while there is another pin, which must not be taken for it */
	for (int i = 0; i < 2; i++) {
		check_eq(try_unpin(drv, NO_HANDLE), -EINVAL);
		check_eq(try_cb_flag(drv, NO_HANDLE), -EINVAL);
		check_eq(try_info(drv, NO_HANDLE, &info), -EINVAL);
		check_eq(try_request(drv, GDRDRV_IOC_GET_INFO, &info), -EINVAL);
		check_eq(try_request(drv, GDRDRV_IOC_REQ_MAPPING_TYPE, &type), -EINVAL);
		check_eq(try_map(drv, NO_HANDLE, 4096, &addr), -EINVAL);
		handle = drv_pin(drv, &mem);
		check_eq(try_map(drv, handle + 1, 4096, &addr), -EINVAL);
		check_eq(try_unpin(drv, handle | 1UL << 32), -EINVAL);
	}
	end();
}

static void files_are_apart(void)
{
	uint64_t handle, other_handle;
	void *addr;
	int other;

	begin(PERSISTENT);
	other = drv_open();
	check_eq(try_pin(drv, mem.va, 64 * KIB, &handle), 0);
	check_eq(try_unpin(other, handle), -EINVAL);
	check_eq(try_cb_flag(other, handle), -EINVAL);
	check_eq(try_map(other, handle, 4096, &addr), -EINVAL);
	check_eq(try_pin(other, mem.va + MIB, 64 * KIB, &other_handle), 0);
	check_eq(other_handle, handle);
	addr = drv_map(other, other_handle, 64 * KIB);
	*(volatile uint32_t *)addr = 42;
	/* the same number in the other file, and its end, do not touch this one */
	check_eq(try_unpin(drv, handle), 0);
	close(drv);
	check_eq(*(volatile uint32_t *)addr, 42);
	munmap(addr, 64 * KIB);
	drv = other;
	end();
}

static void map_rules(void)
{
	struct gdrdrv_get_info info;
	uint64_t handle, unaligned;
	void *addr, *again;

	begin(PERSISTENT);
	check_eq(try_pin(drv, mem.va, 128 * KIB, &handle), 0);
	check_eq(try_map(drv, handle, 128 * KIB + 1, &addr), -EINVAL);
	check(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, drv, 0) == MAP_FAILED);
	addr = drv_map(drv, handle, 8192);
	check_eq(try_map(drv, handle, 4096, &again), -EINVAL);
	check_eq(try_info(drv, handle, &info), 0);
	check_eq(info.v2.mapping_type, GDRDRV_MAPPING_WC);
	info = (struct gdrdrv_get_info){ .handle = handle };
	check_eq(try_request(drv, GDRDRV_IOC_GET_INFO, &info), 0);
	check_eq(info.v1.mapped, 1);
	check_eq(info.v1.wc_mapping, 1);
	/* a part of it counts until the last part goes */
	check_eq(munmap(addr, 4096), 0);
	check_eq(try_map(drv, handle, 4096, &again), -EINVAL);
	check_eq(munmap((char *)addr + 4096, 4096), 0);
	addr = drv_map(drv, handle, 128 * KIB);
	munmap(addr, 128 * KIB);
	check_eq(try_info(drv, handle, &info), 0);
	check_eq(info.v2.mapping_type, GDRDRV_MAPPING_NONE);

	check_eq(try_pin(drv, mem.va + 8, 8, &unaligned), 0);
	check_eq(try_map(drv, unaligned, 4096, &addr), -EINVAL);
	end();
}

static int request_type(uint64_t handle, uint32_t type)
{
	struct gdrdrv_req_mapping_type arg = { .handle = handle, .mapping_type = type };

	return try_request(drv, GDRDRV_IOC_REQ_MAPPING_TYPE, &arg);
}

static void mapping_types(void)
{
	struct gdrdrv_get_info info;
	uint64_t handle;
	void *addr;

	begin(PERSISTENT);
	/* a claim of the GPU driver makes no x86 CPU cache a PCI device */
	gpu_knob("cacheable", 1);
	check_eq(try_pin(drv, mem.va, 64 * KIB, &handle), 0);
	gpu_knob("cacheable", 0);
	check_eq(request_type(handle, 4), -EINVAL);
	check_eq(request_type(handle, UINT32_MAX), -EINVAL);
	check_eq(request_type(handle, GDRDRV_MAPPING_CACHED), -EOPNOTSUPP);
	check_eq(request_type(handle, GDRDRV_MAPPING_DEVICE), -EOPNOTSUPP);
	check_eq(request_type(handle, GDRDRV_MAPPING_NONE), 0);
	check_eq(request_type(handle, GDRDRV_MAPPING_WC), 0);
	addr = drv_map(drv, handle, 64 * KIB);
	check_eq(request_type(handle, GDRDRV_MAPPING_WC), -EBUSY);
	check_eq(try_info(drv, handle, &info), 0);
	check_eq(info.v2.mapping_type, GDRDRV_MAPPING_WC);
	munmap(addr, 64 * KIB);
	end();
}

static void many_pins(void)
{
	uint64_t handle;
	struct gdrdrv_get_info info;

	begin(PERSISTENT);
	for (unsigned int i = 0; i < 2000; i++) {
		check_eq(try_pin(drv, mem.va + i % 32 * 64 * KIB, 64 * KIB, &handle), 0);
		check_eq(handle, 16 * i);
	}
	for (unsigned int i = 0; i < 2000; i += 7) {
		check_eq(try_info(drv, 16 * i, &info), 0);
		check_eq(info.va, mem.va + i % 32 * 64 * KIB);
	}
	check_eq(drv_nr_pins(), 2000);
	end();
}

static int as_user(void *arg)
{
	uint64_t handle;
	void *addr;

	if (setgid(1000) || setuid(1000))
		return 1;
	gpu = open(BL_CARD_PATH, O_RDWR | O_CLOEXEC);
	drv = open(GDRDRV_PATH, O_RDWR | O_CLOEXEC);
	if (gpu < 0 || drv < 0)
		return 2;
	mem = gpu_alloc(gpu, 2 * MIB);
	if (try_pin(drv, mem.va, mem.len, &handle) || try_map(drv, handle, mem.len, &addr))
		return 3;
	*(volatile uint32_t *)addr = 7;
	if (*(volatile uint32_t *)addr != 7)
		return 4;
	return try_unpin(drv, handle) ? 5 : 0;
}

static void no_privilege_is_needed(void)
{
	begin(PERSISTENT);
	check_eq(chmod(BL_CARD_PATH, 0666), 0);
	check_eq(in_child(as_user, NULL), 0);
	end();
}

static const struct tap_test tests[] = {
	{ "the_node_has_its_number_and_the_mode_of_the_parameter", node_is_made },
	{ "the_two_files_in_proc_have_the_lines_of_the_original", proc_files },
	{ "version_and_attributes_are_reported", version_and_attributes },
	{ "unknown_requests_are_told_apart", unknown_requests },
	{ "bad_pointers_are_efault_and_pin_nothing", bad_pointers },
	{ "pins_that_make_no_sense_are_einval", bad_pins },
	{ "tokens_are_honoured_without_persistence", tokens_are_honoured },
	{ "force_pcie_is_passed_to_the_driver", force_pcie_is_passed_on },
	{ "errors_of_the_driver_pass_and_524_becomes_95", driver_errors_pass },
	{ "page_tables_are_checked_before_use", tables_are_checked },
	{ "handles_are_page_offsets_and_rounded_ranges_are_reported", handles_are_page_offsets },
	{ "unknown_handles_are_einval_also_beside_other_pins", unknown_handles },
	{ "files_do_not_reach_each_others_pins", files_are_apart },
	{ "map_refuses_what_the_rules_refuse", map_rules },
	{ "mapping_types_are_answered", mapping_types },
	{ "thousands_of_pins_are_told_apart", many_pins },
	{ "an_unprivileged_user_pins_and_maps", no_privilege_is_needed },
};

TAP_MAIN(tests)
