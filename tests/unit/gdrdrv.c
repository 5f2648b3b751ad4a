// SPDX-License-Identifier: MIT
/* Provider "gdrdrv" call by call: codes and bytes for every version of the module. */
#include <errno.h>
#include <unistd.h>

#include "barlane.h"
#include "fake_gdrdrv.h"
#include "gpu/provider.h"
#include "tap.h"

#define VA FAKE_VRAM_VA
/* Words of a struct that hold the address FAKE_VRAM_VA + 0x10000. */
#define VA_1 "10000 7f40"

static const struct bl_provider_ops *const ops = &bl_provider_gdrdrv;

static void *opened(unsigned int minor)
{
	void *priv = NULL;

	fake_gdrdrv_begin(minor);
	check_eq(ops->open(&priv), 0);
	return priv;
}

static void closed(void *priv)
{
	ops->close(priv);
	fake_gdrdrv_end();
}

static const struct bl_request request = {.va = VA + 0x10000, .len = 0x18000};

static struct bl_backing pinned(void *priv)
{
	struct bl_backing backing = {0};

	check_eq(ops->pin(priv, &request, &backing), 0);
	return backing;
}

static void opening_asks_for_the_version(void)
{
	static const char *const calls[] = {"open /dev/gdrdrv", "version c008daff/8: 0*2"};
	void *priv = NULL;

	for (unsigned int minor = 0; minor <= 6; minor++) {
		fake_gdrdrv_begin(minor);
		fake_trace_begin();
		check_eq(ops->open(&priv), 0);
		fake_trace_expect(calls, 2);
		closed(priv);
	}
}

static void probing_tells_version_and_properties_and_leaves_nothing_open(void)
{
	struct bl_provider_info info;

	for (unsigned int minor = 0; minor <= 6; minor++) {
		char reason[32];

		fake_gdrdrv_begin(minor);
		fake_gdrdrv.force_pcie = minor >= 5;
		info = (struct bl_provider_info){.name = "gdrdrv"};
		check_eq(ops->probe(&info), 0);
		check_eq(info.major, 2);
		check_eq(info.minor, minor);
		check_eq(info.persistent, minor >= 5);
		check_eq(info.force_pcie, minor >= 5);
		snprintf(reason, sizeof(reason), "module version 2.%u", minor);
		check_str(info.reason, reason);
		fake_gdrdrv_end();
	}
}

static void a_device_that_cannot_be_opened_is_named_with_the_reason(void)
{
	static const int errs[] = {ENOENT, EACCES, ENXIO, EMFILE, EPERM};
	struct bl_provider_info info;
	void *priv = NULL;

	for (size_t i = 0; i < sizeof(errs) / sizeof(errs[0]); i++) {
		fake_gdrdrv_begin(6);
		fake_sys_broken("/dev/gdrdrv", errs[i]);
		check_eq(ops->probe(&info), -errs[i]);
		check_has(info.reason, "/dev/gdrdrv");
		check_has(info.reason, strerror(errs[i]));
		check_eq(ops->open(&priv), -errs[i]);
		check_has(bl_last_error(NULL), strerror(errs[i]));
		fake_gdrdrv_end();
	}
}

static void versions_that_do_not_fit_are_refused(void)
{
	static const struct {
		uint32_t version, min_api;
		const char *text;
	} cases[] = {
		{1U << 16 | 3, 1U << 16, "module version 1.3"},
		{3U << 16, 2U << 16, "module version 3.0"},
		{2U << 16 | 9, 2U << 16 | 7, "wants library 2.7"},
		{0, 0, "module version 0.0"},
	};
	struct bl_provider_info info;
	void *priv = NULL;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_gdrdrv_begin(6);
		fake_gdrdrv.version = cases[i].version;
		fake_gdrdrv.min_api = cases[i].min_api;
		check_eq(ops->probe(&info), -EPROTONOSUPPORT);
		check_has(info.reason, cases[i].text);
		check_eq(ops->open(&priv), -EPROTONOSUPPORT);
		check_has(bl_last_error(NULL), cases[i].text);
		fake_gdrdrv_end();
	}
}

static void a_newer_module_that_accepts_this_library_is_used(void)
{
	void *priv = opened(6);

	ops->close(priv);
	fake_gdrdrv.version = 2U << 16 | 9;
	fake_gdrdrv.min_api = 2U << 16 | 6;
	check_eq(ops->open(&priv), 0);
	closed(priv);
}

static void a_device_that_does_not_answer_is_refused(void)
{
	struct bl_provider_info info;
	void *priv = NULL;

	fake_gdrdrv_begin(6);
	fake_gdrdrv.fail_code = 0xC008DAFF;
	fake_gdrdrv.fail_err = ENOTTY;
	check_eq(ops->probe(&info), -ENOTTY);
	check_has(info.reason, "version");
	check_eq(ops->open(&priv), -ENOTTY);
	fake_gdrdrv_end();
}

static void old_modules_are_spoken_to_in_the_old_way(void)
{
	static const char *const calls[] = {
		"pin c028da01/40: " VA_1 " 18000 0*7", "info c008da04/48: 0*12", "mmap gdrdrv len 0x20000 off 0x0",
		"madvise len 0x20000 advice 10",       "info c008da04/48: 0*12", "cb_flag c008da03/16: 0*4",
		"munmap len 0x20000",		       "unpin c008da02/8: 0*2",
	};

	for (unsigned int minor = 0; minor <= 3; minor++) {
		void *priv = opened(minor);
		struct bl_mapping mapping = {.len = 0x20000};
		struct bl_backing backing;
		int released;

		fake_trace_begin();
		backing = pinned(priv);
		check_eq(ops->map(priv, &backing, &mapping), 0);
		check_eq(mapping.type, BL_MAP_WC);
		check_eq(ops->released(priv, &backing, &released), 0);
		check_eq(ops->unmap(priv, &backing, &mapping), 0);
		check_eq(ops->unpin(priv, &backing), 0);
		fake_trace_expect(calls, sizeof(calls) / sizeof(calls[0]));
		closed(priv);
	}
}

static void module_2_4_is_asked_for_the_new_info(void)
{
	static const char *const calls[] = {
		"pin c028da01/40: " VA_1 " 18000 0*7", "info_v2 c008da05/48: 0*12", "mmap gdrdrv len 0x20000 off 0x0",
		"madvise len 0x20000 advice 10",       "info_v2 c008da05/48: 0*12", "munmap len 0x20000",
		"unpin c008da02/8: 0*2",
	};
	void *priv = opened(4);
	struct bl_mapping mapping = {.len = 0x20000};
	struct bl_backing backing;

	fake_trace_begin();
	backing = pinned(priv);
	check_eq(ops->map(priv, &backing, &mapping), 0);
	check_eq(ops->unmap(priv, &backing, &mapping), 0);
	check_eq(ops->unpin(priv, &backing), 0);
	fake_trace_expect(calls, sizeof(calls) / sizeof(calls[0]));
	closed(priv);
}

static void new_modules_are_spoken_to_in_the_new_way(void)
{
	char mmap_call[64];
	const char *calls[] = {
		"pin_v2 c020da07/32: " VA_1 " 18000 0*5",
		"info_v2 c008da05/48: 20 0*11",
		"type c008da08/16: 20 0 1 0",
		mmap_call,
		"madvise len 0x10000 advice 10",
		"info_v2 c008da05/48: 20 0*11",
		"cb_flag c008da03/16: 20 0*3",
		"munmap len 0x10000",
		"unpin c008da02/8: 20 0",
	};

	if (sysconf(_SC_PAGESIZE) != 4096)
		skip("the numbers are for pages of 4096 bytes");
	snprintf(mmap_call, sizeof(mmap_call), "mmap gdrdrv len 0x10000 off 0x%x", 0x20 * 4096);
	for (unsigned int minor = 5; minor <= 6; minor++) {
		void *priv = opened(minor);
		struct bl_backing first = pinned(priv), backing;
		struct bl_mapping mapping = {.len = 0x10000, .type = BL_MAP_WC};
		int released = -1;

		fake_trace_begin();
		backing = pinned(priv);
		check_eq(ops->map(priv, &backing, &mapping), 0);
		check_eq(ops->released(priv, &backing, &released), 0);
		check_eq(ops->unmap(priv, &backing, &mapping), 0);
		check_eq(ops->unpin(priv, &backing), 0);
		fake_trace_expect(calls, sizeof(calls) / sizeof(calls[0]));
		check_eq(ops->unpin(priv, &first), 0);
		closed(priv);
	}
}

static void tokens_go_to_modules_that_take_them(void)
{
	static const char *const old[] = {
		"pin c028da01/40: " VA_1 " 18000 0 55667788 11223344 99 0*3", "info c008da04/48: 0*12"};
	static const char *const not_kept[] = {
		"attr c008da06/8: 1 0", "pin c028da01/40: " VA_1 " 18000 0 55667788 11223344 99 0*3",
		"info_v2 c008da05/48: 0*12"};
	static const char *const kept[] = {"attr c008da06/8: 1 0", "pin_v2 c020da07/32: " VA_1 " 18000 0*5",
					   "info_v2 c008da05/48: 0*12"};
	struct bl_request req = request;
	struct bl_backing backing;

	req.token = 0x1122334455667788;
	req.space = 0x99;
	for (int kind = 0; kind < 3; kind++) {
		void *priv = opened(kind ? 6 : 3);

		fake_gdrdrv.persistent = kind == 2;
		fake_trace_begin();
		check_eq(ops->pin(priv, &req, &backing), 0);
		fake_trace_expect(kind == 0 ? old : kind == 1 ? not_kept : kept, kind == 0 ? 2 : 3);
		check_eq(ops->unpin(priv, &backing), 0);
		closed(priv);
	}
}

static void flags_need_module_2_5(void)
{
	static const char *const calls[] = {"pin_v2 c020da07/32: " VA_1 " 18000 0 1 0*3",
					    "info_v2 c008da05/48: 0*12"};
	struct bl_request req = request;
	struct bl_backing backing;
	void *priv;

	req.flags = BL_PIN_FORCE_PCIE;
	for (unsigned int minor = 0; minor <= 4; minor++) {
		priv = opened(minor);
		fake_trace_begin();
		check_eq(ops->pin(priv, &req, &backing), -EINVAL);
		fake_trace_expect(calls, 0);
		check_has(bl_last_error(NULL), "2.5");
		closed(priv);
	}
	priv = opened(5);
	check_eq(ops->pin(priv, &req, &backing), -EINVAL);
	fake_gdrdrv.force_pcie = true;
	fake_trace_begin();
	check_eq(ops->pin(priv, &req, &backing), 0);
	fake_trace_expect(calls, 2);
	check_eq(ops->unpin(priv, &backing), 0);
	closed(priv);
}

static void a_pin_is_what_the_module_says(void)
{
	void *priv = opened(6);
	struct bl_request req = {.va = VA + 0x10123, .len = 10};
	struct bl_backing backing;
	uint64_t cycles;
	uint32_t khz;

	check_eq(ops->pin(priv, &req, &backing), 0);
	check_eq(backing.va, VA + 0x10000);
	check_eq(backing.len, 0x10000);
	check_eq(backing.page_size, 65536);
	check_eq(ops->times(priv, &backing, &cycles, &khz), 0);
	check_eq(cycles, 4242);
	check_eq(khz, 2100000);
	check_eq(ops->unpin(priv, &backing), 0);
	closed(priv);
}

static void errors_of_the_module_are_passed_on(void)
{
	static const struct {
		int err, want;
	} cases[] = {{EINVAL, EINVAL}, {ENOMEM, ENOMEM}, {EIO, EIO},	   {EBUSY, EBUSY},
		     {ENODEV, ENODEV}, {EFAULT, EFAULT}, {524, EOPNOTSUPP}};
	struct bl_backing backing;

	for (unsigned int minor = 3; minor <= 6; minor += 3) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			void *priv = opened(minor);

			fake_gdrdrv.fail_code = minor == 3 ? 0xC028DA01 : 0xC020DA07;
			fake_gdrdrv.fail_err = cases[i].err;
			check_eq(ops->pin(priv, &request, &backing), -cases[i].want);
			check_has(bl_last_error(NULL), strerror(cases[i].want));
			check_has(bl_last_error(NULL), "0x7f4000010000");
			closed(priv);
		}
	}
}

/* Every call of pinning and mapping fails in turn: nothing is left behind, whatever was made before. */
static void a_failure_at_any_call_leaves_nothing(void)
{
	for (unsigned int minor = 0; minor <= 6; minor++) {
		bool done = false;

		for (int nr = 0; !done; nr++) {
			void *priv = opened(minor);
			struct bl_mapping mapping = {.len = 0x10000, .type = BL_MAP_WC};
			struct bl_backing backing;
			int ret;

			fake_sys_fail_at(nr, EIO);
			ret = ops->pin(priv, &request, &backing);
			if (!ret) {
				ret = ops->map(priv, &backing, &mapping);
				done = !ret;
				fake_sys_fail_at(-1, 0);
				if (done)
					check_eq(ops->unmap(priv, &backing, &mapping), 0);
				check_eq(fake_sys_vmas(), 0);
				check_eq(ops->unpin(priv, &backing), 0);
			}
			check_eq(ret, done ? 0 : -EIO);
			check_eq(fake_gdrdrv_pins(), 0);
			fake_sys_fail_at(-1, 0);
			closed(priv);
			check(nr < 20);
		}
	}
}

static void page_sizes_that_are_none_are_refused_and_unpinned(void)
{
	static const uint32_t sizes[] = {0, 3, 65537, 0xffffffff};
	struct bl_backing backing;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		void *priv = opened(6);

		fake_gdrdrv.page_size = sizes[i];
		check_eq(ops->pin(priv, &request, &backing), -EPROTO);
		check_has(bl_last_error(NULL), "page size");
		closed(priv);
	}
}

static void the_type_of_a_mapping_is_the_modules(void)
{
	for (unsigned int minor = 0; minor <= 6; minor++) {
		for (uint32_t type = 1; type <= 3; type++) {
			void *priv = opened(minor);
			struct bl_backing backing = pinned(priv);
			struct bl_mapping mapping = {.len = 0x10000};

			fake_gdrdrv.type = type;
			check_eq(ops->map(priv, &backing, &mapping), 0);
			/* the old command tells only write-combined from the rest */
			check_eq(mapping.type, minor < 4 && type == 3 ? 2 : type);
			check_eq(ops->unmap(priv, &backing, &mapping), 0);
			check_eq(ops->unpin(priv, &backing), 0);
			closed(priv);
		}
	}
}

static void another_type_than_wished_is_refused(void)
{
	for (unsigned int minor = 0; minor <= 6; minor++) {
		void *priv = opened(minor);
		struct bl_backing backing = pinned(priv);
		struct bl_mapping mapping = {.len = 0x10000, .type = BL_MAP_CACHED};

		check_eq(ops->map(priv, &backing, &mapping), minor < 5 ? -EINVAL : -EOPNOTSUPP);
		check_eq(fake_sys_vmas(), 0);
		check_eq(ops->unpin(priv, &backing), 0);
		closed(priv);
	}
}

static void a_mapping_without_a_type_is_not_kept(void)
{
	static const uint32_t types[] = {0, 4, 0xffffffff};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		void *priv = opened(6);
		struct bl_backing backing = pinned(priv);
		struct bl_mapping mapping = {.len = 0x10000};

		fake_gdrdrv.type = types[i];
		check_eq(ops->map(priv, &backing, &mapping), -EAGAIN);
		check_eq(fake_sys_vmas(), 0);
		check_eq(ops->unpin(priv, &backing), 0);
		closed(priv);
	}
}

static void the_callback_flag_is_0_or_1(void)
{
	void *priv = opened(6);
	struct bl_backing backing = pinned(priv);
	int released = -1;

	check_eq(ops->released(priv, &backing, &released), 0);
	check_eq(released, 0);
	fake_gdrdrv.released = true;
	check_eq(ops->released(priv, &backing, &released), 0);
	check_eq(released, 1);
	fake_gdrdrv.fail_code = 0xC008DA03;
	fake_gdrdrv.fail_err = EIO;
	check_eq(ops->released(priv, &backing, &released), -EIO);
	check_eq(ops->unpin(priv, &backing), 0);
	closed(priv);
}

static void failures_of_unmap_and_unpin_are_told(void)
{
	void *priv = opened(6);
	struct bl_backing backing = pinned(priv);
	struct bl_mapping mapping = {.len = 0x10000};

	check_eq(ops->map(priv, &backing, &mapping), 0);
	fake_sys_fail_next(FAKE_MUNMAP, EAGAIN);
	check_eq(ops->unmap(priv, &backing, &mapping), -EAGAIN);
	check_has(bl_last_error(NULL), "unmap");
	check_eq(ops->unmap(priv, &backing, &mapping), 0);
	fake_sys_fail_next(FAKE_IOCTL, EIO);
	check_eq(ops->unpin(priv, &backing), -EIO);
	check_has(bl_last_error(NULL), "unpin");
	check_eq(ops->unpin(priv, &backing), 0);
	closed(priv);
}

static void an_attribute_that_is_not_known_counts_as_absent(void)
{
	struct bl_provider_info info = {0};

	fake_gdrdrv_begin(6);
	fake_gdrdrv.fail_code = 0xC008DA06;
	fake_gdrdrv.fail_err = EINVAL;
	check_eq(ops->probe(&info), 0);
	check_eq(info.persistent, 0);
	check_eq(info.force_pcie, 0);
	fake_gdrdrv_end();
}

static const struct tap_test tests[] = {
	{"opening asks for the version", opening_asks_for_the_version},
	{"probing tells version and properties and leaves nothing open",
	 probing_tells_version_and_properties_and_leaves_nothing_open},
	{"a device that cannot be opened is named with the reason",
	 a_device_that_cannot_be_opened_is_named_with_the_reason},
	{"versions that do not fit are refused", versions_that_do_not_fit_are_refused},
	{"a newer module that accepts this library is used", a_newer_module_that_accepts_this_library_is_used},
	{"a device that does not answer is refused", a_device_that_does_not_answer_is_refused},
	{"old modules are spoken to in the old way", old_modules_are_spoken_to_in_the_old_way},
	{"module 2.4 is asked for the new info", module_2_4_is_asked_for_the_new_info},
	{"new modules are spoken to in the new way", new_modules_are_spoken_to_in_the_new_way},
	{"tokens go to modules that take them", tokens_go_to_modules_that_take_them},
	{"flags need module 2.5", flags_need_module_2_5},
	{"a pin is what the module says", a_pin_is_what_the_module_says},
	{"errors of the module are passed on", errors_of_the_module_are_passed_on},
	{"a failure at any call leaves nothing", a_failure_at_any_call_leaves_nothing},
	{"page sizes that are none are refused and unpinned", page_sizes_that_are_none_are_refused_and_unpinned},
	{"the type of a mapping is the module's", the_type_of_a_mapping_is_the_modules},
	{"another type than wished is refused", another_type_than_wished_is_refused},
	{"a mapping without a type is not kept", a_mapping_without_a_type_is_not_kept},
	{"the callback flag is 0 or 1", the_callback_flag_is_0_or_1},
	{"failures of unmap and unpin are told", failures_of_unmap_and_unpin_are_told},
	{"an attribute that is not known counts as absent", an_attribute_that_is_not_known_counts_as_absent},
};

TAP_MAIN(tests)
