// SPDX-License-Identifier: MIT
/* gdrapi.h end to end, over a fake module: every function, every error as a positive number. */
#include "gdrapi.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barlane.h"
#include "fake_gdrdrv.h"
#include "tap.h"

#define VA   FAKE_VRAM_VA
#define ADDR ((unsigned long)VA)

/* Version 1 as programs of its time see it, and the symbol that fills it. */
struct info_v1 {
	uint64_t va;
	uint64_t mapped_size;
	uint32_t page_size;
	uint64_t tm_cycles;
	uint32_t cycles_per_ms;
	unsigned mapped : 1;
	unsigned wc_mapping : 1;
};

#undef gdr_get_info
int gdr_get_info(gdr_t g, gdr_mh_t handle, struct info_v1 *info);

static const gdr_mh_t none;

static gdr_t opened(unsigned int minor)
{
	gdr_t g;

	setenv("BARLANE_PROVIDER", "gdrdrv", 1);
	fake_gdrdrv_begin(minor);
	g = gdr_open();
	check(g);
	return g;
}

static void closed(gdr_t g)
{
	check_eq(gdr_close(g), 0);
	fake_gdrdrv_end();
}

static gdr_mh_t pinned(gdr_t g, size_t off, size_t len)
{
	gdr_mh_t handle = none;

	check_eq(gdr_pin_buffer(g, ADDR + off, len, 0, 0, &handle), 0);
	check(handle.h);
	return handle;
}

static uint8_t *mapped(gdr_t g, gdr_mh_t handle, size_t len)
{
	void *va = NULL;

	check_eq(gdr_map(g, handle, &va, len), 0);
	check(va);
	return va;
}

static void the_usual_sequence_works_with_every_module(void)
{
	for (unsigned int minor = 0; minor <= 6; minor++) {
		gdr_t g = opened(minor);
		gdr_mh_t handle = pinned(g, 0, 3 * GPU_PAGE_SIZE);
		uint8_t *va = mapped(g, handle, 3 * GPU_PAGE_SIZE), buf[1000], seen[1000];

		memset(buf, (int)(0x11 + minor), sizeof(buf));
		check_eq(gdr_copy_to_mapping(handle, va + 7, buf, sizeof(buf)), 0);
		check(!memcmp(fake_vram() + 7, buf, sizeof(buf)));
		check_eq(gdr_copy_from_mapping(handle, seen, va + 7, sizeof(seen)), 0);
		check(!memcmp(seen, buf, sizeof(buf)));
		check_eq(gdr_unmap(g, handle, va, 3 * GPU_PAGE_SIZE), 0);
		check_eq(gdr_unpin_buffer(g, handle), 0);
		closed(g);
	}
}

static void opening_without_a_provider_is_null_with_reasons(void)
{
	int code = 0;

	unsetenv("BARLANE_PROVIDER");
	fake_gdrdrv_begin(6);
	fake_sys_broken("/dev/gdrdrv", ENOENT);
	check(!gdr_open());
	check_has(bl_last_error(&code), "gdrdrv: open /dev/gdrdrv: No such file or directory");
	check_has(bl_last_error(NULL), "dmabuf: ");
	check_has(bl_last_error(NULL), "rm: ");
	check_eq(code, ENODEV);
	fake_gdrdrv_end();
}

static void versions_are_told(void)
{
	int major = 0, minor = 0;

	gdr_runtime_get_version(&major, &minor);
	check_eq(major, 2);
	check_eq(minor, 6);
	gdr_runtime_get_version(NULL, NULL);
	for (int module = 0; module <= 6; module++) {
		gdr_t g = opened((unsigned int)module);

		check_eq(gdr_driver_get_version(g, &major, &minor), 0);
		check_eq(major, 2);
		check_eq(minor, module);
		check_eq(gdr_driver_get_version(g, NULL, &minor), EINVAL);
		check_eq(gdr_driver_get_version(g, &major, NULL), EINVAL);
		closed(g);
		check_eq(gdr_driver_get_version(g, &major, &minor), EINVAL);
	}
	check_eq(gdr_driver_get_version(NULL, &major, &minor), EINVAL);
}

static void attributes_are_told(void)
{
	gdr_t g = opened(6);
	int v = 9;

	fake_gdrdrv.force_pcie = true;
	check_eq(gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, &v), 0);
	check_eq(v, 1);
	check_eq(gdr_get_attribute(g, GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE, &v), 0);
	check_eq(v, 1);
	check_eq(gdr_get_attribute(g, GDR_ATTR_USING_DMA_BUF_MMAP, &v), 0);
	check_eq(v, 0);
	for (int attr = -1; attr <= 9; attr++) {
		if (attr >= 1 && attr < GDR_ATTR_MAX)
			continue;
		v = 9;
		check_eq(gdr_get_attribute(g, (gdr_attr_t)attr, &v), EINVAL);
		check_eq(v, 0);
	}
	check_eq(gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, NULL), EINVAL);
	closed(g);
	v = 9;
	check_eq(gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, &v), EINVAL);
	check_eq(v, 0);
	g = opened(3);
	check_eq(gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, &v), 0);
	check_eq(v, 0);
	closed(g);
}

static void type_names_are_the_originals(void)
{
	static const char *const names[] = {"None", "Write Combining", "Caching", "Device"};
	const char *str = "kept";

	check_eq(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_MAX, &str), EINVAL);
	check_eq(gdr_get_mapping_type_string((gdr_mapping_type_t)-1, &str), EINVAL);
	check_str(str, "kept");
	for (int type = 0; type < GDR_MAPPING_TYPE_MAX; type++) {
		check_eq(gdr_get_mapping_type_string((gdr_mapping_type_t)type, &str), 0);
		check_str(str, names[type]);
	}
	check_eq(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_WC, NULL), EINVAL);
}

static void info_has_both_versions(void)
{
	gdr_t g = opened(6);
	gdr_mh_t handle = pinned(g, GPU_PAGE_SIZE + 16, GPU_PAGE_SIZE);
	struct {
		struct info_v1 info;
		uint8_t after[16];
	} old;
	gdr_info_v2_t info;

	memset(&old, 0x5a, sizeof(old));
	memset(&info, 0x5a, sizeof(info));
	check_eq(gdr_get_info(g, handle, &old.info), 0);
	check_eq(gdr_get_info_v2(g, handle, &info), 0);
	check_eq(sizeof(old.info), 40);
	for (size_t i = 0; i < sizeof(old.after); i++)
		check_eq(old.after[i], 0x5a);
	check_eq(info.va, VA + GPU_PAGE_SIZE);
	check_eq(info.mapped_size, 2 * GPU_PAGE_SIZE);
	check_eq(info.page_size, GPU_PAGE_SIZE);
	check_eq(info.tm_cycles, 4242);
	check_eq(info.cycles_per_ms, 2100000);
	check_eq(info.mapped, 0);
	check_eq(info.mapping_type, GDR_MAPPING_TYPE_NONE);
	check(!memcmp(&old.info, &info, 40));
	closed(g);
}

static void info_tells_the_mapping_for_every_type_and_module(void)
{
	for (unsigned int minor = 0; minor <= 6; minor++) {
		for (uint32_t type = 1; type <= 3; type++) {
			gdr_t g = opened(minor);
			gdr_mh_t handle = pinned(g, 0, 1);
			struct info_v1 old;
			gdr_info_v2_t info;

			fake_gdrdrv.type = type;
			mapped(g, handle, 1);
			check_eq(gdr_get_info_v2(g, handle, &info), 0);
			check_eq(info.mapped, 1);
			check_eq(info.wc_mapping, type == 1);
			check_eq(info.mapping_type, minor < 4 && type == 3 ? 2 : type);
			check_eq(gdr_get_info(g, handle, &old), 0);
			check_eq(old.mapped, 1);
			check_eq(old.wc_mapping, type == 1);
			closed(g);
		}
	}
}

static void pin_flags_are_checked(void)
{
	gdr_t g = opened(6);
	gdr_mh_t handle = none;

	check_eq(gdr_pin_buffer_v2(g, ADDR, 1, GDR_PIN_FLAG_DEFAULT, &handle), 0);
	check_eq(gdr_unpin_buffer(g, handle), 0);
	handle = none;
	check_eq(gdr_pin_buffer_v2(g, ADDR, 1, GDR_PIN_FLAG_FORCE_PCIE, &handle), EINVAL);
	check_eq(gdr_pin_buffer_v2(g, ADDR, 1, 2, &handle), EINVAL);
	check_eq(gdr_pin_buffer_v2(g, ADDR, 1, 0xffffffff, &handle), EINVAL);
	check_eq(handle.h, 0);
	fake_gdrdrv.force_pcie = true;
	check_eq(gdr_pin_buffer_v2(g, ADDR, 1, GDR_PIN_FLAG_FORCE_PCIE, &handle), 0);
	closed(g);
}

static void map_flags_are_checked(void)
{
	gdr_t g = opened(6);
	gdr_mh_t handle = pinned(g, 0, 1);
	void *va = NULL;

	check_eq(gdr_map_v2(g, handle, &va, 1, 4), EINVAL);
	check_eq(gdr_map_v2(g, handle, &va, 1, -1), EINVAL);
	check_eq(gdr_map_v2(g, handle, &va, 1, GDR_MAP_FLAG_REQ_CACHE_MAPPING), EOPNOTSUPP);
	check_eq(gdr_map_v2(g, handle, &va, 1, GDR_MAP_FLAG_REQ_DEVICE_MAPPING), EOPNOTSUPP);
	check(!va);
	check_eq(gdr_map_v2(g, handle, &va, 1, GDR_MAP_FLAG_REQ_WC_MAPPING), 0);
	check_eq(gdr_map_v2(g, handle, &va, 1, GDR_MAP_FLAG_DEFAULT), EAGAIN);
	closed(g);
}

static void errors_are_positive_numbers(void)
{
	static const struct {
		int err, want;
	} cases[] = {{EINVAL, EINVAL}, {ENOMEM, ENOMEM}, {EIO, EIO}, {ENODEV, ENODEV}, {524, EOPNOTSUPP}};
	gdr_t g = opened(6);
	gdr_mh_t handle = none;
	int flag = 7;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_gdrdrv.fail_code = 0xC020DA07;
		fake_gdrdrv.fail_err = cases[i].err;
		check_eq(gdr_pin_buffer(g, ADDR, 1, 0, 0, &handle), cases[i].want);
		check_eq(gdr_pin_buffer_v2(g, ADDR, 1, 0, &handle), cases[i].want);
		check_eq(handle.h, 0);
	}
	fake_gdrdrv.fail_code = 0;
	handle = pinned(g, 0, 1);
	fake_sys_fail_next(FAKE_MMAP, ENOMEM);
	check_eq(gdr_map(g, handle, (void *[]){NULL}, 1), ENOMEM);
	fake_gdrdrv.fail_code = 0xC008DA03;
	fake_gdrdrv.fail_err = EIO;
	check_eq(gdr_get_callback_flag(g, handle, &flag), EIO);
	check_eq(flag, 7);
	closed(g);
}

static void missing_pointers_are_einval(void)
{
	gdr_t g = opened(6);
	gdr_mh_t handle = pinned(g, 0, 1);

	check_eq(gdr_pin_buffer(g, ADDR, 1, 0, 0, NULL), EINVAL);
	check_eq(gdr_pin_buffer_v2(g, ADDR, 1, 0, NULL), EINVAL);
	check_eq(gdr_get_callback_flag(g, handle, NULL), EINVAL);
	check_eq(gdr_get_info_v2(g, handle, NULL), EINVAL);
	check_eq(gdr_get_info(g, handle, NULL), EINVAL);
	check_eq(gdr_map(g, handle, NULL, 1), EINVAL);
	check_eq(gdr_map_v2(g, handle, NULL, 1, 0), EINVAL);
	closed(g);
}

/* Every function with an instance and a handle that are not, or no longer, valid. */
static void refused(gdr_t g, gdr_mh_t handle, int err)
{
	gdr_mh_t out = none;
	gdr_info_v2_t info;
	struct info_v1 old;
	void *va = NULL;
	int flag = 7;

	check_eq(gdr_unpin_buffer(g, handle), err);
	check_eq(gdr_get_callback_flag(g, handle, &flag), err);
	check_eq(flag, 7);
	check_eq(gdr_get_info_v2(g, handle, &info), err);
	check_eq(gdr_get_info(g, handle, &old), err);
	check_eq(gdr_map(g, handle, &va, 1), err);
	check_eq(gdr_map_v2(g, handle, &va, 1, 0), err);
	check(!va);
	check_eq(gdr_unmap(g, handle, &va, 1), err);
	check_eq(gdr_copy_to_mapping(handle, &va, &out, 1), err);
	check_eq(gdr_copy_from_mapping(handle, &va, &out, 1), err);
}

static void handles_that_are_none_are_einval(void)
{
	gdr_t g = opened(6);
	gdr_mh_t handle = pinned(g, 0, 1), out = none;

	refused(g, none, EINVAL);
	refused(g, (gdr_mh_t){1}, EINVAL);
	refused(g, (gdr_mh_t){~0UL}, EINVAL);
	refused(NULL, handle, EINVAL);
	refused((gdr_t)&out, handle, EINVAL);
	check_eq(gdr_pin_buffer(NULL, ADDR, 1, 0, 0, &out), EINVAL);
	check_eq(gdr_pin_buffer_v2((gdr_t)&out, ADDR, 1, 0, &out), EINVAL);
	check_eq(gdr_close(NULL), EINVAL);
	check_eq(gdr_close((gdr_t)&out), EINVAL);
	check_eq(gdr_unpin_buffer(g, handle), 0);
	refused(g, handle, EINVAL);
	handle = pinned(g, 0, 1);
	closed(g);
	refused(g, handle, EINVAL);
	check_eq(gdr_close(g), EINVAL);
	check_eq(gdr_pin_buffer(g, ADDR, 1, 0, 0, &out), EINVAL);
	check_eq(out.h, 0);
}

static void the_callback_flag_is_told(void)
{
	gdr_t g = opened(6);
	gdr_mh_t handle = pinned(g, 0, 1);
	int flag = 7;

	check_eq(gdr_get_callback_flag(g, handle, &flag), 0);
	check_eq(flag, 0);
	fake_gdrdrv.released = true;
	check_eq(gdr_get_callback_flag(g, handle, &flag), 0);
	check_eq(flag, 1);
	closed(g);
}

static void copies_need_a_mapping_and_stay_inside_it(void)
{
	gdr_t g = opened(6);
	gdr_mh_t handle = pinned(g, 0, GPU_PAGE_SIZE);
	uint8_t buf[8] = {0}, *va;

	check_eq(gdr_copy_to_mapping(handle, buf, buf, 0), EINVAL);
	va = mapped(g, handle, GPU_PAGE_SIZE);
	check_eq(gdr_copy_to_mapping(handle, va, buf, 0), 0);
	check_eq(gdr_copy_from_mapping(handle, buf, va, 0), 0);
	check_eq(gdr_copy_to_mapping(handle, va + GPU_PAGE_SIZE - 7, buf, 8), EINVAL);
	check_eq(gdr_copy_from_mapping(handle, buf, va - 1, 8), EINVAL);
	check_eq(gdr_unmap(g, handle, va, GPU_PAGE_SIZE / 2), EINVAL);
	check_eq(gdr_unmap(g, handle, va, GPU_PAGE_SIZE), 0);
	check_eq(gdr_copy_to_mapping(handle, va, buf, 8), EINVAL);
	closed(g);
}

static void many_instances_are_independent(void)
{
	gdr_t g[40];
	gdr_mh_t handle[40];

	g[0] = opened(6);
	for (int i = 1; i < 40; i++) {
		g[i] = gdr_open();
		check(g[i] && g[i] != g[i - 1]);
	}
	for (int i = 0; i < 40; i++)
		handle[i] = pinned(g[i], 0, 1);
	for (int i = 1; i < 40; i++)
		check_eq(gdr_unpin_buffer(g[i - 1], handle[i]), EINVAL);
	for (int i = 39; i >= 0; i--)
		check_eq(gdr_close(g[i]), 0);
	fake_gdrdrv_end();
}

static int in_child(gdr_t g, gdr_mh_t handle, uint8_t *va)
{
	gdr_mh_t out = none;
	gdr_info_v2_t info;
	int major, minor, v;
	void *addr;

	if (gdr_pin_buffer(g, ADDR, 1, 0, 0, &out) != EACCES || gdr_unpin_buffer(g, handle) != EACCES ||
	    gdr_map(g, handle, &addr, 1) != EACCES || gdr_unmap(g, handle, va, 1) != EACCES)
		return 1;
	if (gdr_get_info_v2(g, handle, &info) != EACCES || gdr_get_callback_flag(g, handle, &v) != EACCES ||
	    gdr_driver_get_version(g, &major, &minor) != EACCES ||
	    gdr_get_attribute(g, GDR_ATTR_USE_PERSISTENT_MAPPING, &v) != EACCES)
		return 2;
	if (gdr_copy_to_mapping(handle, va, &v, 1) != EACCES || gdr_copy_from_mapping(handle, &v, va, 1) != EACCES)
		return 3;
	return gdr_close(g) ? 4 : gdr_close(g) != EINVAL;
}

static void a_child_gets_eacces_and_may_close(void)
{
	gdr_t g = opened(6);
	gdr_mh_t handle = pinned(g, 0, 1);
	uint8_t *va = mapped(g, handle, 1), byte = 1;
	int status;
	pid_t pid;

	pid = fork();
	check(pid >= 0);
	if (!pid)
		_exit(in_child(g, handle, va));
	check_eq(waitpid(pid, &status, 0), pid);
	check_eq(status, 0);
	check_eq(gdr_copy_to_mapping(handle, va, &byte, 1), 0);
	closed(g);
}

static const struct tap_test tests[] = {
	{"the usual sequence works with every module", the_usual_sequence_works_with_every_module},
	{"opening without a provider is NULL with reasons", opening_without_a_provider_is_null_with_reasons},
	{"versions are told", versions_are_told},
	{"attributes are told", attributes_are_told},
	{"type names are the original's", type_names_are_the_originals},
	{"info has both versions", info_has_both_versions},
	{"info tells the mapping for every type and module", info_tells_the_mapping_for_every_type_and_module},
	{"pin flags are checked", pin_flags_are_checked},
	{"map flags are checked", map_flags_are_checked},
	{"errors are positive numbers", errors_are_positive_numbers},
	{"missing pointers are EINVAL", missing_pointers_are_einval},
	{"handles that are none are EINVAL", handles_that_are_none_are_einval},
	{"the callback flag is told", the_callback_flag_is_told},
	{"copies need a mapping and stay inside it", copies_need_a_mapping_and_stay_inside_it},
	{"many instances are independent", many_instances_are_independent},
	{"a child gets EACCES and may close", a_child_gets_eacces_and_may_close},
};

TAP_MAIN(tests)
